package cli

import (
	"cmp"
	"math"
	"strconv"
	"strings"
)

// multipliers are the suffixes that GNU allows after a number of bytes or lines.
var multipliers = map[string]float64{
	"": 1, "b": 512, "c": 1, "w": 2,
	"kB": 1e3, "KB": 1e3, "k": 1 << 10, "K": 1 << 10, "KiB": 1 << 10,
	"MB": 1e6, "m": 1 << 20, "M": 1 << 20, "MiB": 1 << 20,
	"GB": 1e9, "g": 1 << 30, "G": 1 << 30, "GiB": 1 << 30,
	"TB": 1e12, "T": 1 << 40, "TiB": 1 << 40,
	"PB": 1e15, "P": 1 << 50, "PiB": 1 << 50,
	"EB": 1e18, "E": 1 << 60, "EiB": 1 << 60,
}

// ParseAmount reads 10, 4K, 1MB. A number that does not fit becomes the largest number.
func ParseAmount(text string) (int64, bool) {
	digits := len(text) - len(strings.TrimLeft(text, "0123456789"))
	factor, known := multipliers[text[digits:]]
	if digits == 0 || !known {
		return 0, false
	}
	n, err := strconv.ParseInt(text[:digits], 10, 64)
	if err != nil || float64(n)*factor >= math.MaxInt64 {
		return math.MaxInt64, true
	}
	return n * int64(factor), true
}

// ParseBytes reads 10, 4K, 1MB, 2MiB, K. Letters may be small. It refuses numbers that do
// not fit.
func ParseBytes(s string) (int64, bool) {
	unit := strings.TrimLeft(s, "0123456789")
	digits := strings.TrimSuffix(s, unit)
	switch unit {
	case "c", "B":
		unit = ""
	case "":
	default:
		digits, unit = cmp.Or(digits, "1"), strings.ToUpper(unit[:1])+unit[1:]
	}
	n, ok := ParseAmount(digits + unit)
	return n, ok && n < 1<<62
}
