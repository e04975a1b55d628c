package number

import (
	"context"
	"errors"
	"math/big"
	"strings"

	"hako/quota"
	"hako/shell/command/internal/cli"
)

// A calcNum is the number of bc and dc: digits with a point somewhere.
type calcNum struct {
	n     *big.Int
	scale int // how many digits stand behind the point
}

// calcMaxBits bounds a number: an operation on larger ones could not be interrupted.
const calcMaxBits = 4 << 20

// calcMaxScale bounds the digits behind the point.
const calcMaxScale = 1 << 20

var (
	errDivide  = errors.New("Divide by zero")
	errRoot    = errors.New("Square root of a negative number")
	errTooLong = errors.New("number is too long to compute")
)

// calculator limits the time of calculations and the memory of what is kept.
type calculator struct {
	ctx     context.Context
	limiter *quota.Limiter
	steps   int
	held    int64
	clips   bool // digits too large for the base mean its largest, as in bc
}

// tick counts a step and ends when the script does.
func (a *calculator) tick() {
	if a.steps++; a.steps&255 == 0 && a.ctx.Err() != nil {
		cli.Check(context.Cause(a.ctx))
	}
}

// hold charges n bytes that a variable or stack keeps.
func (a *calculator) hold(n int) {
	if err := a.limiter.Hold(int64(n)); err != nil && n > 0 {
		cli.Check(err)
	}
	a.held += int64(n)
}

// release gives back all that was charged.
func (a *calculator) release() {
	if a.held != 0 {
		_ = a.limiter.Hold(-a.held) // giving back is not refused
	}
}

// room refuses a result of that many bits.
func (a *calculator) room(bits int) {
	a.tick()
	if bits > calcMaxBits {
		cli.Check(errTooLong)
	}
	if bits > 1<<16 && a.ctx.Err() != nil { // large numbers take their time
		cli.Check(context.Cause(a.ctx))
	}
}

func calcInt(n int64) calcNum { return calcNum{big.NewInt(n), 0} }

func calcBool(b bool) calcNum {
	if b {
		return calcInt(1)
	}
	return calcInt(0)
}

func (d calcNum) sign() int { return d.n.Sign() }

// size is what keeping the number costs.
func (d calcNum) size() int { return 48 + d.n.BitLen()/8 }

// int returns the whole part, at most a billion either way.
func (d calcNum) int() int {
	const limit = 1_000_000_000
	n := new(big.Int).Quo(d.n, calcTen(d.scale))
	if !n.IsInt64() || n.Int64() > limit || n.Int64() < -limit {
		return limit * d.sign()
	}
	return int(n.Int64())
}

func calcTen(n int) *big.Int { return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil) }

// rescale returns d with another number of digits behind the point, cut off.
func (a *calculator) rescale(d calcNum, scale int) calcNum {
	switch {
	case scale > d.scale:
		a.room(d.n.BitLen() + (scale-d.scale)*10/3)
		return calcNum{new(big.Int).Mul(d.n, calcTen(scale-d.scale)), scale}
	case scale < d.scale:
		return calcNum{new(big.Int).Quo(d.n, calcTen(d.scale-scale)), scale}
	}
	return d
}

// align gives both numbers the larger scale.
func (a *calculator) align(x, y calcNum) (calcNum, calcNum) {
	s := max(x.scale, y.scale)
	return a.rescale(x, s), a.rescale(y, s)
}

func (a *calculator) add(x, y calcNum) calcNum {
	x, y = a.align(x, y)
	a.room(max(x.n.BitLen(), y.n.BitLen()))
	return calcNum{new(big.Int).Add(x.n, y.n), x.scale}
}

func (a *calculator) neg(x calcNum) calcNum { return calcNum{new(big.Int).Neg(x.n), x.scale} }

func (a *calculator) sub(x, y calcNum) calcNum { return a.add(x, a.neg(y)) }

func (a *calculator) cmp(x, y calcNum) int {
	x, y = a.align(x, y)
	return x.n.Cmp(y.n)
}

func (a *calculator) mul(x, y calcNum, scale int) calcNum {
	a.room(x.n.BitLen() + y.n.BitLen())
	full := calcNum{new(big.Int).Mul(x.n, y.n), x.scale + y.scale}
	return a.rescale(full, min(full.scale, max(scale, x.scale, y.scale)))
}

func (a *calculator) div(x, y calcNum, scale int) calcNum {
	if y.sign() == 0 {
		cli.Check(errDivide)
	}
	shift := scale + y.scale - x.scale
	n := x.n
	if shift >= 0 {
		a.room(n.BitLen() + shift*10/3)
		n = new(big.Int).Mul(n, calcTen(shift))
		return calcNum{new(big.Int).Quo(n, y.n), scale}
	}
	a.room(y.n.BitLen() - shift*10/3)
	return calcNum{new(big.Int).Quo(n, new(big.Int).Mul(y.n, calcTen(-shift))), scale}
}

// mod is the remainder of the division at the given scale.
func (a *calculator) mod(x, y calcNum, scale int) calcNum {
	q := a.div(x, y, scale)
	s := max(x.scale, y.scale+scale)
	a.room(q.n.BitLen() + y.n.BitLen())
	product := calcNum{new(big.Int).Mul(q.n, y.n), q.scale + y.scale}
	return a.rescale(a.sub(x, product), s)
}

func (a *calculator) pow(x, y calcNum, scale int) calcNum {
	e := a.rescale(y, 0).n
	if e.Sign() == 0 {
		return calcInt(1)
	}
	size := new(big.Int).Mul(new(big.Int).Abs(e), big.NewInt(int64(max(x.n.BitLen(), x.scale, 1))))
	if x.n.BitLen() > 1 || x.scale > 0 {
		if !size.IsInt64() || size.Int64() > calcMaxBits {
			cli.Check(errTooLong)
		}
	} else { // 0, 1 and -1 have powers of any height
		e = new(big.Int).And(e, big.NewInt(1))
		e.Add(e, big.NewInt(2*int64(y.sign())))
	}
	n := new(big.Int).Abs(e)
	a.tick()
	full := calcNum{new(big.Int).Exp(x.n, n, nil), x.scale * int(n.Int64())}
	if e.Sign() < 0 {
		return a.div(calcInt(1), full, scale)
	}
	return a.rescale(full, min(full.scale, max(scale, x.scale)))
}

func (a *calculator) sqrt(x calcNum, scale int) calcNum {
	if x.sign() < 0 {
		cli.Check(errRoot)
	}
	s := max(scale, x.scale)
	a.room(x.n.BitLen() + 2*s*10/3)
	n := a.rescale(x, 2*s).n
	return calcNum{new(big.Int).Sqrt(n), s}
}

// length counts the digits that matter.
func (d calcNum) length() int {
	digits := strings.TrimLeft(new(big.Int).Abs(d.n).String(), "0")
	return max(len(digits), d.scale, 1)
}

// parseDecimal reads digits in a base, with a point among them or none.
func (a *calculator) parseNum(s string, base int) calcNum {
	head, tail, _ := strings.Cut(s, ".")
	a.room((len(head) + len(tail)) * 4)
	if base == 10 && strings.Trim(head+tail, "0123456789") == "" {
		n, ok := new(big.Int).SetString("0"+head+tail, 10)
		if !ok {
			return calcInt(0)
		}
		return calcNum{n, len(tail)}
	}
	clip := base - 1
	if len(head)+len(tail) == 1 || !a.clips {
		clip = 35 // a single digit is not clipped
	}
	n := calcDigits(head, base, clip)
	if tail == "" {
		return calcNum{n, 0}
	}
	part := calcNum{calcDigits(tail, base, clip), 0}
	unit := calcNum{new(big.Int).Exp(big.NewInt(int64(base)), big.NewInt(int64(len(tail))), nil), 0}
	return a.add(calcNum{n, 0}, a.div(part, unit, len(tail)))
}

func calcDigits(s string, base, clip int) *big.Int {
	n, b := new(big.Int), big.NewInt(int64(base))
	for _, c := range []byte(s) {
		d := int(c - '0')
		if c >= 'A' {
			d = int(c-'A') + 10
		}
		n.Add(n.Mul(n, b), big.NewInt(int64(min(d, clip))))
	}
	return n
}
