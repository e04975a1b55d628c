package cli

import (
	"fmt"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Quote quotes a name for a message like coreutils: in single quotes, so that it can be
// pasted into a shell.
func Quote(name string) string {
	switch {
	case strings.ContainsFunc(name, Unprintable):
		return quotedControl(name)
	case !strings.Contains(name, "'"):
		return "'" + name + "'"
	case !strings.ContainsAny(name, "\"$`\\!"):
		return `"` + name + `"`
	}
	return "'" + strings.ReplaceAll(name, "'", `'\''`) + "'"
}

// Unprintable reports whether a message must not contain r unescaped.
func Unprintable(r rune) bool { return r == utf8.RuneError || !unicode.IsPrint(r) && r != ' ' }

// quotedControl quotes a name with control characters or invalid bytes, which it writes
// as $'\n' between ordinary quotes.
func quotedControl(name string) string {
	var b strings.Builder
	plain := true
	b.WriteByte('\'')
	for len(name) > 0 {
		r, n := utf8.DecodeRuneInString(name)
		if bad := Unprintable(r); bad == plain {
			if bad {
				b.WriteString("'$'")
			} else {
				b.WriteString("''")
			}
			plain = !bad
		}
		switch {
		case plain && r == '\'':
			b.WriteString(`'\''`)
		case plain:
			b.WriteString(name[:n])
		default:
			b.WriteString(EscapeBytes(name[:n]))
		}
		name = name[n:]
	}
	b.WriteByte('\'')
	return strings.TrimPrefix(b.String(), "''")
}

// EscapeBytes returns the bytes of one character as backslash escapes.
func EscapeBytes(s string) string {
	if len(s) == 1 {
		if i := strings.IndexByte("\a\b\t\n\v\f\r", s[0]); i >= 0 {
			return `\` + "abtnvfr"[i:i+1]
		}
	}
	var b strings.Builder
	for i := range len(s) {
		fmt.Fprintf(&b, `\%03o`, s[i])
	}
	return b.String()
}

// QuoteCurly puts a word between the typographic quotes that GNU uses in UTF-8 locales for
// everything but file names.
func QuoteCurly(word string) string { return "‘" + word + "’" }

// Join joins a name to the directory it was found in, keeping the user's spelling.
func Join(dir, name string) string {
	if strings.HasSuffix(dir, "/") {
		return dir + name
	}
	return dir + "/" + name
}

// Base returns the last part of a path, without trailing slashes; "" for "".
func Base(name string) string {
	if name == "" {
		return ""
	}
	return path.Base(name)
}

// Dir returns everything before the last part of a path, or ".".
func Dir(name string) string {
	t := strings.TrimRight(name, "/")
	if t == "" && name != "" {
		return "/"
	}
	i := strings.LastIndexByte(t, '/')
	if i < 0 {
		return "."
	}
	if t = strings.TrimRight(t[:i], "/"); t == "" {
		return "/"
	}
	return t
}
