package text

import (
	"fmt"
	"strings"
)

// ForRecord returns s for a record, a table or a question: nothing is dropped, and invisible characters are spelled
// out, control characters as their pictures (␛), others as ‹U+202E›. Line ends and tabs stay. Bytes that are not UTF-8
// become U+FFFD.
func ForRecord(s string) string {
	if printableASCII(s) {
		return s
	}
	var b strings.Builder
	var f filter
	for _, r := range strings.ReplaceAll(s, "\r\n", "\n") {
		b.WriteString(f.spelled(r))
	}
	return b.String()
}

// spelled returns r, or the spelling of an invisible character.
func (f *filter) spelled(r rune) string {
	switch {
	case r == '\n' || r == '\t':
	case picture(r) != r:
		r = picture(r)
	case r == '\u2028' || r == '\u2029' || r == '\u2800' || !f.seen(r):
		return fmt.Sprintf("‹U+%04X›", r)
	}
	f.before = r
	return string(r)
}

// picture returns the symbol of an ASCII control character, or r.
func picture(r rune) rune {
	switch {
	case r < ' ':
		return '␀' + r
	case r == 0x7f:
		return '␡'
	}
	return r
}

// RecordLine is ForRecord for one line of a table: line ends are spelled out too.
func RecordLine(s string) string { return strings.ReplaceAll(ForRecord(s), "\n", "␊") }

// Line returns a text as [Visible] shows it in one line, with at most that many characters. White space becomes one
// space.
func Line(s string, most int) string {
	if far := 8*most + 1024; len(s) > far { // the rest cannot matter and may be large
		s = Prefix(s, far)
	}
	return Shorten(strings.Join(strings.Fields(Visible(s)), " "), most)
}
