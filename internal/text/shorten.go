package text

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/width"
)

// Shorten returns s if it has at most so many characters, and otherwise its beginning with "…" after it, which
// counts as one of them.
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

// ShortenCells returns s if it fits into so many columns of a terminal, and otherwise as much of it as fits
// with "…" after it. Without room for that it is empty.
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
			fits = i // here the mark still finds room
		}
	}
	return s
}

// Cells returns how many columns of a terminal s takes.
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

// Prefix returns the longest beginning of s of at most so many bytes that does not cut a character.
func Prefix(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for least := most - utf8.UTFMax; most > max(0, least) && !utf8.RuneStart(s[most]); {
		most--
	}
	return s[:max(0, most)]
}

// Suffix returns the longest end of s of at most so many bytes that does not cut a character.
func Suffix(s string, most int) string {
	if len(s) <= most {
		return s
	}
	s = s[len(s)-max(0, most):]
	return s[continuation([]byte(s)):]
}
