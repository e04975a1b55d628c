package cli

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Fnmatch reports whether the whole of s matches a shell pattern. A slash and a
// leading dot are nothing special. It takes time in proportion to the product
// of the lengths at worst: only the last star is ever retried.
func Fnmatch(pattern, s string, fold bool) bool {
	if fold {
		pattern, s = strings.ToLower(pattern), strings.ToLower(s)
	}
	star, retry := "", ""
	starred := false
	for {
		if pattern != "" && pattern[0] == '*' {
			pattern = strings.TrimLeft(pattern, "*")
			star, retry, starred = pattern, s, true
			continue
		}
		if pattern == "" && s == "" {
			return true
		}
		if rest, n, ok := matchOne(pattern, s); ok {
			pattern, s = rest, s[n:]
			continue
		}
		if !starred || retry == "" {
			return false
		}
		_, n := utf8.DecodeRuneInString(retry)
		retry = retry[n:]
		pattern, s = star, retry
	}
}

// matchOne matches one character of s against the first element of pattern.
func matchOne(pattern, s string) (rest string, n int, ok bool) {
	if pattern == "" || s == "" {
		return "", 0, false
	}
	r, n := utf8.DecodeRuneInString(s)
	switch pattern[0] {
	case '?':
		return pattern[1:], n, true
	case '[':
		if in, rest, valid := matchSet(pattern[1:], r); valid {
			return rest, n, in
		}
	case '\\':
		if len(pattern) > 1 {
			pattern = pattern[1:]
		}
	}
	if _, m := utf8.DecodeRuneInString(pattern); m == n && pattern[:m] == s[:n] {
		return pattern[m:], n, true
	}
	return "", 0, false
}

// matchSet reads a bracket expression after its "[". Without a closing bracket
// it is not one, and the "[" stands for itself.
func matchSet(p string, r rune) (in bool, rest string, valid bool) {
	negated := p != "" && (p[0] == '!' || p[0] == '^')
	if negated {
		p = p[1:]
	}
	for first := true; p != ""; first = false {
		if p[0] == ']' && !first {
			return in != negated, p[1:], true
		}
		if name, after, ok := cutClass(p); ok {
			in = in || inClass(name, r)
			p = after
			continue
		}
		lo, after := setRune(p)
		hi := lo
		if len(after) > 1 && after[0] == '-' && after[1] != ']' {
			hi, after = setRune(after[1:])
		}
		in = in || lo <= r && r <= hi
		p = after
	}
	return false, "", false
}

func cutClass(p string) (name, after string, ok bool) {
	if !strings.HasPrefix(p, "[:") {
		return "", "", false
	}
	return strings.Cut(p[2:], ":]")
}

func setRune(p string) (rune, string) {
	if p[0] == '\\' && len(p) > 1 {
		p = p[1:]
	}
	r, n := utf8.DecodeRuneInString(p)
	return r, p[n:]
}

func inClass(name string, r rune) bool {
	switch name {
	case "alpha":
		return unicode.IsLetter(r)
	case "digit":
		return '0' <= r && r <= '9'
	case "alnum":
		return unicode.IsLetter(r) || unicode.IsDigit(r)
	case "upper":
		return unicode.IsUpper(r)
	case "lower":
		return unicode.IsLower(r)
	case "space":
		return unicode.IsSpace(r)
	case "blank":
		return r == ' ' || r == '\t'
	case "punct":
		return unicode.IsPunct(r) || unicode.IsSymbol(r)
	case "xdigit":
		return strings.ContainsRune("0123456789abcdefABCDEF", r)
	case "cntrl":
		return unicode.IsControl(r)
	case "print":
		return unicode.IsPrint(r)
	case "graph":
		return unicode.IsGraphic(r) && r != ' '
	}
	return false
}
