package number

import (
	"fmt"
	"io"
	"math/big"
	"strings"
)

// text writes a number in a base, without a zero before the point.
func (a *calculator) text(d calcNum, base int) string {
	sign := ""
	if d.sign() < 0 {
		sign, d = "-", a.neg(d)
	}
	if base == 10 {
		return sign + calcPoint(d)
	}
	ten := calcTen(d.scale)
	head, rest := new(big.Int).QuoRem(d.n, ten, new(big.Int))
	var b strings.Builder
	b.WriteString(sign)
	if head.Sign() != 0 || d.n.Sign() == 0 {
		a.wholeIn(&b, head, base)
	}
	if d.scale == 0 || d.n.Sign() == 0 {
		return b.String()
	}
	b.WriteByte('.')
	radix, unit := big.NewInt(int64(base)), big.NewInt(1)
	for limit := calcTen(d.scale); unit.Cmp(limit) < 0; unit.Mul(unit, radix) {
		a.tick()
		digit := new(big.Int)
		digit.QuoRem(rest.Mul(rest, radix), ten, rest)
		calcDigit(&b, int(digit.Int64()), base, unit.BitLen() == 1)
	}
	return b.String()
}

// calcPoint writes a positive number in base ten.
func calcPoint(d calcNum) string {
	digits := d.n.String()
	if d.scale == 0 || d.n.Sign() == 0 {
		return digits
	}
	if len(digits) < d.scale {
		digits = strings.Repeat("0", d.scale-len(digits)) + digits
	}
	return digits[:len(digits)-d.scale] + "." + digits[len(digits)-d.scale:]
}

// wholeIn writes a whole number; above base 16 each digit is a number of its own.
func (a *calculator) wholeIn(b *strings.Builder, n *big.Int, base int) {
	if base <= 16 {
		b.WriteString(strings.ToUpper(n.Text(base)))
		return
	}
	var digits []int
	radix, digit := big.NewInt(int64(base)), new(big.Int)
	for n = new(big.Int).Set(n); n.Sign() > 0; {
		a.tick()
		n.QuoRem(n, radix, digit)
		digits = append(digits, int(digit.Int64()))
	}
	if len(digits) == 0 {
		digits = []int{0}
	}
	for i := len(digits) - 1; i >= 0; i-- {
		calcDigit(b, digits[i], base, false)
	}
}

// calcDigit writes one digit; the first behind a point has no blank before it.
func calcDigit(b *strings.Builder, digit, base int, first bool) {
	if base <= 16 {
		b.WriteByte("0123456789ABCDEF"[digit])
		return
	}
	if !first {
		b.WriteByte(' ')
	}
	fmt.Fprintf(b, "%0*d", len(fmt.Sprint(base-1)), digit)
}

// calcWrap writes s, broken with backslashes into lines shorter than the
// given width; 0 leaves it whole. It returns the new column.
func calcWrap(w io.Writer, s string, column, width int) int {
	if width == 0 {
		_, _ = io.WriteString(w, s) // the writer keeps its error
		return column + len(s)
	}
	for len(s) > 0 {
		room := width - 1 - column
		if room <= 0 {
			_, _ = io.WriteString(w, "\\\n")
			column = 0
			continue
		}
		n := min(room, len(s))
		_, _ = io.WriteString(w, s[:n])
		s = s[n:]
		column += n
	}
	return column
}
