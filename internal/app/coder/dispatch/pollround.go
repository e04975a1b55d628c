package dispatch

import (
	"context"
	"encoding/json"
	"sync/atomic"

	"hako/internal/app/coder"
	"hako/internal/app/coder/forge"
	"hako/internal/app/coder/queue"
	"hako/run/fault"
)

const (
	atOnce    = 16  // issues are put into the queue at the same time
	mostAgain = 100 // issues are asked for in a poll to be put in motion again; the others have to wait for the next
)

// A pollRound is what is done with the issues of one poll.
type pollRound struct {
	*Producer
	forge *Forge
	bot   string
	mem   *memory

	picked, requeued, resumed, asked atomic.Int64
}

// sort compares an issue that is ready with the queue. One that the queue will
// never take keeps no other from it.
func (r *pollRound) sort(ctx context.Context, listed forge.Issue) error {
	t := newTask(r.forge, listed, r.bot)
	what, err := r.pick(ctx, t)
	e := Event{Type: what, Provider: r.forge.Provider, Thread: t.Thread(), Task: t.ID}
	switch kind := fault.KindOf(err); {
	case kind == fault.Invalid, kind == fault.TooLarge:
		e.Type, e.Why, e.Err = "refused", r.Secrets.Text(err.Error()), err
		r.tell(e)
	case err != nil, what == "":
		return err
	default:
		r.count(e)
	}
	r.recall(r.mem, t.Thread(), listed.Updated)
	return nil
}

func (r *pollRound) count(e Event) {
	counts := map[string]*atomic.Int64{"picked": &r.picked, "requeued": &r.requeued, "resumed": &r.resumed}
	if n := counts[e.Type]; n != nil {
		n.Add(1)
		r.tell(e)
	}
}

// pick puts a task into the queue, or what is there in motion again. It returns
// what it did; empty means that it has to look again.
func (r *pollRound) pick(ctx context.Context, t coder.Task) (what string, err error) {
	payload, err := json.Marshal(t)
	if err != nil {
		return "", err
	}
	fresh, err := r.Queue.Put(ctx, queue.Item{ID: t.Thread(), Kind: string(t.Kind), Payload: payload})
	if err != nil {
		return "", err
	}
	if fresh {
		return "picked", nil
	}
	now, err := r.Queue.State(ctx, t.Thread())
	switch {
	case isGone(err): // somebody was faster with everything
		return "", nil
	case err != nil:
		return "", err
	case now.State == queue.Queued || now.State == queue.Held:
		return "waiting", nil
	}
	wanted, err := r.wanted(ctx, t, now)
	if err != nil || !wanted {
		return "", err
	}
	return r.again(ctx, now, payload)
}

// wanted reports whether a person still wants it, now that we know that the task
// is over: the list may have been read before we moved it on ourselves.
func (r *pollRound) wanted(ctx context.Context, t coder.Task, now queue.Task) (bool, error) {
	if r.asked.Add(1) > mostAgain {
		return false, nil
	}
	got, err := r.forge.Get(ctx, refOf(t))
	if isGone(err) || fault.KindOf(err) == fault.Denied {
		return false, nil
	}
	if err != nil || got.Closed || !r.forge.shows(got, coder.Pending) {
		return false, err
	}
	return r.anew(ctx, t, now)
}

// anew reports whether the label was set since the task was taken. One that is
// still there because we may not take it off would begin the task for ever.
func (r *pollRound) anew(ctx context.Context, t coder.Task, now queue.Task) (bool, error) {
	var last journal
	if now.Step == nil || last.read(now.Step) != nil || last.wish == nil {
		return true, nil
	}
	_, at, err := r.forge.LabeledBy(ctx, refOf(t), r.forge.label(coder.Pending))
	if isGone(err) || fault.KindOf(err) == fault.Denied {
		return true, nil // the forge does not tell
	}
	return !at.Equal(*last.wish), err
}

// again puts a task that is over in motion.
func (r *pollRound) again(ctx context.Context, now queue.Task, payload json.RawMessage) (what string, err error) {
	switch {
	case now.State == queue.Parked:
		err := r.Queue.Order(ctx, now.ID, queue.Resume)
		if fault.KindOf(err) == fault.Invalid {
			return "", nil // somebody was faster, and it is over by now
		}
		return "resumed", err
	case now.State == queue.Dead && r.outcome(now) != told:
		return "", nil // the label may be the old one
	}
	fresh, err := r.Queue.Requeue(ctx, now.ID, queue.Another{Forget: true, Payload: payload})
	if err != nil || !fresh {
		return "", err
	}
	return "requeued", nil
}
