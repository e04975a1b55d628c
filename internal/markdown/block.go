package markdown

import (
	"fmt"
	"strings"
)

// leaf is the open leaf block.
type leaf uint8

const (
	none leaf = iota
	paragraph
	heading
	fenced
	indented
	tabular
)

// A fence is the opening fence of the current code.
type fence struct {
	char          byte
	count, indent int
}

// A container is a block quote or a list item around other blocks.
type container struct {
	quote  bool
	indent int  // of an item's text, in columns from where its parent's begins
	mark   int  // of its marker
	kind   byte // of its marker
	number int
	task   byte // the mark in its box; zero means that it has none
}

// maxDepth is how many containers may nest; more are text.
const maxDepth = 24

// A line is the parsed beginning of a source line.
type line struct {
	keep   int // containers that go on
	fresh  []container
	kind   lineKind
	length int    // bytes understood
	pad    int    // blanks of a tab that belong to the text
	count  int    // of a heading, a fence, an underline
	char   byte   // of a fence, an underline
	indent int    // of a fence
	info   string // of a fence
}

type lineKind uint8

const (
	textLine lineKind = iota
	blankLine
	headingLine
	fenceLine
	endFenceLine
	codeLine
	indentedLine
	ruleLine
	underLine
	rowLine
)

// startLine parses the beginning of a line, up to its text.
func (w *Writer) startLine(d []byte, end bool) (int, bool) {
	c := cursor{d: d, end: end}
	l := line{fresh: w.fresh[:0]}
	for l.keep < len(w.stack) && w.goesOn(&c, &w.stack[l.keep]) {
		l.keep++
	}
	if w.leaf == fenced && l.keep == len(w.stack) {
		w.codeLine(&c, &l)
	} else {
		w.openings(&c, &l)
		w.classify(&c, &l)
	}
	w.fresh = l.fresh
	if c.short {
		return 0, false
	}
	l.length, l.pad = c.i, c.pad
	w.apply(&l)
	return l.length, true
}

// goesOn consumes the prefix that continues ct, and reports whether it is there.
func (w *Writer) goesOn(c *cursor, ct *container) bool {
	n, next := c.indent()
	switch {
	case ct.quote:
		if n > 3 || next != '>' {
			return false
		}
		c.skip(n)
		c.quote()
		return true
	case next == '\n':
		return true
	case n >= ct.indent:
		c.skip(ct.indent)
		return true
	case w.leaf == fenced: // code in an item is often not indented with it
		c.skip(n)
		return true
	}
	return n >= ct.mark+2 && nests(c, n)
}

// nests reports whether a list item follows n columns on, and moves there: many models indent an inner list by two,
// even below "1. ", which requires three.
func nests(c *cursor, n int) bool {
	ahead := *c
	ahead.skip(n)
	_, length, _ := ahead.marker()
	c.short = c.short || ahead.short
	if length == 0 {
		return false
	}
	*c = ahead
	return true
}

// openings parses the containers that the line opens.
func (w *Writer) openings(c *cursor, l *line) {
	for l.keep+len(l.fresh) < maxDepth {
		n, next := c.indent()
		if n > 3 {
			return
		}
		if next == '>' {
			c.skip(n)
			c.quote()
			l.fresh = append(l.fresh, container{quote: true})
			continue
		}
		ahead := *c
		ct, ok := w.item(&ahead, l, n)
		c.short = c.short || ahead.short
		if !ok {
			return
		}
		*c = ahead
		l.fresh = append(l.fresh, ct)
	}
}

// item parses the marker of a list item, n columns on.
func (w *Writer) item(c *cursor, l *line, n int) (container, bool) {
	c.skip(n)
	kind, length, number := c.marker()
	if length == 0 || c.rule() {
		return container{}, false
	}
	c.eat(length)
	blanks, next := c.indent()
	if w.interrupts(l) && (next == '\n' || length > 1 && number != 1) {
		return container{}, false // a number at the beginning of a line of prose
	}
	ct := container{mark: n, kind: kind, number: number}
	if next == '\n' || blanks > 4 {
		blanks = 1
	}
	ct.indent = n + length + blanks
	c.skip(blanks)
	if next == '[' {
		if ct.task = c.task(); ct.task != 0 {
			c.eat(3)
		}
	}
	return ct, true
}

// interrupts reports whether the line could continue the open paragraph.
func (w *Writer) interrupts(l *line) bool {
	return w.inParagraph() && l.keep == len(w.stack) && len(l.fresh) == 0
}

// inParagraph reports whether a paragraph is open, or what may become one.
func (w *Writer) inParagraph() bool { return w.leaf == paragraph || w.table.candidate }

// classify determines the kind of the line inside its containers.
func (w *Writer) classify(c *cursor, l *line) {
	n, next := c.indent()
	switch {
	case next == '\n':
		l.kind = blankLine
		c.toNextLine()
		return
	case n > 3 && (!w.inParagraph() || len(l.fresh) > 0):
		l.kind = indentedLine
		c.skip(4)
		return
	}
	c.skip(n)
	l.indent = n
	if n < 4 {
		w.markedLine(c, l, next)
	}
}

func (w *Writer) markedLine(c *cursor, l *line, first byte) {
	switch first {
	case '#':
		c.heading(l)
	case '`', '~':
		c.fence(l)
	case '|':
		if w.leaf != paragraph || l.keep == len(w.stack) {
			l.kind = rowLine
		}
	case '=', '-', '*', '_':
		if n := c.run(); first <= '=' && first != '*' && n > 1 && w.interrupts(l) && c.onlyBlanks(n) {
			l.kind, l.count, l.char = underLine, n, first
			c.toNextLine()
		} else if c.rule() {
			l.kind = ruleLine
			c.toNextLine()
		}
	}
}

// codeLine is classify inside a fence.
func (w *Writer) codeLine(c *cursor, l *line) {
	n, next := c.indent()
	if next == w.fence.char && n <= 3+w.fence.indent {
		ahead := *c
		ahead.skip(n)
		run := ahead.run()
		if run >= w.fence.count && ahead.onlyBlanks(run) {
			l.kind = endFenceLine
			*c = ahead
			c.toNextLine()
			return
		}
		c.short = c.short || ahead.short
	}
	c.skip(min(n, w.fence.indent))
	l.kind = codeLine
}

// toNextLine moves behind the line.
func (c *cursor) toNextLine() {
	for c.peek(0) != '\n' {
		c.i++
	}
	c.i++
	c.pad = 0
}

func (c *cursor) heading(l *line) {
	n := c.run()
	if b := c.peek(n); n > 6 || b != ' ' && b != '\t' && b != '\n' {
		return
	}
	c.eat(n)
	blanks, _ := c.indent()
	c.skip(blanks)
	l.kind, l.count = headingLine, n
}

// fence parses the opening line of fenced code. With a backquote in its info string it is text with a code span.
func (c *cursor) fence(l *line) {
	n, char := c.run(), c.peek(0)
	if n < 3 {
		return
	}
	k := n
	for c.peek(k) != '\n' {
		if k++; k > maxLookahead || char == '`' && c.peek(k) == '`' {
			return
		}
	}
	if c.short {
		return
	}
	info, _, _ := strings.Cut(strings.TrimSpace(string(c.d[c.i+n:c.i+k])), " ")
	l.kind, l.count, l.char, l.info = fenceLine, n, char, info
	c.toNextLine()
}

// margin returns the margin of a container. above are those around it.
func (ct *container) margin(above []container) margin {
	if ct.quote {
		return margin{first: "│ ", rest: "│ ", columns: 2, attr: dim}
	}
	bullets := 0
	for i := range above {
		if b := above[i].kind; !above[i].quote && b != '.' && b != ')' {
			bullets++
		}
	}
	mark, cols := [...]string{"• ", "◦ ", "▪ "}[bullets%3], 2
	box := map[byte]string{' ': "☐ ", 'x': "☑ "}[ct.task]
	if ct.kind == '.' || ct.kind == ')' {
		mark = fmt.Sprintf("%d%c ", ct.number, ct.kind)
		cols = len(mark)
		if box != "" {
			mark, cols = mark+box, cols+2
		}
	} else if box != "" {
		mark = box
	}
	return margin{first: mark, rest: strings.Repeat(" ", cols), columns: cols}
}
