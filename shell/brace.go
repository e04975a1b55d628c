package shell

import (
	"iter"
	"slices"
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

// maxBraces bounds the braces of one word: expansion calls itself for each.
const maxBraces = 5000

// braces yields the words that {a,b} and {1..3} stand for. Whether they all
// fit is asked before the first is made.
func (p *proc) braces(w *syntax.Word) iter.Seq[*syntax.Word] {
	return func(yield func(*syntax.Word) bool) {
		as := atoms(w)
		opens := 0
		for _, a := range as {
			if a.is('{') {
				opens++
			}
		}
		if opens > maxBraces {
			p.fail("brace expansion: more than %d braces in one word", maxBraces)
			return
		}
		b := bracing{p: p}
		if p.bad = p.roomFor(b.count(as)); p.bad == nil {
			b.spread(as, func(as []atom) bool { return yield(join(as)) })
		}
	}
}

// roomFor asks whether so many words could be kept.
func (p *proc) roomFor(words float64) error {
	return p.ses.Limiter.Fits(int64(min(words, 1<<50)) * 48)
}

// onlyRange reads a word that is one range and nothing else, as loops have it.
func onlyRange(w *syntax.Word) (sequence, bool) {
	as := atoms(w)
	if n := len(as); n >= 2 && as[0].is('{') && as[n-1].is('}') {
		return parseRange(as[1 : n-1])
	}
	return sequence{}, false
}

// rangeFields appends the words of a range.
func (p *proc) rangeFields(out []string, seq sequence) []string {
	if p.bad = p.roomFor(seq.count()); p.bad != nil {
		return nil
	}
	seq.each(func(s string) bool {
		out = append(out, s)
		return len(out)&1023 != 0 || p.tick()
	})
	return out
}

// bracing is one expansion on its way.
type bracing struct {
	p    *proc
	work int
}

// goOn charges n steps and reports whether the script may still go on.
func (b *bracing) goOn(n int) bool {
	b.work += n
	if b.work < 1<<16 {
		return true
	}
	b.work = 0
	return b.p.tick()
}

// count returns how many words there will be.
func (b *bracing) count(as []atom) float64 {
	n := 1.0
	for b.goOn(len(as)) {
		open, close, commas := findBrace(as)
		if open < 0 {
			break
		}
		if len(commas) == 0 {
			seq, _ := parseRange(as[open+1 : close])
			n *= seq.count()
		} else {
			sum, from := 0.0, open+1
			for _, c := range append(commas, close) {
				sum += b.count(as[from:c])
				from = c + 1
			}
			n *= sum
		}
		as = as[close+1:]
	}
	return n
}

// spread calls yield with every combination; it reports whether to go on.
func (b *bracing) spread(as []atom, yield func([]atom) bool) bool {
	open, close, commas := findBrace(as)
	if !b.goOn(len(as)) {
		return false
	}
	if open < 0 {
		return yield(as)
	}
	head, tail := as[:open], as[close+1:]
	each := func(alt []atom) bool {
		return b.spread(alt, func(mid []atom) bool {
			return b.spread(tail, func(rest []atom) bool {
				return b.goOn(len(head)+len(mid)+len(rest)) && yield(slices.Concat(head, mid, rest))
			})
		})
	}
	if len(commas) == 0 {
		seq, _ := parseRange(as[open+1 : close])
		return seq.each(func(s string) bool { return each(literalAtoms(s)) })
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
func parseRange(as []atom) (sequence, bool) {
	if len(as) > longestRange {
		return sequence{}, false
	}
	var b strings.Builder
	for _, a := range as {
		if a.part != nil || len(a.text) > 1 {
			return sequence{}, false
		}
		b.WriteString(a.text)
	}
	bits := strings.Split(b.String(), "..")
	if len(bits) != 2 && len(bits) != 3 {
		return sequence{}, false
	}
	step := uint64(1)
	if len(bits) == 3 {
		n, err := strconv.ParseInt(bits[2], 10, 64)
		if err != nil {
			return sequence{}, false
		}
		step = max(uint64(max(n, -n)), 1)
	}
	lo, err1 := strconv.ParseInt(bits[0], 10, 64)
	hi, err2 := strconv.ParseInt(bits[1], 10, 64)
	if err1 == nil && err2 == nil {
		return sequence{lo: lo, hi: hi, step: step, width: width(bits[0], bits[1])}, true
	}
	if len(bits[0]) == 1 && len(bits[1]) == 1 && isLetter(bits[0][0]) && isLetter(bits[1][0]) {
		return sequence{lo: int64(bits[0][0]), hi: int64(bits[1][0]), step: step, letters: true}, true
	}
	return sequence{}, false
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

// A sequence is what stands between the braces of a range.
type sequence struct {
	lo, hi  int64
	step    uint64
	width   int // digits to pad to
	letters bool
}

// distance is how far the range reaches, upwards or downwards.
func (s sequence) distance() uint64 {
	if s.lo <= s.hi {
		return uint64(s.hi) - uint64(s.lo)
	}
	return uint64(s.lo) - uint64(s.hi)
}

func (s sequence) count() float64 { return float64(s.distance()/s.step) + 1 }

// each yields the elements; it reports whether to go on.
func (s sequence) each(yield func(string) bool) bool {
	left, step := s.distance(), int64(s.step)
	if s.lo > s.hi {
		step = -step
	}
	for n := s.lo; ; n += step {
		if !yield(s.spell(n)) {
			return false
		}
		if left < s.step {
			return true
		}
		left -= s.step
	}
}

func (s sequence) spell(n int64) string {
	if s.letters {
		return string(rune(n))
	}
	return pad(n, s.width)
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
	for i := 0; i < len(as); i++ {
		a := as[i]
		if a.part == nil {
			b.WriteString(a.text)
			continue
		}
		flush()
		part, n := lengthen(a.part, as[i+1:])
		w.Parts = append(w.Parts, part)
		i += n
	}
	flush()
	return w
}

// lengthen gives $x the letters that now follow it, as bash expands braces in
// the text before it reads names: $x{1,2} is $x1 $x2.
func lengthen(part syntax.WordPart, rest []atom) (syntax.WordPart, int) {
	pe, ok := part.(*syntax.ParamExp)
	if !ok || !pe.Short || pe.Index != nil || !isName(pe.Param.Value) {
		return part, 0
	}
	name, n := pe.Param.Value, 0
	for n < len(rest) && rest[n].part == nil && isName("_"+rest[n].text) {
		name += rest[n].text
		n++
	}
	if n == 0 {
		return part, 0
	}
	longer := *pe
	longer.Param = &syntax.Lit{Value: name}
	return &longer, n
}
