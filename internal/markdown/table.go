package markdown

import (
	"bytes"
	"strings"
)

// A table is the table being parsed. Its rows are held until its end, because the last row may be the widest.
type table struct {
	candidate bool     // head may be the header of a table; the next line decides
	head      []byte   // that line
	row       []byte   // the line being read
	rows      [][]byte // of a table that is one; the first is its head
	aligns    []align
	size      int
}

type align uint8

const (
	alignLeft align = iota
	alignRight
	alignCenter
)

const (
	longestHead  = 4096     // bytes of a line that waits to be a table's head
	longestRow   = 64 << 10 // bytes of a row; the rest makes another
	longestTable = 256 << 10
	maxColumns   = 64 // the rest is text of the last
)

// rowLine begins a line that may belong to a table.
func (w *Writer) rowLine(l *line) {
	w.mode = inRow
	w.table.row = w.table.row[:0]
	inside := l.keep == len(w.stack) && len(l.fresh) == 0
	if w.table.candidate || inside && (w.leaf == tabular || w.leaf == paragraph) {
		return
	}
	w.begin(l, false)
}

// moreTable reports whether l may be the line after a table's head.
func (w *Writer) moreTable(l *line) bool {
	return l.kind == rowLine && l.keep == len(w.stack) && len(l.fresh) == 0
}

// readRow adds a piece of a row and returns how much it used. A row that is too long becomes text, or several rows.
func (w *Writer) readRow(d []byte, ended bool) int {
	t, limit := &w.table, longestHead
	if w.leaf == tabular {
		limit = longestRow
	}
	n := min(len(d), limit-len(t.row))
	t.row = append(t.row, d[:n]...)
	switch {
	case ended && n == len(d):
		w.mode = lineStart
		w.endRow()
		return n + 1
	case len(t.row) < limit:
	case w.leaf == tabular:
		w.endRow()
		t.row = t.row[:0]
	default:
		w.settle()
		w.toText(t.row)
		w.mode = inText
	}
	return n
}

// endRow decides what the line that was read is.
func (w *Writer) endRow() {
	t := &w.table
	if w.leaf == tabular {
		w.addRow(t.row)
		return
	}
	if t.candidate {
		if aligns := delimiters(t.row); aligns != nil {
			w.beginTable(aligns)
			return
		}
		w.settle()
	}
	t.candidate, t.head = true, append(t.head[:0], t.row...)
}

// settle renders a header without a table as text.
func (w *Writer) settle() {
	if w.table.candidate {
		w.table.candidate = false
		w.toText(w.table.head)
	}
}

// toText renders a whole line as part of a paragraph.
func (w *Writer) toText(s []byte) {
	if w.leaf == paragraph {
		w.inline.write([]byte("\n"))
	} else {
		w.leaf = paragraph
		w.inline.reset(noAttr, false)
	}
	w.inline.write(s)
}

func (w *Writer) beginTable(aligns []align) {
	t := &w.table
	t.candidate, t.aligns, t.rows, t.size = false, aligns, t.rows[:0], 0
	w.begin(&line{keep: len(w.stack)}, w.leaf == paragraph)
	w.leaf = tabular
	w.addRow(t.head)
}

func (w *Writer) addRow(s []byte) {
	t := &w.table
	t.rows = append(t.rows, bytes.Clone(s))
	if t.size += len(s) + 1; t.size > longestTable {
		w.endTable() // too large to hold; the rest is rendered as another table
	}
}

// delimiters parses the line below the header of a table; nil if it is none.
func delimiters(s []byte) []align {
	var all []align
	for _, cell := range cells(s) {
		cell := strings.TrimSpace(cell)
		bare := strings.TrimSuffix(strings.TrimPrefix(cell, ":"), ":")
		if bare == "" || strings.Trim(bare, "-") != "" {
			return nil
		}
		a := alignLeft
		if strings.HasSuffix(cell, ":") {
			a = alignRight
			if strings.HasPrefix(cell, ":") {
				a = alignCenter
			}
		}
		all = append(all, a)
	}
	return all
}

// cells splits a row at its bars.
func cells(s []byte) []string {
	s = bytes.TrimPrefix(bytes.TrimSpace(s), []byte("|"))
	var all []string
	var cell []byte
	open := false
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '\\' && i+1 < len(s) && s[i+1] == '|':
			i++
			cell = append(cell, '|')
		case s[i] == '|' && len(all) < maxColumns-1:
			all, cell, open = append(all, string(cell)), cell[:0], false
			continue
		default:
			cell = append(cell, s[i])
		}
		open = true
	}
	if open {
		all = append(all, string(cell))
	}
	return all
}

// endTable shows the rows.
func (w *Writer) endTable() {
	t := &w.table
	if len(t.rows) == 0 {
		return
	}
	g := newGrid(t.aligns, w.out.color, w.out.links)
	for _, row := range t.rows {
		g.add(cells(row))
	}
	g.fit(w.flow.limit, w.flow.room())
	for i := range g.rows {
		w.showRow(g, i)
	}
	t.rows, t.size = t.rows[:0], 0
}

// showRow shows row i of g, of which each cell may have several lines.
func (w *Writer) showRow(g *grid, i int) {
	for _, l := range g.lines(i) {
		w.flow.endLine()
		w.flow.verbatim(l, style{})
	}
	if i == 0 {
		w.flow.endLine()
		w.flow.verbatim(g.ruler(), style{attr: dim})
	}
}
