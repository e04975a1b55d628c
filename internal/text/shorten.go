package text

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/width"
)

// Shorten cuts s to at most that many characters, of which the last is then "…".
func Shorten(s string, most int) string {
	if len(s) <= most {
		return s
	}
	n, cut := 0, 0
	for i := range s {
		switch n++; {
		case n > most && most < 1:
			return ""
		case n > most:
			return strings.TrimRight(s[:cut], " ") + "…"
		case n == most:
			cut = i
		}
	}
	return s
}

// ShortenCells cuts s to at most that many columns of a terminal, ending with "…". Without room for that it returns an
// empty string.
func ShortenCells(s string, most int) string {
	used, fits := 0, 0
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		if used += cells(r); used > most {
			if most < 1 {
				return ""
			}
			return strings.TrimRight(s[:fits], " ") + "…"
		}
		if i += size; used < most {
			fits = i // "…" still fits after it
		}
	}
	return s
}

// Cells returns the width of s in columns of a terminal.
func Cells(s string) (n int) {
	for _, r := range s {
		n += cells(r)
	}
	return n
}

func cells(r rune) int {
	switch {
	case r >= ' ' && r <= '~':
		return 1
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	}
	if k := width.LookupRune(r).Kind(); k == width.EastAsianWide || k == width.EastAsianFullwidth {
		return 2
	}
	return 1
}

// Prefix returns the longest prefix of at most that many bytes that does not cut a character.
func Prefix(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for least := most - utf8.UTFMax; most > max(0, least) && !utf8.RuneStart(s[most]); {
		most--
	}
	return s[:max(0, most)]
}

// Suffix returns the longest suffix of at most that many bytes that does not cut a character.
func Suffix(s string, most int) string {
	if len(s) <= most {
		return s
	}
	s = s[len(s)-max(0, most):]
	return s[continuation([]byte(s)):]
}
