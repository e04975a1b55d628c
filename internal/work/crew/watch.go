package crew

import (
	"cmp"
	"context"
	"sync/atomic"
	"time"

	"hako/internal/work"
	"hako/internal/work/forge"
	"hako/internal/work/queue"
)

// waiting returns the order that was given before the task was taken.
func waiting(orders <-chan queue.Command) work.Order {
	select {
	case what := <-orders:
		return orderOf(what)
	default:
		return work.Go
	}
}

func orderOf(what queue.Command) work.Order {
	switch what {
	case queue.Pause:
		return work.Pause
	case queue.Stop:
		return work.Stop
	}
	return work.Go
}

// obey ends the work at once when somebody orders it.
func obey(ctx context.Context, orders <-chan queue.Command, stop context.CancelCauseFunc) {
	for {
		select {
		case what := <-orders:
			if order := orderOf(what); order != work.Go {
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
func (w *watch) follow(e work.Event) {
	switch e.Type {
	case "phase":
		w.on.Store(e.Phase != work.Reporting && e.Phase != work.Ended)
	case "state":
		w.on.Store(false)
	}
}

// settled is how long something must be seen to be believed: a forge may answer
// with what was a moment ago.
const settled = 2 * time.Second

// watchForge asks the forge whether people want something else, and gives that
// to the queue as an order.
func (t *turn) watchForge(ctx context.Context) {
	every := cmp.Or(t.OrderEvery, 10*time.Second)
	pause, before := every, work.Go
	for {
		retry(ctx, pause)
		if ctx.Err() != nil {
			return
		}
		now := t.wished(ctx)
		if now != work.Go && now == before && t.watch.on.Load() && t.pass(ctx, now) == nil {
			return
		}
		if pause, before = every, now; now != work.Go {
			pause = min(every, settled)
		}
	}
}

// wished is what people want of a task that is worked on.
func (t *turn) wished(ctx context.Context) work.Order {
	if !t.watch.on.Load() {
		return work.Go
	}
	got, err := t.forge.Get(ctx, refOf(t.task))
	if isGone(err) {
		return work.Stop
	}
	if err != nil {
		return work.Go // the next look shows it
	}
	bot, err := t.forge.bot(ctx)
	if err != nil {
		return work.Go
	}
	return t.forge.wish(got, t.task.Assigned && !got.Assigned(bot))
}

// wish reads the labels of an issue whose task is worked on.
func (f *Forge) wish(got forge.Task, dismissed bool) work.Order {
	switch {
	case got.Closed, got.Confidential, dismissed, f.shows(got, work.Stopped):
		return work.Stop
	case f.shows(got, work.Paused):
		return work.Pause
	case !f.shows(got, work.Processing):
		return work.Stop
	}
	return work.Go
}
