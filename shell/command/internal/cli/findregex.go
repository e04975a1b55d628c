package cli

import (
	"regexp"
	"slices"
	"strings"
)

// TranslateRegexp turns the dialects into Go's. Emacs and the basic ones swap which
// of ( ) | { } need a backslash; emacs has + and ? without one.
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
			set := bracketEnd(p[i:])
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

// bracketEnd is the length of the bracket expression p starts with.
func bracketEnd(p string) int {
	i := 1
	if i < len(p) && p[i] == '^' {
		i++
	}
	if i < len(p) && p[i] == ']' {
		i++
	}
	for i < len(p) && p[i] != ']' {
		if strings.HasPrefix(p[i:], "[:") {
			if n := strings.Index(p[i:], ":]"); n > 0 {
				i += n + 2
				continue
			}
		}
		i++
	}
	return min(i+1, len(p))
}
