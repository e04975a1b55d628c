package markdown

import (
	"unicode"
	"unicode/utf8"
)

type nodeKind uint8

const (
	textNode nodeKind = iota
	softNode
	hardNode
	delimNode
	openNode // [ or ![
)

// A node is a piece of held text or a marker.
type node struct {
	kind        nodeKind
	char        byte // of a delimiter
	open, close bool // a delimiter may open or close; an open bracket waits as long as open is set
	count, runs int  // characters of a delimiter left, and at first
	from, to    int  // of held
	attr        attr
	url         target
}

// waits reports whether the meaning of what follows depends on n.
func (n *node) waits() bool {
	return n.open && (n.kind == openNode || n.count > 0)
}

// hold appends the node n with the text s.
func (in *inline) hold(n node, s []byte) {
	last := len(in.nodes) - 1
	if n.kind == textNode && last >= 0 {
		if l := &in.nodes[last]; l.kind == textNode && l.attr == n.attr && l.url == n.url {
			in.held = append(in.held, s...)
			l.to = len(in.held)
			in.relax()
			return
		}
	}
	n.from = len(in.held)
	in.held = append(in.held, s...)
	n.to = len(in.held)
	in.nodes = append(in.nodes, n)
	in.relax()
}

// relax releases nodes while too much is held: the first open marker becomes text.
func (in *inline) relax() {
	for len(in.held)+len(in.nodes) > maxHeld && in.giveUp() {
	}
}

// giveUp turns the first waiting marker into text and renders what that releases. It returns false when nothing is
// held.
func (in *inline) giveUp() bool {
	for i := range in.nodes {
		if n := &in.nodes[i]; n.waits() {
			n.open = false
			if n.kind == openNode {
				in.resolve(i + 1)
			}
			in.release()
			return true
		}
	}
	in.release()
	return false
}

// release renders the held nodes up to the first that still waits.
func (in *inline) release() {
	i := 0
	for i < len(in.nodes) && !in.nodes[i].waits() {
		in.show(&in.nodes[i])
		i++
	}
	if i == len(in.nodes) {
		in.nodes, in.held = in.nodes[:0], in.held[:0]
		return
	}
	if i == 0 {
		return
	}
	gone := in.nodes[i].from
	in.held = in.held[:copy(in.held, in.held[gone:])]
	in.nodes = in.nodes[:copy(in.nodes, in.nodes[i:])]
	for k := range in.nodes {
		in.nodes[k].from -= gone
		in.nodes[k].to -= gone
	}
}

func (in *inline) show(n *node) {
	st := style{in.base | n.attr, n.url}
	switch n.kind {
	case softNode:
		in.flow.softBreak(st)
	case hardNode:
		in.flow.hardBreak()
	case delimNode:
		in.flow.text(in.held[n.from:n.from+n.count], st)
	default:
		in.flow.text(in.held[n.from:n.to], st)
	}
}

// delimiter reads a run of stars, underscores or tildes.
func (in *inline) delimiter(d []byte, end bool) int {
	n := runOf(d, d[0])
	if n > maxHeld {
		return in.literal(d[:maxHeld])
	}
	if n == len(d) && !end {
		return 0
	}
	next := '\n'
	if n < len(d) {
		next, _ = utf8.DecodeRune(d[n:])
	}
	open, close := flanks(d[0], n, in.prev, next)
	if !open && (!close || len(in.nodes) == 0) {
		return in.literal(d[:n])
	}
	in.hold(node{kind: delimNode, char: d[0], open: open, close: close, count: n, runs: n}, d[:n])
	if close && len(in.nodes) > 0 {
		in.resolve(len(in.nodes) - 1)
		in.release()
	}
	return n
}

// flanks reports whether a run of n times c between prev and next may open or close emphasis. The rules are those of
// CommonMark, but more lenient beside punctuation in scripts without spaces (**「箱」**です), and stricter where a formula
// or a name is likelier than emphasis (2*3, a*b).
func flanks(c byte, n int, prev, next rune) (open, close bool) {
	before, after := class(prev), class(next)
	left := after != blank && (after != punct || before != letter)
	right := before != blank && (before != punct || after != letter)
	inName := isAlnum(prev) && isAlnum(next)
	switch {
	case c == '~':
		return left && n == 2, right && n == 2
	case c == '_':
		return left && (!right || before == punct), right && (!left || after == punct)
	case n == 1 && inName, inName && unicode.IsDigit(prev) && unicode.IsDigit(next):
		return false, false
	}
	return left, right
}

type charClass uint8

const (
	letter charClass = iota
	blank
	punct
	wide // counts as a letter and as punctuation
)

func class(r rune) charClass {
	switch {
	case r < utf8.RuneSelf && isAlnum(r):
		return letter
	case unicode.IsSpace(r):
		return blank
	case r >= 0x2e80 && dense(r):
		return wide
	case unicode.IsPunct(r) || unicode.IsSymbol(r):
		return punct
	}
	return letter
}

// resolve matches the closing delimiters from node i on with what they close.
func (in *inline) resolve(i int) {
	for ; i < len(in.nodes); i++ {
		for n := &in.nodes[i]; n.kind == delimNode && n.close && n.count > 0; {
			o := in.opener(i)
			if o < 0 {
				break
			}
			in.match(o, i)
		}
	}
}

// opener finds the opening delimiter for the closing one at i. It stops at a bracket that may still become a link.
func (in *inline) opener(i int) int {
	c := &in.nodes[i]
	for k := i - 1; k >= 0; k-- {
		o := &in.nodes[k]
		if o.kind == openNode && o.open {
			return -1
		}
		if o.kind != delimNode || o.char != c.char || !o.waits() {
			continue
		}
		odd := (o.close || c.open) && (o.runs+c.runs)%3 == 0 && (o.runs%3 != 0 || c.runs%3 != 0)
		if !odd {
			return k
		}
	}
	return -1
}

// match applies the emphasis of delimiters o and c to the nodes between them.
func (in *inline) match(o, c int) {
	spent, look := 1, italic
	if in.nodes[o].count > 1 && in.nodes[c].count > 1 {
		spent, look = 2, bold
	}
	if in.nodes[o].char == '~' {
		look = strike
	}
	for k := o + 1; k < c; k++ {
		in.nodes[k].attr |= look
		in.nodes[k].open = false
	}
	in.nodes[o].count -= spent
	in.nodes[c].count -= spent
}
