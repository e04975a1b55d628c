package policy

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

// unescape removes the backslashes of unquoted text.
func unescape(s string) string { return removeBackslashes(s, "") }

// unescapeQuoted removes the backslashes that are special in double quotes.
func unescapeQuoted(s string) string { return removeBackslashes(s, "$`\"\\\n") }

// removeBackslashes removes backslashes before the special bytes; none means all bytes.
func removeBackslashes(s, special string) string {
	if strings.IndexByte(s, '\\') < 0 {
		return s
	}
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) && (special == "" || strings.IndexByte(special, s[i+1]) >= 0) {
			if i++; s[i] == '\n' {
				continue
			}
		}
		b = append(b, s[i])
	}
	return string(b)
}

func singleQuoted(q *syntax.SglQuoted) string {
	if !q.Dollar {
		return q.Value
	}
	return ansiC(q.Value)
}

// ansiC decodes the escapes of $'…' and printf: \x74ouch is touch.
func ansiC(s string) string {
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b = append(b, s[i])
			continue
		}
		i++
		if at := strings.IndexByte("abefnrtvE", s[i]); at >= 0 {
			b = append(b, "\a\b\x1b\f\n\r\t\v\x1b"[at])
			continue
		}
		switch c := s[i]; c {
		case 'x':
			i = appendCode(&b, s, i, 16, 2, false)
		case 'u':
			i = appendCode(&b, s, i, 16, 4, true)
		case 'U':
			i = appendCode(&b, s, i, 16, 8, true)
		case '0', '1', '2', '3', '4', '5', '6', '7':
			i = appendCode(&b, s, i-1, 8, 3, false)
		case 'c':
			if i+1 < len(s) {
				i++
				b = append(b, s[i]&0x1f)
			}
		case '\\', '\'', '"', '?':
			b = append(b, c)
		default:
			b = append(b, '\\', c)
		}
	}
	if at := strings.IndexByte(string(b), 0); at >= 0 {
		b = b[:at]
	}
	return string(b)
}

// appendCode decodes up to so many digits after s[i] and returns the index of the last one.
func appendCode(b *[]byte, s string, i, base, digits int, isRune bool) int {
	j := i + 1
	for j < len(s) && j-i <= digits {
		if _, err := strconv.ParseUint(s[j:j+1], base, 8); err != nil {
			break
		}
		j++
	}
	n, err := strconv.ParseUint(s[i+1:j], base, 32)
	switch {
	case err != nil:
		*b = append(*b, '\\', s[i])
	case isRune:
		*b = utf8.AppendRune(*b, rune(n))
	default:
		*b = append(*b, byte(n))
	}
	return j - 1
}

// plainWord returns the text of a word without expansions. Any other word is late.
func plainWord(src *syntax.Word) word {
	var text strings.Builder
	for i, part := range src.Parts {
		switch part := part.(type) {
		case *syntax.Lit:
			if expandable(part.Value) || i == 0 && strings.HasPrefix(part.Value, "~") {
				return word{value: value{late: true}, src: src}
			}
			text.WriteString(unescape(part.Value))
		case *syntax.SglQuoted:
			text.WriteString(singleQuoted(part))
		case *syntax.DblQuoted:
			for _, inner := range part.Parts {
				lit, ok := inner.(*syntax.Lit)
				if !ok {
					return word{value: value{late: true}, src: src}
				}
				text.WriteString(unescapeQuoted(lit.Value))
			}
		default:
			return word{value: value{late: true}, src: src}
		}
	}
	return word{value: value{text: text.String()}, src: src}
}

// expandable reports whether the shell performs pathname or brace expansion on unquoted text.
func expandable(text string) bool {
	return text != "[" && strings.ContainsAny(strings.ReplaceAll(text, "{}", ""), "*?[{")
}
