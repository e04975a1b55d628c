package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"hako/internal/testload"
	"hako/run/fault"
)

func orders(t *testing.T, l *Lease) <-chan Command {
	t.Helper()
	c, err := l.Orders(t.Context())
	ok(t, err)
	return c
}

func expect(t *testing.T, c <-chan Command, want Command) {
	t.Helper()
	select {
	case got := <-c:
		if got != want {
			t.Fatalf("%s instead of %s", got, want)
		}
	case <-time.After(testload.Bound(10 * time.Second)):
		t.Fatalf("no %s", want)
	}
}

// An order reaches a task wherever it is.
func TestOrders(t *testing.T) {
	t.Parallel()
	q := opened(t, Options{Backoff: []time.Duration{time.Millisecond}})
	order := func(what Command) {
		t.Helper()
		ok(t, q.Order(t.Context(), "a", what))
	}
	put(t, q, "a")
	order(Pause) // waiting
	l := take(t, q)
	c := orders(t, l)
	expect(t, c, Pause)
	order(Resume) // held
	expect(t, c, Resume)
	order(Pause)
	expect(t, c, Pause)
	ok(t, l.Fail(t.Context(), "no"))
	order(Stop) // between two workers
	l = take(t, q)
	expect(t, orders(t, l), Stop)
	if s := state(t, q, "a"); s.Order != Stop {
		t.Errorf("%+v", s)
	}
	ok(t, l.Done(t.Context(), nil))
	if err := q.Order(t.Context(), "a", Pause); fault.KindOf(err) != fault.Invalid || fault.Hint(err) == "" {
		t.Error(err)
	}
	if err := q.Order(t.Context(), "a", "dance"); fault.KindOf(err) != fault.Invalid || fault.Hint(err) == "" {
		t.Error(err)
	}
	_, err := q.Requeue(t.Context(), "a", RequeueOptions{})
	ok(t, err)
	order(Pause) // waiting in its second round
	expect(t, orders(t, take(t, q)), Pause)
}

// The old order does not stop a task that was asked for again.
func TestOldOrder(t *testing.T) {
	t.Parallel()
	q := opened(t, Options{})
	put(t, q, "a")
	ok(t, q.Order(t.Context(), "a", Stop))
	ok(t, take(t, q).Done(t.Context(), nil))
	_, err := q.Requeue(t.Context(), "a", RequeueOptions{})
	ok(t, err)
	select {
	case got := <-orders(t, take(t, q)):
		t.Error(got)
	case <-time.After(100 * time.Millisecond):
	}
}

// A heartbeat brings orders too, and an order does not disturb the holder.
func TestOrderByHeartbeat(t *testing.T) {
	t.Parallel()
	q := opened(t, Options{})
	put(t, q, "a")
	l := take(t, q)
	ok(t, q.Order(t.Context(), "a", Stop))
	ok(t, l.Save(t.Context(), json.RawMessage(`1`)))
	expect(t, l.orders, Stop)
	ok(t, l.Renew(t.Context()))
}

// A parked task takes nobody's time until somebody wants it to go on or to stop.
func TestPark(t *testing.T) {
	t.Parallel()
	for _, what := range []Command{Resume, Stop} {
		q := opened(t, Options{})
		put(t, q, "a")
		l := take(t, q)
		ok(t, q.Order(t.Context(), "a", Pause))
		expect(t, orders(t, l), Pause)
		ok(t, l.Save(t.Context(), json.RawMessage(`"half"`)))
		parked, err := l.Park(t.Context())
		if !parked || err != nil {
			t.Fatal(parked, err)
		}
		fenced(t, l.Save(t.Context(), json.RawMessage(`1`)))
		nothing(t, q)
		ok(t, q.Order(t.Context(), "a", Pause)) // once more does nothing
		nothing(t, q)
		eventually(t, func() bool { s, err := q.Stats(t.Context()); return err == nil && s.Queued+s.Held == 0 })
		ok(t, q.Order(t.Context(), "a", what))
		next := take(t, q)
		if string(next.Step) != `"half"` || next.Token != 2 || next.Deliveries != 1 {
			t.Errorf("%+v", next)
		}
		if what == Stop {
			expect(t, orders(t, next), Stop)
		}
		ok(t, next.Done(t.Context(), nil))
	}
}

// An order to go on that comes while a task is being parked is not lost.
func TestParkTooLate(t *testing.T) {
	t.Parallel()
	q := opened(t, Options{})
	put(t, q, "a")
	l := take(t, q)
	ok(t, q.Order(t.Context(), "a", Pause))
	ok(t, q.Order(t.Context(), "a", Resume))
	if parked, err := l.Park(t.Context()); parked || err != nil {
		t.Fatal(parked, err)
	}
	ok(t, l.Done(t.Context(), nil))
}

// Whoever gave an order to go on was killed before it could call somebody: the
// next who puts the task does.
func TestHalfAnOrder(t *testing.T) {
	t.Parallel()
	q := opened(t, Options{})
	put(t, q, "a")
	l := take(t, q)
	if parked, err := l.Park(t.Context()); !parked || err != nil {
		t.Fatal(err)
	}
	_, err := q.change(t.Context(), "order", "a", version{}, func(r *record) error { return r.setOrder(Resume) })
	ok(t, err)
	nothing(t, q)
	put(t, q, "a")
	ok(t, take(t, q).Done(t.Context(), nil))
}

func TestOnce(t *testing.T) {
	t.Parallel()
	q := opened(t, Options{Backoff: []time.Duration{time.Millisecond}})
	put(t, q, "a")
	l := take(t, q)
	times := 0
	do := func(_ context.Context, again bool) (string, error) {
		times++
		if again {
			t.Error("it is in doubt")
		}
		return fmt.Sprint("c", times), nil
	}
	for range 2 {
		if ref, err := l.Once(t.Context(), "comment", do); ref != "c1" || err != nil {
			t.Error(ref, err)
		}
	}
	refused := errors.New("refused")
	_, err := l.Once(t.Context(), "push", func(context.Context, bool) (string, error) { return "", Undone(refused) })
	if !errors.Is(err, refused) {
		t.Error(err)
	}
	ok(t, l.Fail(t.Context(), "no"))
	l = take(t, q)
	if ref, err := l.Once(t.Context(), "comment", do); ref != "c1" || err != nil || times != 1 {
		t.Error(ref, err)
	}
	if ref, err := l.Once(t.Context(), "push", do); ref != "c2" || err != nil {
		t.Error(ref, err) // it certainly had not happened
	}
	if s := state(t, q, "a"); s.Effects["comment"] != "c1" || s.Effects["push"] != "c2" || s.Doubts != nil {
		t.Errorf("%+v", s)
	}
}

// A side effect that was begun and not recorded as done is in doubt until it succeeds or certainly did not happen.
func TestDoubt(t *testing.T) {
	t.Parallel()
	q := opened(t, Options{AckWait: time.Second})
	put(t, q, "a")
	l := take(t, q)
	cutOff, refused := errors.New("cut off"), errors.New("refused")
	for _, name := range []string{"there", "not there"} {
		_, err := l.Once(t.Context(), name, func(context.Context, bool) (string, error) { return "", cutOff })
		if !errors.Is(err, cutOff) {
			t.Error("the error was lost")
		}
	}
	l = take(t, q) // taken over
	l.KeepAlive(t.Context())
	once := func(name string, wantAgain bool, ref string, fails error) {
		t.Helper()
		got, err := l.Once(t.Context(), name, func(_ context.Context, again bool) (string, error) {
			if again != wantAgain {
				t.Errorf("%s: again is %v", name, again)
			}
			return ref, fails
		})
		if u, ok := fails.(undone); ok {
			fails = u.error
		}
		if !errors.Is(err, fails) || fails == nil && got != ref {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	once("there", true, "", cutOff)
	once("there", true, "old", nil)
	if ref, err := l.Once(t.Context(), "there", nil); ref != "old" || err != nil {
		t.Error(ref, err)
	}
	once("not there", true, "", Undone(refused))
	once("not there", false, "new", nil)
}

// What a worker is doing when it loses its task is told to stop, and its outcome
// is left to the next.
func TestLostDuringEffect(t *testing.T) {
	t.Parallel()
	q := opened(t, Options{AckWait: time.Second})
	put(t, q, "a")
	l := take(t, q)
	_, err := l.Once(t.Context(), "push", func(ctx context.Context, _ bool) (string, error) {
		<-ctx.Done()
		return "late", nil
	})
	fenced(t, err)
	next := take(t, q)
	if s := state(t, q, "a"); len(s.Doubts) != 1 {
		t.Errorf("%+v", s)
	}
	ok(t, next.Done(t.Context(), nil))
}

func TestEvents(t *testing.T) {
	t.Parallel()
	q := opened(t, Options{})
	ctx, cancel := context.WithCancel(t.Context())
	all, err := q.Watch(ctx, "")
	ok(t, err)
	one, err := q.Watch(ctx, "a.b")
	ok(t, err)
	ok(t, q.Publish(t.Context(), "c", Event{What: "first"}))
	ok(t, q.Publish(t.Context(), "a.b", Event{What: "second", Data: json.RawMessage(`{"n":1}`)}))
	for _, want := range []string{"c first ", `a.b second {"n":1}`} {
		if e := <-all; e.ID+" "+e.What+" "+string(e.Data) != want || e.At.IsZero() {
			t.Errorf("%+v", e)
		}
	}
	if e := <-one; e.What != "second" {
		t.Errorf("%+v", e)
	}
	if err := q.Publish(t.Context(), "a", Event{Data: json.RawMessage(`{`)}); fault.KindOf(err) != fault.Invalid {
		t.Error(err)
	}
	cancel()
	for range all {
		t.Error("an event after the end")
	}
	if _, open := <-one; open {
		t.Error("an event after the end")
	}
}

// Who looks on learns when a task can be taken that nobody can take yet.
func TestTaskIsDue(t *testing.T) {
	t.Parallel()
	q := opened(t, Options{AckWait: time.Minute, Backoff: []time.Duration{time.Hour, 2 * time.Hour}, MaxDeliver: 2})
	put(t, q, "a")
	if due := q.Due(state(t, q, "a")); !due.IsZero() {
		t.Errorf("one that waits for anybody is due at %v", due)
	}
	l := take(t, q)
	if s := state(t, q, "a"); !q.Due(s).Equal(s.Changed.Add(time.Minute)) || l.Retry() != time.Hour {
		t.Errorf("held: %v after %v; retry %v", q.Due(s), s.Changed, l.Retry())
	}
	ok(t, l.Fail(t.Context(), "no"))
	if s := state(t, q, "a"); !q.Due(s).Equal(s.Changed.Add(time.Hour)) {
		t.Errorf("failed: %v after %v", q.Due(s), s.Changed)
	}
}
