package awk

import (
	"bytes"
	"context"
	"errors"
	"io"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"hako/internal/testload"
	"hako/shell/stream"
)

var errDenied = errors.New("denied by a rule")

// fakeShell is a Command that knows a few words.
func fakeShell(in *stream.Reader, out io.Writer) func(context.Context, string, Streams) (func() (int, error), error) {
	return func(ctx context.Context, text string, s Streams) (func() (int, error), error) {
		if text == "refused" {
			return nil, errDenied
		}
		if s.Stdin == nil {
			s.Stdin = in
		}
		if s.Stdout == nil {
			s.Stdout = out
		}
		return func() (int, error) { return fakeCommand(ctx, text, s) }, nil
	}
}

func fakeCommand(ctx context.Context, text string, s Streams) (int, error) {
	word, arg, _ := strings.Cut(text, " ")
	switch word {
	case "cat":
		_, err := s.Stdin.WriteTo(s.Stdout)
		return 0, quietly(err)
	case "first":
		line, err := s.Stdin.Line()
		_, _ = s.Stdout.Write(line)
		return 0, quietly(err)
	case "yes":
		for {
			if _, err := io.WriteString(s.Stdout, "y\n"); err != nil {
				return 141, quietly(err)
			}
		}
	case "denied":
		return 126, errDenied
	case "wait":
		<-ctx.Done()
		return 1, context.Cause(ctx)
	}
	n, _ := strconv.Atoi(arg)
	return n, nil
}

func quietly(err error) error {
	if err == io.EOF || errors.Is(err, stream.ErrPipe) {
		return nil
	}
	return err
}

// guarded is a buffer that commands and the program share.
type guarded struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (g *guarded) Write(p []byte) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.b.Write(p)
}

func withCommands(ctx context.Context, t *testing.T, prog, input string) (string, error) {
	t.Helper()
	p, err := Parse("awk", []Source{{Text: prog}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	out := &guarded{}
	w := stream.NewWriter(out)
	in := stream.NewReader(strings.NewReader(input))
	b := &budget{limit: 64 << 20}
	_, err = Run(ctx, p, &Config{Stdin: in, Output: w, Grow: b.grow, Command: fakeShell(in, out)})
	_ = w.Flush()
	if b.held != 0 {
		t.Errorf("%q: %d bytes were not given back", prog, b.held)
	}
	return out.b.String(), err
}

func TestCommands(t *testing.T) {
	for _, c := range []struct{ prog, want string }{
		{`{ print | "cat" }`, "1\n2\n3\n"},
		{`{ print | "cat" } END { print close("cat"), "after" }`, "1\n2\n3\n0 after\n"},
		{`BEGIN { print "h"; print "x" | "cat"; print "t" }`, "h\nx\nt\n"},
		{`BEGIN { print close("exit 3"), system("exit 4"); "exit 5" | getline; print close("exit 5") }`, "-1 4\n5\n"},
		{`BEGIN { while (("cat" | getline x) > 0) s = s x; print s }`, "123\n"},
		{`BEGIN { "yes" | getline x; print x }`, "y\n"},
		{`BEGIN { print "q" |& "cat"; "cat" |& getline x; print x; close("cat", "to"); print ("cat" |& getline x), close("cat") }`, "q\n0 0\n"},
		{`BEGIN { system("cat") } { print "none" }`, "1\n2\n3\n"},
		{`NR == 1 { "cat" | getline x; print x "." } { print "main", $0 }`, ".\nmain 1\nmain 2\nmain 3\n"},
	} {
		got, err := withCommands(context.Background(), t, c.prog, "1\n2\n3\n")
		if err != nil || got != c.want {
			t.Errorf("%s: %q, %v", c.prog, got, err)
		}
	}
}

// TestCommandsStopTheProgram sees that a refusal reaches whoever ran awk.
func TestCommandsStopTheProgram(t *testing.T) {
	for _, prog := range []string{
		`BEGIN { system("denied"); print "on" }`, `BEGIN { system("refused"); print "on" }`,
		`BEGIN { "denied" | getline; print "on" }`,
		`BEGIN { print | "denied"; close("denied"); print "on" }`, `BEGIN { print | "denied" }`,
		`BEGIN { print | "refused" }`,
		`BEGIN { for (;;) print "a long line to fill the pipe" | "denied" }`,
	} {
		if got, err := withCommands(context.Background(), t, prog, ""); !errors.Is(err, errDenied) || got != "" {
			t.Errorf("%s: %q, %v", prog, got, err)
		}
	}
}

// TestCommandsEnd sees that no goroutine outlives the program.
func TestCommandsEnd(t *testing.T) {
	before := runtime.NumGoroutine()
	for _, prog := range []string{
		`BEGIN { "yes" | getline }`, `BEGIN { "wait" | getline }`, `BEGIN { print | "wait" }`, `BEGIN { system("wait") }`,
		`BEGIN { for (;;) print "x" | "wait" }`, `BEGIN { print | "cat"; for (;;) ; }`,
		`BEGIN { "yes" | getline; for (;;) ; }`,
		`BEGIN { print |& "cat"; "cat" |& getline; "cat" |& getline }`,
		`BEGIN { for (i = 0; i < 100; i++) print | ("cat " i) }`,
		`BEGIN { for (;;) print "x" | "first" }`, `BEGIN { print | "cat"; "yes" | getline; x = sprintf("%999999999d", 1) }`,
	} {
		ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
		start := time.Now()
		_, _ = withCommands(ctx, t, prog, "") // it must end; how is told elsewhere
		cancel()
		if took := time.Since(start); took > testload.Bound(3*time.Second) {
			t.Errorf("%s took %v", prog, took)
		}
	}
	for range 100 {
		if runtime.NumGoroutine() <= before {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("%d goroutines before, %d after", before, runtime.NumGoroutine())
}
