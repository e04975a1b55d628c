package dispatch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"hako/internal/app/coder"
	"hako/internal/app/coder/queue"
	"hako/internal/text"
	"hako/run/fault"
)

// An attempt is one task with the worker that has its lease.
type attempt struct {
	*Worker
	lease *queue.Lease
	task  coder.Task
	forge *Forge
	book  *journal
	coord *coder.Coordinator
	began time.Time
	watch watch
	held  context.Context // ends with the lease, not with the worker
}

// carryOut works on a task and gives the lease back in the way that fits.
func (w *Worker) carryOut(ctx context.Context, l *queue.Lease) Ending {
	t := &attempt{Worker: w, lease: l, book: &journal{lease: l}, began: time.Now()}
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	t.held = l.Keep(life)
	err := t.open()
	if err == nil {
		t.event(Event{Type: "taken", State: t.book.last.State, Waited: t.waited()})
		err = t.guarded(func() error { return t.work(ctx) })
	}
	if err != nil && t.hopeless(ctx, err) {
		err = t.guarded(func() error { return t.giveUp(err) })
	}
	return t.leave(ctx, err)
}

// waited is how long nobody had begun with the task.
func (t *attempt) waited() time.Duration {
	if t.lease.Step != nil || t.task.Created.IsZero() {
		return 0
	}
	return max(0, t.began.Sub(t.task.Created))
}

// open reads what the queue knows of the task.
func (t *attempt) open() error {
	err := json.Unmarshal(t.lease.Item.Payload, &t.task)
	if err == nil && (t.task.ID == "" || t.task.Thread() != t.lease.Item.ID) {
		err = errors.New("it is none of ours")
	}
	if err == nil && t.lease.Step != nil {
		err = t.book.read(t.lease.Step)
	}
	if err != nil {
		return &fault.Error{Kind: fault.Invalid, Op: "read task", Subject: t.lease.Item.ID,
			Why: "what the queue has makes no sense", Err: err, Hint: "is an older hako at work somewhere?"}
	}
	if t.forge, err = t.ForgeClient.of(t.task.Provider); err != nil {
		return err
	}
	if !t.forge.takes(t.task.Repo) {
		t.book.last = strange(t.task)
	}
	t.coord = t.coordinator()
	return nil
}

// coordinator is the worker's, for this task.
func (t *attempt) coordinator() *coder.Coordinator {
	c := *t.Coordinator
	client := fencedClient{t.ForgeClient, t.lease}
	c.Commenter, c.Publisher, c.Observe = client, client, t.observed
	return &c
}

// work carries the task out until it ends, a person wants something else, the
// worker is to end, or the task is somebody else's.
func (t *attempt) work(ctx context.Context) error {
	var beside sync.WaitGroup
	defer beside.Wait()
	run, stop := t.context()
	defer stop(nil)
	defer context.AfterFunc(ctx, func() { stop(context.Cause(ctx)) })()
	orders, err := t.lease.Orders(run)
	if err != nil {
		return lost(err)
	}
	order := waiting(orders)
	if rec := t.book.last; order == coder.Pause && rec.State == coder.Paused && rec.Phase != coder.Reporting {
		return nil // whoever paused it died before it was put aside
	}
	if order, err = t.complete(run, order); err != nil {
		return err
	}
	if order != coder.Go {
		stop(order)
	}
	beside.Go(func() { obey(run, orders, stop) })
	beside.Go(func() { t.watchForge(run) })
	t.book.last, err = t.coord.Run(run, t.task, t.book, t.book.last)
	return taken(run, err)
}

// context returns one that ends with the lease, and says so.
func (t *attempt) context() (context.Context, context.CancelCauseFunc) {
	ctx, stop := context.WithCancelCause(context.WithoutCancel(t.held))
	off := context.AfterFunc(t.held, func() { stop(lost(queue.ErrFenced)) })
	return ctx, func(why error) { off(); stop(why) }
}

// taken says that the task is somebody else's, which a call that was cut short
// for it does not.
func taken(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); err != nil && errors.Is(cause, coder.ErrLost) {
		return cause
	}
	return err
}

// giveUp ends a task that was tried often enough.
func (t *attempt) giveUp(why error) (err error) {
	ctx, stop := t.context()
	defer stop(nil)
	t.book.last, err = t.coord.GiveUp(ctx, t.task, t.book, t.book.last, why)
	return taken(ctx, err)
}

// hopeless reports whether nobody needs to try again.
func (t *attempt) hopeless(ctx context.Context, err error) bool {
	if t.coord == nil || ctx.Err() != nil || errors.Is(err, coder.ErrLost) || t.over() {
		return false
	}
	return t.lease.Deliveries >= t.tries() || fault.KindOf(err) == fault.Invalid
}

// over reports whether the task has come to an end, or is put aside.
func (t *attempt) over() bool {
	r := t.book.last
	return r.Phase == coder.Ended || r.State == coder.Paused && r.Phase != coder.Reporting
}

// guarded keeps a mistake in one task from ending the others. What was made for
// the task is taken away, as far as that goes.
func (t *attempt) guarded(do func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &fault.Error{Kind: fault.Other, Op: "work on", Subject: t.task.ID,
				Why: fmt.Sprintf("the program has a mistake: %v", p), Hint: "report it with the log of the worker"}
			t.cleanUp()
		}
	}()
	return do()
}

func (t *attempt) cleanUp() {
	defer func() { _ = recover() }() // it may be the very mistake
	ctx, stop := context.WithTimeout(t.held, patience)
	defer stop()
	if ctx.Err() == nil {
		_ = t.coord.Workspaces.Cleanup(ctx, t.task.ID) // the next try does it too
	}
}

// patience is how long the last things for a task may take.
const patience = time.Minute

// leave gives the lease back and says how the task was left.
func (t *attempt) leave(ctx context.Context, err error) Ending {
	rec := t.book.last
	e := Event{State: rec.State, Phase: rec.Phase, Spent: rec.Spent, Err: err}
	if err != nil {
		e.Why = t.clean(err.Error())
	}
	final, stop := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer stop()
	back := t.giveBack(final, ctx, &e, err)
	switch {
	case errors.Is(back, queue.ErrFenced), errors.Is(err, coder.ErrLost):
		e.Type, e.Err = "lost", errors.Join(err, back)
	case back != nil: // the queue does not answer; the task comes again when our time is over
		e.Type, e.Err, e.Why, e.Wait = "failed", errors.Join(err, back), t.clean(back.Error()), 0
	}
	t.event(e)
	ending := Ending{Task: t.task, Record: rec}
	if e.Type != "ended" && e.Type != "parked" {
		ending.Err = e.Err
	}
	return ending
}

// giveBack ends the lease in the way that fits, and names it.
func (t *attempt) giveBack(final, working context.Context, e *Event, err error) error {
	rec := t.book.last
	switch {
	case errors.Is(err, coder.ErrLost):
		return nil
	case rec.Phase == coder.Ended && (err == nil || t.lease.Deliveries >= t.tries()):
		e.Type, e.Why, e.Hint, e.Proposal = "ended", t.clean(rec.Why), t.clean(rec.Hint), rec.Proposal
		return t.lease.Done(final, t.book.short())
	case t.over() && rec.State == coder.Paused:
		return t.park(final, e)
	case working.Err() != nil:
		e.Type, e.Why = "released", t.clean(context.Cause(working).Error()) // what was cut short says less
		return t.lease.Release(final, 0)
	case err == nil:
		err = &fault.Error{Kind: fault.Other, Op: "work on", Subject: t.task.ID, Why: "it came to no end"}
		e.Why, e.Err = err.Error(), err
	}
	e.Type, e.Wait = "failed", t.lease.Retry()
	return t.lease.Fail(final, e.Why)
}

// park puts the task aside, unless somebody wants it to go on already.
func (t *attempt) park(final context.Context, e *Event) error {
	parked, err := t.lease.Park(final)
	if err != nil || parked {
		e.Type = "parked"
		return err
	}
	e.Type = "released"
	return t.lease.Release(final, 0)
}

// event tells what happens to the task, here and to whoever looks on.
func (t *attempt) event(e Event) {
	e.Provider, e.Thread, e.Task, e.Try, e.Duration = t.task.Provider, t.lease.Item.ID, t.task.ID, t.lease.Deliveries,
		time.Since(t.began)
	t.tell(e)
	t.publish(e.Type, map[string]any{"task": e.Task, "state": e.State, "why": e.Why, "try": e.Try,
		"wait_seconds": e.Wait.Seconds()})
}

// longestShown is how much of a call those who look on see.
const longestShown = 1000

// observed passes on what the coordinator does.
func (t *attempt) observed(e coder.Event) {
	t.watch.follow(e)
	if t.Coordinator.Observe != nil {
		t.Coordinator.Observe(e)
	}
	e.Text = text.Shorten(t.Coordinator.Secrets.Text(e.Text), longestShown)
	t.tell(Event{Type: "work", Provider: t.task.Provider, Thread: t.lease.Item.ID, Task: t.task.ID,
		Try: t.lease.Deliveries, Work: &e})
	t.publish(e.Type, e)
}

// publish tells those who look on. Nobody has to, so an error is none.
func (t *attempt) publish(what string, data any) {
	if text, err := json.Marshal(data); err == nil {
		_ = t.Queue.Publish(t.held, t.lease.Item.ID, queue.Event{What: what, Data: text})
	}
}
