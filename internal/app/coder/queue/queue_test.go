package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"hako/internal/testload"
	"hako/run/fault"
)

func TestMain(m *testing.M) {
	if work := os.Getenv("QUEUE_TEST_CHILD"); work != "" {
		child(work)
		return
	}
	if dir := os.Getenv("QUEUE_TEST_DISK"); dir != "" {
		fullDisk(dir)
		return
	}
	goleak.VerifyTestMain(m)
}

// opened opens a queue of its own, or the one that the options name.
func opened(t testing.TB, opt Options) *Queue {
	t.Helper()
	if opt.Dir == "" && opt.URL == "" {
		opt.Dir = t.TempDir()
	}
	q, err := Open(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { q.Close() })
	return q
}

func put(t testing.TB, q *Queue, id string) {
	t.Helper()
	if fresh, err := q.Put(t.Context(), Item{ID: id, Kind: "test", Payload: json.RawMessage(`{"n":1}`)}); err != nil ||
		!fresh {
		t.Fatalf("put %s: fresh %v: %v", id, fresh, err)
	}
}

func take(t testing.TB, q *Queue) *Lease {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testload.Bound(20*time.Second))
	defer cancel()
	l, err := q.Take(ctx)
	if err != nil {
		t.Fatal("take:", err)
	}
	return l
}

// nothing checks that there is nothing to take for a while.
func nothing(t testing.TB, q *Queue) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 150*time.Millisecond)
	defer cancel()
	if l, err := q.Take(ctx); err == nil {
		t.Fatalf("took %s, try %d", l.Item.ID, l.Deliveries)
	} else if !errors.Is(err, context.DeadlineExceeded) {
		t.Fatal(err)
	}
}

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func state(t testing.TB, q *Queue, id string) Entry {
	t.Helper()
	s, err := q.State(t.Context(), id)
	ok(t, err)
	return s
}

// fenced checks that a worker which lost its task is refused and told so.
func fenced(t testing.TB, err error) {
	t.Helper()
	if !errors.Is(err, ErrFenced) || fault.KindOf(err) != fault.Denied || fault.Hint(err) == "" {
		t.Errorf("not fenced: %v", err)
	}
}

func TestPutTakeDone(t *testing.T) {
	t.Parallel()
	q := opened(t, Options{Worker: "w1"})
	id := "github.com/owner/project.x#12 日本"
	put(t, q, id)
	if s := state(t, q, id); s.State != Queued || s.Kind != "test" {
		t.Errorf("%+v", s)
	}
	l := take(t, q)
	if l.Item.ID != id || string(l.Item.Payload) != `{"n":1}` || l.Token != 1 || l.Deliveries != 1 || l.Step != nil {
		t.Errorf("%+v", l)
	}
	if s := state(t, q, id); s.State != Held || s.Holder != "w1" {
		t.Errorf("%+v", s)
	}
	ok(t, l.Save(t.Context(), json.RawMessage(`"half"`)))
	ok(t, l.Renew(t.Context()))
	ok(t, l.Done(t.Context(), json.RawMessage(`"all"`)))
	if s := state(t, q, id); s.State != Done || string(s.Step) != `"all"` || s.Holder != "" {
		t.Errorf("%+v", s)
	}
	fenced(t, l.Save(t.Context(), json.RawMessage(`1`)))
	fenced(t, l.Renew(t.Context()))
	fenced(t, l.Done(t.Context(), nil))
	select {
	case <-l.Lost():
		t.Error("a task that was given back is not lost")
	default:
	}
}

// The same task is one task: while it waits, while it is worked on, and after.
func TestPutTwice(t *testing.T) {
	t.Parallel()
	q := opened(t, Options{})
	again := func(when string) {
		t.Helper()
		if fresh, err := q.Put(t.Context(), Item{ID: "a"}); err != nil || fresh {
			t.Errorf("%s: fresh %v: %v", when, fresh, err)
		}
	}
	put(t, q, "a")
	again("waiting")
	l := take(t, q)
	again("held")
	nothing(t, q)
	ok(t, l.Done(t.Context(), nil))
	again("done")
	nothing(t, q)
}

// However many put the same task at the same time, one of them was first.
func TestPutAtOnce(t *testing.T) {
	t.Parallel()
	q := opened(t, Options{})
	var first atomic.Int32
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			if fresh, err := q.Put(t.Context(), Item{ID: "a"}); err != nil {
				t.Error(err)
			} else if fresh {
				first.Add(1)
			}
		})
	}
	all.Wait()
	if first.Load() != 1 {
		t.Errorf("%d were first", first.Load())
	}
}

func TestBadItems(t *testing.T) {
	t.Parallel()
	q := opened(t, Options{})
	for _, c := range []struct {
		item Item
		kind fault.Kind
	}{
		{Item{}, fault.Invalid},
		{Item{ID: strings.Repeat("x", 257)}, fault.Invalid},
		{Item{ID: "\xff"}, fault.Invalid},
		{Item{ID: "a", Payload: json.RawMessage(`{`)}, fault.Invalid},
		{Item{ID: "a", Payload: json.RawMessage(`"` + strings.Repeat("x", 3<<20) + `"`)}, fault.TooLarge},
	} {
		if fresh, err := q.Put(t.Context(), c.item); fresh || fault.KindOf(err) != c.kind || fault.Hint(err) == "" {
			t.Errorf("%.20q: fresh %v: %v", c.item.ID, fresh, err)
		}
	}
	put(t, q, strings.Repeat("*.>", 85))
	l := take(t, q)
	if err := l.Save(t.Context(), json.RawMessage(`{`)); fault.KindOf(err) != fault.Invalid {
		t.Error(err)
	}
	if err := l.Save(t.Context(), json.RawMessage(`"`+strings.Repeat("x", 64<<20)+`"`)); fault.KindOf(
		err) != fault.TooLarge {
		t.Error(err)
	}
	ok(t, l.Save(t.Context(), json.RawMessage(`1`))) // the lease has survived that
	for _, f := range []func() error{
		func() error { _, err := q.State(t.Context(), "b"); return err },
		func() error { _, err := q.Requeue(t.Context(), "b", RequeueOptions{}); return err },
		func() error { return q.Order(t.Context(), "b", Pause) },
	} {
		if err := f(); fault.KindOf(err) != fault.NotFound {
			t.Error(err)
		}
	}
}

func TestBadOptions(t *testing.T) {
	t.Parallel()
	for _, o := range []Options{{}, {Dir: "x", Name: "a.b"}, {Dir: "x", AckWait: 1}, {Dir: "x", MaxDeliver: -1},
		{Dir: "x", Retention: 1},
		{URL: "nats://u:secret@:x:y"}, {URL: "nats://"}} {
		q, err := Open(t.Context(), o)
		if fault.KindOf(err) != fault.Invalid || fault.Hint(err) == "" || strings.Contains(err.Error(), "secret") {
			t.Errorf("%+v: %v %v", o, q, err)
		}
	}
}

// A task fails, waits, is tried again, and is given up in the end; then somebody
// asks for it again.
func TestFailUntilDead(t *testing.T) {
	t.Parallel()
	q := opened(t, Options{MaxDeliver: 3, Backoff: []time.Duration{time.Millisecond, 200 * time.Millisecond}})
	put(t, q, "a")
	for try := 1; try <= 3; try++ {
		since := time.Now()
		l := take(t, q)
		if l.Deliveries != try || l.Token != uint64(try) {
			t.Errorf("try %d: %+v", try, l)
		}
		if waited := time.Since(since); try == 3 && waited < 150*time.Millisecond {
			t.Errorf("came back after %v", waited)
		}
		ok(t, l.Save(t.Context(), json.RawMessage(`"half"`)))
		ok(t, l.Fail(t.Context(), fmt.Sprint("trouble ", try)))
	}
	nothing(t, q)
	dead, err := q.Dead(t.Context())
	if err != nil || len(dead) != 1 || dead[0].ID != "a" || !strings.Contains(dead[0].Reason, "trouble 3") {
		t.Fatalf("%+v: %v", dead, err)
	}
	eventually(t, func() bool { s, err := q.Stats(t.Context()); return err == nil && s.Dead == 1 && s.Queued+s.Held == 0 })
	if fresh, err := q.Requeue(t.Context(), "a", RequeueOptions{}); err != nil || !fresh {
		t.Fatal(fresh, err)
	}
	if s := state(t, q, "a"); s.State != Queued {
		t.Errorf("%+v", s)
	}
	l := take(t, q)
	if l.Deliveries != 1 || string(l.Step) != `"half"` || l.Token != 4 {
		t.Errorf("%+v", l)
	}
	if dead, err := q.Dead(t.Context()); err != nil || len(dead) != 0 {
		t.Errorf("%+v: %v", dead, err)
	}
}

// A task whose workers die without a word is given up too.
func TestDeadlyTask(t *testing.T) {
	t.Parallel()
	q := opened(t, Options{MaxDeliver: 2, AckWait: 150 * time.Millisecond})
	put(t, q, "a")
	for range 2 {
		<-take(t, q).Lost()
	}
	eventually(t, func() bool {
		nothing(t, q) // who looks at it gives it up
		dead, err := q.Dead(t.Context())
		return err == nil && len(dead) == 1 && strings.Contains(dead[0].Reason, "2 attempts")
	})
}

// Giving back counts as nothing.
func TestRelease(t *testing.T) {
	t.Parallel()
	q := opened(t, Options{MaxDeliver: 2})
	put(t, q, "a")
	for range 4 {
		l := take(t, q)
		if l.Deliveries != 1 {
			t.Fatalf("%+v", l)
		}
		ok(t, l.Release(t.Context(), 0))
	}
	l := take(t, q)
	ok(t, l.Release(t.Context(), 500*time.Millisecond))
	nothing(t, q)
	take(t, q)
}

func TestRequeue(t *testing.T) {
	t.Parallel()
	q := opened(t, Options{})
	put(t, q, "a")
	if fresh, err := q.Requeue(t.Context(), "a", RequeueOptions{}); fresh || fault.KindOf(err) != fault.NotFound {
		t.Error(fresh, err) // nobody has had it yet, so there is nothing to do again
	}
	l := take(t, q)
	if fresh, err := q.Requeue(t.Context(), "a", RequeueOptions{}); fresh || err != nil {
		t.Error(fresh, err)
	}
	_, err := l.Once(t.Context(), "comment", func(context.Context, bool) (string, error) { return "c1", nil })
	ok(t, err)
	ok(t, l.Done(t.Context(), json.RawMessage(`1`)))
	for _, fresh := range []bool{true, false} {
		if got, err := q.Requeue(t.Context(), "a", RequeueOptions{Payload: json.RawMessage(`2`), Forget: true}); got != fresh ||
			err != nil {
			t.Error(got, err)
		}
	}
	l = take(t, q)
	if string(l.Item.Payload) != `2` || l.Step != nil {
		t.Errorf("%+v", l)
	}
	ref, err := l.Once(t.Context(), "comment", func(context.Context, bool) (string, error) { return "c2", nil })
	if ref != "c2" || err != nil {
		t.Error(ref, err)
	}
	nothing(t, q)
}

// A worker that is silent loses its task, knows it before another gets it, and
// can change nothing any more. The other goes on where it was.
func TestTakeover(t *testing.T) {
	t.Parallel()
	q := opened(t, Options{AckWait: time.Second})
	put(t, q, "a")
	old := take(t, q)
	ok(t, old.Save(t.Context(), json.RawMessage(`{"step":3}`)))
	next := take(t, q)
	select {
	case <-old.Lost():
	default:
		t.Error("the old worker does not know yet")
	}
	if next.Token <= old.Token || string(next.Step) != `{"step":3}` || next.Deliveries != 2 {
		t.Errorf("%+v", next)
	}
	refusals(t, old)
	ok(t, next.Done(t.Context(), nil))
}

func refusals(t *testing.T, old *Lease) {
	t.Helper()
	fenced(t, old.Renew(t.Context()))
	fenced(t, old.Save(t.Context(), json.RawMessage(`4`)))
	fenced(t, old.Fail(t.Context(), "no"))
	fenced(t, old.Release(t.Context(), 0))
	fenced(t, old.Done(t.Context(), nil))
	_, err := old.Park(t.Context())
	fenced(t, err)
	_, err = old.Once(t.Context(), "push", func(context.Context, bool) (string, error) {
		t.Error("it was done by the wrong worker")
		return "", nil
	})
	fenced(t, err)
}

// A worker that slept through everything, its alarm included, is refused by the
// record alone.
func TestFencedByTheRecord(t *testing.T) {
	t.Parallel()
	q := opened(t, Options{AckWait: time.Second})
	put(t, q, "a")
	old := take(t, q)
	old.mu.Lock()
	old.expiry.Stop()
	old.mu.Unlock()
	next := take(t, q)
	fenced(t, old.Save(t.Context(), json.RawMessage(`"late"`)))
	select {
	case <-old.Lost():
	default:
		t.Error("it was not told")
	}
	ok(t, next.Save(t.Context(), json.RawMessage(`"mine"`)))
	refusals(t, old)
	if s := state(t, q, "a"); string(s.Step) != `"mine"` || s.Token != next.Token {
		t.Errorf("%+v", s)
	}
}

// A worker that goes on beating keeps its task, and what runs under its context
// ends with it.
func TestKeep(t *testing.T) {
	t.Parallel()
	q := opened(t, Options{AckWait: time.Second})
	put(t, q, "a")
	l := take(t, q)
	held := l.KeepAlive(t.Context())
	ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
	defer cancel()
	if other, err := q.Take(ctx); err == nil {
		t.Fatalf("%+v was taken over", other)
	}
	if held.Err() != nil {
		t.Fatal(context.Cause(held))
	}
	ok(t, l.Done(t.Context(), nil))
	<-held.Done()

	put(t, q, "b")
	l = take(t, q)
	ctx, cancel = context.WithCancel(t.Context())
	l.KeepAlive(ctx)
	cancel() // nobody beats any more
	held, stop := l.within(t.Context())
	defer stop()
	<-held.Done()
	<-l.Lost()
}

func eventually(t testing.TB, is func() bool) {
	t.Helper()
	for range 400 {
		if is() {
			return
		}
		time.Sleep(25 * time.Millisecond) // the servers have clocks of their own
	}
	t.Fatal("it did not come about")
}

// The record of a task that was done is forgotten after a while; then it may come again.
func TestForgotten(t *testing.T) {
	t.Parallel()
	q := opened(t, Options{Retention: time.Second})
	put(t, q, "a")
	ok(t, take(t, q).Done(t.Context(), nil))
	eventually(t, func() bool { _, err := q.State(t.Context(), "a"); return fault.KindOf(err) == fault.NotFound })
	put(t, q, "a")
	ok(t, take(t, q).Done(t.Context(), nil))
}

func TestList(t *testing.T) {
	t.Parallel()
	q := opened(t, Options{})
	for _, id := range []string{"a", "b", "c", "d"} {
		put(t, q, id)
	}
	done, held := take(t, q), take(t, q)
	_, err := held.Once(t.Context(), "push",
		func(context.Context, bool) (string, error) { return "", errors.New("cut off") })
	if err == nil {
		t.Error("the error was lost")
	}
	ok(t, done.Done(t.Context(), nil))
	tasks, err := q.List(t.Context())
	ok(t, err)
	var got []string
	for _, s := range tasks {
		got = append(got, s.ID+" "+string(s.State))
	}
	if !slices.Equal(got, []string{"a done", "b held", "c queued", "d queued"}) ||
		!slices.Equal(tasks[1].Doubts, []string{"push"}) {
		t.Errorf("%v %+v", got, tasks[1])
	}
	eventually(t, func() bool {
		s, err := q.Stats(t.Context())
		return err == nil && s.Queued == 2 && s.Held == 1 && s.Known == 2
	})
}

// A list is whole, although it is read in parts.
func TestLongList(t *testing.T) {
	t.Parallel()
	const n = 2*batchMessages + 7
	q := opened(t, Options{})
	var all sync.WaitGroup
	for w := range 8 {
		all.Go(func() {
			for i := w; i < n; i += 8 {
				put(t, q, fmt.Sprintf("%05d", i))
			}
		})
	}
	all.Wait()
	ok(t, take(t, q).Done(t.Context(), nil))
	tasks, err := q.List(t.Context())
	if err != nil || len(tasks) != n {
		t.Fatalf("%d tasks: %v", len(tasks), err)
	}
	for i, s := range tasks {
		if s.ID != fmt.Sprintf("%05d", i) {
			t.Fatalf("%s at %d", s.ID, i)
		}
	}
}

// A message that is not from us does not come back for ever.
func TestStrangeMessage(t *testing.T) {
	t.Parallel()
	q := opened(t, Options{})
	_, err := q.js.Publish(t.Context(), q.workSubject("x", 0), []byte("{"))
	ok(t, err)
	nothing(t, q)
	eventually(t, func() bool { s, err := q.Stats(t.Context()); return err == nil && s.Queued+s.Held == 0 })
}

// Whoever stops waiting takes nothing with it.
func TestStoppedTake(t *testing.T) {
	t.Parallel()
	q := opened(t, Options{})
	nothing(t, q) // its request is still with the server
	put(t, q, "a")
	since := time.Now()
	if l := take(t, q); l.Item.ID != "a" || time.Since(since) > testload.Bound(5*time.Second) {
		t.Errorf("%+v after %v", l, time.Since(since))
	}
}

func FuzzKey(f *testing.F) {
	f.Add("github.com/a/b#1", "github.com/a/b=231")
	f.Add("a.b", "a=2eb")
	f.Add("*", ">")
	f.Fuzz(func(t *testing.T, a, b string) {
		if (key(a) == key(b)) != (a == b) {
			t.Errorf("%q and %q: %q and %q", a, b, key(a), key(b))
		}
		if strings.ContainsAny(key(a), ". *>\t\r\n\x00") {
			t.Errorf("%q: %q", a, key(a))
		}
	})
}

// A chain is Put, Take and Done of a task.
func BenchmarkChain(b *testing.B) {
	q := opened(b, Options{})
	var n atomic.Int64
	payload := json.RawMessage(`{"repository":"owner/project","issue":12,"title":"a title as they are"}`)
	b.SetParallelism(16)
	b.ResetTimer()
	b.RunParallel(func(p *testing.PB) {
		for p.Next() {
			if _, err := q.Put(b.Context(), Item{ID: fmt.Sprint("github.com/owner/project#", n.Add(1)),
				Payload: payload}); err != nil {
				b.Error(err)
				return
			}
			l, err := q.Take(b.Context())
			if err == nil {
				err = l.Done(b.Context(), nil)
			}
			if err != nil {
				b.Error(err)
				return
			}
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "tasks/s")
}

// A queue is filled by some while others take from it and end what they took.
func BenchmarkQueue(b *testing.B) {
	const producers, workers = 8, 16
	q := opened(b, Options{})
	payload := json.RawMessage(`{"repository":"owner/project","issue":12,"title":"a title as they are"}`)
	var made, done atomic.Int64
	var all sync.WaitGroup
	ctx, stop := context.WithCancel(b.Context())
	defer stop()
	b.ResetTimer()
	for range producers {
		all.Go(func() {
			for n := made.Add(1); n <= int64(b.N); n = made.Add(1) {
				if _, err := q.Put(ctx, Item{ID: fmt.Sprint("github.com/owner/project#", n), Payload: payload}); err != nil {
					b.Error(err)
				}
			}
		})
	}
	for range workers {
		all.Go(func() {
			for {
				l, err := q.Take(ctx)
				if err != nil {
					return
				}
				if err := l.Done(ctx, nil); err != nil {
					b.Error(err)
				}
				if done.Add(1) == int64(b.N) {
					stop()
				}
			}
		})
	}
	all.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "tasks/s")
}

// BenchmarkList lists tasks as a producer finds them: most are done, some wait.
func BenchmarkList(b *testing.B) {
	const n = 10_000
	q := opened(b, Options{})
	payload := json.RawMessage(`"` + strings.Repeat("x", 2<<10) + `"`)
	var all sync.WaitGroup
	for w := range 16 {
		all.Go(func() {
			for i := w; i < n; i += 16 {
				if _, err := q.Put(b.Context(), Item{ID: fmt.Sprint("github.com/owner/project#", i),
					Payload: payload}); err != nil {
					b.Error(err)
				}
				if i%2 == 0 {
					continue
				}
				if err := take(b, q).Done(b.Context(), text("end", 4<<10)); err != nil {
					b.Error(err)
				}
			}
		})
	}
	all.Wait()
	for b.Loop() {
		if tasks, err := q.List(b.Context()); err != nil || len(tasks) != n {
			b.Fatal(len(tasks), err)
		}
	}
}
