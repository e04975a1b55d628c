package number

import (
	"bufio"
	"cmp"
	"context"
	"math/big"
	"slices"
	"strings"

	"hako/shell"
	"hako/shell/command/internal/cli"
)

var Factor = shell.Command{Name: "factor", Run: runFactor}

func runFactor(ctx context.Context, c *shell.Call) (err error) {
	defer cli.Catch(&err)
	_, words, err := c.Options()
	if err != nil {
		return err
	}
	f := &factoring{ctx: ctx, call: c}
	for _, w := range words {
		f.print(w)
	}
	if len(words) == 0 {
		in := bufio.NewScanner(c.Stdin)
		in.Split(bufio.ScanWords)
		for in.Scan() {
			f.print(in.Text())
		}
		cli.Check(in.Err())
	}
	return cmp.Or(cli.StatusOr(cli.BoolInt(c.Failed()), nil), c.Stdout.Err())
}

// factoring prints the factors of one number after the other.
type factoring struct {
	ctx  context.Context
	call *shell.Call
}

func (f *factoring) print(word string) {
	f.check()
	digits := strings.TrimLeft(strings.TrimPrefix(word, "+"), "0")
	n, ok := new(big.Int).SetString("0"+digits, 10)
	switch {
	case len(digits) > 60 || ok && n.BitLen() > 128:
		f.call.Warn("%s is too large", cli.QuoteCurly(word))
		return
	case !ok || word == "" || strings.HasPrefix(word, "-") || strings.Trim(digits, "0123456789") != "":
		f.call.Warn("%s is not a valid positive integer", cli.QuoteCurly(word))
		return
	}
	primes := f.factors(n)
	slices.SortFunc(primes, func(a, b *big.Int) int { return a.Cmp(b) })
	var b strings.Builder
	b.WriteString(n.String() + ":")
	for _, p := range primes {
		b.WriteString(" " + p.String())
	}
	b.WriteByte('\n')
	_, err := f.call.Stdout.WriteString(b.String())
	cli.Check(err)
}

// check ends the command if the script must end.
func (f *factoring) check() {
	if f.ctx.Err() != nil {
		cli.Check(context.Cause(f.ctx))
	}
}

// factors returns the prime factors of n in any order.
func (f *factoring) factors(n *big.Int) []*big.Int {
	var primes []*big.Int
	rest, r, one := new(big.Int).Set(n), new(big.Int), big.NewInt(1)
	for p := int64(2); p < 5000 && rest.Cmp(one) > 0; p++ {
		if rest.IsInt64() && p*p > rest.Int64() {
			return append(primes, rest)
		}
		for d := big.NewInt(p); r.Mod(rest, d).Sign() == 0 && rest.Sign() > 0; rest.Quo(rest, d) {
			primes = append(primes, d)
		}
	}
	return f.split(primes, rest)
}

// split appends the prime factors of a number without small ones.
func (f *factoring) split(primes []*big.Int, n *big.Int) []*big.Int {
	switch {
	case n.Cmp(big.NewInt(1)) <= 0:
		return primes
	case n.ProbablyPrime(20):
		return append(primes, n)
	}
	for c := int64(1); ; c++ {
		if d := f.rho(n, c); d != nil {
			return f.split(f.split(primes, d), new(big.Int).Quo(n, d))
		}
	}
}

// rho looks for a divisor of n by Pollard's method; nil asks for another c.
func (f *factoring) rho(n *big.Int, c int64) *big.Int {
	add, x, y, d, q := big.NewInt(c), big.NewInt(2), big.NewInt(2), new(big.Int), big.NewInt(1)
	step := func(v *big.Int) { v.Mod(v.Add(v.Mul(v, v), add), n) }
	for {
		for range 128 {
			step(x)
			step(y)
			step(y)
			if d.Sub(x, y); d.Sign() == 0 {
				return nil
			}
			q.Mod(q.Mul(q, d.Abs(d)), n)
		}
		f.check()
		if d.GCD(nil, nil, q, n); d.Cmp(big.NewInt(1)) != 0 {
			if d.Cmp(n) == 0 {
				return nil
			}
			return new(big.Int).Set(d)
		}
	}
}
