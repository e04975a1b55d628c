package awk

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A verb is literal text and the conversion behind it.
type verb struct {
	text        string
	pos         int  // of the percent sign
	conv        byte // 0: only text
	minus, plus bool
	space, zero bool
	alt         bool
	width, prec int // -1: not given; star: the next argument says
}

const star = -2

// parseFormat reads a format of printf.
func parseFormat(s string) []verb {
	var verbs []verb
	text, whole := "", len(s)
	for s != "" {
		before, rest, found := strings.Cut(s, "%")
		text += before
		if !found {
			break
		}
		v, n := parseVerb(rest)
		switch {
		case v.conv == '%':
			text += "%"
		case n == 0:
			text += "%"
		default:
			v.text, v.pos = text, whole-len(rest)-1
			text = ""
			verbs = append(verbs, v)
		}
		s = rest[n:]
	}
	return append(verbs, verb{text: text})
}

// parseVerb reads a conversion behind its percent sign, n bytes long; 0 means
// that it is none.
func parseVerb(s string) (v verb, n int) {
	v.width, v.prec = -1, -1
	for ; n < len(s) && strings.IndexByte("-+ 0#'", s[n]) >= 0; n++ {
		switch s[n] {
		case '-':
			v.minus = true
		case '+':
			v.plus = true
		case ' ':
			v.space = true
		case '0':
			v.zero = true
		case '#':
			v.alt = true
		}
	}
	v.width, n = parseCount(s, n)
	if n < len(s) && s[n] == '.' {
		v.prec, n = parseCount(s, n+1)
		if v.prec == -1 {
			v.prec = 0
		}
	}
	for n < len(s) && (s[n] == 'l' || s[n] == 'h' || s[n] == 'L') {
		n++
	}
	if n == len(s) || strings.IndexByte("cdiouxXeEfFgGaAs%", s[n]) < 0 {
		return verb{}, 0
	}
	v.conv = s[n]
	return v, n + 1
}

// parseCount reads a width or precision.
func parseCount(s string, i int) (int, int) {
	if i < len(s) && s[i] == '*' {
		return star, i + 1
	}
	n, start := 0, i
	for ; i < len(s) && isDigit(s[i]); i++ {
		n = min(n*10+int(s[i]-'0'), math.MaxInt32)
	}
	if i == start {
		return -1, i
	}
	return n, i
}

// appendFormat carries out a format.
func (m *machine) appendFormat(b []byte, verbs []verb, args []value, src string, line int) []byte {
	next, pos := 0, 0
	arg := func() *value {
		if next >= len(args) {
			fail(line, "not enough arguments to satisfy format string\n\t`%s'\n\t%*s^ ran out for this one", src, pos+1, "")
		}
		next++
		return &args[next-1]
	}
	for i := range verbs {
		v := verbs[i]
		pos = v.pos
		b = append(b, v.text...)
		if v.conv == 0 {
			break
		}
		if v.width == star {
			v.width = whole(arg().num())
			if v.width < 0 {
				v.width, v.minus = min(-v.width, math.MaxInt32), true
			}
		}
		if v.prec == star {
			v.prec = max(whole(arg().num()), -1)
		}
		m.fits(2 * (len(b) + max(v.width, 0) + max(v.prec, 0)))
		b = m.appendVerb(b, &v, arg())
	}
	return b
}

// sprintf is appendFormat for a format and arguments at hand.
func (m *machine) sprintf(line int, format string, args []value) string {
	return string(m.appendFormat(nil, parseFormat(format), args, format, line))
}

func (m *machine) appendVerb(b []byte, v *verb, arg *value) []byte {
	switch v.conv {
	case 'c':
		return appendPadded(b, m.char(arg), v, false)
	case 's':
		s := m.str(arg)
		if v.prec >= 0 && len(s) > v.prec {
			s = s[:charOffset(s, v.prec)]
		}
		m.fits(2 * (len(b) + len(s)))
		return appendPadded(b, s, v, false)
	}
	n := arg.num()
	if math.IsNaN(n) || math.IsInf(n, 0) {
		s := string(appendSpecial(nil, n))
		return appendPadded(b, s, v, false)
	}
	switch v.conv {
	case 'd', 'i', 'o', 'x', 'X', 'u':
		return appendWhole(b, v, n)
	}
	return appendFloat(b, v, n)
}

// char returns what %c prints: the character of that number, or the first one.
func (m *machine) char(arg *value) string {
	arg.examine()
	if arg.k == text {
		_, n := utf8.DecodeRuneInString(arg.s)
		return arg.s[:n]
	}
	n := whole(arg.num())
	if n >= 0 && n <= utf8.MaxRune && utf8.ValidRune(rune(n)) {
		return string(rune(n))
	}
	return string([]byte{byte(n)})
}

// appendPadded writes a conversion at its width; zeros go behind the sign.
func appendPadded(b []byte, s string, v *verb, zeros bool) []byte {
	if v.width <= len(s) && v.width <= utf8.RuneCountInString(s) || v.width < 0 {
		return append(b, s...)
	}
	pad := v.width - utf8.RuneCountInString(s)
	if v.minus {
		b = append(b, s...)
		return fill(b, ' ', pad)
	}
	if !zeros {
		return append(fill(b, ' ', pad), s...)
	}
	sign := 0
	if s != "" && strings.IndexByte("+- ", s[0]) >= 0 {
		sign = 1
	}
	if strings.HasPrefix(s[sign:], "0x") || strings.HasPrefix(s[sign:], "0X") {
		sign += 2
	}
	b = append(b, s[:sign]...)
	return append(fill(b, '0', pad), s[sign:]...)
}

func fill(b []byte, c byte, n int) []byte {
	for ; n > 0; n-- {
		b = append(b, c)
	}
	return b
}

// appendWhole writes an integer conversion.
func appendWhole(b []byte, v *verb, n float64) []byte {
	n = math.Trunc(n)
	var digits string
	minus := math.Signbit(n) && n != 0
	switch {
	case v.conv == 'd' || v.conv == 'i':
		digits = strings.TrimPrefix(strconv.FormatFloat(n, 'f', 0, 64), "-")
	case minus && n > -1<<63:
		digits, minus = inBase(uint64(int64(n)), v), false
	case !minus && n < 1<<64:
		digits = inBase(uint64(n), v)
	default: // out of the range of integers
		g := verb{conv: 'g', width: v.width, prec: v.prec, minus: v.minus}
		return appendFloat(b, &g, n)
	}
	if len(digits) < v.prec {
		digits = strings.Repeat("0", v.prec-len(digits)) + digits
	}
	if v.prec == 0 && n == 0 {
		digits = ""
	}
	if v.alt && n != 0 {
		switch {
		case v.conv == 'o' && digits[0] != '0':
			digits = "0" + digits
		case v.conv == 'x' || v.conv == 'X':
			digits = "0" + string(v.conv) + digits
		}
	}
	return appendPadded(b, signOf(v, minus)+digits, v, v.zero && v.prec < 0)
}

func inBase(n uint64, v *verb) string {
	switch v.conv {
	case 'o':
		return strconv.FormatUint(n, 8)
	case 'x':
		return strconv.FormatUint(n, 16)
	case 'X':
		return strings.ToUpper(strconv.FormatUint(n, 16))
	}
	return strconv.FormatUint(n, 10)
}

func signOf(v *verb, minus bool) string {
	switch {
	case minus:
		return "-"
	case v.conv == 'u' || v.conv == 'o' || v.conv == 'x' || v.conv == 'X':
		return ""
	case v.plus:
		return "+"
	case v.space:
		return " "
	}
	return ""
}

// appendFloat writes a floating-point conversion.
func appendFloat(b []byte, v *verb, n float64) []byte {
	prec := v.prec
	if prec < 0 {
		prec = 6
	}
	minus := math.Signbit(n)
	n = math.Abs(n)
	var s string
	conv := v.conv
	if conv == 'F' {
		conv = 'f'
	}
	switch {
	case conv == 'a' || conv == 'A':
		s = hexFloat(n, v)
	case v.alt:
		s = fmt.Sprintf(fmt.Sprintf("%%#.*%c", conv), prec, n)
	case conv == 'g' || conv == 'G':
		s = string(appendG(nil, n, prec))
	default:
		s = strconv.FormatFloat(n, conv|32, prec, 64)
	}
	if conv == 'E' || conv == 'G' {
		s = strings.ToUpper(s)
	}
	return appendPadded(b, signOf(v, minus)+s, v, v.zero)
}

func hexFloat(n float64, v *verb) string {
	s := strconv.FormatFloat(n, 'x', v.prec, 64)
	s = strings.Replace(strings.Replace(s, "p+0", "p+", 1), "p-0", "p-", 1)
	if v.conv == 'A' {
		return strings.ToUpper(s)
	}
	return s
}
