package awk

import "strings"

const operatorChars = `.[]()*+?{}|^$\`

// translate turns a pattern of the language into a POSIX extended regular
// expression: escape sequences are resolved, in brackets too, where POSIX has
// none, and operators that have nothing to work on become characters.
func translate(src string) string {
	var b strings.Builder
	fresh := true // nothing stands before that an operator could repeat
	for i := 0; i < len(src); {
		c := src[i]
		i++
		was := fresh
		fresh = false
		switch {
		case c == '\\' && i < len(src):
			i = translateEscape(&b, src, i)
		case c == '[':
			i = translateBracket(&b, src, i)
		case c == '(' || c == '|' || c == '^':
			b.WriteByte(c)
			fresh = true
		case was && (c == '*' || c == '+' || c == '?'), c == '{' && (was || !isInterval(src[i:])), c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

func quoteMeta(s string) string {
	var b strings.Builder
	for i := range len(s) {
		writeLiteral(&b, s[i])
	}
	return b.String()
}

func writeLiteral(b *strings.Builder, c byte) {
	if strings.IndexByte(operatorChars, c) >= 0 {
		b.WriteByte('\\')
	}
	b.WriteByte(c)
}

// isInterval reports whether s, behind a brace, is the rest of "{2,3}".
func isInterval(s string) bool {
	end := strings.IndexByte(s, '}')
	if end < 1 {
		return false
	}
	low, high, _ := strings.Cut(s[:end], ",")
	return strings.Trim(low+high, "0123456789") == "" && low+high != ""
}

// translateEscape writes the sequence at i, behind its backslash.
func translateEscape(b *strings.Builder, src string, i int) int {
	switch c := src[i]; {
	case c == 'y':
		b.WriteString(`\b`)
	case strings.IndexByte("wWsSB<>`'", c) >= 0, strings.IndexByte(operatorChars, c) >= 0:
		b.WriteByte('\\')
		b.WriteByte(c)
	default:
		var one strings.Builder
		end, _ := unescape(&one, src, i)
		for _, c := range []byte(one.String()) {
			writeLiteral(b, c)
		}
		return end
	}
	return i + 1
}

// translateBracket writes the bracket expression whose [ stands before i, its
// escape sequences resolved. What would be syntax keeps its backslash.
func translateBracket(b *strings.Builder, src string, i int) int {
	b.WriteByte('[')
	if strings.HasPrefix(src[i:], "^") {
		b.WriteByte('^')
		i++
	}
	for first := true; i < len(src); first = false {
		if end := classEnd(src[i:]); end > 0 {
			b.WriteString(src[i : i+end])
			i += end
			continue
		}
		if src[i] == '\\' && i+1 < len(src) {
			i = bracketEscape(b, src, i+1)
			continue
		}
		b.WriteByte(src[i])
		i++
		if src[i-1] == ']' && !first {
			break
		}
	}
	return i
}

func bracketEscape(b *strings.Builder, src string, i int) int {
	var one strings.Builder
	end, _ := unescape(&one, src, i)
	if c := one.String(); strings.ContainsAny(c, `[]^-\`) {
		b.WriteString(`\` + c)
	} else {
		b.WriteString(c)
	}
	return end
}

// classEnd returns the length of "[:alpha:]" at the start of s, or 0.
func classEnd(s string) int {
	if len(s) < 4 || s[0] != '[' || strings.IndexByte(":.=", s[1]) < 0 {
		return 0
	}
	end := strings.Index(s[2:], s[1:2]+"]")
	if end < 0 {
		return 0
	}
	return end + 4
}
