package tasksapi

import (
	"context"
	"sync"
	"time"

	"hako/internal/app/coder/dispatch"
	"hako/internal/app/coder/queue"
	"hako/internal/web/source"
	"hako/run/fault"
)

// A Queue is where tasks are; [*queue.Queue] is one.
type Queue interface {
	dispatch.Roll
	dispatch.Orderly
	Watch(ctx context.Context, id string) (<-chan queue.Event, error)
}

// Tasks are those of the coding agent, by what the queue knows of them. It
// implements [source.Tasks]. The fields must not change after the first use.
type Tasks struct {
	Queue  Queue
	Record Record
	Every  time.Duration // how often the queue is looked at while somebody watches; zero means 500 ms

	crowd   crowd
	opening sync.Mutex // guards what follows
	feed    *feed      // nil while nobody watches
}

var _ source.Tasks = (*Tasks)(nil)

// List implements [source.Tasks].
func (w *Tasks) List(ctx context.Context) ([]source.Task, error) {
	all, err := dispatch.Standings(ctx, w.Queue)
	list := make([]source.Task, len(all))
	for i, s := range all {
		list[i] = taskOf(s)
	}
	return list, err
}

// Get implements [source.Tasks]. A task is also found by what people call it, as
// in owner/project#12.
func (w *Tasks) Get(ctx context.Context, id string) (source.Task, error) {
	s, err := w.find(ctx, id)
	return taskOf(s), err
}

func (w *Tasks) find(ctx context.Context, id string) (dispatch.Standing, error) {
	if id != "" && len(id) <= longestID {
		t, err := w.Queue.State(ctx, id)
		if fault.KindOf(err) != fault.NotFound {
			return dispatch.StandingOf(t), err
		}
	}
	s, err := dispatch.Find(ctx, w.Queue, id)
	return s, err
}

// longestID is that of the queue.
const longestID = 256

// Order implements [source.Tasks].
func (w *Tasks) Order(ctx context.Context, who source.Actor, id, order string) error {
	t, err := w.find(ctx, id)
	if err != nil {
		return err
	}
	return w.Record.deed(who, "agent "+order+" "+t.Thread, func() error {
		return dispatch.Order(ctx, w.Queue, t.Thread, queue.Command(order))
	})
}

func taskOf(s dispatch.Standing) source.Task {
	t := source.Task{
		ID: s.Thread, Name: s.Job.ID, Title: s.Job.Title, URL: s.Job.URL, State: string(s.State), Phase: string(s.Phase), Worker: s.Worker,
		Plan: s.Steps, Goal: s.Objective, Why: s.Why, Summary: s.Summary, Proposal: s.Proposal, Tokens: s.Tokens, Cost: s.Cost, Changed: s.Changed,
	}
	if t.Changed.IsZero() {
		t.Changed = s.Job.Created // nobody has taken it yet
	}
	if t.Title == "" {
		t.Title = s.Short()
	}
	return t
}
