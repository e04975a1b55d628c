package cli

import (
	"math"
	"strconv"
	"strings"
)

// multipliers are the suffixes GNU knows after a number of bytes or lines.
var multipliers = map[string]float64{
	"": 1, "b": 512, "c": 1, "w": 2,
	"kB": 1e3, "KB": 1e3, "k": 1 << 10, "K": 1 << 10, "KiB": 1 << 10,
	"MB": 1e6, "m": 1 << 20, "M": 1 << 20, "MiB": 1 << 20,
	"GB": 1e9, "g": 1 << 30, "G": 1 << 30, "GiB": 1 << 30,
	"TB": 1e12, "T": 1 << 40, "TiB": 1 << 40,
	"PB": 1e15, "P": 1 << 50, "PiB": 1 << 50,
	"EB": 1e18, "E": 1 << 60, "EiB": 1 << 60,
}

// ParseAmount reads "10", "4K", "1MB". What does not fit becomes the largest number.
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

// ParseBytes reads 10, 4K, 1MB, 2MiB.
func ParseBytes(s string) (int64, bool) {
	i := len(s) - len(strings.TrimLeft(s, "0123456789"))
	n, err := strconv.ParseInt(s[:i], 10, 62)
	suffix := s[i:]
	if err != nil && !(i == 0 && suffix != "") {
		return 0, false
	}
	if i == 0 {
		n = 1
	}
	if suffix == "" || suffix == "c" || suffix == "B" {
		return n, i > 0
	}
	power := strings.IndexByte("KMGTPE", suffix[0]&^0x20) + 1
	unit := int64(1024)
	switch suffix[1:] {
	case "", "iB":
	case "B":
		unit = 1000
	default:
		return 0, false
	}
	for range power {
		if n > (1<<62)/unit {
			return 0, false
		}
		n *= unit
	}
	return n, power > 0
}
