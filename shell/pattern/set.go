package pattern

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// charset is what a bracket expression matches.
type charset struct {
	not     bool
	ascii   [2]uint64 // the answers for the first 128 characters, not yet negated
	ranges  [][2]rune
	classes []func(rune) bool
	fold    bool
}

func (c *charset) has(r rune) bool {
	if r >= 0 && r < utf8.RuneSelf {
		return (c.ascii[r>>6]>>(r&63)&1 != 0) != c.not
	}
	return c.holds(r) != c.not
}

// holds looks a character up in any of its cases.
func (c *charset) holds(r rune) bool {
	if c.plain(r) {
		return true
	}
	if c.fold {
		for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
			if c.plain(f) {
				return true
			}
		}
	}
	return false
}

func (c *charset) plain(r rune) bool {
	for _, x := range c.ranges {
		if r >= x[0] && r <= x[1] {
			return true
		}
	}
	for _, is := range c.classes {
		if is(r) {
			return true
		}
	}
	return false
}

// finish works the answers for ASCII out. A pattern can have very many sets of
// very few characters.
func (c *charset) finish() *charset {
	for _, x := range c.ranges {
		for r := x[0]; r <= x[1] && r < utf8.RuneSelf; r++ {
			c.ascii[r>>6] |= 1 << (r & 63)
		}
	}
	if !c.fold && c.classes == nil {
		return c
	}
	for r := range rune(utf8.RuneSelf) {
		if c.ascii[r>>6]>>(r&63)&1 == 0 && c.holds(r) {
			c.ascii[r>>6] |= 1 << (r & 63)
		}
	}
	return c
}

// setReader reads the bracket expressions of one pattern.
type setReader struct {
	src  string
	fold bool
	// open marks the places inside a bracket expression from which no end is
	// found. Without it a text of nothing but [ would be read to its end for
	// each of them.
	open []uint64
	path []int
}

// length returns how long the bracket expression at i is, or 0 if it is none.
func (r *setReader) length(i int) int {
	s := r.src
	at := r.begin(i)
	r.path = r.path[:0]
	for first := true; at < len(s) && !r.isOpen(at); first = false {
		if s[at] == ']' && !first {
			return at + 1 - i
		}
		if !first {
			r.path = append(r.path, at)
		}
		at += r.element(at, nil)
	}
	r.markOpen()
	return 0
}

func (r *setReader) isOpen(at int) bool { return r.open != nil && r.open[at>>6]>>(at&63)&1 != 0 }

func (r *setReader) markOpen() {
	if r.open == nil {
		r.open = make([]uint64, len(r.src)/64+1)
	}
	for _, at := range r.path {
		r.open[at>>6] |= 1 << (at & 63)
	}
}

// begin returns where the elements start.
func (r *setReader) begin(i int) int {
	if i+1 < len(r.src) && (r.src[i+1] == '!' || r.src[i+1] == '^') {
		return i + 2
	}
	return i + 1
}

// read returns the bracket expression at i, which has an end.
func (r *setReader) read(i int) *charset {
	c := &charset{fold: r.fold}
	at := r.begin(i)
	c.not = at == i+2
	for first := true; first || r.src[at] != ']'; first = false {
		at += r.element(at, c)
	}
	return c.finish()
}

// element reads a class, a character or a range, adds it to c unless that is
// nil, and returns how long it is.
func (r *setReader) element(at int, c *charset) int {
	s := r.src[at:]
	if is, n := class(s); n > 0 {
		if c != nil {
			c.classes = append(c.classes, is)
		}
		return n
	}
	lo, n := setChar(s)
	hi := lo
	if n+1 < len(s) && s[n] == '-' && s[n+1] != ']' {
		r, w := setChar(s[n+1:])
		hi, n = r, n+1+w
	}
	if c != nil && lo <= hi { // an empty range matches nothing
		c.ranges = append(c.ranges, [2]rune{lo, hi})
	}
	return n
}

func setChar(s string) (rune, int) {
	if s[0] == '\\' && len(s) > 1 {
		r, w := utf8.DecodeRuneInString(s[1:])
		return r, w + 1
	}
	return utf8.DecodeRuneInString(s)
}

// longestClass is the length of the longest name between [: and :].
const longestClass = len("xdigit")

// class reads [:name:] at the start of s.
func class(s string) (func(rune) bool, int) {
	if len(s) < 2 || s[0] != '[' || s[1] != ':' {
		return nil, 0
	}
	name, _, ok := strings.Cut(s[2:min(len(s), longestClass+4)], ":]")
	is, known := classes[name]
	if !ok || !known {
		return nil, 0
	}
	return is, len(name) + 4
}

var classes = map[string]func(rune) bool{
	"alnum": func(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) },
	"alpha": unicode.IsLetter,
	"digit": func(r rune) bool { return r >= '0' && r <= '9' },
	"lower": unicode.IsLower,
	"upper": unicode.IsUpper,
	"space": func(r rune) bool { return r == ' ' || r >= '\t' && r <= '\r' },
	"blank": func(r rune) bool { return r == ' ' || r == '\t' },
	"punct": func(r rune) bool { return r < utf8.RuneSelf && (unicode.IsPunct(r) || unicode.IsSymbol(r)) },
	"cntrl": func(r rune) bool { return r < ' ' || r == 0x7f },
	"print": func(r rune) bool { return r == ' ' || graphic(r) },
	"graph": graphic,
	"xdigit": func(r rune) bool {
		return r >= '0' && r <= '9' || r >= 'a' && r <= 'f' || r >= 'A' && r <= 'F'
	},
	"word": func(r rune) bool {
		return r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
	},
	"ascii": func(r rune) bool { return r < utf8.RuneSelf },
}

func graphic(r rune) bool {
	return r > ' ' && r < 0x7f || unicode.In(r, unicode.L, unicode.N, unicode.P, unicode.S)
}
