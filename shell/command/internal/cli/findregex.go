package cli

import (
	"regexp"
	"slices"
	"strings"
)

// TranslateRegexp translates a dialect of find -regextype into the syntax of package
// regexp. The dialects differ in which of ( ) | { } + ? need a backslash.
func TranslateRegexp(p, kind string) string {
	extended := slices.Contains([]string{"gnu-awk", "posix-awk", "awk", "posix-egrep", "egrep", "posix-extended"}, kind)
	basic := slices.Contains([]string{"ed", "grep", "posix-basic", "posix-minimal-basic", "sed"}, kind)
	swapped := "()|"
	switch {
	case extended:
		swapped = ""
	case basic:
		swapped = "()|{}+?"
	}
	var b strings.Builder
	for i := 0; i < len(p); i++ {
		switch {
		case p[i] == '\\' && i+1 < len(p):
			i++
			if strings.IndexByte(swapped, p[i]) < 0 && !strings.Contains("wWbBsS", p[i:i+1]) {
				b.WriteString(regexp.QuoteMeta(p[i : i+1]))
				continue
			}
			if IsLetter(p[i]) {
				b.WriteByte('\\')
			}
			b.WriteByte(p[i])
		case p[i] == '[':
			set := BracketLength(p[i:])
			b.WriteString(strings.ReplaceAll(p[i:i+set], `\`, `\\`))
			i += set - 1
		case strings.IndexByte(swapped, p[i]) >= 0, !extended && !basic && (p[i] == '{' || p[i] == '}'):
			b.WriteString(`\` + p[i:i+1])
		default:
			b.WriteByte(p[i])
		}
	}
	return b.String()
}

// BracketLength returns the length of the bracket expression at the start of s. One
// without an end extends to the end of s.
func BracketLength(s string) int {
	i := 1
	if i < len(s) && s[i] == '^' {
		i++
	}
	if i < len(s) && s[i] == ']' {
		i++
	}
	for i < len(s) {
		if s[i] == ']' {
			return i + 1
		}
		if s[i] == '[' && i+1 < len(s) && strings.IndexByte(":.=", s[i+1]) >= 0 {
			if n := strings.Index(s[i+2:], s[i+1:i+2]+"]"); n >= 0 {
				i += n + 4
				continue
			}
		}
		i++
	}
	return len(s)
}
