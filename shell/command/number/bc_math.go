package number

import (
	"math/big"

	"hako/shell/command/internal/cli"
)

// libraryCall computes a function of the library that -l loads.
func (m *bc) libraryCall(n *bcNode) (calcNum, bool) {
	f := map[string]func(calcNum, int) calcNum{"e": m.exp, "l": m.log, "s": m.sin, "c": m.cos, "a": m.atan}[n.name]
	switch {
	case n.name == "j" && len(n.kids) == 2:
		order := m.eval(n.kids[0]).int()
		return m.rescale(m.bessel(order, m.eval(n.kids[1]), m.scale+bcGuard), m.scale), true
	case f == nil:
		return calcNum{}, false
	case len(n.kids) != 1:
		cli.Check(bcError("Parameter number mismatch"))
	}
	x := m.eval(n.kids[0])
	if m.scale > 20_000 {
		cli.Check(errTooLong)
	}
	return m.rescale(f(x, m.scale+bcGuard), m.scale), true
}

// bcGuard is how many more digits the library computes with than it shows.
const bcGuard = 12

// exp halves its argument until the series converges fast, and squares back.
func (m *bc) exp(x calcNum, s int) calcNum {
	if x.sign() < 0 {
		return m.div(calcInt(1), m.exp(m.neg(x), s+x.size()), s)
	}
	if x.int() > 1_000_000 {
		cli.Check(errTooLong)
	}
	halvings := 0
	s += x.int()/2 + bcGuard // digits before the point cost precision behind it
	x = m.rescale(x, max(s, x.scale))
	for limit := (calcNum{big.NewInt(1), 1}); m.cmp(x, limit) > 0; halvings++ {
		x = m.div(x, calcInt(2), s)
	}
	sum, term := m.add(calcInt(1), x), x
	for i := int64(2); term.sign() != 0; i++ {
		term = m.div(m.mul(term, x, s), calcInt(i), s)
		sum = m.add(sum, term)
	}
	for ; halvings > 0; halvings-- {
		sum = m.rescale(m.mul(sum, sum, s), s)
	}
	return sum
}

// log takes roots until its argument is near 1, where the series converges fast.
func (m *bc) log(x calcNum, s int) calcNum {
	if x.sign() <= 0 { // what the library of GNU returns
		return m.rescale(m.div(m.sub(calcInt(1), calcNum{calcTen(s - bcGuard), 0}), calcInt(1), 0), s)
	}
	s += bcGuard + x.n.BitLen()/8
	factor := calcInt(2)
	x = m.rescale(x, max(s, x.scale))
	high, low := calcNum{big.NewInt(11), 1}, calcNum{big.NewInt(9), 1}
	for m.cmp(x, high) > 0 || m.cmp(x, low) < 0 {
		x = m.sqrt(x, s)
		factor = m.mul(factor, calcInt(2), 0)
	}
	y := m.div(m.sub(x, calcInt(1)), m.add(x, calcInt(1)), s)
	return m.mul(m.oddSeries(y, m.mul(y, y, s), s), factor, s)
}

// oddSeries sums x + x·q/3 + x·q²/5 + … until nothing is added any more.
func (m *bc) oddSeries(x, q calcNum, s int) calcNum {
	power, sum := x, x
	for i := int64(3); ; i += 2 {
		power = m.rescale(m.mul(power, q, s), s)
		term := m.div(power, calcInt(i), s)
		if term.sign() == 0 {
			return sum
		}
		sum = m.add(sum, term)
	}
}

// pi is four times the arctangent of 1.
func (m *bc) pi(s int) calcNum { return m.mul(m.atan(calcInt(1), s+2), calcInt(4), s) }

func (m *bc) sin(x calcNum, s int) calcNum {
	if x.int() > 1_000_000_00 || x.int() < -1_000_000_00 {
		cli.Check(errTooLong)
	}
	s += bcGuard + x.length()
	pi := m.pi(s)
	turns := m.rescale(m.div(x, pi, 1), 0) // half turns
	x = m.rescale(m.sub(x, m.mul(turns, pi, s)), s)
	if turns.n.Bit(0) == 1 {
		x = m.neg(x)
	}
	square, term, sum := m.neg(m.rescale(m.mul(x, x, s), s)), x, x
	for i := int64(2); term.sign() != 0; i += 2 {
		term = m.div(m.mul(term, square, s), calcInt(i*(i+1)), s)
		sum = m.add(sum, term)
	}
	return sum
}

func (m *bc) cos(x calcNum, s int) calcNum {
	half := m.div(m.pi(s+4), calcInt(2), s+4)
	return m.sin(m.add(x, half), s)
}

// atan halves the angle until the series converges fast.
func (m *bc) atan(x calcNum, s int) calcNum {
	s += bcGuard
	x = m.rescale(x, max(s, x.scale))
	factor := calcInt(1)
	for limit := (calcNum{big.NewInt(2), 1}); m.cmp(m.magnitude(x), limit) > 0; {
		root := m.sqrt(m.add(calcInt(1), m.mul(x, x, s)), s)
		x = m.div(x, m.add(calcInt(1), root), s)
		factor = m.mul(factor, calcInt(2), 0)
	}
	square := m.neg(m.rescale(m.mul(x, x, s), s))
	return m.mul(m.oddSeries(m.rescale(x, s), square, s), factor, s)
}

func (m *bc) magnitude(x calcNum) calcNum {
	if x.sign() < 0 {
		return m.neg(x)
	}
	return x
}

// bessel is the Bessel function of whole order.
func (m *bc) bessel(n int, x calcNum, s int) calcNum {
	sign := calcInt(1)
	if n < 0 {
		n = -n
		if n%2 == 1 {
			sign = calcInt(-1)
		}
	}
	if n > 1000 || x.int() > 1000 {
		cli.Check(errTooLong)
	}
	s += bcGuard + max(x.int(), 0)
	half := m.div(x, calcInt(2), s)
	term := calcInt(1)
	for i := 1; i <= n; i++ {
		term = m.div(m.mul(term, half, s), calcInt(int64(i)), s)
	}
	square, sum := m.neg(m.rescale(m.mul(half, half, s), s)), term
	for i := int64(1); term.sign() != 0; i++ {
		term = m.div(m.mul(term, square, s), calcInt(i*(i+int64(n))), s)
		sum = m.add(sum, term)
	}
	return m.mul(sum, sign, s)
}
