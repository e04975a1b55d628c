package shell_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"hako/internal/testload"
	"hako/quota"
	"hako/run"
	"hako/run/fault"
	"hako/run/runtest"
	"hako/shell"
	"hako/shell/command"
)

func withJobs(g *quota.Limiter) *shell.Session {
	return shell.New(shell.Options{Commands: command.All(), Limiter: g, Jobs: true})
}

// TestRunnerWithJobs runs the suite again where & is permitted.
func TestRunnerWithJobs(t *testing.T) {
	runtest.Test(t, func(*testing.T) run.Runner { return withJobs(nil) })
}

// TestJobsAreRefused checks that nothing has changed where they are not permitted.
func TestJobsAreRefused(t *testing.T) {
	s := newSession()
	for _, script := range []string{"true &", "(sleep 1 &)", "f() { true & }; f", "coproc cat"} {
		var out bytes.Buffer
		_, err := s.Run(t.Context(), &run.Request{Script: script + "\necho after", Stdout: &out})
		if fault.KindOf(err) != fault.Denied || fault.Hint(err) == "" || out.Len() > 0 {
			t.Errorf("%s: %v, %q", script, err, &out)
		}
	}
	if got := say(t, s, "wait; jobs; wait 17; type kill; kill %1"); !strings.HasPrefix(got,
		"type: kill: not found\nkill: command not found\n") {
		t.Errorf("%q", got)
	}
	if strings.Contains(" "+strings.Join(s.Words(), " ")+" ", " kill ") {
		t.Error("kill is offered where there is nothing to kill")
	}
	if _, err := withJobs(nil).Run(t.Context(), &run.Request{Script: "coproc cat"}); fault.KindOf(err) != fault.Denied {
		t.Errorf("coproc: %v", err)
	}
}

// TestNothingOutlivesTheRequest leaves jobs behind in all kinds of ways.
func TestNothingOutlivesTheRequest(t *testing.T) {
	defer goleak.VerifyNone(t)
	g := quota.NewLimiter(quota.Lenient())
	s := withJobs(g)
	say(t, s, "echo warm > f")
	held := g.Held()
	for _, script := range []string{
		"sleep 3 & echo a", "(sleep 3 &); echo a", "{ { sleep 3 & } & sleep 3; } & echo a", "while :; do :; done & echo a",
		"yes > /dev/null & echo a", "for i in 1 2 3 4 5; do sleep 3 & done; echo a",
		"{ yes & } | { sleep 3 & }; echo a", "sleep 3 | cat & echo a", "f() { sleep 3 & }; f; echo a",
		"sh -c 'sleep 3 & :'; echo a", "timeout 5 sh -c 'sleep 3 & true'; echo a", "exec 3> x; yes >&3 & exec 3>&-; echo a",
		"trap 'echo a' EXIT; sleep 3 &", "x=$(seq 1000); { y=$x$x; sleep 3; } & echo a", "sleep 3 & exit 0 | echo a",
		"true & echo a",
	} {
		began := time.Now()
		if got := say(t, s, script); !strings.HasPrefix(got, "a\n") {
			t.Errorf("%s: %q", script, got)
		}
		if took := time.Since(began); took > testload.Bound(2*time.Second) {
			t.Errorf("%s: took %v", script, took)
		}
		say(t, s, "rm -f x; unset x; trap - EXIT")
	}
	if now := g.Held(); now > held+1024 {
		t.Errorf("held %d bytes before, %d after", held, now)
	}
}

func TestTimeoutEndsJobs(t *testing.T) {
	defer goleak.VerifyNone(t)
	var out bytes.Buffer
	began := time.Now()
	res, err := withJobs(nil).Run(t.Context(), &run.Request{Script: "echo before; sleep 3 & sleep 3", Stdout: &out,
		Timeout: 200 * time.Millisecond})
	if took := time.Since(began); fault.KindOf(err) != fault.Timeout || !res.TimedOut || res.Exit != 124 ||
		out.String() != "before\n" || took > testload.Bound(2*time.Second) {
		t.Errorf("%+v, %v, %q after %v", res, err, &out, took)
	}
	for _, script := range []string{"sleep 3 & wait", "while :; do :; done & wait", "x=$(sleep 3 & echo); echo $x",
		"{ cat & wait; } < /dev/zero > /dev/null"} {
		_, err := withJobs(nil).Run(t.Context(), &run.Request{Script: script, Timeout: 100 * time.Millisecond})
		if fault.KindOf(err) != fault.Timeout {
			t.Errorf("%s: %v", script, err)
		}
	}
}

// TestWhatStopsAJobStopsTheScript has jobs that are refused or go over a limit.
func TestWhatStopsAJobStopsTheScript(t *testing.T) {
	defer goleak.VerifyNone(t)
	no := errors.New("the test says no")
	check := func(_ context.Context, _ string, argv []string) error {
		if argv[0] == "rm" {
			return no
		}
		return nil
	}
	limits := quota.Lenient()
	limits.Loops, limits.Memory, limits.Depth = 1000, 16<<20, 20
	for script, want := range map[string]string{
		"rm x & wait; echo after": "says no", "rm x & sleep 3; echo after": "says no",
		"{ sleep 0.1; (rm x); } & while :; do sleep 0.01; done":      "says no",
		"x=$(rm x & wait); echo after":                               "says no",
		"{ rm x & } | cat; sleep 3; echo after":                      "says no",
		"{ rm x & wait; } & wait; echo after":                        "says no",
		"while :; do :; done & wait; echo after":                     "limit loops",
		"y=aaaaaaaa; while :; do y=$y$y; done & wait; echo after":    "limit memory",
		"f() { f & wait; }; f; echo after":                           "limit depth",
		"sleep 2 & exec 3<&0; rm x & cat; echo after":                "says no",
		"echo a > f & wait; echo b > secret & wait; echo after":      "not for you",
		"for i in {1..900}; do sleep 2 & done; echo after":           "256 jobs",
		"big=$(seq 200000); for i in {1..200}; do sleep 2 & done; :": "limit memory",
	} {
		s := withJobs(quota.NewLimiter(limits))
		var out bytes.Buffer
		silent, typed := io.Pipe()
		_, err := s.Run(t.Context(), &run.Request{Script: script, Stdin: silent, Stdout: &out, Check: check,
			Timeout: 20 * time.Second,
			Redirect: func(_ context.Context, _, _, file string) error {
				if file == "secret" {
					return errors.New("not for you")
				}
				return nil
			}})
		typed.Close()
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(out.String(), "after") {
			t.Errorf("%s: %v, %q", script, err, &out)
		}
		if got := say(t, s, "echo alive"); got != "alive\n" {
			t.Errorf("after %s: %q", script, got)
		}
	}
}

// TestKilledJobsAreNoReason ends jobs in ways that must not end the script.
func TestKilledJobsAreNoReason(t *testing.T) {
	defer goleak.VerifyNone(t)
	s := withJobs(nil)
	for script, want := range map[string]string{
		"sleep 3 & kill $!; wait $!; echo $?":                                     "143\n",
		"timeout 0.05 sh -c 'sleep 3 & wait'; echo $?":                            "124\n",
		"{ sleep 3 & sleep 3; } & sleep 0.05; kill $!; wait; echo ok":             "ok\n",
		"while :; do :; done & kill -9 %1; wait %1; echo $?":                      "137\n",
		"sleep 3 & kill -CONT $!; kill -STOP $!; kill $!; wait $!; echo $?":       "kill: jobs cannot be halted in this shell, only ended\n143\n",
		"sleep 3 & (kill $!); wait $!; echo $?":                                   "143\n",
		"true & wait $!; kill $! 2>/dev/null; echo $?":                            "1\n",
		"sleep 3 & echo $BASHPID $!; kill %1; { echo $BASHPID; } & wait; echo $!": "1 1001\n1002\n1002\n",
	} {
		if got := say(t, s, script); got != want {
			t.Errorf("%s:\n got %q\nwant %q", script, got, want)
		}
	}
}

// TestManyJobs starts far more than may run at once, one after the other.
func TestManyJobs(t *testing.T) {
	defer goleak.VerifyNone(t)
	g := quota.NewLimiter(quota.Lenient())
	s := withJobs(g)
	script := "n=0; for i in {1..2000}; do true & wait $! && ((++n)); done; echo $n"
	if got := say(t, s, script); got != "2000\n" {
		t.Errorf("%q", got)
	}
	held := g.Held()
	say(t, s, script)
	if now := g.Held(); now > held+1024 {
		t.Errorf("held %d bytes, then %d", held, now)
	}
	if got := say(t, s, "for i in {1..100}; do echo $i & done | wc -l; wait"); got != "100\n" {
		t.Errorf("%q", got)
	}
}

// TestJobsShareNothing lets the script change everything a job reads. It is
// about the race detector as much as about what is printed.
func TestJobsShareNothing(t *testing.T) {
	s := withJobs(nil)
	say(t, s, "seq 100 > lines; seq 100 > more")
	var n atomic.Int64
	req := run.Request{Stdin: strings.NewReader(strings.Repeat("typed\n", 100)),
		Stdout: writerFunc(func(b []byte) (int, error) {
			n.Add(int64(bytes.Count(b, []byte("\n"))))
			return len(b), nil
		}), Script: `
		exec 3< lines 4<&0
		f() { local l=$1 m=1; { unset l; m=2; local k=3; for j in 1 2 3; do echo $l$m$k; done; } & l=x; m=y; }
		declare -A t=([a]=1); v=(1 2 3); trap 'echo trap' ERR; trap ':' RETURN
		for i in {1..10}; do
			{ while read -r x <&3; do echo $x; done; } &
			{ grep -c typed <&4 >/dev/null; cat <&4 >/dev/null; trap -p >/dev/null; jobs; } &
			{ t[b]=$i; v+=($i); echo ${t[@]} ${v[@]}; f() { :; }; cd /; set -f; shopt -s nullglob; } &
			f $i
			t[$i]=$i; v[$i]=$i; unset 'v[0]'; eval "g$i() { :; }"; export E$i=$i; trap "echo $i" ERR
			read -r y <&3; y=$RANDOM; cd /tmp; cd - >/dev/null; pushd /tmp >/dev/null; set -- $i; sort more | tail -1 >/dev/null
		done
		wait; cat <&4 >/dev/null`}
	if _, err := s.Run(t.Context(), &req); err != nil {
		t.Error(err)
	}
	if got := n.Load(); got < 10+30+80 {
		t.Errorf("%d lines", got)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }

// TestJobLines checks that jobs which read the same file take each line once.
func TestJobLines(t *testing.T) {
	s := withJobs(nil)
	got := say(t, s, `seq 1000 > f; exec 3< f; for w in 1 2 3 4; do while read -r l <&3; do echo $l; done > out$w & done; wait; cat out? | sort -n | uniq | wc -l; cat out? | wc -l`)
	if got != "1000\n1000\n" {
		t.Errorf("%q", got)
	}
}

// TestJobsOfARequest checks that numbers, lists and $! begin anew.
func TestJobsOfARequest(t *testing.T) {
	s := withJobs(nil)
	first := say(t, s, "sleep 3 & jobs; echo $!")
	if again := say(t, s, "jobs; echo [$!]; sleep 3 & jobs; echo $!"); again != "[]\n"+first {
		t.Errorf("%q, then %q", first, again)
	}
	if got, want := say(t, s, "(exit 3) & sleep 0.3; jobs; jobs"),
		fmt.Sprintf("[1]+  %-24s(exit 3)\n", "Exit 3"); got != want {
		t.Errorf("%q", got)
	}
}
