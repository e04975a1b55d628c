package cli

import "strings"

const LowerHex = "0123456789abcdef"

func HexValue(ch byte) int {
	switch {
	case ch >= '0' && ch <= '9':
		return int(ch - '0')
	case ch >= 'a' && ch <= 'f':
		return int(ch-'a') + 10
	case ch >= 'A' && ch <= 'F':
		return int(ch-'A') + 10
	}
	return -1
}

// CutEscape reads the backslash escape at the front of s and says how long it is.
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

func Plural(n int) string {
	if n == 1 {
		return ""
	}
	return "s"
}

func IsAlnum(b byte) bool {
	return b >= '0' && b <= '9' || b >= 'A' && b <= 'Z' || b >= 'a' && b <= 'z'
}

func CountDigits(b []byte) int {
	n := 0
	for n < len(b) && b[n] >= '0' && b[n] <= '9' {
		n++
	}
	return n
}

func IsDigit(b byte) bool { return b >= '0' && b <= '9' }

func BoolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// CutNumber takes up to most digits off the front of s.
func CutNumber(s string, most int) (n int, rest string, ok bool) {
	i := 0
	for i < len(s) && i < most && IsDigit(s[i]) {
		n = n*10 + int(s[i]-'0')
		i++
	}
	return n, s[i:], i > 0
}

func IsLetter(b byte) bool { return 'a' <= b|0x20 && b|0x20 <= 'z' }
