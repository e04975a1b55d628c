package text

import (
	"bytes"
	"cmp"
	"math"
	"strconv"
	"strings"

	"hako/shell/command/internal/cli"
)

// compareLines compares lines by all keys, and then as a whole if needed.
func (s *sorter) compareLines(a, b []byte) int {
	if n := s.compareKeys(a, b); n != 0 || !s.lastResort {
		return n
	}
	n := bytes.Compare(a, b)
	if s.global.reverse {
		return -n
	}
	return n
}

func (s *sorter) compareKeys(a, b []byte) int { return s.compareFrom(0, a, b) }

// compareFrom compares by the keys from index first on.
func (s *sorter) compareFrom(first int, a, b []byte) int {
	for i := first; i < len(s.keys); i++ {
		k := &s.keys[i]
		n := s.compareKey(k, k.extract(a, s.sep), k.extract(b, s.sep))
		if n == 0 {
			continue
		}
		if k.reverse {
			return -n
		}
		return n
	}
	return 0
}

func (s *sorter) compareKey(k *sortKey, a, b []byte) int {
	switch k.kind() {
	case 'n':
		return compareNumbers(parseSortNumber(a), parseSortNumber(b))
	case 'h':
		return compareSizes(parseSortNumber(a), parseSortNumber(b))
	case 'g':
		return cmp.Compare(floatOrder(a), floatOrder(b))
	case 'M':
		return monthOf(a) - monthOf(b)
	case 'V':
		return cli.CompareVersions(a, b)
	case 'R':
		return cmp.Or(cmp.Compare(s.randomOrder(a), s.randomOrder(b)), bytes.Compare(a, b))
	}
	if k.plain() {
		return bytes.Compare(a, b)
	}
	return k.compareText(a, b)
}

// counts reports whether the comparison considers a byte.
func (k *sortKey) counts(b byte) bool {
	if k.dict {
		return isBlank(b) || cli.IsAlnum(b)
	}
	return !k.printing || b >= ' ' && b < 0x7f
}

func (k *sortKey) compareText(a, b []byte) int {
	if k.foldOnly() {
		return compareFold(a, b)
	}
	for {
		for len(a) > 0 && !k.counts(a[0]) {
			a = a[1:]
		}
		for len(b) > 0 && !k.counts(b[0]) {
			b = b[1:]
		}
		if len(a) == 0 || len(b) == 0 {
			return cmp.Compare(len(a), len(b))
		}
		x, y := a[0], b[0]
		if k.fold {
			x, y = upperASCII(x), upperASCII(y)
		}
		if x != y {
			return cmp.Compare(x, y)
		}
		a, b = a[1:], b[1:]
	}
}

func compareFold(a, b []byte) int {
	n := min(len(a), len(b))
	for i := range n {
		if x, y := upperASCII(a[i]), upperASCII(b[i]); x != y {
			return cmp.Compare(x, y)
		}
	}
	return cmp.Compare(len(a), len(b))
}

func upperASCII(b byte) byte {
	if b >= 'a' && b <= 'z' {
		return b - 'a' + 'A'
	}
	return b
}

// A sortNumber is a decimal number of any length.
type sortNumber struct {
	negative   bool
	whole, dec []byte // without leading or trailing zeros
	suffix     int    // 0 none, 1 K, 2 M…
}

func (d sortNumber) zero() bool { return len(d.whole) == 0 && len(d.dec) == 0 }

func parseSortNumber(b []byte) (d sortNumber) {
	b = b[leadingBlanks(b):]
	if len(b) > 0 && b[0] == '-' {
		d.negative = true
		b = b[1:]
	}
	n := cli.CountDigits(b)
	d.whole = bytes.TrimLeft(b[:n], "0")
	b = b[n:]
	if len(b) > 0 && b[0] == '.' {
		n = cli.CountDigits(b[1:])
		d.dec = bytes.TrimRight(b[1:1+n], "0")
		b = b[1+n:]
	}
	if d.zero() {
		d.negative = false
		return d
	}
	if len(b) > 0 {
		d.suffix = strings.IndexByte("KMGTPEZYRQ", b[0]) + 1
		if b[0] == 'k' {
			d.suffix = 1
		}
	}
	return d
}

func compareNumbers(a, b sortNumber) int {
	if a.negative != b.negative {
		if a.negative {
			return -1
		}
		return 1
	}
	n := cmp.Or(cmp.Compare(len(a.whole), len(b.whole)), bytes.Compare(a.whole, b.whole), bytes.Compare(a.dec, b.dec))
	if a.negative {
		return -n
	}
	return n
}

func compareSizes(a, b sortNumber) int {
	return cmp.Or(cmp.Compare(a.unit(), b.unit()), compareNumbers(a, b))
}

func (d sortNumber) unit() int {
	if d.negative {
		return -d.suffix
	}
	return d.suffix
}

// exactDecimals is how many digits after the point order64 considers.
const exactDecimals = 4

// order64 maps a number to an integer of the same order. Different numbers may have the
// same integer if that is odd.
func (d sortNumber) order64(maxDigits int) int64 {
	v, inexact := int64(0), int64(0)
	if len(d.whole) > maxDigits {
		v, inexact = int64(math.Pow10(maxDigits+exactDecimals)), 1
	} else {
		for _, c := range d.whole {
			v = v*10 + int64(c-'0')
		}
		for i := range exactDecimals {
			v *= 10
			if i < len(d.dec) {
				v += int64(d.dec[i] - '0')
			}
		}
		if len(d.dec) > exactDecimals {
			inexact = 1
		}
	}
	if d.negative {
		return -(v+inexact)*2 + inexact
	}
	return v*2 + inexact
}

// sizeOrder64 is order64 with the unit before the number.
func (d sortNumber) sizeOrder64() int64 { return int64(d.unit())<<58 + d.order64(12) }

// floatOrder maps a floating-point number to an integer of the same order: text without a
// number comes first, then NaN.
func floatOrder(b []byte) uint64 {
	f, ok := parseFloatPrefix(b)
	switch {
	case !ok:
		return 0
	case math.IsNaN(f):
		return 1
	}
	bits := math.Float64bits(f + 0) // no negative zero
	if f == 0 {
		bits = 0
	}
	if bits>>63 != 0 {
		return ^bits
	}
	return bits | 1<<63
}

// parseFloatPrefix parses the longest number at the beginning of b.
func parseFloatPrefix(b []byte) (float64, bool) {
	b = bytes.TrimLeft(b, " \t\n\v\f\r")
	n := 0
	if n < len(b) && (b[n] == '-' || b[n] == '+') {
		n++
	}
	for _, word := range []string{"infinity", "inf", "nan"} {
		if len(b) >= n+len(word) && strings.EqualFold(string(b[n:n+len(word)]), word) {
			f, err := strconv.ParseFloat(string(b[:n+len(word)]), 64)
			return f, err == nil || word == "nan"
		}
	}
	if f, ok := parseHexPrefix(b, n); ok {
		return f, true
	}
	whole := cli.CountDigits(b[n:])
	n += whole
	frac := 0
	if n < len(b) && b[n] == '.' {
		frac = cli.CountDigits(b[n+1:])
		n += 1 + frac
	}
	if whole+frac == 0 {
		return 0, false
	}
	n += exponentLength(b[n:])
	f, _ := strconv.ParseFloat(string(b[:n]), 64)
	return f, true
}

// parseHexPrefix parses 0x1f after a sign of length n.
func parseHexPrefix(b []byte, n int) (float64, bool) {
	if len(b) < n+3 || b[n] != '0' || b[n+1]|0x20 != 'x' {
		return 0, false
	}
	end := n + 2
	for end < len(b) && end < n+15 && strings.IndexByte("0123456789abcdefABCDEF", b[end]) >= 0 {
		end++
	}
	v, err := strconv.ParseUint(string(b[n+2:end]), 16, 64)
	if n > 0 && b[0] == '-' {
		return -float64(v), err == nil
	}
	return float64(v), err == nil
}

func exponentLength(b []byte) int {
	if len(b) < 2 || b[0]|0x20 != 'e' {
		return 0
	}
	n := 1
	if b[n] == '-' || b[n] == '+' {
		n++
	}
	if d := cli.CountDigits(b[n:]); d > 0 {
		return n + d
	}
	return 0
}

func monthOf(b []byte) int {
	b = b[leadingBlanks(b):]
	if len(b) < 3 {
		return 0
	}
	name := [3]byte{upperASCII(b[0]), upperASCII(b[1]), upperASCII(b[2])}
	i := strings.Index("JANFEBMARAPRMAYJUNJULAUGSEPOCTNOVDEC", string(name[:]))
	if i < 0 || i%3 != 0 {
		return 0
	}
	return i/3 + 1
}

// randomOrder returns a pseudo-random number that is the same for equal keys.
func (s *sorter) randomOrder(key []byte) uint64 {
	h := s.seed ^ 0x9e3779b97f4a7c15
	for _, b := range key {
		h = (h ^ uint64(b)) * 0x100000001b3
	}
	h ^= h >> 32
	h *= 0xd6e8feb86659fd93
	return h ^ h>>29
}
