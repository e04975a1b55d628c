package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"

	"hako/run/fault"
)

// text is a step of a size, different for each word.
func text(word string, size int) json.RawMessage {
	return json.RawMessage(`"` + word + strings.Repeat("<", size-len(word)-2) + `"`)
}

// left waits until there are so many blobs: they are removed in the background.
func left(t testing.TB, q *Queue, want int) {
	t.Helper()
	eventually(t, func() bool { return blobs(t, q) == want })
}

// blobs counts what there is beside the records.
func blobs(t testing.TB, q *Queue) (n int) {
	t.Helper()
	all, err := q.blobNames(t.Context())
	ok(t, err)
	for _, names := range all {
		n += len(names)
	}
	return n
}

// small is a server as others have it, which takes messages of 1 MB.
func small(t *testing.T) *Queue {
	t.Helper()
	srv, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: -1, NoSigs: true, NoLog: true, JetStream: true,
		StoreDir: t.TempDir()})
	ok(t, err)
	srv.Start()
	t.Cleanup(func() { srv.Shutdown(); srv.WaitForShutdown() })
	return opened(t, Options{URL: "nats://" + srv.Addr().String()})
}

// Steps of all sizes are kept, on a server that takes messages of 1 MB; only the
// last is.
func TestLargeSteps(t *testing.T) {
	t.Parallel()
	q := small(t)
	put(t, q, "a/b.c")
	l := take(t, q)
	l.KeepAlive(t.Context()) // the heart beats on while a large step is written
	for i, size := range []int{100, maxInlineStep, maxInlineStep + 1, piece, 3*piece + 1, maxStep, maxInlineStep + 2} {
		step := text(fmt.Sprint("step ", i), size)
		ok(t, l.Save(t.Context(), step))
		ok(t, l.Renew(t.Context()))
		if s := state(t, q, "a/b.c"); string(s.Step) != string(step) {
			t.Fatalf("%d bytes came back as %d: %.20s", size, len(s.Step), s.Step)
		}
		want := 0
		if size > maxInlineStep {
			want = 1
		}
		left(t, q, want)
		if data, _, err := getValue(t.Context(), q.records, q.recordSubject(key("a/b.c"))); err != nil ||
			len(data) > maxInlineStep+1<<10 {
			t.Errorf("%d bytes are a record of %d: %v", size, len(data), err)
		}
	}
	ok(t, l.Release(t.Context(), 0))
	l = take(t, q)
	if string(l.Step) != string(text("step 6", maxInlineStep+2)) {
		t.Errorf("%d bytes: %.20s", len(l.Step), l.Step)
	}
	ok(t, l.Done(t.Context(), text("end", 2*piece)))
	if s := state(t, q, "a/b.c"); s.State != Done || len(s.Step) != 2*piece {
		t.Errorf("%s, %d bytes", s.State, len(s.Step))
	}
	if all, err := q.List(t.Context()); err != nil || len(all) != 1 || all[0].Step != nil {
		t.Errorf("%+v: %v", all, err)
	}
	left(t, q, 1)
	_, err := q.Requeue(t.Context(), "a/b.c", RequeueOptions{})
	ok(t, err)
	l = take(t, q)
	if len(l.Step) != 2*piece {
		t.Errorf("%d bytes after it was done", len(l.Step))
	}
	ok(t, l.Done(t.Context(), nil))
	_, err = q.Requeue(t.Context(), "a/b.c", RequeueOptions{Forget: true})
	ok(t, err)
	if l = take(t, q); l.Step != nil {
		t.Errorf("%d bytes", len(l.Step))
	}
	left(t, q, 0)
}

// What a worker leaves behind that was taken over is nobody's step, and is swept
// away; what is in use is not.
func TestStrayBlobs(t *testing.T) {
	t.Parallel()
	q := opened(t, Options{AckWait: time.Second})
	put(t, q, "a")
	old := take(t, q)
	ok(t, old.Save(t.Context(), text("first", 2*piece)))
	old.mu.Lock()
	old.expiry.Stop() // it sleeps through everything
	old.mu.Unlock()
	next := take(t, q)
	held := next.KeepAlive(t.Context())
	if string(next.Step) != string(text("first", 2*piece)) {
		t.Fatalf("%d bytes", len(next.Step))
	}
	fenced(t, old.Save(t.Context(), text("late", 2*piece)))
	fenced(t, old.Save(t.Context(), text("later", 2*piece))) // by now it knows, and does not even try
	if s := state(t, q, "a"); string(s.Step) != string(next.Step) || blobs(t, q) != 2 {
		t.Errorf("%.20s, %d blobs", s.Step, blobs(t, q))
	}
	ok(t, q.sweep(t.Context(), time.Hour))
	if n := blobs(t, q); n != 2 {
		t.Errorf("a young one was swept away: %d blobs", n)
	}
	ok(t, q.sweep(t.Context(), 0))
	if s := state(t, q, "a"); string(s.Step) != string(next.Step) || blobs(t, q) != 1 || held.Err() != nil {
		t.Errorf("%.20s, %d blobs", s.Step, blobs(t, q))
	}
	ok(t, next.Done(t.Context(), nil))
}

// When a task is forgotten, so is what was too large for its record.
func TestForgottenBlobs(t *testing.T) {
	t.Parallel()
	q := opened(t, Options{Retention: time.Second})
	put(t, q, "a")
	ok(t, take(t, q).Done(t.Context(), text("end", piece)))
	ok(t, q.sweep(t.Context(), 0))
	if n := blobs(t, q); n != 1 {
		t.Errorf("%d blobs", n)
	}
	eventually(t, func() bool { _, err := q.State(t.Context(), "a"); return fault.KindOf(err) == fault.NotFound })
	ok(t, q.sweep(t.Context(), 0))
	if n := blobs(t, q); n != 0 {
		t.Errorf("%d blobs", n)
	}
}

// One process in a day sweeps.
func TestDue(t *testing.T) {
	t.Parallel()
	q := opened(t, Options{})
	now := time.Now()
	for _, c := range []struct {
		after time.Duration
		want  bool
	}{{0, true}, {0, false}, {sweepEvery - 1, false}, {sweepEvery, true}, {sweepEvery, false}} {
		if due, err := q.sweepDue(t.Context(), now.Add(c.after)); err != nil || due != c.want {
			t.Errorf("after %v: %v, %v", c.after, due, err)
		}
	}
}

// A task whose step is lost fails as others do, with its reason, and keeps nobody
// from the other tasks.
func TestLostStep(t *testing.T) {
	t.Parallel()
	q := opened(t, Options{MaxDeliver: 2, Backoff: []time.Duration{time.Millisecond}})
	put(t, q, "a")
	l := take(t, q)
	ok(t, l.Save(t.Context(), text("half", 3*piece)))
	ok(t, q.blobs.Purge(t.Context(), jetstream.WithPurgeSubject(q.blobSubject(key("a"), l.now.Large.Name, "1"))))
	ok(t, l.Fail(t.Context(), "no"))
	put(t, q, "b")
	eventually(t, func() bool {
		l := take(t, q)
		if l.Item.ID != "b" {
			t.Fatalf("took %s with %d bytes", l.Item.ID, len(l.Step))
		}
		ok(t, l.Release(t.Context(), 0))
		v, err := q.lookup(t.Context(), "a")
		return err == nil && v.State == Dead && strings.Contains(v.Reason, "missing or damaged")
	})
}

// A task makes many calls with long answers: its record stays small, a worker
// that takes over knows all of them, and those of turns long past can be
// forgotten.
func TestManyLargeEffects(t *testing.T) {
	t.Parallel()
	q := small(t)
	put(t, q, "a")
	l := take(t, q)
	held := l.KeepAlive(t.Context())
	answer := func(i int) string { return fmt.Sprint(i, strings.Repeat("x", 32<<10)) }
	for i := range 200 {
		_, err := l.Once(held, fmt.Sprintf("call-%d-x", i),
			func(context.Context, bool) (string, error) { return answer(i), nil })
		ok(t, err)
	}
	ok(t, l.Save(held, text("half", 100)))
	ok(t, l.Release(t.Context(), 0))
	l = take(t, q)
	for _, i := range []int{0, 77, 199} {
		ref, err := l.Once(t.Context(), fmt.Sprintf("call-%d-x", i),
			func(context.Context, bool) (string, error) { return "", errors.New("a second time") })
		if ref != answer(i) || err != nil {
			t.Errorf("%d: %d bytes, %v", i, len(ref), err)
		}
	}
	data, _, err := getValue(t.Context(), q.records, q.recordSubject(key("a")))
	if err != nil || len(data) > 64<<10 || blobs(t, q) != 200 {
		t.Errorf("%d bytes, %d blobs: %v", len(data), blobs(t, q), err)
	}
	ok(t, l.Advance(t.Context(), text("more", 100), func(name string) bool { return name != "call-199-x" }))
	if s := state(t, q, "a"); len(s.Effects) != 1 || string(s.Step) != string(text("more", 100)) {
		t.Errorf("%d effects", len(s.Effects))
	}
	left(t, q, 1)
	if ref, err := l.Once(t.Context(), "call-199-x", nil); ref != answer(199) || err != nil {
		t.Errorf("%d bytes, %v", len(ref), err)
	}
	ok(t, l.Done(t.Context(), nil))
}

// However long the reason of a failure is, it can be recorded.
func TestLongReason(t *testing.T) {
	t.Parallel()
	q := opened(t, Options{})
	put(t, q, "a")
	ok(t, take(t, q).Fail(t.Context(), strings.Repeat("日", 5<<20)))
	if s := state(t, q, "a"); len(s.Reason) < maxReason-3 || len(s.Reason) > maxReason ||
		strings.Trim(s.Reason, "日") != "" {
		t.Errorf("%d bytes", len(s.Reason))
	}
}
