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
	maxConcurrent = 16  // issues that are put into the queue at the same time
	maxRestarts   = 100 // ended tasks that are checked for a restart in a poll; the others wait for the next
)

// A pollRound handles the issues of one poll.
type pollRound struct {
	*Producer
	forge  *Forge
	bot    string
	memory *pollMemory

	picked, requeued, resumed, asked atomic.Int64
}

// enqueue compares a ready issue with the queue. An issue that the queue refuses does
// not stop the others.
func (r *pollRound) enqueue(ctx context.Context, listed forge.Issue) error {
	t := newTask(r.forge, listed, r.bot)
	what, err := r.putOrResume(ctx, t)
	e := Event{Type: what, Provider: r.forge.Provider, Thread: t.Thread(), Task: t.ID}
	switch kind := fault.KindOf(err); {
	case kind == fault.Invalid, kind == fault.TooLarge:
		e.Type, e.Why, e.Err = "refused", r.Secrets.Text(err.Error()), err
		r.observe(e)
	case err != nil, what == "":
		return err
	default:
		r.count(e)
	}
	r.remember(r.memory, t.Thread(), listed.Updated)
	return nil
}

func (r *pollRound) count(e Event) {
	counts := map[string]*atomic.Int64{"picked": &r.picked, "requeued": &r.requeued, "resumed": &r.resumed}
	if n := counts[e.Type]; n != nil {
		n.Add(1)
		r.observe(e)
	}
}

// putOrResume puts a task into the queue, or restarts the one that is there. It returns
// what it did; empty means that the next poll has to look again.
func (r *pollRound) putOrResume(ctx context.Context, t coder.Task) (what string, err error) {
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
	case isNotFound(err): // it was taken and forgotten meanwhile
		return "", nil
	case err != nil:
		return "", err
	case now.State == queue.Queued || now.State == queue.Held:
		return "waiting", nil
	}
	wanted, err := r.stillWanted(ctx, t, now)
	if err != nil || !wanted {
		return "", err
	}
	return r.restart(ctx, now, payload)
}

// stillWanted reports whether a person wants an ended task again: the list may have
// been read before hako changed the label itself.
func (r *pollRound) stillWanted(ctx context.Context, t coder.Task, now queue.Entry) (bool, error) {
	if r.asked.Add(1) > maxRestarts {
		return false, nil
	}
	got, err := r.forge.Get(ctx, refOf(t))
	if isNotFound(err) || fault.KindOf(err) == fault.Denied {
		return false, nil
	}
	if err != nil || got.Closed || !r.forge.hasLabel(got, coder.Pending) {
		return false, err
	}
	return r.labeledAgain(ctx, t, now)
}

// labeledAgain reports whether the label was set since the task was taken. A label that
// hako may not remove would restart the task for ever.
func (r *pollRound) labeledAgain(ctx context.Context, t coder.Task, now queue.Entry) (bool, error) {
	var last journal
	if now.Step == nil || last.read(now.Step) != nil || last.labeledAt == nil {
		return true, nil
	}
	_, at, err := r.forge.LabeledBy(ctx, refOf(t), r.forge.label(coder.Pending))
	if isNotFound(err) || fault.KindOf(err) == fault.Denied {
		return true, nil // the forge does not say
	}
	return !at.Equal(*last.labeledAt), err
}

// restart resumes or requeues a task that is over.
func (r *pollRound) restart(ctx context.Context, now queue.Entry, payload json.RawMessage) (what string, err error) {
	switch {
	case now.State == queue.Parked:
		err := r.Queue.Order(ctx, now.ID, queue.Resume)
		if fault.KindOf(err) == fault.Invalid {
			return "", nil // it ended meanwhile
		}
		return "resumed", err
	case now.State == queue.Dead && r.reportState(now) != reported:
		return "", nil
	}
	fresh, err := r.Queue.Requeue(ctx, now.ID, queue.RequeueOptions{Forget: true, Payload: payload})
	if err != nil || !fresh {
		return "", err
	}
	return "requeued", nil
}
