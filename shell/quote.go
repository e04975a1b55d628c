package shell

import (
	"strings"
	"unicode/utf8"
)

// shellQuote quotes a word so that the shell would read it back, only if needed.
func (p *proc) shellQuote(s string) string {
	for i := range len(s) {
		if c := s[i]; !isLetter(c) && (c < '0' || c > '9') && c < utf8.RuneSelf && strings.IndexByte("_-+./:=@%,", c) < 0 {
			return p.quoteAlways(s)
		}
	}
	if s == "" {
		return "''"
	}
	return s
}

// quoteAlways quotes with single quotes, or $'…' where there are control characters.
func (p *proc) quoteAlways(s string) string {
	if hasControl(s) {
		return p.quoteANSI(s)
	}
	if strings.IndexByte(s, '\'') >= 0 {
		s = p.pieces(s, func(s string) string { return strings.ReplaceAll(s, "'", `'\''`) })
	}
	return "'" + s + "'"
}

func hasControl(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] == 0x7f {
			return true
		}
	}
	return false
}

func (p *proc) quoteANSI(s string) string { return "$'" + p.pieces(s, escapeANSI) + "'" }

// escapeANSI returns what stands between the quotes of $'…'.
func escapeANSI(s string) string {
	var b strings.Builder
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
			b.Write([]byte{'\\', '0' + byte(r>>6), '0' + byte(r>>3&7), '0' + byte(r&7)})
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// backslashQuote quotes as printf %q does.
func (p *proc) backslashQuote(s string) string {
	switch {
	case s == "":
		return "''"
	case hasControl(s):
		return p.quoteANSI(s)
	case s[0] == '~' || s[0] == '#':
		return `\` + s[:1] + p.pieces(s[1:], escapeSpecial)
	}
	return p.pieces(s, escapeSpecial)
}

// escapeSpecial writes a backslash before each character that means something.
func escapeSpecial(s string) string {
	var b strings.Builder
	for i := range len(s) {
		if strings.IndexByte(" !\"$&'()*,;<>?[\\]^`{|}", s[i]) >= 0 {
			b.WriteByte('\\')
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// ansiC decodes the escapes of $'…'. A NUL ends it: no value can hold one.
func (p *proc) ansiC(s string) string {
	if !p.fits(3*len(s)) || !p.spend(4*len(s)) {
		return ""
	}
	out, _ := unescapeC(s, escapesC)
	out, _, _ = strings.Cut(out, "\x00")
	return out
}

// An escapeForm is a set of backslash escapes.
type escapeForm uint8

const (
	escapesC    escapeForm = iota // of $'…' and formats: \nnn, \cX
	escapesEcho                   // of echo -e: \0nnn, \c stops
	escapesB                      // of printf %b: \0nnn and \nnn, \c stops
)

// unescapeC decodes backslash escapes; stop reports that \c was met.
func unescapeC(s string, form escapeForm) (out string, stop bool) {
	echo := form != escapesC
	if strings.IndexByte(s, '\\') < 0 {
		return s, false
	}
	var b []byte
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			n := strings.IndexByte(s[i+1:], '\\') + 1
			if n == 0 {
				n = len(s) - i
			}
			b = append(b, s[i:i+n]...)
			i += n - 1
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
			if form == escapesEcho && c != '0' {
				b = append(b, '\\', c)
				continue
			}
			from := i
			if echo && c == '0' {
				from++
			}
			n, w := digits(s[from:], 8, 3)
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
	v, n := uint64(0), 0
	for ; n < len(s) && n < width; n++ {
		d := digit(s[n], 36)
		if d >= int64(base) {
			break
		}
		v = v*uint64(base) + uint64(d)
	}
	return v, n
}
