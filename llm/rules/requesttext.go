package rules

import (
	"strings"
	"unicode/utf8"
)

// An atom is what a mark replaces.
type atom struct {
	text string  // as it is meant: without the quotes
	num  float64 // of a number

	value *mention // that the table has; nil means none
}

// A requestText is a request while it is being parsed. Rules consume parts of it; the rest is not understood.
type requestText struct {
	src   string
	cells []cell
	atoms []atom
}

func newRequestText(request string) *requestText {
	return &requestText{src: request, cells: foldText(request)}
}

// view returns the cells as a string, with the index of the cell of each byte.
func (l *requestText) view() (s string, index []int) {
	var b strings.Builder
	for i, c := range l.cells {
		for range utf8.RuneLen(c.r) {
			index = append(index, i)
		}
		b.WriteRune(c.r)
	}
	return b.String(), append(index, len(l.cells))
}

// original returns what the user wrote in some cells.
func (l *requestText) original(from, to int) string {
	if from >= to {
		return ""
	}
	return l.src[l.cells[from].from:l.cells[to-1].to]
}

// meant returns the text of some cells: that of the atom if it is one, else what the user wrote.
func (l *requestText) meant(from, to int) string {
	if to == from+1 && isAtom(l.cells[from].r) {
		return l.atoms[l.cells[from].atom].text
	}
	return strings.TrimSpace(l.original(from, to))
}

// spelled returns some cells as the rules see them.
func (l *requestText) spelled(from, to int) string {
	var b strings.Builder
	for _, c := range l.cells[from:to] {
		b.WriteRune(c.r)
	}
	return b.String()
}

// folded is the same without spaces around it.
func (l *requestText) folded(from, to int) string { return strings.TrimSpace(l.spelled(from, to)) }

func isAtom(r rune) bool { return r >= quoteMark && r <= pathMark }

// mark replaces some cells by a mark.
func (l *requestText) mark(r rune, from, to int, a atom) {
	c := cell{r: r, from: l.cells[from].from, to: l.cells[to-1].to, atom: len(l.atoms)}
	l.atoms = append(l.atoms, a)
	l.splice(from, to, c)
}

// consume replaces some cells by a hole.
func (l *requestText) consume(from, to int) {
	if from < to {
		l.splice(from, to, cell{r: hole, from: l.cells[from].from, to: l.cells[to-1].to})
	}
}

func (l *requestText) splice(from, to int, c cell) {
	rest := l.cells[to:]
	l.cells = append(append(l.cells[:from:from], c), rest...)
}

// at returns the character at i; a space beyond the ends.
func (l *requestText) at(i int) rune {
	if i < 0 || i >= len(l.cells) {
		return ' '
	}
	return l.cells[i].r
}
