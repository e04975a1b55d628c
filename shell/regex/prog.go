package regex

import (
	"slices"
	"unicode/utf8"
)

type iop uint8

const (
	iSet    iop = iota // one character of set, then out
	iSplit             // out, or alt if that fails
	iSave              // remember the place in slot n
	iAssert            // n must hold here
	iRef               // what group n captured
	iMark              // remember where a round of a loop started
	iCheck             // the round must have consumed something
	iLook              // alt is a program of its own; n holds the look flags
	iMatch
	iFail
)

type inst struct {
	op       iop
	out, alt uint32
	n        int
	set      *set
}

// maxInsts bounds a program beyond what the length of its pattern explains:
// repeats are unrolled, and a{1000} in a{1000} is a million.
const maxInsts = 8 << 10

// A prog is a compiled tree. It does not change.
type prog struct {
	insts   []inst
	start   uint32
	slots   int // captures, then marks of loops
	asserts int // the kinds used, or-ed
	begins  bool
	fold    bool // back-references compare without case
	chars   *classes
	first   *set // characters a match can start with; nil if it may be empty
}

type compiler struct {
	prog
	limit, calls int
	sets         map[string]*set
	same         map[*set]*set // what intern made of a set
	done         <-chan struct{}
}

// compile turns a tree into a program; groups is the number of captures.
func compile(n *node, groups, size int, done <-chan struct{}) (*prog, error) {
	c := &compiler{limit: maxInsts + 8*size, sets: map[string]*set{}, same: map[*set]*set{}, done: done}
	c.slots = 2 * (groups + 1)
	match := c.emit(inst{op: iMatch})
	c.start = c.node(n, match)
	if c.over() {
		return nil, errTooBig
	}
	p := c.prog
	p.begins = beginsAnchored(n)
	if p.chars = newClasses(&p); p.chars == nil {
		return nil, errTooBig
	}
	if !n.nullable() {
		p.first = firstSet(n)
	}
	return &p, nil
}

func (c *compiler) over() bool { return len(c.insts) > c.limit || c.calls > 4*c.limit }

func (c *compiler) emit(i inst) uint32 {
	c.insts = append(c.insts, i)
	return uint32(len(c.insts) - 1)
}

// node compiles n so that it goes on at next, and returns where it starts.
func (c *compiler) node(n *node, next uint32) uint32 {
	if c.calls++; c.calls&1023 == 0 && isDone(c.done) {
		c.limit = -1
	}
	if c.over() {
		return next
	}
	switch n.op {
	case opSet:
		return c.emit(inst{op: iSet, set: c.intern(n.set), out: next})
	case opCat:
		for _, sub := range slices.Backward(n.subs) {
			next = c.node(sub, next)
		}
		return next
	case opAlt:
		return c.alternatives(n.subs, next)
	case opGroup:
		end := c.emit(inst{op: iSave, n: 2*n.n + 1, out: next})
		return c.emit(inst{op: iSave, n: 2 * n.n, out: c.node(n.subs[0], end)})
	case opRepeat:
		return c.repeat(n, next)
	case opRef:
		return c.emit(inst{op: iRef, n: n.n, out: next})
	case opAssert:
		c.asserts |= n.n
		return c.emit(inst{op: iAssert, n: n.n, out: next})
	case opKeep:
		return c.emit(inst{op: iSave, n: 0, out: next})
	case opLook:
		match := c.emit(inst{op: iMatch})
		return c.emit(inst{op: iLook, n: n.n, alt: c.node(n.subs[0], match), out: next})
	case opFail:
		return c.emit(inst{op: iFail})
	}
	return next
}

// intern makes equal sets one, which keeps the character classes cheap.
func (c *compiler) intern(s *set) *set {
	known, ok := c.same[s]
	if !ok {
		known = c.internNew(s)
		c.same[s] = known
	}
	return known
}

func (c *compiler) internNew(s *set) *set {
	key := string(s.pairs)
	if s.pairs[len(s.pairs)-1] > utf8.MaxRune {
		key = string(rune(len(s.pairs))) + "raw" + string(s.negate().pairs)
		for _, r := range s.pairs {
			key += string(rune(r>>11)) + string(rune(r&0x7ff))
		}
	}
	if old, ok := c.sets[key]; ok {
		return old
	}
	c.sets[key] = s
	return s
}

func (c *compiler) alternatives(subs []*node, next uint32) uint32 {
	at := c.node(subs[len(subs)-1], next)
	for _, sub := range slices.Backward(subs[:len(subs)-1]) {
		at = c.split(c.node(sub, next), at, false)
	}
	return at
}

func (c *compiler) split(first, second uint32, swap bool) uint32 {
	if swap {
		first, second = second, first
	}
	return c.emit(inst{op: iSplit, out: first, alt: second})
}

// repeat unrolls a bounded repeat and makes a loop of an unbounded one.
func (c *compiler) repeat(n *node, next uint32) uint32 {
	sub, end := n.subs[0], next
	if n.max < 0 {
		next = c.loop(n, next)
	}
	for i := n.min; i < n.max && !c.over(); i++ {
		next = c.split(c.node(sub, next), end, n.lazy)
	}
	for i := 0; i < n.min && !c.over(); i++ {
		next = c.node(sub, next)
	}
	return next
}

func (c *compiler) loop(n *node, next uint32) uint32 {
	sub := n.subs[0]
	back := c.emit(inst{op: iSplit})
	entry := back
	if sub.nullable() {
		slot := c.slots
		c.slots++
		entry = c.emit(inst{op: iCheck, n: slot, out: back})
		entry = c.emit(inst{op: iMark, n: slot, out: c.node(sub, entry)})
	} else {
		entry = c.node(sub, entry)
	}
	out, other := entry, next
	if n.lazy {
		out, other = next, entry
	}
	c.insts[back] = inst{op: iSplit, out: out, alt: other}
	return back
}

// beginsAnchored reports whether every match starts at the begin of the text.
func beginsAnchored(n *node) bool {
	switch n.op {
	case opAssert:
		return n.n == atBegin
	case opGroup:
		return beginsAnchored(n.subs[0])
	case opCat:
		return len(n.subs) > 0 && beginsAnchored(n.subs[0])
	case opAlt:
		return !slices.ContainsFunc(n.subs, func(s *node) bool { return !beginsAnchored(s) })
	}
	return false
}

// firstSet returns the characters a match of n can start with; nil is any.
func firstSet(n *node) *set {
	sets := map[*set]bool{}
	if !firstSets(n, sets) {
		return nil
	}
	var pairs []rune
	for s := range sets {
		pairs = append(pairs, s.pairs...)
	}
	return newSet(pairs)
}

// firstSets collects the sets a match can start with; it returns false if they
// are not known.
func firstSets(n *node, sets map[*set]bool) bool {
	switch n.op {
	case opSet:
		sets[n.set] = true
		return true
	case opGroup, opRepeat:
		return firstSets(n.subs[0], sets)
	case opAlt:
		return !slices.ContainsFunc(n.subs, func(s *node) bool { return !firstSets(s, sets) })
	case opCat:
		for _, s := range n.subs {
			if !firstSets(s, sets) {
				return false
			}
			if !s.nullable() {
				return true
			}
		}
		return true
	}
	return n.op == opEmpty || n.op == opAssert
}
