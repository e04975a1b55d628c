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

// An attempt is a task with the worker that holds its lease.
type attempt struct {
	*Worker
	lease        *queue.Lease
	task         coder.Task
	forge        *Forge
	journal      *journal
	coord        *coder.Coordinator
	began        time.Time
	watch        labelWatch
	leaseContext context.Context // ends with the lease, not with the worker
}

// carryOut works on a task and ends the lease.
func (w *Worker) carryOut(ctx context.Context, l *queue.Lease) Ending {
	t := &attempt{Worker: w, lease: l, journal: &journal{lease: l}, began: time.Now()}
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	t.leaseContext = l.KeepAlive(life)
	err := t.open()
	if err == nil {
		t.event(Event{Type: "taken", State: t.journal.last.State, Waited: t.waited()})
		err = t.recoverPanic(func() error { return t.work(ctx) })
	}
	if err != nil && t.shouldGiveUp(ctx, err) {
		err = t.recoverPanic(func() error { return t.giveUp(err) })
	}
	return t.finish(ctx, err)
}

// waited returns how long the task waited for its first worker.
func (t *attempt) waited() time.Duration {
	if t.lease.Step != nil || t.task.Created.IsZero() {
		return 0
	}
	return max(0, t.began.Sub(t.task.Created))
}

// open reads the task from the queue.
func (t *attempt) open() error {
	err := json.Unmarshal(t.lease.Item.Payload, &t.task)
	if err == nil && (t.task.ID == "" || t.task.Thread() != t.lease.Item.ID) {
		err = errors.New("it is not a task of hako")
	}
	if err == nil && t.lease.Step != nil {
		err = t.journal.read(t.lease.Step)
	}
	if err != nil {
		return &fault.Error{Kind: fault.Invalid, Op: "read task", Subject: t.lease.Item.ID,
			Why: "its entry in the queue makes no sense", Err: err, Hint: "check whether an older hako uses the same queue"}
	}
	if t.forge, err = t.ForgeClient.of(t.task.Provider); err != nil {
		return err
	}
	if !t.forge.includes(t.task.Repo) {
		t.journal.last = foreignRecord(t.task)
	}
	t.coord = t.coordinator()
	return nil
}

// coordinator returns the worker's coordinator with the client for this task.
func (t *attempt) coordinator() *coder.Coordinator {
	c := *t.Coordinator
	client := fencedClient{t.ForgeClient, t.lease}
	c.Commenter, c.Publisher, c.Observe = client, client, t.observed
	return &c
}

// work carries the task out until it ends, a person orders something else, the worker
// ends, or the lease is lost.
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
	order := pendingOrder(orders)
	if rec := t.journal.last; order == coder.Pause && rec.State == coder.Paused && rec.Phase != coder.Reporting {
		return nil // the worker that paused it died before it was parked
	}
	if order, err = t.complete(run, order); err != nil {
		return err
	}
	if order != coder.Continue {
		stop(order)
	}
	beside.Go(func() { forwardOrders(run, orders, stop) })
	beside.Go(func() { t.watchForge(run) })
	t.journal.last, err = t.coord.Run(run, t.task, t.journal, t.journal.last)
	return taken(run, err)
}

// context returns a context that ends with the lease, with the cause [coder.ErrLost].
func (t *attempt) context() (context.Context, context.CancelCauseFunc) {
	ctx, stop := context.WithCancelCause(context.WithoutCancel(t.leaseContext))
	off := context.AfterFunc(t.leaseContext, func() { stop(lost(queue.ErrFenced)) })
	return ctx, func(why error) { off(); stop(why) }
}

// taken returns the cause if the lease was lost: the error of a call that was canceled
// does not say so.
func taken(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); err != nil && errors.Is(cause, coder.ErrLost) {
		return cause
	}
	return err
}

// giveUp ends a task that was attempted too often.
func (t *attempt) giveUp(why error) (err error) {
	ctx, stop := t.context()
	defer stop(nil)
	t.journal.last, err = t.coord.GiveUp(ctx, t.task, t.journal, t.journal.last, why)
	return taken(ctx, err)
}

// shouldGiveUp reports whether another attempt is useless.
func (t *attempt) shouldGiveUp(ctx context.Context, err error) bool {
	if t.coord == nil || ctx.Err() != nil || errors.Is(err, coder.ErrLost) || t.isOver() {
		return false
	}
	return t.lease.Deliveries >= t.maxAttempts() || fault.KindOf(err) == fault.Invalid
}

// isOver reports whether the task has ended or is paused.
func (t *attempt) isOver() bool {
	r := t.journal.last
	return r.Phase == coder.Ended || r.State == coder.Paused && r.Phase != coder.Reporting
}

// recoverPanic keeps a panic in one task from ending the others, and cleans up after
// it.
func (t *attempt) recoverPanic(do func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &fault.Error{Kind: fault.Other, Op: "work on", Subject: t.task.ID,
				Why: fmt.Sprintf("panic: %v", p), Hint: "report it with the log of the worker"}
			t.cleanUp()
		}
	}()
	return do()
}

func (t *attempt) cleanUp() {
	defer func() { _ = recover() }() // it may panic again
	ctx, stop := context.WithTimeout(t.leaseContext, finalTimeout)
	defer stop()
	if ctx.Err() == nil {
		_ = t.coord.Workspaces.Cleanup(ctx, t.task.ID) // the next attempt does it too
	}
}

// finalTimeout is for the last operations on a task.
const finalTimeout = time.Minute

// finish ends the lease and reports how the task was left.
func (t *attempt) finish(ctx context.Context, err error) Ending {
	rec := t.journal.last
	e := Event{State: rec.State, Phase: rec.Phase, Spent: rec.Spent, Err: err}
	if err != nil {
		e.Why = t.clean(err.Error())
	}
	final, stop := context.WithTimeout(context.WithoutCancel(ctx), finalTimeout)
	defer stop()
	back := t.endLease(final, ctx, &e, err)
	switch {
	case errors.Is(back, queue.ErrFenced), errors.Is(err, coder.ErrLost):
		e.Type, e.Err = "lost", errors.Join(err, back)
	case back != nil: // the queue does not answer; the task comes back when the lease expires
		e.Type, e.Err, e.Why, e.Wait = "failed", errors.Join(err, back), t.clean(back.Error()), 0
	}
	t.event(e)
	ending := Ending{Task: t.task, Record: rec}
	if e.Type != "ended" && e.Type != "parked" {
		ending.Err = e.Err
	}
	return ending
}

// endLease ends the lease in the way that fits, and sets the type of the event.
func (t *attempt) endLease(final, working context.Context, e *Event, err error) error {
	rec := t.journal.last
	switch {
	case errors.Is(err, coder.ErrLost):
		return nil
	case rec.Phase == coder.Ended && (err == nil || t.lease.Deliveries >= t.maxAttempts()):
		e.Type, e.Why, e.Hint, e.Proposal = "ended", t.clean(rec.Why), t.clean(rec.Hint), rec.Proposal
		return t.lease.Done(final, t.journal.short())
	case t.isOver() && rec.State == coder.Paused:
		return t.park(final, e)
	case working.Err() != nil:
		e.Type, e.Why = "released", t.clean(context.Cause(working).Error()) // the error of the canceled call says less
		return t.lease.Release(final, 0)
	case err == nil:
		err = &fault.Error{Kind: fault.Other, Op: "work on", Subject: t.task.ID, Why: "it did not end"}
		e.Why, e.Err = err.Error(), err
	}
	e.Type, e.Wait = "failed", t.lease.Retry()
	return t.lease.Fail(final, e.Why)
}

// park parks the task, unless it was ordered to resume meanwhile.
func (t *attempt) park(final context.Context, e *Event) error {
	parked, err := t.lease.Park(final)
	if err != nil || parked {
		e.Type = "parked"
		return err
	}
	e.Type = "released"
	return t.lease.Release(final, 0)
}

// event reports what happened to the task, here and to watchers of the queue.
func (t *attempt) event(e Event) {
	e.Provider, e.Thread, e.Task, e.Attempt, e.Duration = t.task.Provider, t.lease.Item.ID, t.task.ID, t.lease.Deliveries,
		time.Since(t.began)
	t.observe(e)
	t.publish(e.Type, map[string]any{"task": e.Task, "state": e.State, "why": e.Why, "try": e.Attempt,
		"wait_seconds": e.Wait.Seconds()})
}

// maxEventText is how much of a call watchers see.
const maxEventText = 1000

// observed passes on an event of the coordinator.
func (t *attempt) observed(e coder.Event) {
	t.watch.follow(e)
	if t.Coordinator.Observe != nil {
		t.Coordinator.Observe(e)
	}
	e.Text = text.Shorten(t.Coordinator.Secrets.Text(e.Text), maxEventText)
	t.observe(Event{Type: "work", Provider: t.task.Provider, Thread: t.lease.Item.ID, Task: t.task.ID,
		Attempt: t.lease.Deliveries, Work: &e})
	t.publish(e.Type, e)
}

// publish sends an event to the watchers of the queue. They are optional, so errors are
// ignored.
func (t *attempt) publish(what string, data any) {
	if text, err := json.Marshal(data); err == nil {
		_ = t.Queue.Publish(t.leaseContext, t.lease.Item.ID, queue.Event{What: what, Data: text})
	}
}
