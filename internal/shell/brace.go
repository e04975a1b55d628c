package shell

import (
	"iter"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// hasBrace reports whether a word may have brace expansions.
func hasBrace(w *syntax.Word) bool {
	for _, part := range w.Parts {
		if lit, ok := part.(*syntax.Lit); ok && strings.IndexByte(lit.Value, '{') >= 0 {
			return true
		}
	}
	return false
}

// atom is one character of a literal, an escaped character, or a whole part.
type atom struct {
	text string
	part syntax.WordPart // nil for text
}

func (a atom) is(c byte) bool { return a.part == nil && len(a.text) == 1 && a.text[0] == c }

func atoms(w *syntax.Word) []atom {
	var out []atom
	for _, part := range w.Parts {
		lit, ok := part.(*syntax.Lit)
		if !ok {
			out = append(out, atom{part: part})
			continue
		}
		for i := 0; i < len(lit.Value); i++ {
			n := 1
			if lit.Value[i] == '\\' && i+1 < len(lit.Value) {
				n = 2
			}
			out = append(out, atom{text: lit.Value[i : i+n]})
			i += n - 1
		}
	}
	return out
}

// braces yields the words that {a,b} and {1..3} stand for. They are made one
// at a time: {1..300000000} costs nothing until somebody keeps them.
func (p *proc) braces(w *syntax.Word) iter.Seq[*syntax.Word] {
	return func(yield func(*syntax.Word) bool) {
		n := 0
		spread(atoms(w), func(as []atom) bool {
			if n++; n&1023 == 0 {
				if err := p.ses.Gauge.Fits(int64(n) * 64); err != nil {
					p.bad = err
					return false
				}
				if !p.tick() {
					return false
				}
			}
			return yield(join(as))
		})
	}
}

// onlyRange reads a word that is one range and nothing else, as loops have it.
func onlyRange(w *syntax.Word) (func(func(string) bool) bool, bool) {
	as := atoms(w)
	if n := len(as); n >= 2 && as[0].is('{') && as[n-1].is('}') {
		return parseRange(as[1 : n-1])
	}
	return nil, false
}

// rangeFields appends the words of a range.
func (p *proc) rangeFields(out []string, seq func(func(string) bool) bool) []string {
	seq(func(s string) bool {
		out = append(out, s)
		if len(out)&1023 == 0 {
			if p.bad = p.ses.Gauge.Fits(int64(len(out)) * 48); p.bad != nil {
				return false
			}
			return p.tick()
		}
		return true
	})
	return out
}

// spread calls yield with every combination; it reports whether to go on.
func spread(as []atom, yield func([]atom) bool) bool {
	open, close, commas := findBrace(as)
	if open < 0 {
		return yield(as)
	}
	head, tail := as[:open], as[close+1:]
	each := func(alt []atom) bool {
		return spread(alt, func(mid []atom) bool {
			return spread(tail, func(rest []atom) bool {
				return yield(concat(head, mid, rest))
			})
		})
	}
	if len(commas) == 0 {
		seq, _ := parseRange(as[open+1 : close])
		return seq(func(s string) bool { return each(literalAtoms(s)) })
	}
	from := open + 1
	for _, c := range append(commas, close) {
		if !each(as[from:c]) {
			return false
		}
		from = c + 1
	}
	return true
}

func concat(parts ...[]atom) []atom {
	var out []atom
	for _, p := range parts {
		out = append(out, p...)
	}
	return out
}

func literalAtoms(s string) []atom {
	out := make([]atom, 0, len(s))
	for _, r := range s {
		t := string(r)
		if special[t[0]] || t == "}" || t == "," {
			t = `\` + t
		}
		out = append(out, atom{text: t})
	}
	return out
}

// group is an open brace while its end is looked for.
type group struct {
	open   int
	commas []int
}

// findBrace returns the first brace that expands: with a comma at its own
// level, or a range.
func findBrace(as []atom) (open, close int, commas []int) {
	open, close = -1, -1
	var stack []group
	for i, a := range as {
		switch {
		case a.is('{'):
			stack = append(stack, group{open: i})
		case len(stack) == 0:
		case a.is(','):
			top := &stack[len(stack)-1]
			top.commas = append(top.commas, i)
		case a.is('}'):
			g := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			_, ok := parseRange(as[g.open+1 : i])
			if (ok || len(g.commas) > 0) && (open < 0 || g.open < open) {
				open, close, commas = g.open, i, g.commas
			}
		}
	}
	return open, close, commas
}

// longestRange is the most characters a range can have; it keeps the search
// for ranges in a long word linear.
const longestRange = 64

// parseRange reads 1..5, 01..10..2 or a..e.
func parseRange(as []atom) (func(func(string) bool) bool, bool) {
	if len(as) > longestRange {
		return nil, false
	}
	var b strings.Builder
	for _, a := range as {
		if a.part != nil || len(a.text) > 1 {
			return nil, false
		}
		b.WriteString(a.text)
	}
	bits := strings.Split(b.String(), "..")
	if len(bits) != 2 && len(bits) != 3 {
		return nil, false
	}
	step := int64(0)
	if len(bits) == 3 {
		n, err := strconv.ParseInt(bits[2], 10, 64)
		if err != nil {
			return nil, false
		}
		step = max(n, -n)
	}
	lo, err1 := strconv.ParseInt(bits[0], 10, 64)
	hi, err2 := strconv.ParseInt(bits[1], 10, 64)
	if err1 == nil && err2 == nil {
		return numbers(lo, hi, step, width(bits[0], bits[1])), true
	}
	if len(bits[0]) == 1 && len(bits[1]) == 1 && isLetter(bits[0][0]) && isLetter(bits[1][0]) {
		return letters(bits[0][0], bits[1][0], step), true
	}
	return nil, false
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

// width is how many digits the numbers of a range are padded to.
func width(a, b string) int {
	padded := func(s string) bool {
		s = strings.TrimPrefix(s, "-")
		return len(s) > 1 && s[0] == '0'
	}
	if padded(a) || padded(b) {
		return max(len(a), len(b))
	}
	return 0
}

func numbers(lo, hi, step int64, width int) func(func(string) bool) bool {
	return func(yield func(string) bool) bool {
		step = max(step, 1)
		for n := lo; ; {
			if !yield(pad(n, width)) {
				return false
			}
			if lo <= hi && (n > hi-step || n+step < n) || lo > hi && (n < hi+step || n-step > n) {
				return true
			}
			if lo <= hi {
				n += step
			} else {
				n -= step
			}
		}
	}
}

func pad(n int64, width int) string {
	s := strconv.FormatInt(n, 10)
	if len(s) >= width {
		return s
	}
	zeros := strings.Repeat("0", width-len(s))
	if n < 0 {
		return "-" + zeros + s[1:]
	}
	return zeros + s
}

func letters(a, b byte, step int64) func(func(string) bool) bool {
	seq := numbers(int64(a), int64(b), step, 0)
	return func(yield func(string) bool) bool {
		return seq(func(s string) bool {
			n, _ := strconv.Atoi(s)
			return yield(string(rune(n)))
		})
	}
}

// join turns atoms back into a word.
func join(as []atom) *syntax.Word {
	w := &syntax.Word{}
	var b strings.Builder
	flush := func() {
		if b.Len() > 0 {
			w.Parts = append(w.Parts, &syntax.Lit{Value: b.String()})
			b.Reset()
		}
	}
	for _, a := range as {
		if a.part != nil {
			flush()
			w.Parts = append(w.Parts, a.part)
			continue
		}
		b.WriteString(a.text)
	}
	flush()
	return w
}
