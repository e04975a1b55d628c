package tasks

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"hako/internal/app/access"
	"hako/internal/app/coder"
	"hako/internal/app/coder/queue"
	"hako/internal/testload"
	"hako/quota"
	"hako/run/fault"
)

var ann = access.Actor{Name: "ann", Role: access.Operator}

// A notebook is a record in memory.
type notebook struct {
	mu    sync.Mutex
	lines []string
	err   error // refuses everything
}

func (n *notebook) record(who access.Actor, what string) (func(error), error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.lines = append(n.lines, who.Name+": "+what)
	return func(err error) {
		n.mu.Lock()
		defer n.mu.Unlock()
		if err != nil {
			n.lines = append(n.lines, "failed: "+fault.KindOf(err).String())
			return
		}
		n.lines = append(n.lines, "done")
	}, n.err
}

func (n *notebook) has(t *testing.T, want ...string) {
	t.Helper()
	n.mu.Lock()
	defer n.mu.Unlock()
	if !slices.Equal(n.lines, want) {
		t.Errorf("on record is %q, not %q", n.lines, want)
	}
	n.lines = nil
}

func openQueue(t *testing.T, dir string) *queue.Queue {
	t.Helper()
	q, err := queue.Open(t.Context(), queue.Options{Dir: dir, AckWait: 5 * time.Second,
		Backoff: []time.Duration{time.Millisecond}})
	fine(t, err)
	t.Cleanup(func() { q.Close() })
	return q
}

func fine(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantKind(t *testing.T, err error, kind fault.Kind, parts ...string) {
	t.Helper()
	if err == nil || fault.KindOf(err) != kind {
		t.Fatalf("have %v, not of kind %v", err, kind)
	}
	for _, part := range parts {
		if !strings.Contains(err.Error()+"\n"+fault.Hint(err), part) {
			t.Errorf("%v (%s) lacks %q", err, fault.Hint(err), part)
		}
	}
}

func job(number int) coder.Task {
	return coder.Task{ID: "issue-try", Provider: "github", Repo: "acme/app", Number: number, Kind: coder.Issue,
		URL: "https://example.com/12", Title: "Broken", Created: time.Unix(1e9, 0).UTC()}
}

// put queues an issue and returns its thread.
func put(t *testing.T, q *queue.Queue, number int) string {
	t.Helper()
	text, _ := json.Marshal(job(number))
	_, err := q.Put(t.Context(), queue.Item{ID: job(number).Thread(), Payload: text})
	fine(t, err)
	return job(number).Thread()
}

func take(t *testing.T, q *queue.Queue) *queue.Lease {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testload.Bound(20*time.Second))
	defer cancel()
	l, err := q.Take(ctx)
	fine(t, err)
	return l
}

func stepText(t *testing.T, r coder.Record) json.RawMessage {
	t.Helper()
	text, err := json.Marshal(r)
	fine(t, err)
	return text
}

// TestTasks follows a task as people see it.
func TestTasks(t *testing.T) {
	q := openQueue(t, t.TempDir())
	w := &Service{Queue: q}
	if all, err := w.List(t.Context()); err != nil || len(all) != 0 {
		t.Errorf("%v, %v", all, err)
	}
	id := put(t, q, 12)
	fresh := Status{ID: id, Name: "issue-try", Title: "Broken", URL: "https://example.com/12", State: "pending",
		Changed: time.Unix(1e9, 0).UTC()}
	if all, err := w.List(t.Context()); err != nil || len(all) != 1 || !same(all[0], fresh) {
		t.Errorf("%+v, %v", all, err)
	}
	l := take(t, q)
	record := coder.Record{State: coder.Processing, Phase: coder.Execution,
		Statement: strings.Repeat("too large for lists ", 1000), Summary: "so far", Proposal: "https://example.com/1",
		Plan: &coder.Plan{Goal: coder.Goal{Objective: "mend"},
			Decomposition: coder.Decomposition{Subtasks: []coder.Part{{Text: "one"}, {Text: "two"}}}},
		Spent: coder.Spent{Usage: quota.Usage{Output: 10}, Cost: 1.5}}
	fine(t, l.Save(t.Context(), stepText(t, record)))
	list, err := w.List(t.Context())
	fine(t, err)
	for _, name := range []string{id, "acme/app#12", "issue-try"} {
		got, err := w.Get(t.Context(), name)
		fine(t, err)
		if !same(got, list[0]) {
			t.Errorf("%s is %+v, listed as %+v", name, got, list[0])
		}
		if got.State != "processing" || got.Phase != "execution" || !slices.Equal(got.Plan, []string{"one", "two"}) ||
			got.Goal != "mend" || got.Summary != "so far" || got.Proposal == "" || got.Tokens != 40 || got.Cost != 1.5 ||
			got.Worker == "" || time.Since(got.Changed) > time.Minute {
			t.Errorf("%+v", got)
		}
	}
}

// same compares without the order of what nobody sees.
func same(a, b Status) bool {
	x, _ := json.Marshal(a)
	y, _ := json.Marshal(b)
	return string(x) == string(y)
}

func TestNoSuchTask(t *testing.T) {
	w := &Service{Queue: openQueue(t, t.TempDir()), Record: (&notebook{}).record}
	for _, id := range []string{"", "x", "a b\x00c", strings.Repeat("x", 100_000), "github/acme/app/issue/12", "*", ">",
		"\xff"} {
		_, err := w.Get(t.Context(), id)
		wantKind(t, err, fault.NotFound)
		wantKind(t, w.Order(t.Context(), ann, id, "pause"), fault.NotFound)
		if id != "" {
			_, err = w.Watch(t.Context(), id)
			wantKind(t, err, fault.NotFound)
		}
	}
}

// What is in the queue and no task of the agent shows as its name alone.
func TestStrangeTask(t *testing.T) {
	q := openQueue(t, t.TempDir())
	_, err := q.Put(t.Context(), queue.Item{ID: "odd", Payload: json.RawMessage(`["odd"]`)})
	fine(t, err)
	got, err := (&Service{Queue: q}).Get(t.Context(), "odd")
	if err != nil || got.ID != "odd" || got.Title != "odd" || got.State != "pending" {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestOrders(t *testing.T) {
	q, book := openQueue(t, t.TempDir()), &notebook{}
	w := &Service{Queue: q, Record: book.record}
	id := put(t, q, 12)
	fine(t, w.Order(t.Context(), ann, "acme/app#12", "pause"))
	book.has(t, "ann: agent pause "+id, "done")
	if got, err := q.State(t.Context(), id); err != nil || got.Order != queue.Pause {
		t.Errorf("%+v, %v", got, err)
	}
	wantKind(t, w.Order(t.Context(), ann, id, "dance"), fault.Invalid, "pause, resume or stop")
	book.has(t, "ann: agent dance "+id, "failed: invalid")
	book.err = &fault.Error{Kind: fault.Unavailable, Op: "record", Why: "the disk is full"}
	wantKind(t, w.Order(t.Context(), ann, id, "stop"), fault.Unavailable)
	wantKind(t, (&Service{Queue: q}).Order(t.Context(), ann, id, "stop"), fault.Denied, "record")
	if got, err := q.State(t.Context(), id); err != nil || got.Order != queue.Pause {
		t.Errorf("what is not on record was done: %+v, %v", got, err)
	}
	book.err = nil
	fine(t, take(t, q).Done(t.Context(), stepText(t, coder.Record{State: coder.Failed, Why: "no luck"})))
	wantKind(t, w.Order(t.Context(), ann, id, "resume"), fault.Invalid, "label")
	if got, err := w.Get(t.Context(), id); err != nil || got.State != "failed" || got.Why != "no luck" {
		t.Errorf("%+v, %v", got, err)
	}
}

// A queue that is down is said to be, not shown as empty.
func TestQueueDown(t *testing.T) {
	down := &fault.Error{Kind: fault.Unavailable, Op: "list tasks", Why: "the server does not answer",
		Err: errors.New("x")}
	w := &Service{Queue: &still{err: down}, Record: (&notebook{}).record}
	_, err := w.List(t.Context())
	wantKind(t, err, fault.Unavailable)
	_, err = w.Get(t.Context(), "x")
	wantKind(t, err, fault.Unavailable)
	wantKind(t, w.Order(t.Context(), ann, "x", "stop"), fault.Unavailable)
	_, err = w.Watch(t.Context(), "")
	wantKind(t, err, fault.Unavailable)
}
