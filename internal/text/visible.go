package text

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Visible drops what a person would not see: terminal escape sequences, control characters, direction marks, and tag
// characters, in which whole sentences can be hidden. Line ends and tabs stay; other white space but the ideographic
// space becomes a space. Joiners and variation selectors stay where emoji and scripts need them. Bytes that are not
// UTF-8 become U+FFFD. Visible is idempotent.
func Visible(s string) string {
	if printableASCII(s) {
		return s
	}
	var f filter
	return strings.Map(f.visible, withoutEscapes(strings.ReplaceAll(s, "\r\n", "\n")))
}

// printableASCII reports whether s is printable ASCII with line ends and tabs, the common case.
func printableASCII(s string) bool {
	for i := range len(s) {
		if c := s[i]; (c < ' ' || c > '~') && c != '\n' && c != '\t' {
			return false
		}
	}
	return true
}

// A filter decides which characters of one text are kept, in order.
type filter struct{ before rune }

// visible returns r or its replacement, or -1 to drop it.
func (f *filter) visible(r rune) rune {
	switch {
	case r == '\n' || r == '\t' || r == '\u3000':
	case unicode.IsSpace(r) || r == '\u2800': // Braille without dots
		r = ' '
	case !f.seen(r):
		return -1
	}
	f.before = r
	return r
}

// seen reports whether r is visible here, or part of the character before.
func (f *filter) seen(r rune) bool {
	switch {
	case joiner(r):
		return f.before > unicode.MaxASCII && !joiner(f.before)
	case unicode.Is(unicode.Variation_Selector, r):
		return f.before > unicode.MaxASCII && !joiner(f.before) && !unicode.Is(unicode.Variation_Selector, f.before)
	}
	return r == utf8.RuneError || unicode.IsGraphic(r) && !unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r)
}

func joiner(r rune) bool { return r == '\u200c' || r == '\u200d' }

// withoutEscapes drops terminal escape sequences with their arguments.
func withoutEscapes(s string) string {
	first := strings.IndexByte(s, '\x1b')
	if first < 0 {
		return s
	}
	b := []byte(s[:first])
	for i := first; i < len(s); {
		if s[i] == '\x1b' {
			i += escapeLen(s[i:])
			continue
		}
		b = append(b, s[i])
		i++
	}
	return string(b)
}

// escapeLen returns the length of the terminal escape sequence at the start of s. One that does not end is
// only as long as its beginning, so that it hides nothing.
func escapeLen(s string) int {
	if len(s) < 2 {
		return len(s)
	}
	switch s[1] {
	case '[':
		for i := 2; i < len(s) && s[i] >= ' ' && s[i] <= '~'; i++ {
			if s[i] >= '@' {
				return i + 1
			}
		}
		return 2
	case ']', 'P', '^', '_', 'X':
		for i := 2; i < len(s) && s[i] != '\n'; i++ {
			switch {
			case s[i] == '\a':
				return i + 1
			case s[i] == '\x1b':
				return i + min(2, len(s)-i)
			}
		}
		return 2
	}
	return 1
}
