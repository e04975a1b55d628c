package dispatch

import (
	"cmp"
	"context"
	"sync/atomic"
	"time"

	"hako/internal/app/coder"
	"hako/internal/app/coder/forge"
	"hako/internal/app/coder/queue"
)

// pendingOrder returns the order that was given before the task was taken.
func pendingOrder(orders <-chan queue.Command) coder.Order {
	select {
	case what := <-orders:
		return orderOf(what)
	default:
		return coder.Continue
	}
}

func orderOf(what queue.Command) coder.Order {
	if what == queue.Resume {
		return coder.Continue
	}
	return coder.Order(what)
}

// forwardOrders stops the work when an order arrives.
func forwardOrders(ctx context.Context, orders <-chan queue.Command, stop context.CancelCauseFunc) {
	for {
		select {
		case what := <-orders:
			if order := orderOf(what); order != coder.Continue {
				stop(order)
			}
		case <-ctx.Done():
			return
		}
	}
}

// A labelWatch is active while the issue has the processing label. Before and after,
// hako changes labels itself, and they say nothing about people.
type labelWatch struct{ active atomic.Bool }

// follow learns from the coordinator's events what it is about to do.
func (w *labelWatch) follow(e coder.Event) {
	switch e.Type {
	case "phase":
		w.active.Store(e.Phase != coder.Reporting && e.Phase != coder.Ended)
	case "state":
		w.active.Store(false)
	}
}

// confirmDelay is how long a label must be seen to count: a forge may return an old
// state.
const confirmDelay = 2 * time.Second

// watchForge polls the labels of the issue and gives what people want to the queue as
// an order.
func (t *attempt) watchForge(ctx context.Context) {
	every := cmp.Or(t.OrderEvery, 10*time.Second)
	pause, before := every, coder.Continue
	for {
		sleep(ctx, pause)
		if ctx.Err() != nil {
			return
		}
		now := t.currentOrder(ctx)
		if now != coder.Continue && now == before && t.watch.active.Load() && t.forwardOrder(ctx, now) == nil {
			return
		}
		if pause, before = every, now; now != coder.Continue {
			pause = min(every, confirmDelay)
		}
	}
}

// currentOrder returns what people want of a running task.
func (t *attempt) currentOrder(ctx context.Context) coder.Order {
	if !t.watch.active.Load() {
		return coder.Continue
	}
	got, err := t.forge.Get(ctx, refOf(t.task))
	if isNotFound(err) {
		return coder.Stop
	}
	if err != nil {
		return coder.Continue // the next poll shows it
	}
	bot, err := t.forge.bot(ctx)
	if err != nil {
		return coder.Continue
	}
	return t.forge.orderFor(got, t.task.Assigned && !got.AssignedTo(bot))
}

// orderFor reads the labels of an issue whose task is running.
func (f *Forge) orderFor(got forge.Issue, dismissed bool) coder.Order {
	switch {
	case got.Closed, got.Confidential, dismissed, f.hasLabel(got, coder.Stopped):
		return coder.Stop
	case f.hasLabel(got, coder.Paused):
		return coder.Pause
	case !f.hasLabel(got, coder.Processing):
		return coder.Stop
	}
	return coder.Continue
}
