package regex

import "slices"

type op uint8

const (
	opEmpty  op = iota
	opSet       // one character of set
	opCat       // subs in turn
	opAlt       // one of subs, the first preferred
	opRepeat    // subs[0], min to max times; max < 0 is no bound
	opGroup     // subs[0], captured as n
	opRef       // what group n captured
	opAssert    // a place, see the assert constants
	opLook      // subs[0] must (or must not) match here; n holds the look flags
	opKeep      // the match starts here (\K)
	opFail      // matches nothing
)

// The places an assertion can ask for, as bits so that a program can tell
// quickly which it uses.
const (
	atBegin     = 1 << iota // before the first character
	atEnd                   // after the last
	atLineStart             // also after a newline
	atLineEnd               // also before one
	atWordStart
	atWordEnd
	atWordEdge
	notWordEdge
	noWordBefore // what -w asks for
	noWordAfter
)

const wordAsserts = atWordStart | atWordEnd | atWordEdge | notWordEdge | noWordBefore | noWordAfter

const (
	lookBehind = 1 << iota
	lookNot
	lookAtomic // consume what matched and never try another way
)

type node struct {
	op       op
	set      *set
	subs     []*node
	min, max int
	n        int
	lazy     bool
}

func cat(subs ...*node) *node {
	if len(subs) == 1 {
		return subs[0]
	}
	return &node{op: opCat, subs: subs}
}

func alt(subs []*node) *node {
	if len(subs) == 1 {
		return subs[0]
	}
	return &node{op: opAlt, subs: subs}
}

func assert(at int) *node { return &node{op: opAssert, n: at} }

// nullable reports whether n can match without consuming anything.
func (n *node) nullable() bool {
	switch n.op {
	case opSet, opFail:
		return false
	case opCat:
		return !slices.ContainsFunc(n.subs, func(s *node) bool { return !s.nullable() })
	case opAlt:
		return slices.ContainsFunc(n.subs, (*node).nullable)
	case opRepeat:
		return n.min == 0 || n.subs[0].nullable()
	case opGroup:
		return n.subs[0].nullable()
	case opLook:
		return n.n&lookAtomic == 0 || n.subs[0].nullable()
	}
	return true
}
