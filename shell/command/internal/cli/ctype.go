package cli

import "strings"

// LowerHex are the hexadecimal digits.
const LowerHex = "0123456789abcdef"

// HexValue returns the value of a hexadecimal digit, or -1.
func HexValue(ch byte) int { return strings.IndexByte(LowerHex, lower(ch)) }

func lower(ch byte) byte {
	if 'A' <= ch && ch <= 'Z' {
		return ch | 0x20
	}
	return ch
}

// CutEscape decodes the backslash escape at the start of s and returns its length.
func CutEscape(s string) (string, int) {
	if len(s) < 2 {
		return s, len(s)
	}
	if i := strings.IndexByte("abfnrtv\\", s[1]); i >= 0 {
		return "\a\b\f\n\r\t\v\\"[i : i+1], 2
	}
	n, i := 0, 1
	for i < len(s) && i < 4 && '0' <= s[i] && s[i] <= '7' {
		n = n*8 + int(s[i]-'0')
		i++
	}
	if i > 1 {
		return string([]byte{byte(n)}), i
	}
	return s[:2], 2
}

// Plural returns the ending of a noun for n things.
func Plural(n int) string {
	if n == 1 {
		return ""
	}
	return "s"
}

// IsAlnum reports whether b is an ASCII letter or digit.
func IsAlnum(b byte) bool { return IsDigit(b) || IsLetter(b) }

// CountDigits returns how many digits b begins with.
func CountDigits(b []byte) int {
	n := 0
	for n < len(b) && IsDigit(b[n]) {
		n++
	}
	return n
}

// IsDigit reports whether b is an ASCII digit.
func IsDigit(b byte) bool { return b >= '0' && b <= '9' }

// BoolInt returns 1 for true and 0 for false.
func BoolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// CutNumber cuts a number of at most so many digits off the start of s.
func CutNumber(s string, most int) (n int, rest string, ok bool) {
	i := 0
	for i < len(s) && i < most && IsDigit(s[i]) {
		n = n*10 + int(s[i]-'0')
		i++
	}
	return n, s[i:], i > 0
}

// IsLetter reports whether b is an ASCII letter.
func IsLetter(b byte) bool { return 'a' <= b|0x20 && b|0x20 <= 'z' }
