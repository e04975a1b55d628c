package awk

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"hako/internal/testload"
	"hako/shell/stream"
)

var errBudget = errors.New("over budget")

// budget stands in for the limiter of a session.
type budget struct{ held, limit, peak int64 }

func (b *budget) grow(n int64) error {
	if n > 0 && b.held+n > b.limit {
		return errBudget
	}
	b.held += n
	b.peak = max(b.peak, b.held)
	return nil
}

// confined runs a program with a budget and a deadline.
func confined(t testing.TB, prog, input string, b *budget, limit time.Duration) (int, error) {
	p, err := Parse("awk", []Source{{Text: prog}}, nil)
	if err != nil {
		return 2, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	out := stream.NewWriter(io.Discard)
	status, err := Run(ctx, p, &Config{
		Stdin: stream.NewReader(strings.NewReader(input)), Output: out, Grow: b.grow,
		Create: func(string, bool) (io.WriteCloser, error) { return nopWriter{}, nil },
	})
	if b.held != 0 {
		t.Errorf("%q: %d bytes were not given back", prog, b.held)
	}
	return status, err
}

type nopWriter struct{}

func (nopWriter) Write(b []byte) (int, error) { return len(b), nil }
func (nopWriter) Close() error                { return nil }

func TestMemoryIsCharged(t *testing.T) {
	for _, prog := range []string{
		`BEGIN { x = "a"; for (;;) x = x x }`,
		`BEGIN { for (;;) x = x "abcdefghijklmnopqrstuvwxyz" }`,
		`BEGIN { x = "a"; for (;;) x = x x "b" x }`,
		`BEGIN { for (;;) a[i++] = i }`,
		`BEGIN { for (;;) a["key" i++] }`,
		`BEGIN { for (;;) a[i++, "x"] }`,
		`BEGIN { x = sprintf("%100000s", "y"); for (;;) a[i++] = x }`,
		`BEGIN { printf "%2000000000d", 1 }`,
		`BEGIN { x = sprintf("%-2000000000s|", 1) }`,
		`BEGIN { x = sprintf("%.2000000000f", 1) }`,
		`BEGIN { x = sprintf("%*d", 2000000000, 1) }`,
		`BEGIN { x = sprintf("%100000s", "y"); for (;;) gsub(/ /, "&&", x) }`,
		`BEGIN { x = sprintf("%100000s", "y"); for (;;) gsub(" ", "  ", x) }`,
		`BEGIN { x = sprintf("%1000s", "y"); for (;;) x = gensub(/ /, "&&", "g", x) }`,
		`BEGIN { $0 = sprintf("%1000000s", "y"); for (;;) $0 = $0 $0 }`,
		`BEGIN { for (;;) { $1 = $0 "xxxxxxxx"; $2 = $1 } }`,
		`BEGIN { NF = 9000000 }`,
		`BEGIN { $9000000 = "x" }`,
		`function f(x) { return f(x "0123456789012345678901234567890123456789012345678901234567890123456789") } BEGIN { f(sprintf("%10000s", "")) }`,
		`BEGIN { for (;;) print "x" > ("f" i++) }`,
		`BEGIN { x = sprintf("%9000000s", ""); split(x, a, "") }`,
		`BEGIN { OFS = sprintf("%1000000s", ""); $100 = "x"; print }`,
		`BEGIN { SUBSEP = sprintf("%1000000s", ""); for (;;) a[i++, 1] }`,
	} {
		b := &budget{limit: 16 << 20}
		status, err := confined(t, prog, "", b, 20*time.Second)
		var own *Error
		if status != 2 || !errors.Is(err, errBudget) && !errors.As(err, &own) {
			t.Errorf("%q: status %d, error %v", prog, status, err)
		}
	}
}

func TestLongRecordsAreCharged(t *testing.T) {
	b := &budget{limit: 16 << 20}
	_, err := confined(t, `{ n++ }`, strings.Repeat("x", 32<<20), b, 20*time.Second)
	if !errors.Is(err, errBudget) {
		t.Errorf("a record of 32 MB within 16 MB: %v", err)
	}
	b = &budget{limit: 64 << 20}
	if _, err := confined(t, `{ n += length($0) } END { exit n != 8388608 }`, strings.Repeat("x", 8<<20), b,
		20*time.Second); err != nil {
		t.Errorf("a record of 8 MB within 64 MB: %v", err)
	}
}

func TestLoopsEndWithContext(t *testing.T) {
	for _, prog := range []string{
		`BEGIN { for (;;) ; }`, `BEGIN { while (1) x++ }`, `BEGIN { do { } while (1) }`,
		`function f() { return 1 } BEGIN { while (f()) ; }`, `BEGIN { for (;;) for (k in ENVIRON) n++ }`,
		`BEGIN { for (;;) s = substr("abc", 1, 2) }`, `BEGIN { while (("x" ~ /x/) > 0) n++ }`,
	} {
		start := time.Now()
		_, err := confined(t, prog, "", &budget{limit: 64 << 20}, 100*time.Millisecond)
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) > testload.Bound(3*time.Second) {
			t.Errorf("%q: %v after %v", prog, err, time.Since(start))
		}
	}
}

func TestNestingIsBounded(t *testing.T) {
	for _, prog := range []string{
		"BEGIN { print " + strings.Repeat("(", 20000) + "1" + strings.Repeat(")", 20000) + " }",
		"BEGIN " + strings.Repeat("{", 20000) + strings.Repeat("}", 20000),
		"BEGIN { x = " + strings.Repeat("!", 20000) + "1 }", "BEGIN { x = " + strings.Repeat("$", 20000) + "1 }",
		"BEGIN { x = " + strings.Repeat("1 + ", 50000) + "1 }", "BEGIN { " + strings.Repeat("x = ", 50000) + "1 }",
		"BEGIN { " + strings.Repeat("if (1) ", 50000) + "x }", "BEGIN { x = " + strings.Repeat("1 ? 1 : ", 50000) + "1 }",
	} {
		if _, err := Parse("awk", []Source{{Text: prog}}, nil); err == nil {
			t.Errorf("%.40q… was accepted", prog)
		}
	}
	status, err := confined(t, `function f(n) { return f(n + 1) } BEGIN { f(1) }`, "", &budget{limit: 64 << 20},
		20*time.Second)
	if status != 2 || err == nil || !strings.Contains(err.Error(), "too deep") {
		t.Errorf("endless recursion: %d, %v", status, err)
	}
}

func TestCommandsAreRefused(t *testing.T) {
	for _, prog := range []string{
		`BEGIN { system("id") }`, `BEGIN { print "x" | "cat" }`, `BEGIN { "date" | getline x }`,
		`BEGIN { print "x" |& "cat" }`,
	} {
		out, status := runAwk(prog, "", nil)
		if status != 2 || out != "awk: commands cannot be started in sandbox mode\n" {
			t.Errorf("%q: %q, status %d", prog, out, status)
		}
	}
}

// TestUnreadIsLeft sees that what awk did not use stays for the next command.
func TestUnreadIsLeft(t *testing.T) {
	in := stream.NewReader(strings.NewReader("1\n2\n3\n"))
	p, err := Parse("awk", []Source{{Text: `{ exit }`}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Run(context.Background(), p, &Config{Stdin: in, Output: stream.NewWriter(nil)}); err != nil {
		t.Fatal(err)
	}
	if rest, _ := io.ReadAll(in); string(rest) != "2\n3\n" {
		t.Errorf("left over: %q", rest)
	}
}

func FuzzAwk(f *testing.F) {
	for _, c := range oracleCases {
		f.Add(c.prog, c.input)
	}
	f.Fuzz(func(t *testing.T, prog, input string) {
		start := time.Now()
		_, _ = confined(t, prog, input, &budget{limit: 8 << 20}, 200*time.Millisecond) // it must end and not panic
		if took := time.Since(start); took > testload.Bound(2*time.Second) {
			t.Errorf("%q took %v", prog, took)
		}
	})
}
