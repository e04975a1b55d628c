package shell_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"hako/quota"
	"hako/run"
	"hako/run/fault"
	"hako/shell"
	"hako/shell/command"
	"hako/shell/vfs"
)

// say runs a script that must not be stopped and returns all it prints.
func say(t *testing.T, r run.Runner, script string) string {
	t.Helper()
	var out bytes.Buffer
	if _, err := r.Run(t.Context(), &run.Request{Script: script, Stdout: &out, Stderr: &out}); err != nil {
		t.Errorf("%s: %v", script, err)
	}
	return out.String()
}

// TestSessionRemembers runs pairs of requests: what the first leaves behind,
// the second finds.
func TestSessionRemembers(t *testing.T) {
	for _, c := range []struct{ first, second, want string }{
		{"mkdir -p a/b; cd a/b", "pwd; echo $PWD $OLDPWD", "/box/a/b\n/box/a/b /box\n"},
		{"x=箱; y=(1 '2 3'); declare -A z=([k]=v)", `echo "$x" "${y[1]}" "${z[k]}"`, "箱 2 3 v\n"},
		{"export E=1; L=2", "env | grep '^[EL]='", "E=1\n"},
		{"f() { local v=$1; echo in $v; }", "f 1; echo out $v", "in 1\nout\n"},
		{"echo text > file; mkdir d; ln -s file link", "cat file link; ls", "text\ntext\nd\nfile\nlink\n"},
		{"set -u", "echo a$nope; echo after", "nope: unbound variable\n"},
		{"set -o pipefail", "false | true; echo $?", "1\n"},
		{"shopt -s nullglob", "echo [ *.x ]", "[ ]\n"},
		{"set -f", "echo *", "*\n"},
		{"false", "echo $?", "1\n"},
		{"set -- a b", "echo $# $2", "2 b\n"},
		{"readonly r=1", "r=2; echo $r", "r: readonly variable\n"},
		{"pushd /tmp > /dev/null", "popd > /dev/null; pwd", "/box\n"},
		{"exec 3> log; echo one >&3", "echo two >&3; cat log", "one\ntwo\n"},
		{"exit 3", "echo alive", "alive\n"},
		{"f() { return 7; }; f", "echo $?", "7\n"},
		{"trap 'echo bye' EXIT", "echo hi", "hi\n"},
		{"(cd /tmp; x=1); echo | x=2", `pwd; echo "[$x]"`, "/box\n[]\n"},
		{"if true; then x=1; fi; while :; do y=2; break; done", "echo $x $y", "1 2\n"},
	} {
		s := newSession()
		var discard bytes.Buffer
		if _, err := s.Run(t.Context(), &run.Request{Script: c.first, Stdout: &discard, Stderr: &discard}); err != nil {
			t.Errorf("%s: %v", c.first, err)
		}
		if got := say(t, s, c.second); got != c.want {
			t.Errorf("after %q, %q printed %q, want %q", c.first, c.second, got, c.want)
		}
	}
}

// TestSessionSurvives checks that a script which was stopped leaves a session
// that works, with what it held given back.
func TestSessionSurvives(t *testing.T) {
	limits := quota.Lenient()
	limits.Time, limits.Memory, limits.Loops, limits.Depth, limits.Output = 10*time.Second, 16<<20, 10000, 50, 1<<20
	for name, script := range map[string]string{
		"time":   "sleep 100",
		"loops":  "while :; do :; done",
		"depth":  "f() { f; }; f",
		"memory": "y=keep; while :; do x=$x${x:-aaaaaaaa}; done",
		"output": "yes",
	} {
		s := shell.New(shell.Options{Commands: command.All(), Limiter: quota.NewLimiter(limits)})
		say(t, s, "before=1")
		res, err := s.Run(t.Context(), &run.Request{Script: script})
		kind := fault.KindOf(err)
		if (kind != fault.Exhausted && kind != fault.Timeout) || !strings.Contains(err.Error(), "limit "+name+"=") {
			t.Errorf("%s: ended with %d, %v", name, res.Exit, err)
		}
		if kind == fault.Timeout != res.TimedOut {
			t.Errorf("%s: timed out: %v", name, res.TimedOut)
		}
		if got := say(t, s, "unset x; echo $before again | cat"); got != "1 again\n" {
			t.Errorf("after %s: %q", name, got)
		}
	}
}

// TestMemoryIsGivenBack runs scripts that come and go in one session; what it
// holds must not creep up.
func TestMemoryIsGivenBack(t *testing.T) {
	g := quota.NewLimiter(quota.Lenient())
	s := shell.New(shell.Options{Commands: command.All(), Limiter: g})
	script := `x=$(seq 1000); y=($x); declare -A z=([a]=$x); f() { local l=$x; echo "$l" | sort | head -1; }; f > out
		(x=$x$x; a=($x); echo ${#a[@]}) > out; for i in $x; do :; done; echo "$x" | while read l; do w=$l; done
		seq 1000 | awk '{a[$1]=1} END {print length(a)}' >> out; echo "$x" | jq -s add > out; sort out | uniq -c | tac > out2
		set -- $x; unset x y z; set --; rm -f out out2; printf -v q '%1000s' a; unset q; e=1 eval 'v=$e'; unset v`
	say(t, s, script)
	held := g.Held()
	for range 50 {
		say(t, s, script)
	}
	if now := g.Held(); now > held+1024 {
		t.Errorf("held %d bytes after one run, %d after 51", held, now)
	}
}

func TestForkAndCompare(t *testing.T) {
	a := newSession()
	say(t, a, "x=1; f() { echo f$x; }; echo one > same; echo two > other; mkdir d; cd d; set -u")
	b, err := a.Fork()
	if err != nil {
		t.Fatal(err)
	}
	if got := say(t, b, "f; pwd; cat ../same; echo $-"); !strings.HasPrefix(got, "f1\n/box/d\none\n") ||
		!strings.Contains(got, "u") {
		t.Errorf("the fork knows %q", got)
	}
	if diff := shell.Compare(a, b); len(diff) != 0 {
		t.Errorf("they differ already: %v", diff)
	}
	say(t, b, "x=2; f() { echo g; }; echo changed > ../other; rm ../same; echo new > ../new; cd /")
	if got := say(t, a, "f; pwd; cat ../same ../other; ls .."); got != "f1\n/box/d\none\ntwo\nd\nother\nsame\n" {
		t.Errorf("the fork changed its parent: %q", got)
	}
	var names []string
	for _, c := range shell.Compare(a, b) {
		names = append(names, c.Path)
	}
	slices.Sort(names)
	if want := []string{"/box/new", "/box/other", "/box/same"}; !slices.Equal(names, want) {
		t.Errorf("differ in %v, want %v", names, want)
	}
	say(t, a, "echo from a > ../mine")
	if got := say(t, b, "cat /box/mine"); !strings.Contains(got, "No such file") {
		t.Errorf("the parent changed its fork: %q", got)
	}
}

// TestForkKeepsLimits checks that forking is no way to get more.
func TestForkKeepsLimits(t *testing.T) {
	limits := quota.Lenient()
	limits.Memory, limits.Files = 32<<20, 20
	g := quota.NewLimiter(limits)
	s := shell.New(shell.Options{Commands: command.All(), Limiter: g})
	say(t, s, "x=$(printf '%04000000d' 1); touch {1..8}")
	held := g.Held()
	f, err := s.Fork()
	if err != nil {
		t.Fatal(err)
	}
	for name, script := range map[string]string{"memory": "a=$x$x; b=$a$a; c=$b$b",
		"files": "touch a b c d e f g h i j k l m"} {
		if _, err := f.Run(t.Context(), &run.Request{Script: script}); fault.KindOf(err) != fault.Exhausted ||
			!strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", script, err)
		}
	}
	if got := say(t, s, "echo ${#x}"); got != "4000000\n" {
		t.Errorf("its fork left the parent %q", got)
	}
	f.Close()
	if now := g.Held(); now != held {
		t.Errorf("held %d before the fork, %d after it was closed", held, now)
	}
}

func TestEffects(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "in"), []byte("12345"), 0o666); err != nil {
		t.Fatal(err)
	}
	tree := vfs.New(vfs.Options{})
	if err := tree.Mount("/real", dir, true); err != nil {
		t.Fatal(err)
	}
	s := shell.New(shell.Options{Commands: command.All(), FS: tree})
	var told []run.Effect
	res, err := s.Run(t.Context(), &run.Request{
		Script:  "cat /real/in > /real/out; echo more >> /real/out; head -c 2 < /real/in; rm /real/in; echo x > mem; mv mem mem2; false",
		Touched: func(e run.Effect) { told = append(told, e) },
	})
	if err != nil || res.Exit != 1 {
		t.Fatalf("exit %d, %v", res.Exit, err)
	}
	got := map[string]int64{}
	for _, e := range res.Effects {
		got[e.What+" "+e.Path] = e.Bytes
	}
	for want, bytes := range map[string]int64{"read /real/in": -1, "written /real/out": 10, "removed /real/in": -1,
		"written /box/mem": 2} {
		if n, ok := got[want]; !ok || bytes >= 0 && n != bytes {
			t.Errorf("%s: %d bytes, %v; have %v", want, n, ok, got)
		}
	}
	if got["read /real/in"] < 5 {
		t.Errorf("read %d bytes of five", got["read /real/in"])
	}
	if len(told) < len(res.Effects) {
		t.Errorf("told of %d effects, %d happened", len(told), len(res.Effects))
	}
	if res.Commands["cat"] != 1 || res.Commands["echo"] != 2 {
		t.Errorf("counted %v", res.Commands)
	}
	if res, _ := s.Run(t.Context(), &run.Request{Script: "true"}); len(res.Effects) != 0 || res.Commands["true"] != 1 {
		t.Errorf("the next request has the effects of the one before: %+v", res)
	}
}

// TestDeterminism runs scripts full of chance twice.
func TestDeterminism(t *testing.T) {
	now := func() time.Time { return time.Date(2026, 1, 31, 15, 4, 5, 0, time.UTC) }
	script := `echo $RANDOM $RANDOM $SRANDOM; (echo $RANDOM); echo $RANDOM | cat; date; date +%s%N; echo $EPOCHSECONDS $SECONDS
		mktemp; shuf -i 1-1000 -n 5; shuf -e a b c d e; head -c 8 /dev/urandom | od -An -tx1; awk 'BEGIN{srand(); print rand(), systime()}'
		seq 100 | sort -R | head -n 3; printf '%(%F %T)T\n' -1; touch f; stat -c %y f; ls -l f; declare -A a=([x]=1 [y]=2 [z]=3 [w]=4); echo "${!a[@]}" "${a[@]}"
		jq -n 'now'; find . | head; awk 'BEGIN{for(i=0;i<9;i++)a[i*7]=i; for(k in a) printf "%s ", k; print ""}'`
	play := func(seed uint64) string {
		g := quota.NewLimiter(quota.Lenient())
		return say(t, shell.New(shell.Options{
			Commands: command.All(), Limiter: g, Now: now, Seed: seed,
			FS: vfs.New(vfs.Options{Limiter: g, Now: now, Seed: seed}),
		}), script)
	}
	first := play(7)
	for range 3 {
		if again := play(7); again != first {
			t.Fatalf("the same seed and clock gave\n%s\nand\n%s", first, again)
		}
	}
	if play(8) == first {
		t.Error("another seed changes nothing")
	}
	if !strings.Contains(first, "2026-01-31 15:04:05") {
		t.Errorf("the clock is not used:\n%s", first)
	}
}

// TestRequestsQueue runs many requests at once: each must be alone while it runs.
func TestRequestsQueue(t *testing.T) {
	s := newSession()
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			script := fmt.Sprintf("cd /; me=%d; n=$((n+1)); echo %d | cat > /box/f; sleep 0.001; read x < /box/f; [ $me = $x ] || echo mixed $me $x", i, i)
			if got := say(t, s, script); got != "" {
				t.Error(got)
			}
		})
	}
	wg.Wait()
	if got := say(t, s, "echo $n"); got != "20\n" {
		t.Errorf("%s of 20 requests counted", got)
	}
}

// TestNothingLeaks runs two hundred scripts, among them many that end badly,
// and looks for goroutines left behind.
func TestNothingLeaks(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	limits := quota.Lenient()
	limits.Time, limits.Loops = 100*time.Millisecond, 2000
	scripts := []string{
		"yes | head -n 1", "seq 100000 | head -n 1 | cat | wc -l", "while :; do echo x; done | cat > /dev/null",
		"sleep 10 | sleep 10", "f() { f | f; }; f", "x=$(yes | head -n 10); echo $x | tr y n | tee a b c | wc",
		"cat", "nope | nope", "yes | sort | uniq | (exit 3)", "exec 5< /dev/zero; head -c 10 <&5", "cat < nofile | wc",
		"yes | while read x; do exit; done",
		"seq 100 | xargs -n 1 echo | tail -n 1", "grep -r x / | head -n 1", "cat <<< hi | (read x; echo $x)",
		"awk 'BEGIN{while(1);}' | cat", "read -t 0.01 x", "timeout 0.01 sleep 1",
	}
	for i := range 200 {
		s := shell.New(shell.Options{Commands: command.All(), Limiter: quota.NewLimiter(limits)})
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(1+i%40)*time.Millisecond)
		_, _ = s.Run(ctx, &run.Request{Script: scripts[i%len(scripts)], Stdin: strings.NewReader("")})
		cancel()
	}
}

// TestUnjudgedText checks that text which the parser leaves alone, and so no policy
// sees, sets no variable and runs nothing when it is expanded.
func TestUnjudgedText(t *testing.T) {
	for _, script := range []string{
		`: @(${LD_PRELOAD:=x}); echo "[$LD_PRELOAD]"`,
		`[[ a == @(${LD_PRELOAD=x}|b) ]]; echo "[$LD_PRELOAD]"`,
		`: +($((LD_PRELOAD=1))); echo "[$LD_PRELOAD]"`,
		`: @($(LD_PRELOAD=1; echo a)); echo "[$LD_PRELOAD]"`,
		`: @("${a[LD_PRELOAD=1]}"); echo "[$LD_PRELOAD]"`,
		`declare -A m; unset 'm[${LD_PRELOAD:=x}]'; echo "[$LD_PRELOAD]"`,
		"declare -A m; r='m[`touch f`]'; echo \"${!r}[$(ls)]\"",
	} {
		if got := askHako(t, script, false); got != "[]\n[0]\n" {
			t.Errorf("%s: got %q", script, got)
		}
	}
}
