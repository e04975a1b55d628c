package pattern

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// translated is a pattern as a list of regular expression pieces.
type translated struct {
	pieces  []string // stars are written as the single byte \x00
	text    string   // the pattern without its quoting, stars left out
	groups  bool     // it has an extended form
	plain   bool     // nothing in it is special
	oneStar bool     // nothing but one star is special
	starAt  int      // where in text it stands
	neg     *negation
}

const anyText = "\x00"

// expr joins the pieces with greedy or lazy stars.
func (t *translated) expr(greedy bool) string {
	star := ".*?"
	if greedy {
		star = ".*"
	}
	var b strings.Builder
	for _, piece := range t.pieces {
		if piece == anyText {
			piece = star
		}
		b.WriteString(piece)
	}
	return b.String()
}

func translate(src string, mode Mode) *translated {
	t := &translated{}
	stars := 0
	special := false
	var text strings.Builder
	for i := 0; i < len(src); {
		c := src[i]
		if mode&ExtGlob != 0 && i+1 < len(src) && src[i+1] == '(' && strings.IndexByte("@?*+!", c) >= 0 {
			if end := groupEnd(src, i+1); end > 0 {
				special, t.groups = true, true
				if c == '!' {
					t.neg = &negation{
						head:  Compile(src[:i], mode),
						inner: Compile("@("+src[i+2:end]+")", mode),
						tail:  Compile(src[end+1:], mode),
					}
					return t
				}
				t.pieces = append(t.pieces, group(c, src[i+2:end], mode))
				i = end + 1
				continue
			}
		}
		switch c {
		case '*':
			for i < len(src) && src[i] == '*' && !(mode&ExtGlob != 0 && i+1 < len(src) && src[i+1] == '(') {
				i++
			}
			t.pieces = append(t.pieces, anyText)
			t.starAt = text.Len()
			stars++
			continue
		case '?':
			t.pieces = append(t.pieces, ".")
			special = true
			i++
			continue
		case '[':
			if expr, n := set(src[i:]); n > 0 {
				t.pieces = append(t.pieces, expr)
				special = true
				i += n
				continue
			}
		case '\\':
			if i+1 < len(src) {
				i++
			}
		}
		_, w := utf8.DecodeRuneInString(src[i:])
		text.WriteString(src[i : i+w])
		t.pieces = append(t.pieces, quoteByte(src[i:i+w]))
		i += w
	}
	t.text = text.String()
	t.plain = !special && stars == 0
	t.oneStar = !special && stars == 1
	return t
}

// quoteByte quotes one character for an expression; a byte that is no UTF-8 is
// read by regexp as U+FFFD.
func quoteByte(s string) string {
	if !utf8.ValidString(s) {
		return `\x{FFFD}`
	}
	return regexp.QuoteMeta(s)
}

// groupEnd returns where the group opened at i closes, or 0.
func groupEnd(src string, i int) int {
	depth := 0
	for ; i < len(src); i++ {
		switch src[i] {
		case '\\':
			i++
		case '[':
			if _, n := set(src[i:]); n > 0 {
				i += n - 1
			}
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return 0
}

// group translates the inside of @( ) and its like.
func group(op byte, inner string, mode Mode) string {
	var alts []string
	depth, start := 0, 0
	add := func(end int) { alts = append(alts, translate(inner[start:end], mode).expr(true)) }
	for i := 0; i < len(inner); i++ {
		switch inner[i] {
		case '\\':
			i++
		case '[':
			if _, n := set(inner[i:]); n > 0 {
				i += n - 1
			}
		case '(':
			depth++
		case ')':
			depth--
		case '|':
			if depth == 0 {
				add(i)
				start = i + 1
			}
		}
	}
	add(len(inner))
	suffix := map[byte]string{'@': "", '?': "?", '*': "*", '+': "+"}[op]
	return "(?:" + strings.Join(alts, "|") + ")" + suffix
}

// set translates a bracket expression at the start of s and returns how long
// it is, or 0 if it is none.
func set(s string) (string, int) {
	i := 1
	var b strings.Builder
	b.WriteByte('[')
	if i < len(s) && (s[i] == '!' || s[i] == '^') {
		b.WriteByte('^')
		i++
	}
	for first := true; i < len(s); first = false {
		if s[i] == ']' && !first {
			b.WriteByte(']')
			return b.String(), i + 1
		}
		if name, n := class(s[i:]); n > 0 {
			b.WriteString(name)
			i += n
			continue
		}
		lo, n := setChar(s[i:])
		if n == 0 {
			return "", 0
		}
		i += n
		hi := lo
		if i+1 < len(s) && s[i] == '-' && s[i+1] != ']' {
			r, n := setChar(s[i+1:])
			if n == 0 {
				return "", 0
			}
			hi, i = r, i+1+n
		}
		if lo > hi {
			continue // an empty range matches nothing
		}
		writeRange(&b, lo, hi)
	}
	return "", 0
}

func setChar(s string) (rune, int) {
	if s == "" {
		return 0, 0
	}
	if s[0] == '\\' && len(s) > 1 {
		r, w := utf8.DecodeRuneInString(s[1:])
		return r, w + 1
	}
	return utf8.DecodeRuneInString(s)
}

func writeRange(b *strings.Builder, lo, hi rune) {
	b.WriteString(quoteSet(lo))
	if hi > lo {
		b.WriteByte('-')
		b.WriteString(quoteSet(hi))
	}
}

func quoteSet(r rune) string {
	if strings.ContainsRune(`\]^-[&~`, r) {
		return `\` + string(r)
	}
	return string(r)
}

// classes are the names between [: and :] that are also known to regexp.
var classes = map[string]string{
	"alnum": `\p{L}\p{N}`, "alpha": `\p{L}`, "digit": `0-9`, "lower": `\p{Ll}`, "upper": `\p{Lu}`,
	"space": `\s\v`, "blank": ` \t`, "punct": "!-/:-@\\[-`{-~", "cntrl": `\x00-\x1f\x7f`,
	"print": `\x20-\x7e\p{L}\p{N}\p{P}\p{S}`, "graph": `\x21-\x7e\p{L}\p{N}\p{P}\p{S}`, "xdigit": `0-9A-Fa-f`, "word": `\w`, "ascii": `\x00-\x7f`,
}

func class(s string) (string, int) {
	rest, ok := strings.CutPrefix(s, "[:")
	if !ok {
		return "", 0
	}
	name, _, ok := strings.Cut(rest, ":]")
	expr, known := classes[name]
	if !ok || !known {
		return "", 0
	}
	return expr, len(name) + 4
}
