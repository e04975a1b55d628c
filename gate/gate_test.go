package gate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"mvdan.cc/sh/v3/syntax"

	"hako/audit"
	"hako/policy"
	"hako/quota"
	"hako/run"
	"hako/run/fault"
)

var _ Policy = (*policy.Policy)(nil)

// judge decides by the first word of a command: what is not here is denied.
type judge map[string]policy.Effect

func (j judge) ScriptAt(_ context.Context, _, script string, program *syntax.File, reprinted bool) (policy.Judged,
	error) {
	return judged(script, program, reprinted, j.program)
}

// judged parses a script and has its verdicts made.
func judged(script string, file *syntax.File, reprinted bool, verdicts func(*syntax.File) []policy.Verdict) (
	policy.Judged, error) {
	if file == nil {
		parsed, err := policy.ParseScript(script)
		if err != nil {
			return policy.Judged{}, err
		}
		file = parsed
	}
	out := policy.Judged{Program: file, Verdicts: verdicts(file)}
	if reprinted {
		out.Text, out.Printed = policy.Reprint(file)
	}
	return out, nil
}

func (j judge) program(f *syntax.File) (vs []policy.Verdict) {
	syntax.Walk(f, func(n syntax.Node) bool {
		if call, ok := n.(*syntax.CallExpr); ok && len(call.Args) > 0 {
			var argv []string
			late := false
			for _, w := range call.Args {
				argv = append(argv, w.Lit())
				late = late || w.Lit() == ""
			}
			v := j.CallAt("", argv)
			v.Late = late
			vs = append(vs, v)
		}
		return true
	})
	return vs
}

func (j judge) RedirectAt(dir, op, file string) policy.Verdict {
	effect, judged := j[op+dir+"/"+file]
	if !judged {
		effect = policy.Allow
	}
	return policy.Verdict{Effect: effect, Argv: []string{op, file}, Why: "it is not yours", Where: "redirection " + op}
}

func (j judge) CallAt(dir string, argv []string) policy.Verdict {
	effect, here := j[dir+":"+argv[0]]
	if !here {
		effect = j[argv[0]]
	}
	return policy.Verdict{Effect: effect, Argv: argv, Why: "because", Where: "test.policy:1", Hint: "do not"}
}

// memory is a log that can be made to fail.
type memory struct {
	mu     sync.Mutex
	events []audit.Event
	room   int // how many more events fit; negative means any number
}

func (m *memory) Append(e audit.Event) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.room == 0 {
		return errors.New("no space left on device")
	}
	m.room--
	m.events = append(m.events, e)
	return nil
}

func (m *memory) story() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var whats []string
	for _, e := range m.events {
		whats = append(whats, e.What)
	}
	return strings.Join(whats, " ")
}

func (m *memory) last() audit.Event { return m.events[len(m.events)-1] }

// fake runs each simple command by calling Check on its words, then do.
type fake struct {
	do  func(ctx context.Context, req *run.Request) error
	ran bool
}

func (f *fake) Run(ctx context.Context, req *run.Request) (run.Result, error) {
	f.ran = true
	for _, stmt := range req.Program.Stmts {
		var argv []string
		for _, w := range stmt.Cmd.(*syntax.CallExpr).Args {
			argv = append(argv, w.Lit())
		}
		if err := req.Check(ctx, "", argv); err != nil {
			return run.Result{Exit: 1}, err
		}
	}
	if f.do != nil {
		return run.Result{Exit: 2}, f.do(ctx, req)
	}
	return run.Result{Exit: 2}, nil
}

type opaqueFake struct{ fake }

func (*opaqueFake) Opaque() {}

func newGate(j Policy, next run.Runner) (*Gate, *memory) {
	log := &memory{room: -1}
	return New(next, Options{Policy: j, Budget: quota.New(quota.Limits{}), Log: log}), log
}

func TestWalk(t *testing.T) {
	g, log := newGate(judge{"echo": policy.Allow}, &fake{})
	res, err := g.Run(t.Context(), &run.Request{ID: "r", Actor: "user", Script: "echo a; echo b; echo a", Reason: "fun"})
	if err != nil || res.Exit != 2 {
		t.Fatalf("%+v, %v", res, err)
	}
	if got, want := log.story(), "asked started allowed allowed ended"; got != want {
		t.Errorf("got %s", got)
	}
	end := log.last()
	if end.Exit != 2 || end.Commands["echo"] != 3 || end.ID != "r" || end.Actor != "user" ||
		log.events[0].Reason != "fun" {
		t.Errorf("%+v", end)
	}
	if used := g.opts.Budget.(*quota.Budget).Used(); used.Scripts != 1 {
		t.Errorf("charged %+v", used)
	}
}

// TestProgramIsJudged hands over a tree: it is judged and run, whatever the text is.
func TestProgramIsJudged(t *testing.T) {
	for script, allowed := range map[string]bool{"echo a": true, "rm -rf x": false} {
		tree, err := policy.ParseScript(script)
		if err != nil {
			t.Fatal(err)
		}
		var got *syntax.File
		next := &fake{do: func(_ context.Context, req *run.Request) error { got = req.Program; return nil }}
		g, _ := newGate(judge{"echo": policy.Allow}, next)
		_, err = g.Run(t.Context(), &run.Request{Script: "echo a", Program: tree})
		if (err == nil) != allowed || next.ran != allowed || allowed && got != tree {
			t.Errorf("%s: ran %v, %v", script, next.ran, err)
		}
	}
}

func TestDenied(t *testing.T) {
	next := &fake{}
	g, log := newGate(judge{"echo": policy.Allow}, next)
	_, err := g.Run(t.Context(), &run.Request{Script: "echo a; rm -rf x --token abc"})
	if got := fmt.Sprint(err); fault.KindOf(err) != fault.Denied ||
		got != "denied rm -rf x --token [redacted]: because (test.policy:1)" {
		t.Errorf("got %s", got)
	}
	if next.ran || log.story() != "asked denied ended" || fault.Hint(err) != "do not" || log.last().Kind != "denied" {
		t.Errorf("ran %v, %s, %+v", next.ran, log.story(), log.last())
	}
	text, _ := err.(*fault.Error).MarshalJSON()
	if !strings.Contains(string(text), `"retryable":false`) {
		t.Errorf("%s", text)
	}
}

func TestDeniedOnlyWhenRunning(t *testing.T) {
	next := &fake{do: func(ctx context.Context, req *run.Request) error {
		req.Check(ctx, "", []string{"rm", "x"}) // and the runner overlooks the error
		if ctx.Err() == nil {
			t.Error("the script goes on")
		}
		return nil
	}}
	g, log := newGate(judge{"echo": policy.Allow}, next)
	_, err := g.Run(t.Context(), &run.Request{Script: "echo a"})
	if fault.KindOf(err) != fault.Denied || log.story() != "asked started allowed denied ended" {
		t.Errorf("%v, %s", err, log.story())
	}
}

// A session that stands below its root may name what is above, inside the root.
func TestScriptIsJudgedWhereItBegins(t *testing.T) {
	for _, c := range []struct {
		req  run.Request
		runs bool
	}{
		{run.Request{Script: "cat ../a"}, true},
		{run.Request{Script: "cat ../../a"}, false},
		{run.Request{Script: "cd ..; cat ../a"}, false},
		{run.Request{Script: "cat ../a", Dir: "/x"}, false},
	} {
		next := &fake{}
		g, _ := newGate(policy.Host(policy.Options{Root: "/x"}), next)
		g.dir = "/x/sub"
		if _, _ = g.Run(t.Context(), &c.req); next.ran != c.runs {
			t.Errorf("%s in %q: ran is %v", c.req.Script, c.req.Dir, next.ran)
		}
	}
}

func TestLateWords(t *testing.T) {
	g, _ := newGate(judge{"echo": policy.Allow, "": policy.Allow}, &fake{})
	if _, err := g.Run(t.Context(), &run.Request{Script: "$x"}); err != nil {
		t.Errorf("left to check: %v", err)
	}
	next := &opaqueFake{}
	g, _ = newGate(judge{"echo": policy.Allow}, next)
	if _, err := g.Run(t.Context(), &run.Request{Script: "echo $x"}); fault.KindOf(err) != fault.Denied || next.ran {
		t.Errorf("before an opaque runner: %v", err)
	}
}

// Before a runner that never calls check, late words may pass where they make
// no difference to the policy, and are refused where they do.
func TestOpaqueRunners(t *testing.T) {
	for script, want := range map[string]string{
		`for f in *.py; do wc -l "$f"; done > "$out"`: "",
		`x=$(git rev-parse HEAD); git show $x`:        "",
		`rm -- "$x"`:                                  "",
		`rm "$x"`:                                     "container.policy",
		`git $x`:                                      "not everything of git is allowed",
		`$x foo`:                                      "the command's name is only known at run time",
		`sh -c "$x"`:                                  "decides what sh runs",
	} {
		g, log := newGate(policy.Container(policy.Options{}), opaque{})
		_, err := g.Run(t.Context(), &run.Request{Script: script})
		switch {
		case want == "" && (err != nil || log.story() != "asked started ended"):
			t.Errorf("%s: %v, %s", script, err, log.story())
		case want != "" && (fault.KindOf(err) != fault.Denied || !strings.Contains(err.Error(), want) ||
			fault.Hint(err) == ""):
			t.Errorf("%s: %v", script, err)
		}
	}
	g, _ := newGate(policy.Host(policy.Options{Root: "/x"}), opaque{})
	if _, err := g.Run(t.Context(), &run.Request{Script: "cat $x"}); fault.KindOf(err) != fault.Denied {
		t.Errorf("a policy that weighs nothing: %v", err)
	}
}

// opaque takes any script.
type opaque struct{}

func (opaque) Opaque() {}

func (opaque) Run(context.Context, *run.Request) (run.Result, error) { return run.Result{}, nil }

func TestBadSyntax(t *testing.T) {
	next := &fake{}
	g, log := newGate(judge{"echo": policy.Allow}, next)
	if _, err := g.Run(t.Context(), &run.Request{Script: "echo ("}); fault.KindOf(err) != fault.Invalid || next.ran ||
		log.story() != "asked ended" {
		t.Errorf("%v, %s", err, log.story())
	}
}

func TestUnrecordedMeansUndone(t *testing.T) {
	for room := range 4 {
		next := &fake{}
		g, log := newGate(judge{"echo": policy.Allow}, next)
		log.room = room
		_, err := g.Run(t.Context(), &run.Request{Script: "echo a"})
		if err == nil || !strings.Contains(err.Error(), "no space") {
			t.Errorf("room for %d events: %v", room, err)
		}
		if next.ran != (room >= 2) {
			t.Errorf("room for %d events: ran %v", room, next.ran)
		}
	}
}

func TestIncompleteGateLetsNothingThrough(t *testing.T) {
	next := &fake{}
	whole := Options{Policy: judge{"echo": policy.Allow}, Log: &memory{room: -1}, Budget: quota.New(quota.Unlimited())}
	noPolicy, noLog, noBudget := whole, whole, whole
	noPolicy.Policy, noLog.Log, noBudget.Budget = nil, nil, nil
	if _, err := New(&fake{}, whole).Run(t.Context(), &run.Request{Script: "echo"}); err != nil {
		t.Fatal(err)
	}
	for _, g := range []*Gate{{}, New(nil, whole), New(next, Options{}), New(next, noPolicy), New(next, noLog),
		New(next, noBudget)} {
		if _, err := g.Run(t.Context(), &run.Request{Script: "echo"}); fault.KindOf(err) != fault.Denied || next.ran {
			t.Errorf("%+v: %v", g, err)
		}
	}
}

func TestScriptsAreCharged(t *testing.T) {
	next := &fake{}
	g, _ := newGate(judge{"echo": policy.Allow}, next)
	g.opts.Budget = quota.New(quota.Limits{Scripts: 1})
	g.Run(t.Context(), &run.Request{Script: "echo a"})
	next.ran = false
	if _, err := g.Run(t.Context(), &run.Request{Script: "echo a"}); fault.KindOf(err) != fault.Exhausted || next.ran {
		t.Errorf("%v", err)
	}
}

func TestOutputOverBudget(t *testing.T) {
	var out bytes.Buffer
	next := &fake{do: func(ctx context.Context, req *run.Request) error {
		for range 10 {
			if _, err := req.Stdout.Write([]byte("12345")); err != nil {
				break
			}
		}
		<-ctx.Done() // cancelled, or this test hangs
		return ctx.Err()
	}}
	g, log := newGate(judge{"echo": policy.Allow}, next)
	g.opts.Budget = quota.New(quota.Limits{Written: 12})
	res, err := g.Run(t.Context(), &run.Request{Script: "echo", Stdout: &out})
	if fault.KindOf(err) != fault.Exhausted || err.Error() != "charge: used 15 of 12 bytes written" {
		t.Errorf("got %v", err)
	}
	if out.String() != "1234512345" || res.Bytes != 10 || log.last().Kind != "exhausted" {
		t.Errorf("%q, %+v", out.String(), log.last())
	}
}

func TestTimeOverBudget(t *testing.T) {
	next := &fake{do: func(ctx context.Context, _ *run.Request) error { <-ctx.Done(); return ctx.Err() }}
	g, _ := newGate(judge{"echo": policy.Allow}, next)
	g.opts.Budget = quota.New(quota.Limits{Wall: 20 * time.Millisecond})
	if _, err := g.Run(t.Context(), &run.Request{Script: "echo"}); fault.KindOf(err) != fault.Exhausted {
		t.Errorf("got %v", err)
	}
}

func TestEffects(t *testing.T) {
	next := &fake{do: func(ctx context.Context, req *run.Request) error {
		for range 3 {
			req.Touched(run.Effect{What: "read", Path: "/a", Bytes: 10})
		}
		req.Touched(run.Effect{What: "written", Path: "/a", Bytes: 5})
		req.Touched(run.Effect{What: "removed", Path: "/a"})
		for i := range 2 * maxRecorded {
			req.Touched(run.Effect{What: "read", Path: fmt.Sprint("/many/", i), Bytes: 1})
		}
		return nil
	}}
	g, log := newGate(judge{"echo": policy.Allow}, next)
	if _, err := g.Run(t.Context(), &run.Request{Script: "echo"}); err != nil {
		t.Fatal(err)
	}
	var read, closed int64
	for _, e := range log.events {
		if e.Mode == "read" {
			read += e.Bytes
			closed += max(1, e.Count)
		}
	}
	if want := int64(30 + 2*maxRecorded); read != want || closed != 3+2*maxRecorded ||
		g.opts.Budget.(*quota.Budget).Used().Read != want {
		t.Errorf("%d bytes in %d files on record, %d charged, want %d", read, closed,
			g.opts.Budget.(*quota.Budget).Used().Read, want)
	}
	if len(log.events) > maxRecorded+10 {
		t.Errorf("%d events", len(log.events))
	}
}

func TestManyCommandsAreCounted(t *testing.T) {
	next := &fake{do: func(ctx context.Context, req *run.Request) error {
		for i := range 1000 {
			req.Check(ctx, "", []string{"echo", fmt.Sprint(i)})
		}
		return nil
	}}
	g, log := newGate(judge{"echo": policy.Allow}, next)
	g.Run(t.Context(), &run.Request{Script: "echo"})
	if n := strings.Count(log.story(), "allowed"); n != maxRecorded || log.last().Commands["echo"] != 1001 {
		t.Errorf("%d on record, %v", n, log.last().Commands)
	}
}

func TestConcurrentRuns(t *testing.T) {
	log, err := audit.Open(filepath.Join(t.TempDir(), "audit.jsonl"), audit.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	g, _ := newGate(judge{"echo": policy.Allow, "ask": policy.Ask},
		run.Runner(runnerFunc(func(ctx context.Context, req *run.Request) (run.Result, error) {
			var wg sync.WaitGroup
			for range 4 {
				wg.Go(func() { req.Check(ctx, "", []string{"ask", "x"}); req.Stdout.Write([]byte("x")) })
			}
			wg.Wait()
			return run.Result{}, nil
		})))
	g.opts.Log = log
	g.opts.Ask = func(context.Context, Question) (Answer, error) { return Session, nil }
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 10 {
				var out bytes.Buffer
				if res, err := g.Run(t.Context(), &run.Request{Script: "echo a", Stdout: &out}); err != nil || res.Bytes != 4 {
					t.Errorf("%+v, %v", res, err)
				}
			}
		})
	}
	wg.Wait()
}

type runnerFunc func(context.Context, *run.Request) (run.Result, error)

func (f runnerFunc) Run(ctx context.Context, req *run.Request) (run.Result, error) {
	return f(ctx, req)
}

func TestSameWriterStaysOne(t *testing.T) {
	var out bytes.Buffer
	next := &fake{do: func(_ context.Context, req *run.Request) error {
		if req.Stdout != req.Stderr {
			t.Error("stdout and stderr were parted")
		}
		return nil
	}}
	g, _ := newGate(judge{"echo": policy.Allow}, next)
	g.Run(t.Context(), &run.Request{Script: "echo", Stdout: &out, Stderr: &out})
	if sameWriter(discards{}, discards{}) {
		t.Error("writers that cannot be compared were")
	}
}

type discards []byte

func (discards) Write(p []byte) (int, error) { return len(p), nil }

func TestCallersOwnCheckAndTouched(t *testing.T) {
	var seen []string
	next := &fake{do: func(_ context.Context, req *run.Request) error {
		req.Touched(run.Effect{What: "read", Path: "/x"})
		return nil
	}}
	g, _ := newGate(judge{"echo": policy.Allow}, next)
	g.Run(t.Context(), &run.Request{Script: "echo a",
		Check:   func(_ context.Context, _ string, argv []string) error { seen = append(seen, argv...); return nil },
		Touched: func(e run.Effect) { seen = append(seen, e.Path) }})
	if !slices.Equal(seen, []string{"echo", "a", "/x"}) {
		t.Errorf("saw %q", seen)
	}
}

func benchGate(b *testing.B, next run.Runner) *Gate {
	log, err := audit.Open(filepath.Join(b.TempDir(), "audit.jsonl"), audit.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { log.Close() })
	return New(next, Options{Policy: judge{"echo": policy.Allow}, Budget: quota.New(quota.Unlimited()), Log: log})
}

func BenchmarkGate(b *testing.B) {
	g := benchGate(b, runnerFunc(func(context.Context, *run.Request) (run.Result, error) { return run.Result{}, nil }))
	b.ReportAllocs()
	for b.Loop() {
		g.Run(b.Context(), &run.Request{ID: "r", Actor: "user", Script: "echo hi"})
	}
}

func BenchmarkGateWithOneCommand(b *testing.B) {
	g := benchGate(b, &fake{})
	for b.Loop() {
		g.Run(b.Context(), &run.Request{ID: "r", Actor: "user", Script: "echo hi"})
	}
}

func BenchmarkCheck(b *testing.B) {
	argv := []string{"echo", "hi", "there"}
	benchGate(b, runnerFunc(func(ctx context.Context, req *run.Request) (run.Result, error) {
		b.ReportAllocs()
		for b.Loop() {
			req.Check(ctx, "", argv)
		}
		return run.Result{}, nil
	})).Run(b.Context(), &run.Request{Script: "echo"})
}

// A shell that reads the text itself gets the judged tree spelled anew, and not
// what it could read differently.
func TestOpaqueRunnersGetWhatWasJudged(t *testing.T) {
	for script, want := range map[string]string{
		"ls \\\r\nrm -rf x":              "ls \\\n\trm -rf x\n",
		"echo a #\\\nrm -rf x":           "echo a \\\n\trm -rf x\n",
		"ls # a comment":                 "ls\n",
		"echo `ls`":                      "echo $(ls)\n",
		"!(rm -rf x)":                    "",
		"echo \"${x:-'$(rm -rf x)'}\"":   "",
		"for f in *; do wc \"$f\"; done": "for f in *; do wc \"$f\"; done\n",
	} {
		next := &listener{}
		g, log := newGate(policy.Container(policy.Options{}), next)
		_, err := g.Run(t.Context(), &run.Request{Script: script})
		if next.script != want || (want == "") != (fault.KindOf(err) == fault.Denied) {
			t.Errorf("%q: got %q, %v, %s", script, next.script, err, log.story())
		}
	}
	next := &listener{}
	g, _ := newGate(policy.Container(policy.Options{}), next)
	if _, err := g.Run(t.Context(), &run.Request{Script: "((1 + 1))"}); err != nil ||
		!strings.Contains(next.script, "BASH_VERSION") {
		t.Errorf("a sh that is not bash would run commands: %q, %v", next.script, err)
	}
}

// A listener keeps the script it is given.
type listener struct {
	opaque
	script string
}

func (l *listener) Run(_ context.Context, req *run.Request) (run.Result, error) {
	l.script = req.Script
	return run.Result{}, nil
}

// Who has parsed a script hands the tree on: it is judged and run, and the text
// is not read again.
func TestProgramIsNotParsedAgain(t *testing.T) {
	file, err := policy.ParseScript("echo a b")
	if err != nil {
		t.Fatal(err)
	}
	for _, script := range []string{"echo a b", ""} {
		next := &programKeeper{}
		g, log := newGate(judge{"echo": policy.Allow}, next)
		if _, err := g.Run(t.Context(), &run.Request{Script: script, Program: file}); err != nil {
			t.Fatal(err)
		}
		if next.program != file {
			t.Error("another tree was run")
		}
		if got := strings.TrimSpace(log.events[0].Script); got != "echo a b" {
			t.Errorf("%q is on record", got)
		}
	}
	g, _ := newGate(judge{}, &fake{})
	if _, err := g.Run(t.Context(), &run.Request{Script: "", Program: file}); fault.KindOf(err) != fault.Denied {
		t.Errorf("the tree was not judged: %v", err)
	}
}

type programKeeper struct{ program *syntax.File }

func (k *programKeeper) Run(_ context.Context, req *run.Request) (run.Result, error) {
	k.program = req.Program
	return run.Result{}, nil
}
