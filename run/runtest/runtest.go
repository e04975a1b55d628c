// Package runtest is the conformance suite that every [run.Runner] passes: what
// callers may rely on, whichever runner carries a script out.
//
// Its scripts use only what every runner has: shell syntax and a handful of
// commands that are named in [commands]. The rule to keep: a new promise of
// package run gets its case here before anybody relies on it.
package runtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"mvdan.cc/sh/v3/syntax"

	"hako/run"
	"hako/run/fault"
)

// commands are what a runner must offer for the suite.
var commands = []string{"echo", "cat", "printf", "true", "false", "test", "cd", "pwd", "exit", "sleep", "mkdir", "seq",
	"wc", "env"}

// Test runs the suite. make returns a new runner, standing in a directory of its
// own that it may write to; it is called for every case but those named in
// except, which the runner has a reason not to pass.
func Test(t *testing.T, make func(t *testing.T) run.Runner, except ...string) {
	for _, c := range cases {
		if !slices.Contains(except, c.name) {
			t.Run(c.name, func(t *testing.T) { c.test(t, box{make(t)}) })
		}
	}
}

var cases = []struct {
	name string
	test func(*testing.T, box)
}{
	{"exit status", exitStatus},
	{"failing is no error", failing},
	{"streams are apart", streams},
	{"stdin", stdin},
	{"nil streams", nilStreams},
	{"japanese", japanese},
	{"arguments", arguments},
	{"environment", environment},
	{"directory", directory},
	{"program before script", program},
	{"check sees expanded words", checkWords},
	{"check stops the script", checkStops},
	{"check is not caught by the script", checkUncaught},
	{"check knows the directory", checkDir},
	{"redirect sees expanded files", redirectFiles},
	{"redirect stops the script", redirectStops},
	{"timeout", timeout},
	{"cancel", cancelled},
	{"cancelled before", cancelledBefore},
	{"partial output", partial},
	{"large output", large},
	{"failing writer", failingWriter},
	{"bad syntax", badSyntax},
	{"one after another", repeated},
	{"at the same time", concurrent},
}

// soon is how fast a runner must end what was cancelled, even on a busy machine.
const soon = 5 * time.Second

// A box is the runner under test.
type box struct{ run.Runner }

// An outcome is all that a run left behind.
type outcome struct {
	run.Result
	out, err string
	fault    error
}

// do runs a request with its streams collected.
func (b box) do(ctx context.Context, req run.Request) outcome {
	var out, errs bytes.Buffer
	req.ID, req.Actor = "test", "test"
	if req.Stdout == nil {
		req.Stdout = &out
	}
	req.Stderr = &errs
	done := make(chan outcome, 1)
	go func() {
		res, err := b.Run(ctx, &req)
		done <- outcome{res, out.String(), errs.String(), err}
	}()
	select {
	case got := <-done:
		return got
	case <-time.After(never):
		return outcome{fault: errStuck}
	}
}

// never is after how long a runner is given up, so that one case that hangs
// does not hide the others.
const never = 15 * time.Second

var errStuck = errors.New("the runner does not come back")

// script runs a script that must print want, end with status 0, and take part in no error.
func (b box) script(t *testing.T, req run.Request, want string) {
	t.Helper()
	got := b.do(t.Context(), req)
	if got.fault != nil || got.Exit != 0 || got.out != want || got.err != "" {
		t.Errorf("%s: exit %d, error %v, stderr %q\n got %q\nwant %q", req.Script, got.Exit, got.fault, got.err, got.out,
			want)
	}
}

func exitStatus(t *testing.T, b box) {
	for script, want := range map[string]int{"exit 0": 0, "exit 3": 3, "exit 255": 255, "true": 0, "false": 1, "": 0,
		"(exit 7)": 7, "false; true": 0, "true | false": 1} {
		if got := b.do(t.Context(), run.Request{Script: script}); got.Exit != want || got.fault != nil {
			t.Errorf("%q: exit %d, %v; want %d", script, got.Exit, got.fault, want)
		}
	}
}

func failing(t *testing.T, b box) {
	got := b.do(t.Context(), run.Request{Script: "cat /no/such/file; echo after; exit 4"})
	if got.fault != nil || got.Exit != 4 || got.out != "after\n" || got.err == "" || got.TimedOut {
		t.Errorf("%+v", got)
	}
}

func streams(t *testing.T, b box) {
	got := b.do(t.Context(), run.Request{Script: "echo a; echo b >&2; echo c; { echo d; echo e >&2; } 2>&1"})
	if got.out != "a\nc\nd\ne\n" || got.err != "b\n" || got.fault != nil {
		t.Errorf("%+v", got)
	}
	if got.Bytes != int64(len(got.out)+len(got.err)) {
		t.Errorf("counted %d bytes of %d", got.Bytes, len(got.out)+len(got.err))
	}
}

func stdin(t *testing.T, b box) {
	b.script(t, run.Request{Script: "cat", Stdin: strings.NewReader("one\ntwo")}, "one\ntwo")
	b.script(t, run.Request{Script: "read x; echo first $x; cat", Stdin: strings.NewReader("one\ntwo\n")},
		"first one\ntwo\n")
	big := strings.Repeat("0123456789abcde\n", 1<<14)
	b.script(t, run.Request{Script: "cat | cat", Stdin: iotestOneByte{strings.NewReader(big[:1000])}}, big[:1000])
	b.script(t, run.Request{Script: "cat", Stdin: strings.NewReader(big)}, big)
	b.script(t, run.Request{Script: "true", Stdin: strings.NewReader(big)}, "")
}

// iotestOneByte gives one byte at a time, as a slow pipe does.
type iotestOneByte struct{ r io.Reader }

func (o iotestOneByte) Read(p []byte) (int, error) { return o.r.Read(p[:min(len(p), 1)]) }

func nilStreams(t *testing.T, b box) {
	res, err := b.Run(t.Context(), &run.Request{ID: "test", Script: "cat; echo a; echo b >&2; exit 2"})
	if err != nil || res.Exit != 2 {
		t.Errorf("%+v, %v", res, err)
	}
}

func japanese(t *testing.T, b box) {
	b.script(t, run.Request{Script: "x='箱の中身'; echo \"$x\" | cat; printf '%s\\n' 日本語 ｶﾅ 😀"}, "箱の中身\n日本語\nｶﾅ\n😀\n")
	b.script(t, run.Request{Script: "cat", Stdin: strings.NewReader("\x93\xfa\x96\x7b\n")}, "\x93\xfa\x96\x7b\n")
	b.script(t, run.Request{Script: "echo \"$1\"", Args: []string{"引数"}}, "引数\n")
}

func arguments(t *testing.T, b box) {
	req := run.Request{Script: `echo $# "$1" "$2"; for a in "$@"; do echo "<$a>"; done`, Args: []string{"a b", "*", ""}}
	b.script(t, req, "3 a b *\n<a b>\n<*>\n<>\n")
	b.script(t, run.Request{Script: "echo $#"}, "0\n")
}

func environment(t *testing.T, b box) {
	req := run.Request{Script: `echo "$GREETING"; env | while IFS= read -r l; do case $l in GREETING=*) echo "$l";; esac; done`,
		Env: []string{"GREETING=hello world"}}
	b.script(t, req, "hello world\nGREETING=hello world\n")
}

func directory(t *testing.T, b box) {
	b.script(t, run.Request{Script: "mkdir inside && echo x >inside/file"}, "")
	b.script(t, run.Request{Script: "cat file", Dir: "inside"}, "x\n")
	got := b.do(t.Context(), run.Request{Script: "echo no", Dir: "not there"})
	if got.fault == nil && got.Exit == 0 {
		t.Error("a directory that does not exist was taken")
	}
}

func program(t *testing.T, b box) {
	if opaque(b) {
		t.Skip("an opaque runner has nothing but the text")
	}
	file, err := syntax.NewParser().Parse(strings.NewReader("echo tree"), "")
	if err != nil {
		t.Fatal(err)
	}
	b.script(t, run.Request{Script: "echo text", Program: file}, "tree\n")
}

func opaque(b box) bool {
	_, ok := b.Runner.(run.Opaque)
	return ok
}

func checkWords(t *testing.T, b box) {
	if opaque(b) {
		t.Skip("an opaque runner never calls Check")
	}
	var mu sync.Mutex
	var seen []string
	check := func(_ context.Context, _ string, argv []string) error {
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, strings.Join(argv, "|"))
		return nil
	}
	b.script(t, run.Request{Script: `x='a  b'; c=echo; $c "$x" $(echo in) {1,2}; f() { echo "f $1"; }; f z; eval 'echo ev'`, Check: check},
		"a  b in 1 2\nf z\nev\n")
	for _, want := range []string{"echo|in", "echo|a  b|in|1|2", "echo|f z", "echo|ev"} {
		if !slices.Contains(seen, want) {
			t.Errorf("%q was not checked; seen %q", want, seen)
		}
	}
}

var errNo = &fault.Error{Kind: fault.Denied, Op: "denied", Why: "the test says no"}

// refuse says no to one command.
func refuse(name string) func(context.Context, string, []string) error {
	return func(_ context.Context, _ string, argv []string) error {
		if argv[0] == name {
			return errNo
		}
		return nil
	}
}

func checkStops(t *testing.T, b box) {
	if opaque(b) {
		t.Skip("an opaque runner never calls Check")
	}
	for _, script := range []string{"echo a; cat x; echo b", "echo a; (cat x); echo b", "echo a; y=$(cat x); echo b",
		"echo a; echo b $(cat x)", "echo a; echo b >new$(cat x); echo b", "echo a; echo z | cat | wc >&2; echo b"} {
		got := b.do(t.Context(), run.Request{Script: script, Check: refuse("cat")})
		if fault.KindOf(got.fault) != fault.Denied || !errors.Is(got.fault, errNo) || got.out != "a\n" {
			t.Errorf("%q: %q, %v", script, got.out, got.fault)
		}
	}
}

func checkUncaught(t *testing.T, b box) {
	if opaque(b) {
		t.Skip("an opaque runner never calls Check")
	}
	for _, script := range []string{"cat x || echo b", "if cat x; then echo b; else echo b; fi",
		"while ! cat x; do echo b; done", "trap 'echo b' EXIT ERR; cat x"} {
		got := b.do(t.Context(), run.Request{Script: script, Check: refuse("cat")})
		if !errors.Is(got.fault, errNo) || got.out != "" {
			t.Errorf("%q: %q, %v", script, got.out, got.fault)
		}
	}
}

// ended reports what is wrong with the end of a script that was cut short.
func ended(got outcome, took time.Duration, want error) string {
	cut := got.TimedOut || errors.Is(got.fault, want) || fault.KindOf(got.fault) == fault.Timeout
	if !cut || took > soon {
		return fmt.Sprintf("took %v, timed out %v, %v", took, got.TimedOut, got.fault)
	}
	return ""
}

var endless = []string{"while true; do :; done", "sleep 600", "cat", "while true; do echo x; done | cat >/dev/null",
	"until false; do true; done"}

func timeout(t *testing.T, b box) {
	for _, script := range endless {
		pr, pw := io.Pipe()
		began := time.Now()
		got := b.do(t.Context(), run.Request{Script: script, Stdin: pr, Timeout: 100 * time.Millisecond})
		if bad := ended(got, time.Since(began), context.DeadlineExceeded); bad != "" {
			t.Errorf("%q: %s", script, bad)
		}
		pw.Close()
	}
}

func cancelled(t *testing.T, b box) {
	for _, script := range endless {
		ctx, cancel := context.WithCancel(t.Context())
		pr, pw := io.Pipe()
		time.AfterFunc(100*time.Millisecond, cancel)
		began := time.Now()
		got := b.do(ctx, run.Request{Script: script, Stdin: pr, Timeout: time.Minute})
		if took := time.Since(began); !errors.Is(got.fault, context.Canceled) && !got.TimedOut || took > soon {
			t.Errorf("%q: took %v, %v", script, took, got.fault)
		}
		pw.Close()
	}
}

func cancelledBefore(t *testing.T, b box) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	got := b.do(ctx, run.Request{Script: "echo ran"})
	if got.fault == nil || got.out != "" {
		t.Errorf("%q, %v", got.out, got.fault)
	}
}

func partial(t *testing.T, b box) {
	got := b.do(t.Context(), run.Request{Script: "echo before; echo wrong >&2; sleep 600; echo after",
		Timeout: 300 * time.Millisecond})
	if got.out != "before\n" || got.err == "" {
		t.Errorf("kept %q and %q", got.out, got.err)
	}
}

func large(t *testing.T, b box) {
	var n counter
	got := b.do(t.Context(), run.Request{Script: "seq 1 100000; seq 1 1000 | while read x; do echo $x; done", Stdout: &n})
	if want := int64(588895 + 3893); got.fault != nil || n.bytes != want || got.Bytes != want+int64(len(got.err)) {
		t.Errorf("%d bytes came through, %d were counted, want %d; %v", n.bytes, got.Bytes, want, got.fault)
	}
	if n.largest > 1<<20 {
		t.Errorf("output came in one piece of %d bytes", n.largest)
	}
}

type counter struct{ bytes, largest int64 }

func (c *counter) Write(p []byte) (int, error) {
	c.bytes += int64(len(p))
	c.largest = max(c.largest, int64(len(p)))
	return len(p), nil
}

func failingWriter(t *testing.T, b box) {
	began := time.Now()
	got := b.do(t.Context(), run.Request{Script: "while echo x; do :; done", Stdout: full{}, Timeout: time.Minute})
	if took := time.Since(began); took > soon || got.fault == nil && got.Exit == 0 {
		t.Errorf("took %v, exit %d, %v", took, got.Exit, got.fault)
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left") }

func badSyntax(t *testing.T, b box) {
	got := b.do(t.Context(), run.Request{Script: "echo a; if"})
	if got.fault == nil && got.Exit == 0 {
		t.Error("nonsense ran")
	}
	if got.out != "" && !opaque(b) {
		t.Errorf("half of it ran: %q", got.out)
	}
}

func repeated(t *testing.T, b box) {
	for i := range 50 {
		b.script(t, run.Request{Script: fmt.Sprintf("echo %d | cat", i)}, fmt.Sprintf("%d\n", i))
	}
}

func concurrent(t *testing.T, b box) {
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 10 {
				want := fmt.Sprintf("%d %d\n", i, j)
				b.script(t, run.Request{Script: fmt.Sprintf("x=%d; echo $x %d | cat", i, j)}, want)
			}
		})
	}
	wg.Wait()
}
