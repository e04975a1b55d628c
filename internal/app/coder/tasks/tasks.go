// Package tasks shows the tasks of the coding agent as the queue knows them, wherever
// the work is done, and passes on orders.
//
// Reading changes nothing and waits for no slow reader; an order is recorded first.
package tasks

import (
	"context"
	"sync"
	"time"

	"hako/internal/app/access"
	"hako/internal/app/coder/dispatch"
	"hako/internal/app/coder/queue"
	"hako/run/fault"
)

// A Queue has the tasks; [*queue.Queue] is one.
type Queue interface {
	dispatch.Lister
	dispatch.Orderer
	Watch(ctx context.Context, id string) (<-chan queue.Event, error)
}

// A Service implements [hako/internal/web/api.Tasks] over a queue. Its fields must not
// change after the first use.
type Service struct {
	Queue  Queue
	Record access.Recorder
	Every  time.Duration // how often the queue is polled while somebody watches; zero means 500 ms

	readers readers
	opening sync.Mutex // guards what follows
	feed    *feed      // nil while nobody watches
}

// List implements [hako/internal/web/api.Tasks].
func (w *Service) List(ctx context.Context) ([]Status, error) {
	all, err := dispatch.Statuses(ctx, w.Queue)
	list := make([]Status, len(all))
	for i, s := range all {
		list[i] = statusOf(s)
	}
	return list, err
}

// Get implements [hako/internal/web/api.Tasks]. A task is also found by its short form,
// such as owner/project#12.
func (w *Service) Get(ctx context.Context, id string) (Status, error) {
	s, err := w.find(ctx, id)
	return statusOf(s), err
}

func (w *Service) find(ctx context.Context, id string) (dispatch.TaskStatus, error) {
	if id != "" && len(id) <= maxID {
		t, err := w.Queue.State(ctx, id)
		if fault.KindOf(err) != fault.NotFound {
			return dispatch.StatusOf(t), err
		}
	}
	s, err := dispatch.Find(ctx, w.Queue, id)
	return s, err
}

const maxID = 256

// Order implements [hako/internal/web/api.Tasks].
func (w *Service) Order(ctx context.Context, who access.Actor, id, order string) error {
	t, err := w.find(ctx, id)
	if err != nil {
		return err
	}
	return w.Record.Do(who, "agent "+order+" "+t.Thread, func() error {
		return dispatch.Order(ctx, w.Queue, t.Thread, queue.Command(order))
	})
}

func statusOf(s dispatch.TaskStatus) Status {
	t := Status{
		ID: s.Thread, Name: s.Job.ID, Title: s.Job.Title, URL: s.Job.URL, State: string(s.State), Phase: string(s.Phase),
		Worker: s.Worker,
		Plan:   s.Steps, Goal: s.Objective, Why: s.Why, Summary: s.Summary, Proposal: s.Proposal, Tokens: s.Tokens,
		Cost: s.Cost, Changed: s.Changed,
	}
	if t.Changed.IsZero() {
		t.Changed = s.Job.Created // no worker has taken it yet
	}
	if t.Title == "" {
		t.Title = s.Short()
	}
	return t
}
