package markdown

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// entities are the names that occur in prose.
var entities = map[string]rune{
	"amp": '&', "lt": '<', "gt": '>', "quot": '"', "apos": '\'', "nbsp": '\u00a0', "shy": '\u00ad',
	"copy": '©', "reg": '®', "trade": '™', "hellip": '…', "mdash": '—', "ndash": '–', "minus": '−',
	"lsquo": '‘', "rsquo": '’', "ldquo": '“', "rdquo": '”', "laquo": '«', "raquo": '»', "bull": '•',
	"middot": '·', "times": '×', "divide": '÷', "plusmn": '±', "deg": '°', "micro": 'µ', "frac12": '½',
	"frac14": '¼', "sup2": '²', "sup3": '³', "larr": '←', "uarr": '↑', "rarr": '→', "darr": '↓', "harr": '↔',
	"rArr": '⇒', "hArr": '⇔', "le": '≤', "ge": '≥', "ne": '≠', "asymp": '≈', "infin": '∞', "sum": '∑',
	"radic": '√', "pi": 'π', "euro": '€', "pound": '£', "yen": '¥', "cent": '¢', "sect": '§', "para": '¶',
	"check": '✓', "ensp": '\u2002', "emsp": '\u2003', "thinsp": '\u2009', "lbrack": '[', "rbrack": ']',
	"lpar": '(', "rpar": ')', "ast": '*', "lowbar": '_', "num": '#', "vert": '|', "bsol": '\\', "grave": '`',
}

// entityRune returns the character of an entity, zero if it is none.
func entityRune(name string) rune {
	digits, numeric := strings.CutPrefix(name, "#")
	if !numeric {
		return entities[name]
	}
	base := 10
	if digits != "" && (digits[0] == 'x' || digits[0] == 'X') {
		digits, base = digits[1:], 16
	}
	n, err := strconv.ParseUint(digits, base, 32)
	if err != nil || len(digits) > 7 {
		return 0
	}
	if r := rune(n); n > 0 && utf8.ValidRune(r) {
		return r
	}
	return utf8.RuneError
}

// unescape resolves entities and backslashes in an address.
func unescape(s []byte) string {
	if !strings.ContainsAny(string(s), `\&`) {
		return string(s)
	}
	var out []byte
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\' && i+1 < len(s) && isPunct(s[i+1]):
			i++
			out = append(out, s[i])
		case c == '&':
			text, n := entityAt(s[i:])
			out = append(out, text...)
			i += n - 1
		default:
			out = append(out, c)
		}
	}
	return string(out)
}

// entityAt returns what the beginning of s stands for, and its length.
func entityAt(s []byte) ([]byte, int) {
	name, _, ok := strings.Cut(string(s[1:min(len(s), 34)]), ";")
	if r := entityRune(name); ok && r != 0 {
		return decoded(r), len(name) + 2
	}
	return s[:1], 1
}
