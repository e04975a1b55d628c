package tasks

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"hako/container/guest/server"
	"hako/internal/app/coder"
	"hako/internal/app/coder/queue"
	"hako/internal/testload"
	"hako/run/fault"
)

// TestMain is also the guest of containers.
func TestMain(m *testing.M) {
	server.Main(os.Args[0], os.Args[1:])
	goleak.VerifyTestMain(m)
}

// still is a queue that does what a test wants.
type still struct {
	mu     sync.Mutex
	tasks  []queue.Entry
	err    error
	lists  int
	slow   time.Duration // of a list
	events chan queue.Event
}

func (q *still) List(ctx context.Context) ([]queue.Entry, error) {
	select {
	case <-time.After(q.slow):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.lists++
	return slices.Clone(q.tasks), q.err
}

func (q *still) State(_ context.Context, id string) (queue.Entry, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, t := range q.tasks {
		if t.ID == id {
			return t, q.err
		}
	}
	return queue.Entry{}, errors.Join(q.err, &fault.Error{Kind: fault.NotFound, Op: "read task", Subject: id})
}

func (q *still) Order(context.Context, string, queue.Command) error { return q.err }

func (q *still) Watch(ctx context.Context, _ string) (<-chan queue.Event, error) {
	if q.err != nil {
		return nil, q.err
	}
	out, events := make(chan queue.Event), q.events
	go func() {
		defer close(out)
		for {
			select {
			case e, ok := <-events:
				if !ok {
					return
				}
				out <- e
			case <-ctx.Done():
				return
			}
		}
	}()
	return out, nil
}

func (q *still) set(tasks ...queue.Entry) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.tasks = tasks
}

func (q *still) trouble(err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.err = err
}

func (q *still) looked() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.lists
}

func at(id string, s queue.State) queue.Entry { return queue.Entry{Item: queue.Item{ID: id}, State: s} }

// watch watches until the end of the test.
func watch(t *testing.T, w *Service, id string) <-chan Step {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	steps, err := w.Watch(ctx, id)
	fine(t, err)
	t.Cleanup(func() {
		stop()
		for range steps { // it is closed
		}
	})
	return steps
}

// next waits for a step.
func next(t *testing.T, steps <-chan Step) Step {
	t.Helper()
	select {
	case s, ok := <-steps:
		if !ok {
			t.Fatal("nothing comes any more")
		}
		return s
	case <-time.After(testload.Bound(10 * time.Second)):
		t.Fatal("no step comes")
	}
	return Step{}
}

// quiet checks that nothing comes for a while.
func quiet(t *testing.T, steps <-chan Step, d time.Duration) {
	t.Helper()
	select {
	case s, ok := <-steps:
		t.Errorf("there is another: %+v, %v", s, ok)
	case <-time.After(d):
	}
}

// settled waits until the first look is over: from then on changes are news.
func settled(t *testing.T, w *Service) {
	t.Helper()
	for range 1000 {
		w.readers.mu.Lock()
		seen := w.readers.threads != nil
		w.readers.mu.Unlock()
		if seen {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Fatal("nobody looks")
}

func publish(t *testing.T, q *queue.Queue, id, what string, data any) {
	t.Helper()
	text, err := json.Marshal(data)
	fine(t, err)
	fine(t, q.Publish(t.Context(), id, queue.Event{What: what, Data: text}))
}

// TestWatchOfOtherProcess sees what a worker does that has a queue of its own.
func TestWatchOfOtherProcess(t *testing.T) {
	dir := t.TempDir()
	w := &Service{Queue: openQueue(t, dir)}
	worker := openQueue(t, dir)
	id := put(t, worker, 12)
	one, all := watch(t, w, "acme/app#12"), watch(t, w, "")
	settled(t, w)
	l := take(t, worker)
	expect := func(want Step) {
		t.Helper()
		began := time.Now()
		for _, steps := range []<-chan Step{one, all} {
			s := next(t, steps)
			if s.Task != id || s.Type != want.Type || s.Text != want.Text || s.Phase != want.Phase || s.Name != want.Name ||
				(s.OK == nil) != (want.OK == nil) || time.Since(s.Time) > time.Minute {
				t.Errorf("%+v, want %+v", s, want)
			}
		}
		if took := time.Since(began); took > testload.Bound(3*time.Second) { // it is less than one unless the machine is busy
			t.Errorf("%s was seen after %v", want.Type, took)
		}
	}
	expect(Step{Type: "state", Text: "processing"})
	publish(t, worker, id, "phase", coder.Event{Type: "phase", Phase: coder.Planning})
	expect(Step{Type: "phase", Phase: "planning"})
	publish(t, worker, id, "call", coder.Event{Type: "call", Phase: coder.Execution, Name: "execute", Text: "ls"})
	expect(Step{Type: "call", Phase: "execution", Name: "execute", Text: "ls"})
	yes := true
	publish(t, worker, id, "result", coder.Event{Type: "result", Phase: coder.Execution, Name: "execute", OK: &yes})
	expect(Step{Type: "result", Phase: "execution", Name: "execute", OK: &yes})
	publish(t, worker, id, "state", coder.Event{Type: "state", Text: "failed"}) // it is not so yet
	fine(t, l.Done(t.Context(), stepText(t, coder.Record{State: coder.Failed, Why: "no luck"})))
	publish(t, worker, id, "ended", map[string]any{"state": "failed"})
	expect(Step{Type: "state", Text: "failed"})
	expect(Step{Type: "note", Text: "no luck"})
	put(t, worker, 13)
	if s := next(t, all); s.Task != job(13).Thread() || s.Type != "state" || s.Text != "pending" {
		t.Errorf("%+v", s)
	}
	quiet(t, one, 700*time.Millisecond)
	quiet(t, all, time.Millisecond)
}

// A worker that lets go of a task says why; what makes no sense is left out.
func TestLeftTask(t *testing.T) {
	q := &still{tasks: []queue.Entry{at("a", queue.Held)}, events: make(chan queue.Event)}
	w := &Service{Queue: q}
	steps := watch(t, w, "a")
	for _, e := range []struct{ what, data, want string }{
		{"failed", `{"why":"no disk","try":2}`, "attempt 2 failed: no disk"},
		{"failed", `{"why":"no disk","try":2,"wait_seconds":5}`, "attempt 2 failed, the next is due in 5s: no disk"},
		{"lost", `{}`, "another worker has it now"},
		{"released", `nonsense`, "it is back in the queue"},
	} {
		q.events <- queue.Event{ID: "a", What: "call", Data: json.RawMessage(`nonsense`)}
		q.events <- queue.Event{ID: "b", What: "note", Data: json.RawMessage(`{"text":"of another"}`)}
		q.events <- queue.Event{ID: "a", What: e.what, Data: json.RawMessage(e.data)}
		if s := next(t, steps); s.Type != "note" || s.Text != e.want {
			t.Errorf("%+v", s)
		}
	}
}

// What a worker takes or leaves is looked at at once, and told once.
func TestLookAtOnce(t *testing.T) {
	q := &still{tasks: []queue.Entry{at("a", queue.Queued)}, events: make(chan queue.Event)}
	w := &Service{Queue: q, Every: time.Hour}
	steps := watch(t, w, "")
	settled(t, w)
	q.set(at("a", queue.Held))
	q.events <- queue.Event{ID: "a", What: "taken"}
	if s := next(t, steps); s.Type != "state" || s.Text != "processing" {
		t.Errorf("%+v", s)
	}
	q.events <- queue.Event{ID: "a", What: "taken"}
	q.events <- queue.Event{ID: "gone", What: "ended"}
	quiet(t, steps, 50*time.Millisecond)
}

// A queue that does not answer for a while is as it was; what happened meanwhile
// is told afterwards.
func TestQueueTrouble(t *testing.T) {
	q := &still{tasks: []queue.Entry{at("a", queue.Queued)}}
	w := &Service{Queue: q, Every: time.Millisecond}
	steps := watch(t, w, "")
	settled(t, w)
	q.trouble(errors.New("down"))
	q.set(at("a", queue.Parked))
	quiet(t, steps, 50*time.Millisecond)
	q.trouble(nil)
	if s := next(t, steps); s.Text != "paused" {
		t.Errorf("%+v", s)
	}
}

// A queue that takes its time holds no steps back, and is not looked at all the
// time.
func TestSlowQueue(t *testing.T) {
	q := &still{slow: time.Hour, events: make(chan queue.Event)}
	w := &Service{Queue: q}
	steps := watch(t, w, "")
	for range 5 {
		q.events <- queue.Event{ID: "a", What: "note", Data: json.RawMessage(`{}`)}
		next(t, steps)
	}
	for took, want := range map[time.Duration]time.Duration{0: 500 * time.Millisecond, time.Second: 9 * time.Second} {
		if got := (&feed{Service: w}).pause(took); got != want {
			t.Errorf("after a look of %v there is a pause of %v", took, got)
		}
	}
}

// Nobody waits for a reader that does not read, and it misses some.
func TestReaderThatNeverReads(t *testing.T) {
	q := &still{tasks: []queue.Entry{at("a", queue.Held)}}
	w := &Service{Queue: q}
	lazy, keen := watch(t, w, ""), watch(t, w, "a")
	began := time.Now()
	for range readerBuffer + 100 {
		w.Tell(Step{Task: "a", Type: "note"})
		next(t, keen)
	}
	if took := time.Since(began); took > testload.Bound(5*time.Second) {
		t.Errorf("it took %v", took)
	}
	if len(lazy) != readerBuffer {
		t.Errorf("%d steps wait", len(lazy))
	}
}

// What is told here needs only the name of the try.
func TestTell(t *testing.T) {
	q := openQueue(t, t.TempDir())
	w := &Service{Queue: q}
	w.Tell(Step{Task: "nobody watches"})
	id := put(t, q, 12)
	steps := watch(t, w, id)
	settled(t, w)
	w.Tell(Step{Task: "issue-try", Type: "note", Text: "asked again"})
	if s := next(t, steps); s.Task != id || s.Text != "asked again" || time.Since(s.Time) > time.Minute {
		t.Errorf("%+v", s)
	}
}

// The queue is watched while somebody does, and who comes after its end begins
// anew.
func TestWatchEnds(t *testing.T) {
	q := &still{events: make(chan queue.Event)}
	w := &Service{Queue: q, Every: time.Millisecond}
	ctx, stop := context.WithCancel(t.Context())
	first, err := w.Watch(ctx, "")
	fine(t, err)
	second := watch(t, w, "")
	settled(t, w)
	stop()
	for range first {
	}
	w.Tell(Step{Type: "note"})
	next(t, second)
	close(q.events) // the queue is closed
	for range second {
	}
	w.opening.Lock()
	if w.feed != nil {
		t.Error("the queue is still watched")
	}
	w.opening.Unlock()
	n := q.looked()
	time.Sleep(30 * time.Millisecond)
	if q.looked() != n {
		t.Error("the queue is still looked at")
	}
	q.events = make(chan queue.Event)
	third := watch(t, w, "")
	w.Tell(Step{Type: "note"})
	next(t, third)
}

// Many come and go while steps are told.
func TestCrowd(t *testing.T) {
	q := &still{tasks: []queue.Entry{at("a", queue.Held)}, events: make(chan queue.Event)}
	w := &Service{Queue: q, Every: time.Millisecond}
	ctx, stop := context.WithCancel(t.Context())
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for ctx.Err() == nil {
				w.Tell(Step{Task: "a", Type: "note"})
			}
		})
		group.Go(func() {
			for ctx.Err() == nil {
				own, end := context.WithTimeout(ctx, time.Millisecond)
				steps, err := w.Watch(own, "a")
				if err != nil {
					t.Error(err)
				}
				for range steps {
				}
				end()
			}
		})
	}
	time.Sleep(200 * time.Millisecond)
	stop()
	group.Wait()
	w.opening.Lock()
	defer w.opening.Unlock()
	if w.feed != nil || len(w.readers.members) != 0 {
		t.Error("somebody still watches")
	}
}
