package shell

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// shellQuote quotes a word so that the shell would read it back, only if needed.
func shellQuote(s string) string {
	if s != "" && strings.IndexFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_-+./:=@%,", r) || r >= utf8.RuneSelf)
	}) < 0 {
		return s
	}
	return quoteAlways(s)
}

// quoteAlways quotes with single quotes, or $'…' where there are control characters.
func quoteAlways(s string) string {
	if strings.IndexFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f }) >= 0 {
		return quoteANSI(s)
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

func quoteANSI(s string) string {
	var b strings.Builder
	b.WriteString("$'")
	for _, r := range s {
		switch {
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\a':
			b.WriteString(`\a`)
		case r == '\b':
			b.WriteString(`\b`)
		case r == '\f':
			b.WriteString(`\f`)
		case r == '\v':
			b.WriteString(`\v`)
		case r == 0x1b:
			b.WriteString(`\E`)
		case r == '\'' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r < ' ' || r == 0x7f:
			fmt.Fprintf(&b, `\%03o`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('\'')
	return b.String()
}

// backslashQuote quotes as printf %q does.
func backslashQuote(s string) string {
	if s == "" {
		return "''"
	}
	if strings.IndexFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f }) >= 0 {
		return quoteANSI(s)
	}
	var b strings.Builder
	for i, r := range s {
		if strings.ContainsRune(" !\"$&'()*,;<>?[\\]^`{|}", r) || i == 0 && (r == '~' || r == '#') {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// ansiC decodes the escapes of $'…'. A NUL ends it: no value can hold one.
func ansiC(s string) string {
	out, _ := unescapeC(s, false)
	out, _, _ = strings.Cut(out, "\x00")
	return out
}

// unescapeC decodes backslash escapes. With echo set it reads them as echo -e
// and printf %b do (\0nnn, \c stops); stop reports that \c was met.
func unescapeC(s string, echo bool) (out string, stop bool) {
	if strings.IndexByte(s, '\\') < 0 {
		return s, false
	}
	var b []byte
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b = append(b, s[i])
			continue
		}
		i++
		switch c := s[i]; c {
		case 'c':
			if echo {
				return string(b), true
			}
			if i+1 < len(s) {
				i++
				b = append(b, s[i]&0x1f)
			}
		case 'x':
			n, w := digits(s[i+1:], 16, 2)
			if w == 0 {
				b = append(b, '\\', 'x')
				continue
			}
			b = append(b, byte(n))
			i += w
		case 'u', 'U':
			width := 4
			if c == 'U' {
				width = 8
			}
			n, w := digits(s[i+1:], 16, width)
			if w == 0 {
				b = append(b, '\\', c)
				continue
			}
			b = utf8.AppendRune(b, rune(n))
			i += w
		case '0', '1', '2', '3', '4', '5', '6', '7':
			width := 3
			if echo && c != '0' {
				b = append(b, '\\', c)
				continue
			}
			from := i
			if echo {
				from, width = i+1, 3
			}
			n, w := digits(s[from:], 8, width)
			b = append(b, byte(n))
			i = from + w - 1
		default:
			b = appendEscape(b, c, echo)
		}
	}
	return string(b), false
}

func appendEscape(b []byte, c byte, echo bool) []byte {
	const from, to = `abefnrtv\E`, "\a\b\x1b\f\n\r\t\v\\\x1b"
	if i := strings.IndexByte(from, c); i >= 0 {
		return append(b, to[i])
	}
	if !echo && (c == '\'' || c == '"' || c == '?') {
		return append(b, c)
	}
	return append(b, '\\', c)
}

// digits reads up to width digits and returns their value and number.
func digits(s string, base, width int) (uint64, int) {
	n := 0
	for n < len(s) && n < width {
		if _, err := strconv.ParseUint(s[n:n+1], base, 8); err != nil {
			break
		}
		n++
	}
	v, _ := strconv.ParseUint(s[:n], base, 64)
	return v, n
}
