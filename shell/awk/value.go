package awk

import (
	"math"
	"strings"
)

// A kind says how a value came about, which decides how it compares.
type kind uint8

const (
	unset  kind = iota // "" and 0 at once
	number             // computed
	text               // computed
	input              // came from outside and may look like a number; not examined yet
	strnum             // came from outside and looks like the number n
)

// A value is what a variable, a field or an element holds.
type value struct {
	s string
	n float64
	k kind
	// part marks a string that is a piece of a larger one, such as a field of
	// the block that was read. It is copied before it is kept, so that a few
	// kept bytes do not hold on to the whole block.
	part bool
}

func num(n float64) value { return value{n: n, k: number} }
func str(s string) value  { return value{s: s, k: text} }

// fromOutside makes a value of something the user or a file supplied.
func fromOutside(s string) value { return value{s: s, k: input} }

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// num returns the value as a number.
func (v *value) num() float64 {
	switch v.k {
	case number, strnum:
		return v.n
	case unset:
		return 0
	}
	return toNumber(v.s)
}

// examine decides whether something from outside looks like a number.
func (v *value) examine() {
	if v.k != input {
		return
	}
	if n, ok := looksNumeric(v.s); ok {
		v.k, v.n = strnum, n
	} else {
		v.k = text
	}
}

// bool returns the value as a condition.
func (v *value) bool() bool {
	v.examine()
	switch v.k {
	case number, strnum:
		return v.n != 0
	case unset:
		return false
	}
	return v.s != ""
}

// str returns the value as a string, numbers by way of CONVFMT.
func (m *machine) str(v *value) string {
	if v.k != number {
		m.spend(len(v.s))
		return v.s
	}
	return m.numString(v.n, m.convfmt)
}

// numString writes a number the way the language does: whole numbers as such,
// others by the given format.
func (m *machine) numString(n float64, format string) string {
	return string(m.appendNum(m.digits[:0], n, format))
}

// order compares two values: as numbers if both are or look like ones, else as text.
func (m *machine) order(a, b *value) int {
	m.spend(len(a.s) + len(b.s))
	a.examine()
	b.examine()
	if a.k != text && b.k != text {
		return orderNums(a.num(), b.num())
	}
	return m.orderText(m.str(a), m.str(b))
}

// orderText compares strings as IGNORECASE wants it.
func (m *machine) orderText(a, b string) int {
	if m.ignoreCase {
		a, b = strings.ToLower(a), strings.ToLower(b)
	}
	return orderStrings(a, b)
}

func orderNums(x, y float64) int {
	switch {
	case x < y:
		return -1
	case x > y:
		return 1
	case x == y:
		return 0
	case math.IsNaN(x) && !math.IsNaN(y):
		return 1
	case math.IsNaN(x):
		return 0
	}
	return -1
}

func orderStrings(a, b string) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// compares reports whether an order satisfies a comparison operator.
func compares(op token, order int) bool {
	switch op {
	case tLt:
		return order < 0
	case tLe:
		return order <= 0
	case tEq:
		return order == 0
	case tNe:
		return order != 0
	case tGt:
		return order > 0
	}
	return order >= 0
}
