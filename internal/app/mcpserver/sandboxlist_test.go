package mcpserver

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"hako/internal/app/sandboxes"
	"hako/internal/testload"
	"hako/run"
	"hako/run/fault"
)

func (w *workshop) ListJobs() []sandboxes.Job { return []sandboxes.Job{{ID: "job-1", Command: "make"}} }
func (w *workshop) Task() string              { return "mcp-task" }

// What people see of sandboxes is those of all callers, and nothing that would
// let them, or who looks over their shoulder, use one.
func TestPeopleSeeAll(t *testing.T) {
	d := open(t, Options{Maker: newVirtual(""), Caller: byHeader})
	url := overHTTP(t, d)
	ann, bob := dial(t, url, "ann", "", nil), dial(t, url, "bob", "", nil)
	ids := []string{ann.sandbox(), bob.sandbox()}
	list := d.Sandboxes()
	if len(list) != 2 || list[0].Owner != "mcp:ann" || list[1].Owner != "mcp:bob" || list[0].Kind != "virtual" ||
		list[0].State != "ready" || list[0].Created.IsZero() {
		t.Fatalf("%+v", list)
	}
	for i, b := range list {
		if strings.Contains(fmt.Sprintf("%+v", b), ids[i]) || len(b.ID) > 20 || list[0].ID == list[1].ID {
			t.Errorf("%q tells of %q", b.ID, ids[i])
		}
		if a, _ := ann.call("execute", args{"sandbox_id": b.ID, "command": "echo hi"}); kindOf(a) != fault.NotFound.String() {
			t.Errorf("the name for people opens it: %v", a)
		}
	}
	if err := d.Destroy(t.Context(), ids[1]); fault.KindOf(err) != fault.NotFound {
		t.Errorf("by its id: %v", err)
	}
	if err := d.Destroy(t.Context(), list[1].ID); err != nil || len(d.Sandboxes()) != 1 {
		t.Errorf("%v", err)
	}
	if err := d.Destroy(t.Context(), list[1].ID); fault.KindOf(err) != fault.NotFound {
		t.Errorf("again: %v", err)
	}
	if a, _ := bob.call("execute", args{"sandbox_id": ids[1], "command": "echo hi"}); kindOf(
		a) != fault.NotFound.String() {
		t.Errorf("it is still there: %v", a)
	}
	if d.Task(list[0].ID) != "" || d.Task("none") != "" {
		t.Error("a virtual one is a container")
	}
}

func TestPeopleReadJobs(t *testing.T) {
	d := open(t, Options{Maker: &workshop{}})
	c := pipes(t, d, "", nil)
	c.sandbox()
	shown := d.Sandboxes()[0]
	if len(shown.Jobs) != 1 || shown.Jobs[0].Command != "make" || shown.Environment != "python" ||
		shown.Owner != "mcp:test-client" || d.Task(shown.ID) != "mcp-task" {
		t.Errorf("%+v", shown)
	}
	for offset, want := range map[int64]string{0: "0 100", 7: "7 100", -5: "15 100", -50: "0 100"} {
		text, next, err := d.JobOutput(t.Context(), shown.ID, "job-1", offset, 100)
		if text != want || next != 9 || err != nil {
			t.Errorf("%d: %q %d %v", offset, text, next, err)
		}
	}
	for _, x := range [][2]string{{shown.ID, "job-2"}, {"mcp-none", "job-1"}} {
		if _, _, err := d.JobOutput(t.Context(), x[0], x[1], -1, 100); fault.KindOf(err) != fault.NotFound {
			t.Errorf("%v: %v", x, err)
		}
	}
}

// A page that looks all the time does not keep a sandbox.
func TestLookingIsNoUse(t *testing.T) {
	d := open(t, Options{Maker: newVirtual(""), Limits: Limits{Idle: 100 * time.Millisecond}})
	pipes(t, d, "", nil).sandbox()
	for end := time.Now().Add(testload.Bound(20 * time.Second)); len(d.Sandboxes()) > 0; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it is still there")
		}
	}
}

func TestRunningIsShown(t *testing.T) {
	began, end := make(chan struct{}), make(chan struct{})
	d := open(t, Options{Maker: fake(func(ctx context.Context, _ *run.Request) (run.Result, error) {
		close(began)
		<-end
		return run.Result{}, nil
	})})
	c := pipes(t, d, "", nil)
	id := c.sandbox()
	over := make(chan struct{})
	go func() {
		defer close(over)
		c.call("execute", args{"sandbox_id": id, "command": "x"})
	}()
	<-began
	if got := d.Sandboxes()[0].State; got != "running" {
		t.Error(got)
	}
	close(end)
	<-over
}

// A question about one of several requests of a call goes to its client.
func TestApprovalOfAnEdit(t *testing.T) {
	w := &editing{virtual: newVirtual(askRules)}
	d := open(t, Options{Maker: w})
	for _, version := range []string{"2026-07-28", "2025-06-18"} {
		var asked atomic.Int64
		var seen string
		c := pipes(t, d, version, answers(&asked, &seen, "accept", "once"))
		a, _ := c.call("text_editor", args{"sandbox_id": c.sandbox(), "command": "view", "path": "/a"})
		if asked.Load() != 1 || a["content"] != "done\n" {
			t.Errorf("%s: asked %d times: %v", version, asked.Load(), a)
		}
	}
}

// editing makes virtual sandboxes whose editor runs a command that a rule asks
// about.
type editing struct{ *virtual }

func (e *editing) Make(ctx context.Context, caller string, w SandboxOptions) (Sandbox, error) {
	b, err := e.virtual.Make(ctx, caller, w)
	return editBox{b}, err
}

type editBox struct{ Sandbox }

func (b editBox) Edit(ctx context.Context, req *run.Request, _ []byte) (string, error) {
	var out strings.Builder
	own := run.Request{ID: req.ID + "/1", Actor: req.Actor, Script: "touch x; rm x; echo done", Stdout: &out}
	_, err := b.Run(ctx, &own)
	return out.String(), err
}

func TestBearer(t *testing.T) {
	caller := Bearer(func(token string) string { return "<" + token + ">" })
	for header, want := range map[string]string{"Bearer abc": "<abc>", "bearer  abc ": "<abc>", "Basic abc": "<>",
		"": "<>", "abc": "<>"} {
		if got := caller(&http.Request{Header: http.Header{"Authorization": {header}}}); got != want {
			t.Errorf("%q: %q", header, got)
		}
	}
}
