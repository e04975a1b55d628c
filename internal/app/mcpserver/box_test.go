package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"hako/run"
	"hako/run/fault"
)

func TestLimits(t *testing.T) {
	d := open(t, Options{Maker: newVirtual(""), Caller: byHeader, Limits: Limits{PerCaller: 2, Total: 3}})
	url := overHTTP(t, d)
	ann, bob := dial(t, url, "ann", "", nil), dial(t, url, "bob", "", nil)
	id := ann.sandbox()
	ann.sandbox()
	if a, _ := ann.call("sandbox_create", nil); kindOf(a) != "exhausted" ||
		!strings.Contains(fmt.Sprint(a), "you have 2") {
		t.Errorf("got %v", a)
	}
	bob.sandbox()
	if a, _ := bob.call("sandbox_create", nil); kindOf(a) != "exhausted" ||
		!strings.Contains(fmt.Sprint(a), "the server has 3") {
		t.Errorf("got %v", a)
	}
	ann.call("sandbox_destroy", args{"sandbox_id": id})
	bob.sandbox()
}

// TestUnmade checks that what could not be made does not count.
func TestUnmade(t *testing.T) {
	maker := newVirtual("")
	maker.fail = &fault.Error{Kind: fault.Unavailable, Op: "make", Why: "docker does not answer"}
	d := open(t, Options{Maker: maker, Limits: Limits{PerCaller: 1}})
	c := pipes(t, d, "", nil)
	for range 3 {
		if a, _ := c.call("sandbox_create", nil); kindOf(a) != "unavailable" {
			t.Errorf("got %v", a)
		}
	}
	maker.fail = nil
	if a, _ := c.call("sandbox_create", args{"files": []args{{"path": "/dev/null/x", "text": "x"}}}); kindOf(
		a) != "not_found" {
		t.Errorf("got %v", a)
	}
	c.sandbox()
	if maker.made.Load()-maker.closed.Load() != 1 {
		t.Errorf("%d made, %d closed", maker.made.Load(), maker.closed.Load())
	}
}

func TestNoMaker(t *testing.T) {
	if a, _ := pipes(t, open(t, Options{}), "", nil).call("sandbox_create", nil); kindOf(a) != "unavailable" {
		t.Errorf("got %v", a)
	}
}

// TestIdle checks that what nobody uses is closed after half an hour, and what
// somebody uses is not.
func TestIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		maker := newVirtual("")
		d := New(Options{Maker: maker})
		ctx := context.Background()
		var ids []string
		for range 2 {
			b, err := d.build(ctx, "ann", "ann", SandboxOptions{Kind: Virtual})
			if err != nil {
				t.Fatal(err)
			}
			ids = append(ids, b.id)
		}
		for range 3 {
			time.Sleep(20 * time.Minute)
			b, err := d.enter("ann", ids[0])
			if err != nil {
				t.Fatal(err)
			}
			d.leave(b)
		}
		synctest.Wait()
		if _, err := d.enter("ann", ids[1]); fault.KindOf(err) != fault.NotFound || maker.closed.Load() != 1 {
			t.Errorf("%d closed, %v", maker.closed.Load(), err)
		}
		b, _ := d.enter("ann", ids[0])
		time.Sleep(2 * time.Hour) // a long command
		d.leave(b)
		if maker.closed.Load() != 1 {
			t.Error("it was closed during a command")
		}
		if err := d.Close(ctx); err != nil || maker.closed.Load() != 2 {
			t.Errorf("%d closed, %v", maker.closed.Load(), err)
		}
	})
}

// jobBox is a sandbox in which a job runs.
type jobBox struct {
	Sandbox
	running *atomic.Bool
}

func (b jobBox) Working(context.Context) bool { return b.running.Load() }

type jobMaker struct {
	*virtual
	running atomic.Bool
}

func (m *jobMaker) Make(ctx context.Context, caller string, w SandboxOptions) (Sandbox, error) {
	b, err := m.virtual.Make(ctx, caller, w)
	return jobBox{b, &m.running}, err
}

// TestIdleWithJob checks that a sandbox does not expire while a job runs in it,
// and does so half an hour after its end.
func TestIdleWithJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		maker := &jobMaker{virtual: newVirtual("")}
		maker.running.Store(true)
		d := New(Options{Maker: maker})
		if _, err := d.build(t.Context(), "ann", "ann", SandboxOptions{Kind: Virtual}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(3 * time.Hour)
		if maker.closed.Load() != 0 {
			t.Fatal("it was closed while a job was running")
		}
		maker.running.Store(false)
		time.Sleep(20 * time.Minute)
		if maker.closed.Load() != 0 {
			t.Error("it was closed as soon as the job had ended")
		}
		time.Sleep(40 * time.Minute)
		if maker.closed.Load() != 1 {
			t.Error("it was not closed after the job had ended")
		}
		d.Close(t.Context())
	})
}

// TestNoNetworkIsAlwaysPossible checks that every kind can be had without network.
func TestNoNetworkIsAlwaysPossible(t *testing.T) {
	c := pipes(t, open(t, Options{Maker: newVirtual("")}), "", nil)
	if a, _ := c.call("sandbox_create", args{"network": "none"}); a["sandbox_id"] == nil {
		t.Errorf("none: %v", a)
	}
	for _, more := range []string{"open", "allow-list", "None", "x"} {
		if a, _ := c.call("sandbox_create", args{"network": more}); kindOf(a) != "invalid" {
			t.Errorf("%s: %v", more, a)
		}
	}
}

// slow is a maker that takes its time.
type slow struct {
	began, proceed chan struct{}
	closed         bool
}

func (s *slow) Make(ctx context.Context, _ string, w SandboxOptions) (Sandbox, error) {
	w.Tell("pulling an image")
	close(s.began)
	<-s.proceed
	return s, nil
}
func (s *slow) Run(context.Context, *run.Request) (run.Result, error) { return run.Result{}, nil }
func (s *slow) Close(context.Context) error                           { s.closed = true; return errors.New("stuck") }

// TestStoppedWhileMaking checks that a sandbox which comes too late is closed.
func TestStoppedWhileMaking(t *testing.T) {
	s := &slow{began: make(chan struct{}), proceed: make(chan struct{})}
	d := New(Options{Maker: s})
	c := pipes(t, d, "", nil)
	got := make(chan answer)
	go func() {
		a, _ := c.call("sandbox_create", nil)
		got <- a
	}()
	<-s.began
	stopped := make(chan error)
	go func() { stopped <- d.Close(context.Background()) }()
	for d.count(&http.Request{Method: "GET"}) {
		time.Sleep(time.Millisecond)
	}
	close(s.proceed)
	if a := <-got; kindOf(a) != "unavailable" || !s.closed {
		t.Errorf("closed %v: %v", s.closed, a)
	}
	<-stopped
}

// TestCloseFails checks that a sandbox that cannot be closed is reported, and
// gone all the same.
func TestCloseFails(t *testing.T) {
	s := &slow{began: make(chan struct{}), proceed: make(chan struct{})}
	close(s.proceed)
	d := New(Options{Maker: s})
	if _, err := d.build(t.Context(), "ann", "ann", SandboxOptions{Tell: func(string) {}}); err != nil {
		t.Fatal(err)
	}
	if err := d.Close(t.Context()); err == nil || !strings.Contains(err.Error(), "stuck") || len(d.owned) != 0 {
		t.Errorf("got %v", err)
	}
	if err := d.Close(t.Context()); err != nil {
		t.Errorf("twice: %v", err)
	}
}

// TestFirstOnes checks that many first calls at once share one sandbox.
func TestFirstOnes(t *testing.T) {
	maker := newVirtual("")
	d := open(t, Options{Maker: maker})
	c := pipes(t, d, "", nil)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() { c.call("command-executor_execute_command", args{"command": "echo"}) })
	}
	all.Wait()
	if maker.made.Load() != 1 {
		t.Errorf("%d were made", maker.made.Load())
	}
}

// TestOnRecord checks who the record says it was.
func TestOnRecord(t *testing.T) {
	maker := newVirtual("")
	d := open(t, Options{Maker: maker, Caller: byHeader})
	ann, piped := dial(t, overHTTP(t, d), "ann", "", nil), pipes(t, d, "", nil)
	ann.out(ann.sandbox(), "echo 1")
	id := piped.sandbox()
	piped.call("write_file", args{"sandbox_id": id, "path": "-a b", "text": "x"})
	piped.call("read_file", args{"sandbox_id": id, "path": "/tmp/q's"})
	log := maker.log.(*journal)
	if got := log.scripts("mcp:ann"); !slices.Equal(got, []string{"echo 1"}) {
		t.Errorf("got %q", got)
	}
	if got := log.scripts("mcp:test-client"); !slices.Equal(got, []string{"cat > './-a b'", `cat "/tmp/q's"`}) {
		t.Errorf("got %q", got)
	}
}

// workshop is a sandbox with everything.
type workshop struct {
	fake
	calls []string
}

func (w *workshop) Make(context.Context, string, SandboxOptions) (Sandbox, error) { return w, nil }
func (w *workshop) Info() Info {
	return Info{Environment: "python",
		Directory: "/workspace"}
}

func (w *workshop) Edit(_ context.Context, req *run.Request, call []byte) (string, error) {
	w.calls = append(w.calls, string(call)+" by "+req.Actor)
	if strings.Contains(string(call), "undo") {
		return "", &fault.Error{Kind: fault.NotFound, Op: "undo", Why: "nothing to undo"}
	}
	return "edited", nil
}

func (w *workshop) StartJob(_ context.Context, req *run.Request) (string, error) {
	w.calls = append(w.calls, req.Script+" in "+req.Dir+" by "+req.Actor)
	return "job-1", nil
}

func (w *workshop) JobOutput(_ context.Context, id string, start, size int64) (run.Job, run.JobPage, error) {
	if id != "job-1" {
		return run.Job{}, run.JobPage{}, &fault.Error{Kind: fault.NotFound, Op: "find job", Why: "there is none"}
	}
	return run.Job{State: run.JobRunning}, run.JobPage{Data: []byte(fmt.Sprint(start, size)), Next: 9, Total: 20,
		More: true}, nil
}

func (w *workshop) KillJob(context.Context, string) (run.Job, error) {
	return run.Job{State: run.JobKilled, Exit: 137, Why: "on request"}, nil
}

func TestEditorAndJobs(t *testing.T) {
	w := &workshop{}
	d := open(t, Options{Maker: w, Kinds: []Kind{Container}, Default: SandboxOptions{Kind: Container}})
	c := pipes(t, d, "", nil)
	made, _ := c.call("sandbox_create", args{"kind": "container", "environment": "python"})
	id := made["sandbox_id"]
	if made["environment"] != "python" || made["directory"] != "/workspace" {
		t.Errorf("got %v", made)
	}
	for _, x := range []struct {
		tool string
		in   args
		want string
	}{
		{"text_editor", args{"command": "view", "path": "/a"}, "content:edited error:<nil> success:true"},
		{"text_editor", args{"sandbox_id": id, "command": "undo_edit", "path": "/a"}, "nothing to undo"},
		{"job_start", args{"sandbox_id": id, "command": "make", "working_directory": "/w"}, "job_id:job-1"},
		{"job_output", args{"sandbox_id": id, "job_id": "job-1", "start": 7},
			"exit_code:<nil> job_id:job-1 next_start:9 redacted:0 state:running text:7 4096 total_bytes:20 truncated:true"},
		{"job_output", args{"sandbox_id": id, "job_id": "job-2"}, "there is none"},
		{"job_kill", args{"sandbox_id": id, "job_id": "job-1"},
			"exit_code:137 job_id:job-1 next_start:0 redacted:0 state:killed text: total_bytes:0 truncated:false why:on request"},
		{"sandbox_create", args{"kind": "virtual"}, "there is no such kind here"},
	} {
		if a, _ := c.call(x.tool, x.in); !strings.Contains(fmt.Sprint(a), x.want) {
			t.Errorf("%s %v: %v", x.tool, x.in, a)
		}
	}
	if want := []string{`{"command":"view","path":"/a"} by mcp:test-client`,
		`{"command":"undo_edit","path":"/a"} by mcp:test-client`, "make in /w by mcp:test-client"}; !slices.Equal(w.calls,
		want) {
		t.Errorf("got %q", w.calls)
	}
}
