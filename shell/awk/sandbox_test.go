package awk

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"hako/shell/stream"
)

// sandboxed runs a program with every means at hand and returns what it printed
// and what it used of them.
func sandboxed(t testing.TB, prog string, args ...string) (out string, used []string, err error) {
	t.Helper()
	p, err := Parse("awk", []Source{{Text: prog}}, nil)
	if err != nil {
		return "", nil, err
	}
	var b strings.Builder
	w := stream.NewWriter(&b)
	note := func(what string) { used = append(used, what) }
	ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
	defer cancel()
	_, err = Run(ctx, p, &Config{
		Sandbox: true, Stdin: stream.NewReader(strings.NewReader("in\n")), Output: w, Args: args,
		Environ: []string{"HOME=/box"},
		Grow:    (&budget{limit: 16 << 20}).grow,
		Open: func(name string) (io.ReadCloser, error) {
			note("open " + name)
			return io.NopCloser(strings.NewReader("text\n")), nil
		},
		Create: func(name string, _ bool) (io.WriteCloser, error) { note("create " + name); return nopWriter{}, nil },
		Command: func(_ context.Context, text string, _ Streams) (func() (int, error), error) {
			note("run " + text)
			return func() (int, error) { return 0, nil }, nil
		},
	})
	_ = w.Flush()
	return b.String(), used, err
}

func TestSandboxRefuses(t *testing.T) {
	for prog, why := range map[string]string{
		`BEGIN { print "on"; system("id") }`:                   noSystem,
		`BEGIN { print "on"; system ("") }`:                    noSystem,
		`function f() { return system("id") } BEGIN { }`:       noSystem,
		`BEGIN { print "on" > "x" }`:                           noRedirection,
		`BEGIN { print("on", "on") >> "x" }`:                   noRedirection,
		`BEGIN { printf("on") > "x" }`:                         noRedirection,
		`BEGIN { print > "/dev/stderr" }`:                      noRedirection,
		`BEGIN { printf "%s", 1 | "sh" }`:                      noRedirection,
		`{ print | "sh" }`:                                     noRedirection,
		`BEGIN { print |& "sh" }`:                              noRedirection,
		`BEGIN { "id" | getline }`:                             noRedirection,
		`BEGIN { while (("id" | getline x) > 0) print x }`:     noRedirection,
		`BEGIN { "id" |& getline x }`:                          noRedirection,
		`BEGIN { getline < "b" }`:                              noRedirection,
		`BEGIN { x = getline y < "b" }`:                        noRedirection,
		`END { if (0) { for (;;) { getline a[1] < ARGV[0] }}}`: noRedirection,
		`BEGIN { switch (1) { case 2: print > "x" } }`:         noRedirection,
		`BEGIN { ARGV[1] = "b" } { print "on" }`:               "cannot add a new file (b) to ARGV in sandbox mode",
		`BEGIN { ARGV[ARGC++] = "b"; ARGV[1] = "" } 1`:         "cannot add a new file (b) to ARGV in sandbox mode",
		`BEGIN { ARGV[1] = "-" } 1`:                            "cannot add a new file (-) to ARGV in sandbox mode",
		`BEGIN { sub(/^/, "./", ARGV[1]) } 1`:                  "cannot add a new file (./a) to ARGV in sandbox mode",
		`function f(v) { v[1] = "b" } BEGIN { f(ARGV) } 1`:     "cannot add a new file (b) to ARGV in sandbox mode",
		`BEGIN { split("b", ARGV) } 1`:                         "cannot add a new file (b) to ARGV in sandbox mode",
		`BEGINFILE { nextfile } BEGIN { ARGV[1] = "b" }`:       "cannot add a new file (b) to ARGV in sandbox mode",
	} {
		out, used, err := sandboxed(t, prog, "a")
		if err == nil || !strings.HasSuffix(err.Error(), "fatal: "+why) || out != "" || used != nil {
			t.Errorf("%s: printed %q, used %q, %v", prog, out, used, err)
		}
	}
}

func TestSandboxPermits(t *testing.T) {
	for prog, want := range map[string]string{
		`{ print $1 }`: "text\n", `BEGIN { getline; print; print (2 > 1) }`: "text\n1\n",
		`BEGIN { getline x; print x, getline }`:                "text 0\n",
		`BEGIN { print length(ENVIRON), ENVIRON["HOME"] "." }`: "0 .\n", `BEGIN { ARGV[1] = "" } 1`: "in\n",
		`BEGIN { ARGV[2] = ARGV[1]; ARGC++ } { print FILENAME NR }`: "a1\na2\n",
		`BEGIN { ARGV[1] = "v=1" } END { print v }`:                 "1\n", `BEGIN { print close("x"), fflush() }`: "-1 0\n",
	} {
		out, used, err := sandboxed(t, prog, "a")
		if err != nil || out != want || slices.ContainsFunc(used, func(u string) bool { return u != "open a" }) {
			t.Errorf("%s: printed %q, used %q, %v", prog, out, used, err)
		}
	}
}

// TestSandboxSecondWall takes the parser's word away: without it there are
// still no means.
func TestSandboxSecondWall(t *testing.T) {
	for _, prog := range []string{`BEGIN { system("id") }`, `BEGIN { print > "x" }`, `BEGIN { print | "id" }`,
		`BEGIN { "id" | getline }`, `BEGIN { exit (getline < "b") < 0 }`} {
		p, err := Parse("awk", []Source{{Text: prog}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		p.reach = nil
		touched := errors.New("touched")
		status, err := Run(context.Background(), p, &Config{
			Sandbox: true, Output: stream.NewWriter(io.Discard), Args: []string{"a"},
			Open:    func(string) (io.ReadCloser, error) { panic(touched) },
			Create:  func(string, bool) (io.WriteCloser, error) { panic(touched) },
			Command: func(context.Context, string, Streams) (func() (int, error), error) { panic(touched) },
		})
		if status == 0 {
			t.Errorf("%s: %v", prog, err)
		}
	}
}

// FuzzSandbox makes sure that no program gets at more than its operands.
func FuzzSandbox(f *testing.F) {
	for _, s := range []string{`BEGIN{system("id")}`, `{print > "x"}`, `BEGIN{"id"|getline x}`, `BEGIN{getline<"b"}`,
		`BEGIN{ARGV[1]="b"}1`, `{ARGV[ARGC++]=$1}`, `BEGIN{printf "a"|"sh"}`, `function f(a){a[1]="b"}BEGIN{f(ARGV)}1`,
		`{ARGC[0"0"]}0`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, prog string) {
		if len(prog) > 200 {
			return
		}
		if _, used, _ := sandboxed(t, prog, "a"); slices.ContainsFunc(used, func(u string) bool { return u != "open a" }) {
			t.Errorf("%q: used %q", prog, used)
		}
	})
}
