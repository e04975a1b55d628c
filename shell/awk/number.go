package awk

import (
	"math"
	"strconv"
	"strings"
)

var powersOfTen = [...]float64{1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
	1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22}

// toNumber returns the number a string begins with, or 0.
func toNumber(s string) float64 {
	i := 0
	for i < len(s) && isBlank(s[i]) {
		i++
	}
	n, _ := parseNumber(s[i:])
	return n
}

// looksNumeric reports whether all of a string is a number, blanks around it
// apart, and which.
func looksNumeric(s string) (float64, bool) {
	i, end := 0, len(s)
	for i < end && isBlank(s[i]) {
		i++
	}
	for end > i && isBlank(s[end-1]) {
		end--
	}
	if i == end || s[i] > '9' { // most fields are words: leave at once
		return 0, false
	}
	n, used := parseNumber(s[i:end])
	return n, used == end-i && used > 0
}

func isBlank(c byte) bool {
	return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v'
}

// parseNumber reads a decimal number at the start of s and returns how many
// bytes it took. Numbers of few digits, nearly all there are, need no library:
// both the digits and the power of ten are exact, so one division rounds right.
func parseNumber(s string) (float64, int) {
	i, minus := 0, false
	if i < len(s) && (s[i] == '-' || s[i] == '+') {
		minus = s[i] == '-'
		i++
	}
	var mant uint64
	digits, point, first := 0, 0, i
	for ; i < len(s) && isDigit(s[i]); i++ {
		mant = mant*10 + uint64(s[i]-'0')
	}
	digits = i - first
	if i < len(s) && s[i] == '.' {
		dot := i
		for i++; i < len(s) && isDigit(s[i]); i++ {
			mant = mant*10 + uint64(s[i]-'0')
		}
		point = i - dot - 1
		digits += point
	}
	if digits == 0 {
		return special(s)
	}
	if i < len(s) && s[i]|32 == 'e' || digits > 15 {
		return parseSlow(s, i)
	}
	n := float64(mant)
	if point > 0 {
		n /= powersOfTen[point]
	}
	if minus {
		n = -n
	}
	return n, i
}

// parseSlow is for exponents and many digits; the digits end at i.
func parseSlow(s string, i int) (float64, int) {
	if i < len(s) && s[i]|32 == 'e' {
		j := i + 1
		if j < len(s) && (s[j] == '-' || s[j] == '+') {
			j++
		}
		if j < len(s) && isDigit(s[j]) {
			for j < len(s) && isDigit(s[j]) {
				j++
			}
			i = j
		}
	}
	n, _ := strconv.ParseFloat(s[:i], 64) // out of range gives an infinity, as wanted
	return n, i
}

// special reads +inf, -inf, +nan and -nan, which need their sign.
func special(s string) (float64, int) {
	if len(s) < 4 || s[0] != '+' && s[0] != '-' || len(s) > 4 && isLetter(s[4]) {
		return 0, 0
	}
	sign := 1.0
	if s[0] == '-' {
		sign = -1
	}
	switch {
	case strings.EqualFold(s[1:4], "inf"):
		return math.Inf(int(sign)), 4
	case strings.EqualFold(s[1:4], "nan"):
		return math.Copysign(math.NaN(), sign), 4
	}
	return 0, 0
}

// appendNum writes a number: whole ones as such, others by the format.
func (m *machine) appendNum(b []byte, n float64, format string) []byte {
	if i := int64(n); float64(i) == n && i != math.MinInt64 && i != math.MaxInt64 {
		return strconv.AppendInt(b, i, 10)
	}
	switch {
	case math.IsNaN(n) || math.IsInf(n, 0):
		return appendSpecial(b, n)
	case n == math.Trunc(n):
		return strconv.AppendFloat(b, n, 'f', 0, 64)
	case format == "%.6g":
		return appendG(b, n, 6)
	}
	return append(b, m.sprintf(0, format, []value{num(n)})...)
}

// appendG is %.*g of C for finite numbers.
func appendG(b []byte, n float64, prec int) []byte {
	return strconv.AppendFloat(b, n, 'g', max(prec, 1), 64)
}

// appendSpecial writes what is not a number the way C does, with its sign.
func appendSpecial(b []byte, n float64) []byte {
	word := "inf"
	if math.IsNaN(n) {
		word = "nan"
	}
	if math.Signbit(n) {
		return append(append(b, '-'), word...)
	}
	return append(append(b, '+'), word...)
}

// whole cuts a number to an int, whatever it is.
func whole(n float64) int {
	switch {
	case math.IsNaN(n):
		return 0
	case n >= math.MaxInt64/2:
		return math.MaxInt64 / 2
	case n <= math.MinInt64/2:
		return math.MinInt64 / 2
	}
	return int(n)
}
