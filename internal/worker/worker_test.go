//go:build unix

package worker

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"hako/audit"
	"hako/gate"
	"hako/quota"
	"hako/run"
	"hako/run/fault"
)

func TestMain(m *testing.M) {
	Main(os.Args[0], assembleFake)
	os.Exit(m.Run())
}

// fakeParts are boxes that behave as their scripts say.
type fakeParts struct {
	mu      sync.Mutex
	held    int64
	others  Held
	overdue error
}

func assembleFake(settings json.RawMessage) (Parts, error) {
	if string(settings) == `"broken"` {
		return nil, &fault.Error{Kind: fault.Invalid, Op: "read settings", Why: "they are broken"}
	}
	return &fakeParts{}, nil
}

func (f *fakeParts) Open(spec json.RawMessage, d Services) (Sandbox, error) {
	return Sandbox{Runner: &fakeBox{f, d}, Close: func() {}, Info: json.RawMessage(spec), More: f.Open}, nil
}

func (f *fakeParts) Judge(_ context.Context, spec json.RawMessage) (any, error) {
	switch string(spec) {
	case `"hang"`:
		for {
			runtime.Gosched()
		}
	case `"crash"`:
		os.Exit(3)
	}
	return "judged " + string(spec), nil
}

func (f *fakeParts) Held() Held {
	f.mu.Lock()
	defer f.mu.Unlock()
	return Held{Virtual: f.held}
}

func (f *fakeParts) Share(others Held) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.others = others
	return nil
}

func (f *fakeParts) Overdue(time.Duration) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.overdue
}

type fakeBox struct {
	parts *fakeParts
	door  Services
}

// Run does what the first word of the script says.
func (b *fakeBox) Run(ctx context.Context, req *run.Request) (run.Result, error) {
	if err := b.door.Log.Append(audit.Event{What: audit.Asked, ID: req.ID, Actor: req.Actor,
		Script: req.Script}); err != nil {
		return run.Result{}, err
	}
	res, err := b.do(ctx, req)
	if lerr := b.door.Log.Append(audit.Event{What: audit.Ended, ID: req.ID, Actor: req.Actor}); err == nil {
		err = lerr
	}
	return res, err
}

func (b *fakeBox) do(ctx context.Context, req *run.Request) (run.Result, error) {
	verb, rest, _ := strings.Cut(req.Script, " ")
	switch verb {
	case "echo":
		fmt.Fprint(req.Stdout, rest)
		fmt.Fprint(req.Stderr, "said "+rest)
	case "env":
		fmt.Fprint(req.Stdout, strings.Join(os.Environ(), "\n"))
	case "cat":
		n, err := io.Copy(req.Stdout, req.Stdin)
		return run.Result{Bytes: n}, err
	case "slowcat":
		time.Sleep(200 * time.Millisecond)
		n, err := io.Copy(io.Discard, req.Stdin)
		fmt.Fprint(req.Stdout, n)
		return run.Result{}, err
	case "charge":
		err := b.door.Budget.Charge(quota.Usage{Scripts: 1})
		if err == nil {
			err = b.door.Budget.Charge(quota.Usage{Written: 100})
		}
		return run.Result{}, err
	case "ask":
		a, err := b.door.Ask(ctx, gate.Question{ID: req.ID, Command: rest})
		fmt.Fprint(req.Stdout, a)
		return run.Result{}, err
	case "hold":
		b.parts.mu.Lock()
		b.parts.held += 1 << 20
		fmt.Fprint(req.Stdout, b.parts.others.Virtual)
		b.parts.mu.Unlock()
	case "fail":
		return run.Result{Exit: 5}, &fault.Error{Kind: fault.Denied, Op: "denied", Subject: "x", Why: "because", Rule: "r:1",
			Hint: "do not", Err: context.Canceled}
	case "names":
		long := strings.Repeat("\x01", 4096)
		res := run.Result{Commands: map[string]int{strings.Repeat(long, 4096): 1},
			Stages: []run.Stage{{Name: strings.Repeat(long, 4096)}}}
		for i := range 1000 {
			res.Effects = append(res.Effects, run.Effect{What: "read", Path: fmt.Sprint(i, long)})
		}
		return res, b.door.Log.Append(audit.Event{What: audit.Allowed, ID: req.ID,
			Argv: []string{strings.Repeat(long, 4096), "x"}, Commands: res.Commands})
	case "texts":
		return run.Result{}, &fault.Error{Kind: fault.Denied, Op: "run", Why: strings.Repeat("\x01", 20<<20)}
	case "crash":
		panic("no way")
	case "overflow":
		fmt.Fprint(req.Stdout, overflow(1))
	case "eat":
		eat()
	case "hang":
		for {
			runtime.Gosched()
		}
	case "stop":
		fmt.Fprint(req.Stdout, "stopping")
		self, _ := os.FindProcess(os.Getpid())
		_ = self.Signal(syscall.SIGSTOP)
		<-ctx.Done() // the signal may take a moment
	case "wait":
		<-ctx.Done()
		return run.Result{}, ctx.Err()
	case "overdue":
		b.parts.mu.Lock()
		b.parts.overdue = &fault.Error{Kind: fault.Timeout, Op: "stop script", Why: "it went over the limit time=1ms"}
		b.parts.mu.Unlock()
		select {}
	}
	return run.Result{Exit: 0}, nil
}

// overflow calls itself until the stack is full; no n is ever negative.
func overflow(n int) int {
	if n < 0 {
		return n
	}
	return overflow(n+1) + 1
}

var eaten [][]byte

func eat() {
	for {
		b := make([]byte, 1<<20)
		for i := range b {
			b[i] = 1
		}
		eaten = append(eaten, b)
	}
}

// A journal is the record of a test.
type journal struct {
	mu     sync.Mutex
	events []audit.Event
	fails  error
	only   string // the one kind of event that can be written; empty means all
}

func (j *journal) Append(e audit.Event) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.fails != nil {
		return j.fails
	}
	if j.only != "" && e.What != j.only {
		return errors.New("disk full")
	}
	j.events = append(j.events, e)
	return nil
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	var words []string
	for _, e := range j.events {
		words = append(words, e.What)
	}
	return strings.Join(words, " ")
}

func newPool(t *testing.T, o Options) *Pool {
	t.Helper()
	if o.Settings == nil {
		o.Settings = "settings"
	}
	p, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

func openFor(t *testing.T, p *Pool, caller string, w OpenOptions, d Services) *Handle {
	t.Helper()
	if d.Log == nil {
		d.Log = &journal{}
	}
	if d.Budget == nil {
		d.Budget = quota.New(quota.Unlimited())
	}
	h, err := p.Open(t.Context(), caller, w, d)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func do(t *testing.T, h *Handle, script string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	_, err := h.Run(t.Context(), &run.Request{ID: "r1", Actor: "tester", Script: script, Stdout: &out, Stderr: io.Discard})
	return out.String(), err
}

// TestRun: streams, results, errors and the record cross the link as they are.
func TestRun(t *testing.T) {
	log := &journal{}
	h := openFor(t, newPool(t, Options{}), "a", OpenOptions{Spec: map[string]int{"x": 1}}, Services{Log: log})
	if string(h.Info) != `{"x":1}` {
		t.Errorf("info %s", h.Info)
	}
	var out, errs bytes.Buffer
	res, err := h.Run(t.Context(), &run.Request{Script: "echo 日本語", Stdout: &out, Stderr: &errs})
	if err != nil || res.Exit != 0 || out.String() != "日本語" || errs.String() != "said 日本語" {
		t.Errorf("%q %q %+v %v", out.String(), errs.String(), res, err)
	}
	res, err = h.Run(t.Context(), &run.Request{Script: "fail"})
	var e *fault.Error
	if res.Exit != 5 || !errors.As(err, &e) || e.Kind != fault.Denied || e.Hint != "do not" || e.Rule != "r:1" ||
		e.Subject != "x" || !errors.Is(err, context.Canceled) {
		t.Errorf("%+v %#v", res, err)
	}
	if log.String() != "asked ended asked ended" {
		t.Errorf("record: %s", log)
	}
	text := strings.Repeat("0123456789abcdef", 300<<10) // several windows
	out.Reset()
	if _, err := h.Run(t.Context(), &run.Request{Script: "cat", Stdin: strings.NewReader(text),
		Stdout: &out}); err != nil || out.String() != text {
		t.Errorf("%d of %d bytes, %v", out.Len(), len(text), err)
	}
	out.Reset()
	if _, err := h.Run(t.Context(), &run.Request{Script: "slowcat", Stdin: strings.NewReader(text),
		Stdout: &out}); err != nil || out.String() != fmt.Sprint(len(text)) {
		t.Errorf("%s of %d bytes, %v", out.String(), len(text), err)
	}
	if _, err := h.Run(t.Context(),
		&run.Request{Script: "echo", Check: func(context.Context, string, []string) error { return nil }}); fault.KindOf(
		err) != fault.Invalid {
		t.Errorf("a check of the door's own: %v", err)
	}
}

// TestNoSecretsInside: a worker does not inherit keys.
func TestNoSecretsInside(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "sk-secret")
	t.Setenv("HAKO_MCP_TOKEN", "token")
	h := openFor(t, newPool(t, Options{}), "a", OpenOptions{}, Services{})
	out, err := do(t, h, "env")
	if err != nil || strings.Contains(out, "secret") || strings.Contains(out, "TOKEN") || !strings.Contains(out, "PATH=") {
		t.Errorf("%s %v", out, err)
	}
}

// TestLostWorker: what a worker dies of is an error of its own boxes; the record
// has the end of every request, and others go on.
func TestLostWorker(t *testing.T) {
	for script, want := range map[string]fault.Kind{
		"crash": fault.Other, "overflow": fault.Exhausted, "eat": fault.Exhausted, "hang": fault.Timeout,
		"overdue": fault.Timeout,
	} {
		t.Run(script, func(t *testing.T) {
			t.Parallel()
			p := newPool(t, Options{Memory: 32 << 20})
			log := &journal{}
			good, bad := openFor(t, p, "good", OpenOptions{}, Services{}),
				openFor(t, p, "bad", OpenOptions{Limit: 200 * time.Millisecond, Stop: 200 * time.Millisecond}, Services{Log: log})
			if script != "hang" { // they end by themselves
				bad = openFor(t, p, "bad", OpenOptions{}, Services{Log: log})
			}
			_, err := do(t, bad, script)
			if fault.KindOf(err) != want || fault.Hint(err) == "" || strings.Contains(err.Error(), "goroutine") {
				t.Errorf("%v: %v", fault.KindOf(err), err)
			}
			if log.String() != "asked ended" || log.events[1].Error == "" || log.events[1].Actor != "tester" {
				t.Errorf("record: %s %+v", log, log.events)
			}
			if _, err := do(t, bad, "echo x"); fault.KindOf(err) != fault.NotFound {
				t.Errorf("afterwards: %v", err)
			}
			if out, err := do(t, good, "echo fine"); out != "fine" || err != nil {
				t.Errorf("others: %q %v", out, err)
			}
			bad.Close()
			again := openFor(t, p, "bad", OpenOptions{}, Services{})
			if out, err := do(t, again, "echo new"); out != "new" || err != nil {
				t.Errorf("a new box: %q %v", out, err)
			}
		})
	}
}

// TestSilence: a worker that is stopped is ended.
func TestSilence(t *testing.T) {
	h := openFor(t, newPool(t, Options{}), "a", OpenOptions{}, Services{})
	out, err := do(t, h, "stop")
	if out != "stopping" || fault.KindOf(err) != fault.Timeout {
		t.Errorf("%q %v", out, err)
	}
}

// TestLongNames: what a script leaves behind may be as long as it likes; its call
// ends, and the door is not filled with it.
func TestLongNames(t *testing.T) {
	log := &journal{}
	h := openFor(t, newPool(t, Options{}), "a", OpenOptions{}, Services{Log: log})
	res, err := h.Run(t.Context(), &run.Request{Script: "names"})
	if err != nil || len(res.Effects) == 0 || len(res.Effects) == 1000 || len(res.Stages) != 1 || len(res.Commands) != 1 {
		t.Errorf("%d effects, %d stages, %d commands, %v", len(res.Effects), len(res.Stages), len(res.Commands), err)
	}
	if log.String() != "asked allowed ended" || len(log.events[1].Argv[0]) > 1<<20 {
		t.Errorf("record: %s", log)
	}
	if _, err := do(t, h, "texts"); fault.KindOf(err) != fault.TooLarge || fault.Hint(err) == "" {
		t.Errorf("%.200v", err)
	}
	if out, err := do(t, h, "echo on"); out != "on" || err != nil {
		t.Errorf("%q %v", out, err)
	}
}

// TestUnrecordedEnd: an end that cannot be recorded is not the end of the door,
// also when the box is closed and its worker with it.
func TestUnrecordedEnd(t *testing.T) {
	p := newPool(t, Options{})
	log := &journal{only: audit.Asked}
	h := openFor(t, p, "a", OpenOptions{}, Services{Log: log})
	if _, err := do(t, h, "echo x"); err == nil {
		t.Error("no error")
	}
	worker := h.process
	h.Close()
	<-worker.gone
	if out, err := do(t, openFor(t, p, "a", OpenOptions{}, Services{}), "echo on"); out != "on" || err != nil {
		t.Errorf("%q %v", out, err)
	}
}

// TestReopen: a box that keeps nothing in memory is made again.
func TestReopen(t *testing.T) {
	h := openFor(t, newPool(t, Options{}), "a", OpenOptions{Reopen: true}, Services{})
	if _, err := do(t, h, "crash"); err == nil {
		t.Error("it did not crash")
	}
	if out, err := do(t, h, "echo again"); out != "again" || err != nil {
		t.Errorf("%q %v", out, err)
	}
}

// TestCancel: a cancelled request ends, and one that does not care loses its worker.
func TestCancel(t *testing.T) {
	p := newPool(t, Options{})
	h := openFor(t, p, "a", OpenOptions{}, Services{})
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	if _, err := h.Run(ctx, &run.Request{Script: "wait"}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if out, err := do(t, h, "echo on"); out != "on" || err != nil {
		t.Errorf("%q %v", out, err)
	}
	ctx, cancel = context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	if _, err := h.Run(ctx, &run.Request{Script: "hang"}); err == nil {
		t.Error("it ended by itself")
	}
}

// TestUnrecordedMeansUndone also holds across the link.
func TestUnrecordedMeansUndone(t *testing.T) {
	log := &journal{fails: errors.New("disk full")}
	h := openFor(t, newPool(t, Options{}), "a", OpenOptions{}, Services{Log: log})
	if out, err := do(t, h, "echo x"); out != "" || err == nil || !strings.Contains(err.Error(), "disk full") {
		t.Errorf("%q %v", out, err)
	}
}

// TestBudget: it is the door's.
func TestBudget(t *testing.T) {
	m := quota.New(quota.Limits{Scripts: 2, Written: 150})
	h := openFor(t, newPool(t, Options{}), "a", OpenOptions{}, Services{Budget: m})
	if _, err := do(t, h, "charge"); err != nil || m.Used().Scripts != 1 || m.Used().Written != 100 {
		t.Errorf("%+v %v", m.Used(), err)
	}
	if _, err := do(t, h, "charge"); fault.KindOf(err) != fault.Exhausted {
		t.Errorf("over: %v", err)
	}
}

// TestAsk: the door asks, what it shows is cleaned, and the time that takes is
// not the script's.
func TestAsk(t *testing.T) {
	var shown string
	h := openFor(t, newPool(t, Options{}), "a", OpenOptions{
		Limit: 100 * time.Millisecond, Stop: 100 * time.Millisecond,
		Clean: func(q gate.Question) gate.Question { q.Command = strings.ToUpper(q.Command); return q },
	}, Services{Ask: func(_ context.Context, q gate.Question) (gate.Answer, error) {
		shown = q.Command
		time.Sleep(700 * time.Millisecond)
		return gate.Session, nil
	}})
	if out, err := do(t, h, "ask rm x"); out != fmt.Sprint(gate.Session) || err != nil || shown != "RM X" {
		t.Errorf("%q %v, shown %q", out, err, shown)
	}
}

// TestPlaces: callers never share a worker; boxes of one caller do when there are
// many, and count what the others hold.
func TestPlaces(t *testing.T) {
	p := newPool(t, Options{OwnWorkers: 3, Kept: func(string) int64 { return 5 }})
	var mine []*Handle
	for range 5 {
		mine = append(mine, openFor(t, p, "a", OpenOptions{}, Services{}))
	}
	other := openFor(t, p, "b", OpenOptions{}, Services{})
	if mine[0].process == mine[1].process || mine[2].process != mine[3].process || other.process == mine[4].process {
		t.Error("boxes are in the wrong workers")
	}
	for i, want := range []int64{5, 5 + 1<<20} {
		if out, err := do(t, mine[i], "hold"); out != fmt.Sprint(want) || err != nil {
			t.Errorf("box %d: others hold %s, want %d, %v", i, out, want, err)
		}
	}
	if held := p.Held("a").Virtual; held != 2<<20 || p.Held("b").Virtual != 0 {
		t.Errorf("held: %d", held)
	}
	for _, h := range mine {
		h.Close()
	}
	if n := len(p.workers); n != 1 || p.Held("a").Virtual != 0 {
		t.Errorf("%d workers are left, and %d bytes held", n, p.Held("a").Virtual)
	}
}

// TestManyAtOnce: boxes that come and go at the same time do not lose each other.
func TestManyAtOnce(t *testing.T) {
	p := newPool(t, Options{OwnWorkers: 1})
	var group sync.WaitGroup
	for range 2 {
		group.Go(func() {
			for range 150 {
				h, err := p.Open(t.Context(), "a", OpenOptions{}, Services{Log: &journal{}, Budget: quota.New(quota.Unlimited())})
				if err != nil {
					t.Error(err)
					return
				}
				if out, err := do(t, h, "echo x"); out != "x" || err != nil {
					t.Errorf("%q %v", out, err)
				}
				h.Close()
			}
		})
	}
	group.Wait()
	if n := len(p.workers); n != 0 {
		t.Errorf("%d workers are left", n)
	}
}

// TestBeside: a box beside another is in the same worker and runs at the same time.
func TestBeside(t *testing.T) {
	h := openFor(t, newPool(t, Options{}), "a", OpenOptions{}, Services{})
	more, err := h.More(t.Context(), OpenOptions{Spec: 1})
	if err != nil || more.process != h.process {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := more.Run(ctx, &run.Request{Script: "wait"})
		ended <- err
	}()
	if out, err := do(t, h, "echo meanwhile"); out != "meanwhile" || err != nil {
		t.Errorf("%q %v", out, err)
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	more.Close()
	if out, err := do(t, h, "echo still"); out != "still" || err != nil {
		t.Errorf("%q %v", out, err)
	}
}

// TestJudge: a script that ends its judge is refused, and the next is judged.
func TestJudge(t *testing.T) {
	p := newPool(t, Options{})
	for _, bad := range []string{"hang", "crash"} {
		if err := p.Judge(t.Context(), bad, nil); fault.KindOf(err) != fault.Denied || fault.Hint(err) == "" {
			t.Errorf("%s: %v", bad, err)
		}
		var out string
		if err := p.Judge(t.Context(), "good", &out); err != nil || out != `judged "good"` {
			t.Errorf("after %s: %q %v", bad, out, err)
		}
	}
}

// TestBrokenSettings are an error of whoever opens a box.
func TestBrokenSettings(t *testing.T) {
	p := newPool(t, Options{Settings: "broken"})
	_, err := p.Open(t.Context(), "a", OpenOptions{}, Services{Log: &journal{}, Budget: quota.New(quota.Unlimited())})
	if fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), "broken") {
		t.Error(err)
	}
}

// TestLocal: without processes the same protocol is spoken inside of this one.
func TestLocal(t *testing.T) {
	p := &Pool{options: Options{OwnWorkers: 3}, settings: json.RawMessage(`"x"`)}
	stream, c := startLocal(assembleFake)
	w := &process{
		peer: peer{link: link{stream: stream}}, pool: p, child: c, gone: make(chan struct{}),
		boxes: map[uint64]*Handle{}, running: map[uint64]*running{}, questions: map[uint64]context.CancelFunc{},
		open: map[string]string{},
	}
	go w.listen()
	if err := w.call(t.Context(), setUp, setUpMessage{p.settings, 0}, nil); err != nil {
		t.Fatal(err)
	}
	p.spare = w
	h := openFor(t, p, "a", OpenOptions{}, Services{})
	if out, err := do(t, h, "echo here"); out != "here" || err != nil {
		t.Errorf("%q %v", out, err)
	}
	h.Close()
	<-w.gone
	p.Close()
}

// FuzzReceive: whatever comes is a frame or an error, and is not taken for more
// than it is.
func FuzzReceive(f *testing.F) {
	f.Add([]byte("\x00\x00\x00\x02\x01\x00\x00\x00\x00\x00\x00\x00\x07{}"))
	f.Add([]byte("\xff\xff\xff\xff\x01"))
	f.Fuzz(func(t *testing.T, data []byte) {
		r := bytes.NewReader(data)
		fr, err := receive(r)
		if err != nil {
			return
		}
		var out bytes.Buffer
		l := link{stream: closer{&out}}
		if err := l.send(fr.kind, fr.id, fr.body); err != nil || !bytes.HasPrefix(data, out.Bytes()) {
			t.Errorf("%v %q", err, out.Bytes())
		}
	})
}

type closer struct{ io.ReadWriter }

func (closer) Close() error { return nil }
