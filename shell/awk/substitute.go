package awk

import (
	"strings"
	"unicode/utf8"
)

// sub compiles sub and gsub.
func (c *compiler) sub(e *builtinCall) numFn {
	c.effects++
	pattern, with, all := c.regex(e.args[0]), c.str(e.args[1]), e.name == "gsub"
	target := expr(&fieldRef{&numLit{0}})
	if len(e.args) > 2 {
		target = e.args[2]
	}
	s := c.str(target)
	var set setFn
	switch target.(type) {
	case *varRef, *indexRef, *fieldRef:
		set = c.set(target)
	}
	return func(m *machine) float64 {
		re := m.cased(pattern(m))
		repl := with(m)
		result, n := m.substitute(re, repl, s(m), all)
		if n > 0 && set != nil {
			set(m, str(result))
		}
		return float64(n)
	}
}

// substitute replaces the first match, or all, and says how many there were.
func (m *machine) substitute(re *regex, repl, s string, all bool) (string, int) {
	simple := strings.IndexByte(repl, '&') < 0 && strings.IndexByte(repl, '\\') < 0
	if re.kind == literal && re.lit != "" && simple {
		return m.replaceText(s, re.lit, repl, all)
	}
	b := m.bytes(s)
	out, end, count := m.buf[:0], 0, 0
	for from := 0; from <= len(b); {
		loc := re.find(b, from, m.loc)
		if loc == nil {
			break
		}
		m.loc = loc
		m.tick()
		if loc[0] == loc[1] && loc[0] == end && count > 0 { // empty, right behind a match
			from = nextChar(b, from)
			continue
		}
		count++
		out = m.extend(out, s[end:loc[0]])
		out = m.replacement(out, repl, s[loc[0]:loc[1]], simple)
		end = loc[1]
		if !all {
			break
		}
		from = loc[1]
		if loc[0] == loc[1] {
			from = nextChar(b, from)
		}
	}
	if count == 0 {
		return s, 0
	}
	out = m.extend(out, s[end:])
	m.buf = out
	result := string(out)
	m.trim()
	return result, count
}

// nextChar returns the place behind the character at i.
func nextChar(b []byte, i int) int {
	if i >= len(b) {
		return i + 1
	}
	_, n := utf8.DecodeRune(b[i:])
	return i + n
}

// extend appends to a buffer that the limits must have room for.
func (m *machine) extend(b []byte, s string) []byte {
	if len(b)+len(s) > cap(b) {
		m.fits(2 * (len(b) + len(s)))
	}
	return append(b, s...)
}

// replaceText is substitute where both sides are plain text.
func (m *machine) replaceText(s, old, repl string, all bool) (string, int) {
	n := 1
	if all {
		n = strings.Count(s, old)
	} else if !strings.Contains(s, old) {
		n = 0
	}
	if n == 0 {
		return s, 0
	}
	m.fits(len(s) + n*len(repl))
	return strings.Replace(s, old, repl, n), n
}

// replacement appends what a match is replaced by: & is the match, \& an
// ampersand, \\& a backslash and the match.
func (m *machine) replacement(out []byte, repl, match string, simple bool) []byte {
	if simple {
		return m.extend(out, repl)
	}
	for i := 0; i < len(repl); i++ {
		rest := repl[i:]
		switch {
		case strings.HasPrefix(rest, `\\&`):
			out = m.extend(append(out, '\\'), match)
			i += 2
		case strings.HasPrefix(rest, `\&`):
			out = append(out, '&')
			i++
		case rest[0] == '&':
			out = m.extend(out, match)
		default:
			out = append(out, rest[0])
		}
	}
	return out
}

// gensub compiles gensub(pattern, replacement, which [, s]).
func (c *compiler) gensub(e *builtinCall) strFn {
	pattern, with, how := c.regex(e.args[0]), c.str(e.args[1]), c.val(e.args[2])
	target := expr(&fieldRef{&numLit{0}})
	if len(e.args) > 3 {
		target = e.args[3]
	}
	s := c.str(target)
	return func(m *machine) string {
		re := m.cased(pattern(m))
		repl := with(m)
		h := how(m)
		which := 0 // all of them
		if word := m.str(&h); word == "" || word[0]|32 != 'g' {
			which = max(1, whole(h.num()))
		}
		return m.gensub(re, repl, s(m), which)
	}
}

// gensub replaces match number which, or all if that is 0.
func (m *machine) gensub(re *regex, repl, s string, which int) string {
	b := m.bytes(s)
	out, end, count := m.buf[:0], 0, 0
	for from := 0; from <= len(b); {
		loc := re.find(b, from, m.loc)
		if loc == nil {
			break
		}
		m.loc = loc
		m.tick()
		if loc[0] == loc[1] && loc[0] == end && count > 0 {
			from = nextChar(b, from)
			continue
		}
		count++
		if which == 0 || which == count {
			out = m.extend(out, s[end:loc[0]])
			out = m.groups(out, repl, s, loc)
			end = loc[1]
		}
		if which == count {
			break
		}
		from = loc[1]
		if loc[0] == loc[1] {
			from = nextChar(b, from)
		}
	}
	if count == 0 {
		return s
	}
	out = m.extend(out, s[end:])
	m.buf = out
	result := string(out)
	m.trim()
	return result
}

// groups appends a replacement in which \1 to \9 are groups of the match, \0
// and & all of it.
func (m *machine) groups(out []byte, repl, s string, loc []int) []byte {
	for i := 0; i < len(repl); i++ {
		c := repl[i]
		group := -1
		switch {
		case c == '&':
			group = 0
		case c == '\\' && i+1 < len(repl):
			i++
			c = repl[i]
			if isDigit(c) {
				group = int(c - '0')
			} else if c != '&' && c != '\\' {
				out = append(out, '\\')
			}
		}
		switch {
		case group < 0:
			out = append(out, c)
		case 2*group+1 < len(loc) && loc[2*group] >= 0:
			out = m.extend(out, s[loc[2*group]:loc[2*group+1]])
		}
	}
	return out
}
