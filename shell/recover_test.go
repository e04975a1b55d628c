package shell_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"hako/internal/testload"
	"hako/run"
	"hako/run/fault"
	"hako/shell"
	"hako/shell/command"
)

// TestMadeUpDescriptors gives redirections numbers that a script has made up.
func TestMadeUpDescriptors(t *testing.T) {
	for script, want := range map[string]string{
		"x=-5; true {x}>&-; echo $?":                                  "-5: Bad file descriptor\n1\n",
		"x=99999999999; true {x}>&-; echo $?":                         "99999999999: Bad file descriptor\n1\n",
		"x=99999999999999999999999; true {x}<&-; echo $?":             "99999999999999999999999: Bad file descriptor\n1\n",
		"x=256; true {x}>&-; echo $?":                                 "256: Bad file descriptor\n1\n",
		"x=255; true {x}>&-; echo $?":                                 "0\n",
		"x=abc; true {x}>&-; echo $?":                                 "x: ambiguous redirect\n1\n",
		"true {nope}>&-; echo $?":                                     "nope: ambiguous redirect\n1\n",
		"exec {x}>f; echo a >&$x; exec {x}>&-; echo b >&$x; cat f":    "10: Bad file descriptor\na\n",
		"cat < /dev/fd/-5; echo $?":                                   "/dev/fd/-5: No such file or directory\n1\n",
		"echo a >&99999999999; echo $?":                               "99999999999: Bad file descriptor\n1\n",
		"x=-5; read -u $x y; echo $?":                                 "read: -5: invalid file descriptor: Bad file descriptor\n1\n",
		"for i in {1..246}; do true {x}>f; done; echo $? $x":          "0 255\n",
		"for i in {1..247}; do true {x}>f; done; echo $?":             "x: Too many open files\n1\n",
		"for i in {1..247}; do true {x}<<< a; done; echo $?":          "x: Too many open files\n1\n",
		"for i in {1..247}; do true {x}<<E\na\nE\ndone; echo $?":      "x: Too many open files\n1\n",
		"for i in {1..247}; do true {x}>&1; done; echo $? >&$x":       "x: Too many open files\n1\n",
		"for i in {1..247}; do true {x}>f; done; cat f; ls":           "x: Too many open files\nf\n",
		"for i in {1..2000}; do exec 3>f; done; echo a >&3; cat f":    "a\n",
		"for i in {1..2000}; do { (exec >g; echo b); } | cat; done":   "",
		"for i in {1..2000}; do read x 4<g 3>f <nope; done 2>g; ls":   "f\ng\n",
		"for i in {1..2000}; do cat < .; done 2>/dev/null; echo a >f": "",
	} {
		if got := say(t, newSession(), script); got != want {
			t.Errorf("%s:\n%q, want %q", script, got, want)
		}
	}
}

// TestOpenFilesOfAllSubshells adds up what the stages of a pipeline have open,
// each of which waits until all have what they can get.
func TestOpenFilesOfAllSubshells(t *testing.T) {
	in, release := io.Pipe()
	var ready atomic.Int32
	check := func(_ context.Context, _ string, argv []string) error {
		if len(argv) == 2 && argv[1] == "ready" && ready.Add(1) == 3 {
			release.Close()
		}
		return nil
	}
	s := newSession()
	var out bytes.Buffer
	script := `exec 3>errors; many() { for j in {1..200}; do true {x}>f; done 2>&3; : ready; cat; }
many | many | many; exec 3>&-; grep -c 'f: Too many open files' errors`
	_, err := s.Run(t.Context(), &run.Request{Script: script, Stdin: in, Stdout: &out, Stderr: &out, Check: check,
		Timeout: 10 * time.Second})
	if err != nil || out.String() != "89\n" { // 600 and the errors are 89 more than there may be
		t.Errorf("%v, %q", err, &out)
	}
	if got := say(t, s, "for i in {1..246}; do true {x}>f; done; echo $?"); got != "0\n" {
		t.Errorf("what the stages had open is open still: %q", got)
	}
}

// TestExecLetsGo knows that exec >f closes what was there: whoever reads from
// it must not wait for more.
func TestExecLetsGo(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), testload.Bound(5*time.Second))
	defer cancel()
	for script, want := range map[string]string{
		"(exec >f; echo a) | cat; cat f":              "a\n",
		"x=$(echo a; exec >f; echo b); echo $x; rm f": "a\n",
	} {
		var out bytes.Buffer
		if _, err := withJobs(nil).Run(ctx, &run.Request{Script: script, Stdout: &out, Stderr: &out}); err != nil ||
			out.String() != want {
			t.Errorf("%s: %v, %q, want %q", script, err, &out, want)
		}
	}
}

// TestBrokenInterpreter has a bug strike in every kind of shell process. It has
// to end the request, at once and with everything closed, and nothing else.
func TestBrokenInterpreter(t *testing.T) {
	defer goleak.VerifyNone(t)
	for _, jobs := range []bool{false, true} {
		commands := command.All()
		commands["boom"] = shell.Command{Name: "boom", Run: func(context.Context, *shell.Call) error { return nil }}
		s := shell.New(shell.Options{Commands: commands, Jobs: jobs})
		scripts := []string{
			"boom", "f() { local v=in; shift; boom; }; v=out; f a b", "(boom)", "x=$(boom)", "echo a | boom", "boom | cat",
			"{ { boom; } >f; } | cat", "echo a | (boom) | cat",
			"{ boom; } 3>f", "cat <<E\n$(boom)\nE", "echo a >f$(boom)", "cat 4</dev/null 3<f$(boom) | cat",
			"echo a | xargs boom", "sh -c boom", "sh -c 'boom | cat'", "eval boom", "trap boom EXIT", "(trap boom EXIT)",
			"(trap boom EXIT) | cat",
			"(trap boom DEBUG; echo a)", "while boom; do :; done", "find . -exec boom \\;", "env x=1 boom",
		}
		if jobs {
			scripts = append(scripts, "boom & wait", "boom & sleep 5", "(boom & wait) | cat", "{ trap boom EXIT; } & wait",
				"x=$(boom & echo a); sleep 5", "echo a | { boom & cat; } | cat; sleep 5")
		}
		for _, script := range scripts {
			breaks(t, s, script)
		}
		if got := say(t, s, "echo $v $# $BASH_SUBSHELL; trap -p; ls /dev/fd/3 2>/dev/null; echo on"); !strings.HasPrefix(got,
			"out 0 0\n") || !strings.HasSuffix(got, "on\n") {
			t.Errorf("the session afterwards: %q", got)
		}
	}
}

// breaks runs a script in which the command boom meets a bug.
func breaks(t *testing.T, s *shell.Session, script string) {
	t.Helper()
	var out bytes.Buffer
	res, err := s.Run(t.Context(), &run.Request{Script: script + "\necho after", Timeout: 3 * time.Second, Stdout: &out,
		Stderr: &out,
		Check: func(_ context.Context, _ string, argv []string) error {
			if argv[0] == "boom" {
				var none []int
				_ = none[len(argv)]
			}
			return nil
		}})
	var f *fault.Error
	if !errors.As(err, &f) || fault.KindOf(err) != fault.Other || !strings.Contains(err.Error(), "index out of range") ||
		!strings.Contains(f.Hint, "a bug in hako") || res.Exit == 0 {
		t.Errorf("%s: %d, %v", script, res.Exit, err)
	}
	if strings.Contains(out.String(), "after") && !strings.Contains(script, "EXIT") {
		t.Errorf("%s: it went on: %q", script, &out)
	}
}
