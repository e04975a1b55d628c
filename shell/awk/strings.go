package awk

import (
	"math"
	"strings"
	"unicode/utf8"
)

// charIndex remembers where the characters of the last long string are, so
// that walking through it with substr is not quadratic.
type charIndex struct {
	s       string
	ascii   bool
	offsets []int32 // of every 64th character; nil for ASCII
	n       int     // how many characters there are
}

// stride is the distance between two offsets that are remembered.
const stride = 64

// count returns how many characters s has.
func (x *charIndex) count(m *machine, s string) int {
	if len(s) < stride {
		return utf8.RuneCountInString(s)
	}
	x.learn(m, s)
	return x.n
}

// learn makes x about s. Comparing costs nothing if it is the same string.
func (x *charIndex) learn(m *machine, s string) {
	if len(s) == len(x.s) && s == x.s {
		return
	}
	m.spend(2 * len(s))
	x.n = utf8.RuneCountInString(s)
	x.s, x.ascii, x.offsets = s, x.n == len(s), x.offsets[:0]
	if x.ascii {
		x.ascii = utf8.ValidString(s)
	}
	if x.ascii {
		return
	}
	m.fits(len(s) / 8)
	n := 0
	for i := range s {
		if n%stride == 0 {
			x.offsets = append(x.offsets, int32(i))
		}
		n++
	}
}

// offset returns where character n of s begins, counted from 0.
func (x *charIndex) offset(m *machine, s string, n int) int {
	if n <= 0 {
		return 0
	}
	if len(s) < stride {
		return charOffset(s, n)
	}
	x.learn(m, s)
	switch {
	case n >= x.n:
		return len(s)
	case x.ascii:
		return n
	}
	from := int(x.offsets[n/stride])
	return from + charOffset(s[from:], n%stride)
}

// substr compiles the function of that name.
func (c *compiler) substr(e *builtinCall) valFn {
	s, start := c.str(e.args[0]), c.num(e.args[1])
	size := func(*machine) float64 { return math.Inf(1) }
	if len(e.args) > 2 {
		size = c.num(e.args[2])
	}
	return func(m *machine) value {
		text := s(m)
		from := max(1, math.Trunc(start(m)))
		to := from + math.Trunc(size(m)) // the character behind the last
		if math.IsNaN(to) || from > float64(len(text)) || to <= from {
			return str("")
		}
		i := m.chars.offset(m, text, int(from)-1)
		j := len(text)
		if to <= float64(len(text)) {
			j = m.chars.offset(m, text, int(to)-1)
		}
		if i >= j {
			return str("")
		}
		v := str(text[i:j])
		v.part = true
		return v
	}
}

// index returns the place of t in s in characters, or 0.
func (m *machine) index(s, t string) float64 {
	m.spend(2 * len(s))
	if m.ignoreCase {
		s, t = strings.ToLower(s), strings.ToLower(t)
	}
	i := strings.Index(s, t)
	if i < 0 {
		return 0
	}
	return float64(utf8.RuneCountInString(s[:i]) + 1)
}

// matchCall compiles match(s, r [, array]).
func (c *compiler) matchCall(e *builtinCall) numFn {
	s, pattern := c.str(e.args[0]), c.regex(e.args[1])
	var arr func(*machine) *array
	if len(e.args) > 2 {
		arr = c.arrayArg(e, 2)
	}
	return func(m *machine) float64 {
		text := s(m)
		re := m.cased(pattern(m))
		loc := re.find(m.bytes(text), 0, m.loc)
		start, size := 0.0, -1.0
		if loc != nil {
			m.loc = loc
			start = float64(utf8.RuneCountInString(text[:loc[0]]) + 1)
			size = float64(utf8.RuneCountInString(text[loc[0]:loc[1]]))
		}
		m.globals[vRSTART], m.globals[vRLENGTH] = num(start), num(size)
		if arr != nil {
			m.captures(arr(m), text, loc)
		}
		return start
	}
}

// captures stores the groups of a match with their places and lengths.
func (m *machine) captures(a *array, s string, loc []int) {
	m.empty(a)
	for i := 0; i+1 < len(loc); i += 2 {
		from, to := loc[i], loc[i+1]
		if m.tick(); from < 0 {
			continue
		}
		m.spend(to)
		key := m.numString(float64(i/2), "")
		m.setElement(a, key, value{s: s[from:to], k: input, part: true})
		m.setElement(a, key+m.subsep+"start", num(float64(utf8.RuneCountInString(s[:from])+1)))
		m.setElement(a, key+m.subsep+"length", num(float64(utf8.RuneCountInString(s[from:to]))))
	}
}

// arrayArg compiles an argument that must be an array.
func (c *compiler) arrayArg(e *builtinCall, i int) func(*machine) *array {
	v, ok := e.args[i].(*varRef)
	if !ok || !v.sym.array {
		panic(&fatal{e.line, e.name + ": an argument is not an array"})
	}
	return c.array(v)
}
