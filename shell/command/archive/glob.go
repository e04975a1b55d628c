package archive

import (
	"strings"
	"unicode/utf8"
)

// wildMatch matches with *, ? and [...], all of which match a slash too. It
// goes back to the last star only, so that it never takes exponential time.
func wildMatch(pattern, name string) bool {
	star, mark := -1, 0
	p, n := 0, 0
	for n < len(name) {
		if p < len(pattern) && pattern[p] == '*' {
			star, mark = p, n
			p++
			continue
		}
		if p < len(pattern) {
			if pl, nl, ok := wildOne(pattern[p:], name[n:]); ok {
				p, n = p+pl, n+nl
				continue
			}
		}
		if star < 0 {
			return false
		}
		mark++
		p, n = star+1, mark
	}
	return strings.Trim(pattern[p:], "*") == ""
}

// wildOne matches one character; it returns the lengths used.
func wildOne(pattern, name string) (pl, nl int, ok bool) {
	r, size := utf8.DecodeRuneInString(name)
	switch pattern[0] {
	case '?':
		return 1, size, true
	case '\\':
		if len(pattern) > 1 {
			return 2, 1, pattern[1] == name[0]
		}
	case '[':
		if end := classEnd(pattern); end > 0 {
			return end + 1, size, inGlobClass(pattern[1:end], r)
		}
	}
	return 1, 1, pattern[0] == name[0]
}

func classEnd(pattern string) int {
	start := 1
	if len(pattern) > 1 && (pattern[1] == '!' || pattern[1] == '^') {
		start++
	}
	if start >= len(pattern) {
		return -1
	}
	i := strings.IndexByte(pattern[start+1:], ']')
	if i < 0 {
		return -1
	}
	return start + 1 + i
}

func inGlobClass(class string, r rune) bool {
	rest := strings.TrimLeft(class[:1], "!^")
	not := rest == ""
	runes := []rune(rest + class[1:])
	for i := 0; i < len(runes); i++ {
		lo, hi := runes[i], runes[i]
		if i+2 < len(runes) && runes[i+1] == '-' {
			hi = runes[i+2]
			i += 2
		}
		if r >= lo && r <= hi {
			return !not
		}
	}
	return not
}
