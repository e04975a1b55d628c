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

// A Worker takes tasks out of the queue and has them carried out. Its fields
// must not change after the first use.
type Worker struct {
	Queue       *queue.Queue
	ForgeClient *ForgeClient
	// Coordinator carries tasks out. For each it gets the client of its forge and
	// the observer of the worker; those it has are not used, but for the
	// observer, which is told too.
	Coordinator *coder.Coordinator

	Parallel   int           // tasks at the same time; zero means one
	Tries      int           // of a task that comes to no end, before it is given up and people are told; zero means 5, and more than the queue allows means never
	OrderEvery time.Duration // how often the forge is asked whether a person wants something else; zero means 10 s
	Observe    func(Event)   // is told what happens, by many at once; nil means that nobody is
}

// An Ending is how a worker left a task.
type Ending struct {
	Task   coder.Task
	Record coder.Record // the state is Done, Failed, Stopped or Paused if it came to an end
	Err    error        // why it did not
}

// Run works until the context ends. What is in hand then is given back, for
// another worker to go on with.
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

// serve takes tasks until the first context ends, and works until the second
// does. It says when it begins and ends with one.
func (w *Worker) serve(taking, working context.Context, begins func(*queue.Lease) (ends func(Ending))) {
	for taking.Err() == nil {
		lease, err := w.Queue.Take(taking)
		switch {
		case err == nil:
			ends := begins(lease)
			ends(w.carryOut(working, lease))
		case taking.Err() == nil: // the queue is in trouble
			w.tell(Event{Type: "idle", Why: w.clean(err.Error()), Err: err})
			retry(taking, time.Second)
		}
	}
}

// Drain works until nothing waits any more, and returns how each task was left
// at last, by the name of its issue. Tasks that are in good hands elsewhere are
// not waited for.
func (w *Worker) Drain(ctx context.Context) ([]Ending, error) {
	if err := w.ForgeClient.check(); err != nil {
		return nil, err
	}
	taking, stop := context.WithCancel(ctx)
	defer stop()
	d := &drain{Worker: w, endings: map[string]Ending{}, others: map[string]*sighting{}, announced: map[string]bool{}}
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

// A drain is work that ends when there is none.
type drain struct {
	*Worker
	busy    atomic.Int64
	mu      sync.Mutex
	endings map[string]Ending
	others  map[string]*sighting // that have a task, by thread

	announced map[string]bool // who looks on knows that we wait for it, by thread
}

// A sighting is how another worker with a task was found first.
type sighting struct {
	beat time.Time // its last, by the record
	at   time.Time // when we looked
	told bool      // who looks on knows that we wait for the next
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

// look is how often it is asked whether there is still something to do.
const look = 50 * time.Millisecond

// wait returns when there was nothing to do twice in a row: between the two
// whoever just took something has said so.
func (d *drain) wait(ctx context.Context) error {
	for quiet := 0; quiet < 2; {
		retry(ctx, look)
		waits, err := d.waits(ctx)
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

func (d *drain) waits(ctx context.Context) (bool, error) {
	if d.busy.Load() > 0 {
		return true, nil
	}
	n, err := d.Queue.Stats(ctx)
	if err != nil || n.Queued > 0 || n.Held == 0 {
		return n.Queued > 0, err
	}
	all, err := d.Queue.List(ctx)
	return slices.ContainsFunc(all, d.comes), err
}

// worthWaiting is how many failures in a row are waited out: after that somebody
// has to see to what is wrong, and the pauses are long.
const worthWaiting = 3

// Patient reports whether [Worker.Drain] waits for another try after this one.
func Patient(try int) bool { return try < worthWaiting }

// comes reports whether a task may still come to us: it waits for another try,
// or nobody knows yet whether its holder is alive, which beats now and then.
func (d *drain) comes(t queue.Task) bool {
	if t.State == queue.Queued {
		return Patient(t.Tries) || d.owes(t)
	}
	if t.State != queue.Held {
		return false
	}
	first, ok := d.others[t.ID]
	if !ok {
		first = &sighting{beat: t.Changed, at: time.Now()}
		d.others[t.ID] = first
	}
	silent := first.beat.Equal(t.Changed)
	if silent {
		d.announce(t, first)
	}
	return silent
}

// longWait is what people wait for without being told why.
const longWait = time.Second

// announce says whose sign is waited for. It may well be dead: whoever is killed
// keeps its task until its time runs out.
func (d *drain) announce(t queue.Task, s *sighting) {
	if s.told || time.Since(s.at) < longWait {
		return
	}
	s.told = true
	d.tell(Event{Type: "waiting", Thread: t.ID, Worker: t.Holder, Wait: d.until(t)})
}

// until is how long it takes until a task comes to us.
func (d *drain) until(t queue.Task) time.Duration { return max(0, time.Until(d.Queue.Due(t))) }

// owes reports whether a task that failed often has not been tried by us: whoever
// drains the queue again may have seen to what is wrong.
func (d *drain) owes(t queue.Task) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, tried := d.endings[t.ID]; tried {
		return false
	}
	if !d.announced[t.ID] {
		d.announced[t.ID] = true
		d.tell(Event{Type: "waiting", Thread: t.ID, Why: t.Reason, Try: t.Tries + 1, Wait: d.until(t)})
	}
	return true
}

// tries is how often a task is taken up.
func (w *Worker) tries() int { return cmp.Or(w.Tries, 5) }

// longestWhy is how much of a reason is kept.
const longestWhy = 2000

// clean is a text without secrets, and not too long.
func (w *Worker) clean(s string) string {
	return text.Shorten(w.Coordinator.Secrets.Text(s), longestWhy)
}

func (w *Worker) tell(e Event) {
	if w.Observe != nil {
		w.Observe(e)
	}
}
