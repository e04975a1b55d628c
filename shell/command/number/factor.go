package number

import (
	"bufio"
	"context"
	"io"
	"math/big"
	"math/bits"
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
	ctx   context.Context
	call  *shell.Call
	steps int
}

func (f *factoring) result() error {
	return cli.Finish(f.call, statusOf(f.call))
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
	if n.IsUint64() {
		return f.small(nil, n.Uint64())
	}
	var primes []*big.Int
	rest, r := new(big.Int).Set(n), new(big.Int)
	for p := int64(2); p < 5000; p++ {
		for d := big.NewInt(p); r.Mod(rest, d).Sign() == 0; rest.Quo(rest, d) {
			primes = append(primes, d)
		}
	}
	return f.large(primes, rest)
}

// large splits a number beyond 64 bits.
func (f *factoring) large(primes []*big.Int, n *big.Int) ([]*big.Int, error) {
	switch {
	case n.IsUint64():
		return f.small(primes, n.Uint64())
	case n.ProbablyPrime(20):
		return append(primes, new(big.Int).Set(n)), nil
	}
	for c := int64(1); ; c++ {
		d, err := f.rho(n, c)
		if err != nil {
			return nil, err
		}
		if d == nil {
			continue
		}
		if primes, err = f.large(primes, d); err != nil {
			return nil, err
		}
		return f.large(primes, new(big.Int).Quo(n, d))
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

// small factors a number of one machine word.
func (f *factoring) small(primes []*big.Int, n uint64) ([]*big.Int, error) {
	if n < 2 {
		return primes, nil
	}
	for p := uint64(2); p < 5000 && p*p <= n; p++ {
		for n%p == 0 {
			primes = append(primes, new(big.Int).SetUint64(p))
			n /= p
		}
	}
	if n == 1 {
		return primes, nil
	}
	return f.word(primes, n)
}

// word splits a number without small factors.
func (f *factoring) word(primes []*big.Int, n uint64) ([]*big.Int, error) {
	big64 := new(big.Int).SetUint64(n)
	if big64.ProbablyPrime(0) { // exact below 2^64
		return append(primes, big64), nil
	}
	for c := uint64(1); ; c++ {
		d, err := f.rhoWord(n, c)
		if err != nil {
			return nil, err
		}
		if d == 0 {
			continue
		}
		if primes, err = f.word(primes, d); err != nil {
			return nil, err
		}
		return f.word(primes, n/d)
	}
}

// rhoWord is rho in machine words; 0 asks for another c.
func (f *factoring) rhoWord(n, c uint64) (uint64, error) {
	step := func(v uint64) uint64 {
		hi, lo := bits.Mul64(v, v)
		_, r := bits.Div64(hi%n, lo, n)
		if r >= n-c {
			return r - (n - c)
		}
		return r + c
	}
	x, y := uint64(2), uint64(2)
	for {
		if f.steps++; f.steps&4095 == 0 && f.ctx.Err() != nil {
			return 0, context.Cause(f.ctx)
		}
		x, y = step(x), step(step(y))
		d := gcd(max(x, y)-min(x, y), n)
		if d == n {
			return 0, nil
		}
		if d > 1 {
			return d, nil
		}
	}
}

func gcd(a, b uint64) uint64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
