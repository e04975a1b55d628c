package awk

import (
	"slices"
	"strings"
)

// split compiles split(s, array [, separator [, separators]]).
func (c *compiler) split(e *builtinCall) numFn {
	s, arr := c.str(e.args[0]), c.arrayArg(e, 1)
	by := func(m *machine) *splitter { return m.fs }
	if len(e.args) > 2 {
		by = c.separator(e.args[2])
	}
	var seps func(*machine) *array
	if len(e.args) > 3 {
		seps = c.arrayArg(e, 3)
	}
	return func(m *machine) float64 {
		text := s(m)
		how := by(m)
		part := len(text) > shortText
		if !part { // one copy of it all is cheaper than one of every piece
			text = strings.Clone(text)
		}
		m.parts = m.split(m.parts[:0], text, how)
		m.fillArray(arr(m), m.parts, 1, part)
		if seps != nil {
			m.fillArray(seps(m), between(text, m.parts), 1, true)
		}
		return float64(m.trimParts())
	}
}

// shortText is the length up to which the pieces of a string may share it.
const shortText = 2 * shortString

// trimParts lets go of the pieces and returns how many there were.
func (m *machine) trimParts() int {
	n := len(m.parts)
	clear(m.parts)
	if n > 4096 {
		m.parts = nil
	}
	return n
}

// separator compiles the third argument of split.
func (c *compiler) separator(e expr) func(*machine) *splitter {
	if lit, ok := e.(*regexLit); ok {
		re := c.regexLit(lit)
		by := &splitter{kind: byRegex, re: re}
		if re.kind == literal && len(re.lit) == 1 {
			by = &splitter{kind: byChar, char: re.lit[0]}
		}
		return func(*machine) *splitter { return by }
	}
	s := c.str(e)
	var last string
	var by *splitter
	return func(m *machine) *splitter {
		if fs := s(m); by == nil || fs != last {
			last, by = fs, m.newSplitter(fs)
		}
		return by
	}
}

// between returns what stands between neighbouring parts of a string.
func between(s string, parts []string) []string {
	var seps []string
	end := 0
	for i, p := range parts {
		// Parts are pieces of s in order, so each is found at or after the end
		// of the one before, and the separator lies between.
		at := end
		if i > 0 {
			at = pieceAt(s, p, parts[i+1:], end)
			seps = append(seps, s[end:at])
		}
		end = at + len(p)
	}
	return seps
}

// pieceAt finds where piece begins in s at or after from. The pieces behind
// it tell by their absence when it must be the last.
func pieceAt(s, piece string, behind []string, from int) int {
	if len(behind) == 0 {
		return len(s) - len(piece)
	}
	for i := from + 1; i+len(piece) <= len(s); i++ {
		if s[i:i+len(piece)] == piece {
			return i
		}
	}
	return from
}

// fillArray replaces the elements of an array by the strings, numbered from first.
// The strings are copied if they are parts of a larger one.
func (m *machine) fillArray(a *array, list []string, first int, part bool) {
	m.empty(a)
	for i, s := range list {
		m.store(m.atNum(a, float64(i+first)), value{s: s, k: input, part: part})
		m.tick()
	}
}

// patsplit compiles patsplit(s, array [, pattern [, separators]]).
func (c *compiler) patsplit(e *builtinCall) numFn {
	s, arr := c.str(e.args[0]), c.arrayArg(e, 1)
	pattern := func(m *machine) *regex { return m.regex(m.str(&m.globals[vFPAT])) }
	if len(e.args) > 2 {
		pattern = c.regex(e.args[2])
	}
	var seps func(*machine) *array
	if len(e.args) > 3 {
		seps = c.arrayArg(e, 3)
	}
	return func(m *machine) float64 {
		text := s(m)
		var gaps []string
		parts := m.splitContent(nil, &gaps, text, m.cased(pattern(m)))
		m.fillArray(arr(m), parts, 1, true)
		if seps != nil {
			m.fillArray(seps(m), gaps, 0, true)
		}
		return float64(len(parts))
	}
}

// asort compiles asort(from [, to]) and asorti.
func (c *compiler) asort(e *builtinCall) numFn {
	c.effects++
	from := c.arrayArg(e, 0)
	to := from
	if len(e.args) > 1 {
		to = c.arrayArg(e, 1)
	}
	how := func(*machine) string { return "" }
	if len(e.args) > 2 {
		how = c.str(e.args[2])
	}
	indices := e.name == "asorti"
	return func(m *machine) float64 {
		vals := m.sorted(from(m), how(m), indices)
		a := to(m)
		m.empty(a)
		for i, v := range vals {
			m.store(m.atNum(a, float64(i+1)), v)
		}
		return float64(len(vals))
	}
}

// sorted returns the values of an array, or its subscripts, in order.
func (m *machine) sorted(a *array, how string, indices bool) []value {
	m.fits(a.len() * 64)
	if how == "" {
		how = "@val_type_asc"
		if indices {
			how = "@ind_str_asc"
		}
	}
	keys := m.keysBy(a, how)
	vals := make([]value, len(keys))
	for i, key := range keys {
		if indices {
			vals[i] = str(key)
		} else {
			vals[i] = *a.find(key)
		}
	}
	return slices.Clip(vals)
}
