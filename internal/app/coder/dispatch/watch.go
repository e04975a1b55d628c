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

// waiting returns the order that was given before the task was taken.
func waiting(orders <-chan queue.Command) coder.Order {
	select {
	case what := <-orders:
		return orderOf(what)
	default:
		return coder.Go
	}
}

func orderOf(what queue.Command) coder.Order {
	if what == queue.Resume {
		return coder.Go
	}
	return coder.Order(what)
}

// obey ends the work at once when somebody orders it.
func obey(ctx context.Context, orders <-chan queue.Command, stop context.CancelCauseFunc) {
	for {
		select {
		case what := <-orders:
			if order := orderOf(what); order != coder.Go {
				stop(order)
			}
		case <-ctx.Done():
			return
		}
	}
}

// A watch is on while the issue shows that the task is worked on. Before and
// after, labels are moved by ourselves and say nothing about people.
type watch struct{ on atomic.Bool }

// follow learns from the coordinator what it is about to do.
func (w *watch) follow(e coder.Event) {
	switch e.Type {
	case "phase":
		w.on.Store(e.Phase != coder.Reporting && e.Phase != coder.Ended)
	case "state":
		w.on.Store(false)
	}
}

// settled is how long something must be seen to be believed: a forge may answer
// with what was a moment ago.
const settled = 2 * time.Second

// watchForge asks the forge whether people want something else, and gives that
// to the queue as an order.
func (t *attempt) watchForge(ctx context.Context) {
	every := cmp.Or(t.OrderEvery, 10*time.Second)
	pause, before := every, coder.Go
	for {
		retry(ctx, pause)
		if ctx.Err() != nil {
			return
		}
		now := t.wished(ctx)
		if now != coder.Go && now == before && t.watch.on.Load() && t.pass(ctx, now) == nil {
			return
		}
		if pause, before = every, now; now != coder.Go {
			pause = min(every, settled)
		}
	}
}

// wished is what people want of a task that is worked on.
func (t *attempt) wished(ctx context.Context) coder.Order {
	if !t.watch.on.Load() {
		return coder.Go
	}
	got, err := t.forge.Get(ctx, refOf(t.task))
	if isGone(err) {
		return coder.Stop
	}
	if err != nil {
		return coder.Go // the next look shows it
	}
	bot, err := t.forge.bot(ctx)
	if err != nil {
		return coder.Go
	}
	return t.forge.wish(got, t.task.Assigned && !got.AssignedTo(bot))
}

// wish reads the labels of an issue whose task is worked on.
func (f *Forge) wish(got forge.Issue, dismissed bool) coder.Order {
	switch {
	case got.Closed, got.Confidential, dismissed, f.shows(got, coder.Stopped):
		return coder.Stop
	case f.shows(got, coder.Paused):
		return coder.Pause
	case !f.shows(got, coder.Processing):
		return coder.Stop
	}
	return coder.Go
}
