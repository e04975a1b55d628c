package pattern

import (
	"strings"
	"unicode/utf8"
)

// kind is what a node matches.
type kind uint8

const (
	literal kind = iota
	anyChar      // as many characters as count says
	oneOf        // a character of a set
	anyText      // *
	group        // an extended form
)

// A node is one element of a pattern.
type node struct {
	kind  kind
	op    byte // of a group: @ ? * + !
	runs  bool // all alternatives of the group are single characters
	count int
	text  string
	set   *charset
	alts  [][]node
}

// reader reads a pattern from left to right, once.
type reader struct {
	src       string
	ext, fold bool
	groups    bool
	effort

	closing map[int]int // from the ( of a group to its )
	sets    setReader
	stack   []open
	seq     []node
	text    []byte // literal characters not yet in seq
}

// open is a group that is being read.
type open struct {
	op    byte
	seq   []node   // before the group
	alts  [][]node // before the one being read
	plain int      // ordinary parentheses open inside
}

func (r *reader) read() ([]node, error) {
	r.sets = setReader{src: r.src, fold: r.fold}
	if r.ext {
		r.match()
	}
	for i := 0; i < len(r.src); {
		n := r.special(i)
		if n == 0 {
			n = r.char(i)
		}
		if len(r.stack) > maxDepth {
			return nil, errDepth
		}
		if !r.spend(64) {
			return nil, errStopped
		}
		i += n
	}
	r.flush()
	return r.seq, nil
}

// match finds the groups that are closed. A parenthesis that is not stands for
// itself.
func (r *reader) match() {
	var stack []int
	for i := 0; i < len(r.src) && r.spend(32); i++ {
		switch r.src[i] {
		case '\\':
			i++
		case '[':
			i += max(r.sets.length(i)-1, 0)
		case '(':
			stack = append(stack, i)
		case ')':
			if len(stack) == 0 {
				continue
			}
			at := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			if at > 0 && strings.IndexByte("@?*+!", r.src[at-1]) >= 0 {
				r.close(at, i)
			}
		}
	}
}

func (r *reader) close(at, end int) {
	if r.closing == nil {
		r.closing = map[int]int{}
	}
	r.closing[at] = end
}

// opens reports whether a group starts at i.
func (r *reader) opens(i int) bool {
	if len(r.closing) == 0 || i+1 >= len(r.src) || r.src[i+1] != '(' || strings.IndexByte("@?*+!", r.src[i]) < 0 {
		return false
	}
	return r.closing[i+1] > 0
}

// special reads what has a meaning at i and returns how long it is, or 0.
func (r *reader) special(i int) int {
	if r.opens(i) {
		r.flush()
		r.stack = append(r.stack, open{op: r.src[i], seq: r.seq})
		r.seq, r.groups = nil, true
		return 2
	}
	switch r.src[i] {
	case '*':
		r.flush()
		if n := len(r.seq); n == 0 || r.seq[n-1].kind != anyText {
			r.seq = append(r.seq, node{kind: anyText})
		}
		return 1
	case '?':
		r.any()
		return 1
	case '[':
		n := r.sets.length(i)
		if n > 0 {
			r.flush()
			r.seq = append(r.seq, node{kind: oneOf, set: r.sets.read(i)})
		}
		return n
	case '(', ')', '|':
		return r.inGroup(r.src[i])
	}
	return 0
}

func (r *reader) any() {
	r.flush()
	if n := len(r.seq); n > 0 && r.seq[n-1].kind == anyChar {
		r.seq[n-1].count++
		return
	}
	r.seq = append(r.seq, node{kind: anyChar, count: 1})
}

// inGroup reads a character that means something inside a group.
func (r *reader) inGroup(c byte) int {
	if len(r.stack) == 0 {
		return 0
	}
	top := &r.stack[len(r.stack)-1]
	switch {
	case c == '(':
		top.plain++
		return 0
	case c == ')' && top.plain > 0:
		top.plain--
		return 0
	case c == '|' && top.plain > 0:
		return 0
	}
	r.flush()
	top.alts = append(top.alts, r.seq)
	r.seq = nil
	if c == ')' {
		n := node{kind: group, op: top.op, alts: top.alts}
		n.runs = (n.op == '*' || n.op == '+') && n.singles(r.fold)
		r.seq = append(top.seq, n)
		r.stack = r.stack[:len(r.stack)-1]
	}
	return 1
}

// singles reports whether every alternative is one character.
func (n *node) singles(fold bool) bool {
	for _, alt := range n.alts {
		if len(alt) != 1 {
			return false
		}
		switch e := alt[0]; e.kind {
		case anyChar:
			if e.count != 1 {
				return false
			}
		case literal:
			if len(e.text) != 1 || e.text[0] >= utf8.RuneSelf || fold {
				return false
			}
		case oneOf:
		default:
			return false
		}
	}
	return true
}

// char reads a character that stands for itself.
func (r *reader) char(i int) int {
	n := 0
	if r.src[i] == '\\' && i+1 < len(r.src) {
		i, n = i+1, 1
	}
	_, w := utf8.DecodeRuneInString(r.src[i:])
	r.text = append(r.text, r.src[i:i+w]...)
	return n + w
}

func (r *reader) flush() {
	if len(r.text) > 0 {
		r.seq = append(r.seq, node{kind: literal, text: string(r.text)})
		r.text = r.text[:0]
	}
}
