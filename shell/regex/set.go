package regex

import (
	"slices"
	"unicode"
	"unicode/utf8"
)

// A byte that is not part of a valid UTF-8 sequence is treated as a character
// of its own above the last rune, so that patterns can match it and no input
// is ever refused.
const (
	rawByte = utf8.MaxRune + 1
	maxChar = rawByte + 0xff
)

// decode returns the character of b at i, and its width.
func decode(b []byte, i int) (rune, int) {
	if c := b[i]; c < utf8.RuneSelf {
		return rune(c), 1
	}
	r, w := utf8.DecodeRune(b[i:])
	if r == utf8.RuneError && w == 1 {
		return rawByte + rune(b[i]), 1
	}
	return r, w
}

// decodeLast returns the character that ends b.
func decodeLast(b []byte) rune {
	if c := b[len(b)-1]; c < utf8.RuneSelf {
		return rune(c)
	}
	r, w := utf8.DecodeLastRune(b)
	if r == utf8.RuneError && w == 1 {
		return rawByte + rune(b[len(b)-1])
	}
	return r
}

// appendChar is the inverse of decode.
func appendChar(b []byte, r rune) []byte {
	if r >= rawByte {
		return append(b, byte(r-rawByte))
	}
	return utf8.AppendRune(b, r)
}

// A set is a set of characters: sorted pairs of first and last, and a bitmap
// of the ASCII part.
type set struct {
	pairs []rune
	ascii [2]uint64
}

// newSet puts the pairs in order and joins those that touch.
func newSet(pairs []rune) *set {
	type span struct{ lo, hi rune }
	spans := make([]span, 0, len(pairs)/2)
	for i := 0; i < len(pairs); i += 2 {
		spans = append(spans, span{pairs[i], pairs[i+1]})
	}
	slices.SortFunc(spans, func(a, b span) int { return int(a.lo) - int(b.lo) })
	s := &set{}
	for _, p := range spans {
		if n := len(s.pairs); n > 0 && p.lo <= s.pairs[n-1]+1 {
			s.pairs[n-1] = max(s.pairs[n-1], p.hi)
			continue
		}
		s.pairs = append(s.pairs, p.lo, p.hi)
	}
	s.index()
	return s
}

func (s *set) index() {
	for i := 0; i < len(s.pairs); i += 2 {
		for r := s.pairs[i]; r <= s.pairs[i+1] && r < utf8.RuneSelf; r++ {
			s.ascii[r>>6] |= 1 << (r & 63)
		}
	}
}

// negate returns the complement.
func (s *set) negate() *set {
	var out []rune
	next := rune(0)
	for i := 0; i < len(s.pairs); i += 2 {
		if s.pairs[i] > next {
			out = append(out, next, s.pairs[i]-1)
		}
		next = s.pairs[i+1] + 1
	}
	if next <= maxChar {
		out = append(out, next, maxChar)
	}
	return newSet(out)
}

func (s *set) has(r rune) bool {
	if uint32(r) < utf8.RuneSelf {
		return s.ascii[r>>6]>>(r&63)&1 != 0
	}
	lo, hi := 0, len(s.pairs)/2
	for lo < hi {
		mid := (lo + hi) / 2
		switch {
		case r < s.pairs[2*mid]:
			hi = mid
		case r > s.pairs[2*mid+1]:
			lo = mid + 1
		default:
			return true
		}
	}
	return false
}

// one returns the only member of the set, if there is just one.
func (s *set) one() (rune, bool) {
	if len(s.pairs) == 2 && s.pairs[0] == s.pairs[1] {
		return s.pairs[0], true
	}
	return 0, false
}

// foldPairs adds the other case of every member. The two oddities that would
// tie ASCII letters to others (long s, Kelvin sign) are left out, so that a
// search for ASCII text only has to look at ASCII.
func foldPairs(pairs []rune) []rune {
	out := pairs
	for i := 0; i < len(pairs); i += 2 {
		lo, hi := pairs[i], min(pairs[i+1], unicode.MaxRune)
		if lo <= 'A' && hi >= 0x1ffff {
			continue // holds every letter already
		}
		for r := lo; r <= min(hi, 0x1e943); r++ {
			for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
				if (f < utf8.RuneSelf) == (r < utf8.RuneSelf) {
					out = append(out, f, f)
				}
			}
		}
	}
	return out
}

func tablePairs(t *unicode.RangeTable) []rune {
	var out []rune
	for _, r := range t.R16 {
		out = appendStride(out, rune(r.Lo), rune(r.Hi), rune(r.Stride))
	}
	for _, r := range t.R32 {
		out = appendStride(out, rune(r.Lo), rune(r.Hi), rune(r.Stride))
	}
	return out
}

func appendStride(out []rune, lo, hi, stride rune) []rune {
	if stride == 1 {
		return append(out, lo, hi)
	}
	for r := lo; r <= hi; r += stride {
		out = append(out, r, r)
	}
	return out
}

// isWord reports whether r belongs to a word for \w, \b and the like.
func isWord(r rune) bool {
	if r < utf8.RuneSelf {
		return r == '_' || r-'0' < 10 && r >= '0' || r|0x20 >= 'a' && r|0x20 <= 'z'
	}
	return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.Is(unicode.M, r)
}

// asciiClasses are the POSIX classes within ASCII; wideClasses what they have beyond.
var asciiClasses = map[string][]rune{
	"alpha": {'A', 'Z', 'a', 'z'}, "digit": {'0', '9'}, "alnum": {'0', '9', 'A', 'Z', 'a', 'z'},
	"upper": {'A', 'Z'}, "lower": {'a', 'z'}, "space": {'\t', '\r', ' ', ' '}, "blank": {'\t', '\t', ' ', ' '},
	"punct": {'!', '/', ':', '@', '[', '`', '{', '~'}, "print": {' ', '~'}, "graph": {'!', '~'},
	"cntrl": {0, 0x1f, 0x7f, 0x7f}, "xdigit": {'0', '9', 'A', 'F', 'a', 'f'},
	"word": {'0', '9', 'A', 'Z', '_', '_', 'a', 'z'},
}

var wideClasses = map[string][]*unicode.RangeTable{
	"alpha": {unicode.L, unicode.Nd, unicode.M}, "alnum": {unicode.L, unicode.Nd, unicode.M},
	"word":  {unicode.L, unicode.Nd, unicode.M},
	"upper": {unicode.Lu}, "lower": {unicode.Ll}, "space": {unicode.Z}, "blank": {unicode.Zs},
	"punct": {unicode.P, unicode.S}, "print": {unicode.L, unicode.N, unicode.M, unicode.P, unicode.S, unicode.Zs},
	"graph": {unicode.L, unicode.N, unicode.M, unicode.P, unicode.S},
}

// classPairs returns the members of a named class.
func classPairs(name string) ([]rune, bool) {
	pairs, ok := asciiClasses[name]
	if !ok {
		return nil, false
	}
	out := slices.Clone(pairs)
	for _, t := range wideClasses[name] {
		wide := tablePairs(t)
		for i := 0; i < len(wide); i += 2 {
			if wide[i+1] >= utf8.RuneSelf && wide[i] != 0xa0 { // a no-break space is no space
				out = append(out, max(wide[i], utf8.RuneSelf), wide[i+1])
			}
		}
	}
	return out, true
}
