package dispatch

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"hako/internal/app/coder"
	"hako/internal/app/coder/queue"
	"hako/internal/text"
)

// A Worker takes tasks out of the queue and has them carried out. Its fields must not
// change after the first use.
type Worker struct {
	Queue       *queue.Queue
	ForgeClient *ForgeClient
	// Coordinator carries tasks out. Its Commenter and Publisher are replaced for each
	// task; its Observe is called besides the worker's.
	Coordinator *coder.Coordinator

	Parallel    int           // concurrent tasks; zero means one
	MaxAttempts int           // of a task before it is given up; zero means 5, more than the queue allows means never
	OrderEvery  time.Duration // how often labels are checked for orders; zero means 10 s
	Observe     func(Event)   // called concurrently; may be nil
}

// An Ending is how a worker left a task.
type Ending struct {
	Task   coder.Task
	Record coder.Record // with the state Done, Failed, Stopped or Paused if the task ended
	Err    error        // why it did not end
}

// Run works until ctx ends. Tasks in progress are released then, for another worker.
func (w *Worker) Run(ctx context.Context) error {
	if err := w.ForgeClient.check(); err != nil {
		return err
	}
	var wg sync.WaitGroup
	for range max(1, w.Parallel) {
		wg.Go(func() { w.serve(ctx, ctx, func(*queue.Lease) func(Ending) { return func(Ending) {} }) })
	}
	wg.Wait()
	return nil
}

// serve takes tasks until the first context ends, and works until the second does.
func (w *Worker) serve(taking, working context.Context, begins func(*queue.Lease) (ends func(Ending))) {
	for taking.Err() == nil {
		lease, err := w.Queue.Take(taking)
		switch {
		case err == nil:
			ends := begins(lease)
			ends(w.carryOut(working, lease))
		case taking.Err() == nil: // the queue failed
			w.observe(Event{Type: "idle", Why: w.clean(err.Error()), Err: err})
			sleep(taking, time.Second)
		}
	}
}

// Drain works until no task is waiting, and returns how each task was left at last,
// sorted by thread. It does not wait for tasks of other live workers.
func (w *Worker) Drain(ctx context.Context) ([]Ending, error) {
	if err := w.ForgeClient.check(); err != nil {
		return nil, err
	}
	taking, stop := context.WithCancel(ctx)
	defer stop()
	d := &drain{Worker: w, endings: map[string]Ending{}, others: map[string]*holderSeen{}, announced: map[string]bool{}}
	var wg sync.WaitGroup
	for range max(1, w.Parallel) {
		wg.Go(func() { w.serve(taking, ctx, d.begins) })
	}
	err := d.wait(ctx)
	stop()
	wg.Wait()
	var all []Ending
	for _, thread := range slices.Sorted(maps.Keys(d.endings)) {
		all = append(all, d.endings[thread])
	}
	return all, err
}

// A drain is the state of [Worker.Drain].
type drain struct {
	*Worker
	busy    atomic.Int64
	mu      sync.Mutex
	endings map[string]Ending
	others  map[string]*holderSeen // holders of tasks, by thread

	announced map[string]bool // threads whose wait was reported
}

// A holderSeen is when another worker was first found to hold a task.
type holderSeen struct {
	renewed   time.Time // its last heartbeat then
	at        time.Time // when we looked
	announced bool      // the wait was reported
}

func (d *drain) begins(l *queue.Lease) func(Ending) {
	d.busy.Add(1)
	return func(e Ending) {
		d.mu.Lock()
		d.endings[l.Item.ID] = e
		d.mu.Unlock()
		d.busy.Add(-1)
	}
}

// drainInterval is how often Drain checks for work.
const drainInterval = 50 * time.Millisecond

// wait returns when there was nothing to do twice in a row: in between, a worker that
// just took a task has said so.
func (d *drain) wait(ctx context.Context) error {
	for quiet := 0; quiet < 2; {
		sleep(ctx, drainInterval)
		waits, err := d.mustWait(ctx)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			return err
		case waits:
			quiet = 0
		default:
			quiet++
		}
	}
	return nil
}

func (d *drain) mustWait(ctx context.Context) (bool, error) {
	if d.busy.Load() > 0 {
		return true, nil
	}
	n, err := d.Queue.Stats(ctx)
	if err != nil || n.Queued > 0 || n.Held == 0 {
		return n.Queued > 0, err
	}
	all, err := d.Queue.List(ctx)
	return slices.ContainsFunc(all, d.mayReturn), err
}

// maxRetriesWaited is how many failures in a row Drain waits for: after that somebody
// has to fix something, and the backoff is long.
const maxRetriesWaited = 3

// Patient reports whether [Worker.Drain] waits for another attempt after this one.
func Patient(try int) bool { return try < maxRetriesWaited }

// mayReturn reports whether a task may still come to us: it waits for another attempt,
// or its holder has sent no heartbeat yet since we looked.
func (d *drain) mayReturn(t queue.Entry) bool {
	if t.State == queue.Queued {
		return Patient(t.Tries) || d.notTriedYet(t)
	}
	if t.State != queue.Held {
		return false
	}
	first, ok := d.others[t.ID]
	if !ok {
		first = &holderSeen{renewed: t.Changed, at: time.Now()}
		d.others[t.ID] = first
	}
	silent := first.renewed.Equal(t.Changed)
	if silent {
		d.announce(t, first)
	}
	return silent
}

// announceAfter is how long Drain waits before it says why.
const announceAfter = time.Second

// announce reports whose heartbeat is waited for. A killed worker keeps its task until
// the lease expires.
func (d *drain) announce(t queue.Entry, s *holderSeen) {
	if s.announced || time.Since(s.at) < announceAfter {
		return
	}
	s.announced = true
	d.observe(Event{Type: "waiting", Thread: t.ID, Worker: t.Holder, Wait: d.until(t)})
}

// until returns how long it takes until a task can be taken.
func (d *drain) until(t queue.Entry) time.Duration { return max(0, time.Until(d.Queue.Due(t))) }

// notTriedYet reports whether we have not attempted a task that failed often: whoever
// drains the queue again may have fixed the cause.
func (d *drain) notTriedYet(t queue.Entry) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, tried := d.endings[t.ID]; tried {
		return false
	}
	if !d.announced[t.ID] {
		d.announced[t.ID] = true
		d.observe(Event{Type: "waiting", Thread: t.ID, Why: t.Reason, Attempt: t.Tries + 1, Wait: d.until(t)})
	}
	return true
}

func (w *Worker) maxAttempts() int { return cmp.Or(w.MaxAttempts, 5) }

const maxReason = 2000

// clean redacts and shortens a text.
func (w *Worker) clean(s string) string {
	return text.Shorten(w.Coordinator.Secrets.Text(s), maxReason)
}

func (w *Worker) observe(e Event) {
	if w.Observe != nil {
		w.Observe(e)
	}
}
