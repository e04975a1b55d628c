package number

import (
	"bufio"
	"cmp"
	"context"
	"io"
	"math/big"
	"slices"
	"strings"

	"hako/shell"
	"hako/shell/command/internal/cli"
)

var Factor = shell.Command{Name: "factor", Run: runFactor}

func runFactor(ctx context.Context, c *shell.Call) error {
	_, words, err := c.Options()
	if err != nil {
		return err
	}
	f := &factoring{ctx: ctx, call: c}
	for _, w := range words {
		if err := f.print(w); err != nil {
			return err
		}
	}
	if len(words) > 0 {
		return f.result()
	}
	in := bufio.NewScanner(io.Reader(c.Stdin))
	in.Split(bufio.ScanWords)
	for in.Scan() {
		if err := f.print(in.Text()); err != nil {
			return err
		}
	}
	if err := in.Err(); err != nil {
		return err
	}
	return f.result()
}

// factoring prints the factors of one number after the other.
type factoring struct {
	ctx  context.Context
	call *shell.Call
}

func (f *factoring) result() error {
	return cmp.Or(statusOf(f.call), f.call.Stdout.Err())
}

func (f *factoring) print(word string) error {
	if f.ctx.Err() != nil {
		return context.Cause(f.ctx)
	}
	digits := strings.TrimLeft(strings.TrimPrefix(word, "+"), "0")
	n, ok := new(big.Int).SetString("0"+digits, 10)
	switch {
	case len(digits) > 60 || ok && n.BitLen() > 128:
		f.call.Warn("%s is too large", cli.QuoteCurly(word))
		return nil
	case !ok || word == "" || strings.HasPrefix(word, "-") || strings.Trim(digits, "0123456789") != "":
		f.call.Warn("%s is not a valid positive integer", cli.QuoteCurly(word))
		return nil
	}
	primes, err := f.factors(n)
	if err != nil {
		return err
	}
	slices.SortFunc(primes, func(a, b *big.Int) int { return a.Cmp(b) })
	var b strings.Builder
	b.WriteString(n.String() + ":")
	for _, p := range primes {
		b.WriteString(" " + p.String())
	}
	b.WriteByte('\n')
	_, err = f.call.Stdout.WriteString(b.String())
	return err
}

// factors returns the prime factors of n in any order.
func (f *factoring) factors(n *big.Int) ([]*big.Int, error) {
	var primes []*big.Int
	rest, r, one := new(big.Int).Set(n), new(big.Int), big.NewInt(1)
	for p := int64(2); p < 5000 && rest.Cmp(one) > 0; p++ {
		if rest.IsInt64() && p*p > rest.Int64() {
			return append(primes, rest), nil
		}
		for d := big.NewInt(p); r.Mod(rest, d).Sign() == 0 && rest.Sign() > 0; rest.Quo(rest, d) {
			primes = append(primes, d)
		}
	}
	return f.split(primes, rest)
}

// split appends the prime factors of a number without small ones.
func (f *factoring) split(primes []*big.Int, n *big.Int) ([]*big.Int, error) {
	switch {
	case n.Cmp(big.NewInt(1)) <= 0:
		return primes, nil
	case n.ProbablyPrime(20):
		return append(primes, n), nil
	}
	for c := int64(1); ; c++ {
		d, err := f.rho(n, c)
		if err != nil {
			return nil, err
		}
		if d == nil {
			continue
		}
		if primes, err = f.split(primes, d); err != nil {
			return nil, err
		}
		return f.split(primes, new(big.Int).Quo(n, d))
	}
}

// rho looks for a divisor of n by Pollard's method; nil asks for another c.
func (f *factoring) rho(n *big.Int, c int64) (*big.Int, error) {
	add, x, y, d, q := big.NewInt(c), big.NewInt(2), big.NewInt(2), new(big.Int), big.NewInt(1)
	step := func(v *big.Int) { v.Mod(v.Add(v.Mul(v, v), add), n) }
	for round := 0; ; round++ {
		for range 128 {
			step(x)
			step(y)
			step(y)
			if d.Sub(x, y); d.Sign() == 0 {
				return nil, nil
			}
			q.Mod(q.Mul(q, d.Abs(d)), n)
		}
		if err := f.ctx.Err(); err != nil {
			return nil, context.Cause(f.ctx)
		}
		if d.GCD(nil, nil, q, n); d.Cmp(big.NewInt(1)) != 0 {
			if d.Cmp(n) == 0 {
				return nil, nil
			}
			return new(big.Int).Set(d), nil
		}
	}
}
