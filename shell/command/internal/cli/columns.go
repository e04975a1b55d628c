package cli

import (
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/width"
)

// RuneWidth returns how many columns of a terminal a character takes: 0, 1 or 2.
func RuneWidth(r rune) int {
	switch {
	case r < 0x20 || r == 0x7f:
		return 0
	case r < 0x7f:
		return 1
	case r < 0xa0 || r == 0xad || r == utf8.RuneError:
		return 0
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}

// TextWidth returns the width of a text on a terminal. An invalid byte counts as one
// column.
func TextWidth(s []byte) int {
	n := 0
	for len(s) > 0 {
		r, size := utf8.DecodeRune(s)
		if r == utf8.RuneError && size == 1 {
			n++
		} else {
			n += RuneWidth(r)
		}
		s = s[size:]
	}
	return n
}

// MaxLen returns the length of the longest string.
func MaxLen(column []string) int {
	w := 0
	for _, s := range column {
		w = max(w, len(s))
	}
	return w
}
