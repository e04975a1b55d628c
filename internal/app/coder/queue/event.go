package queue

import (
	"context"
	"encoding/json"
	"time"

	"github.com/nats-io/nats.go"

	"hako/run/fault"
)

// An Event is something that happened to a task, for watchers.
type Event struct {
	ID   string          `json:"id"` // set by Publish
	At   time.Time       `json:"at"` // zero means now
	What string          `json:"what"`
	Data json.RawMessage `json:"data,omitempty"`
}

// Publish sends an event to the watchers. Events are not stored: what has to last is
// saved as a step.
func (q *Queue) Publish(_ context.Context, id string, e Event) error {
	e.ID = id
	if e.At.IsZero() {
		e.At = time.Now().UTC()
	}
	data, err := json.Marshal(e)
	if err != nil {
		return &fault.Error{Kind: fault.Invalid, Op: "publish event", Subject: id, Why: "its data is not JSON",
			Hint: "pass a JSON value"}
	}
	if err := q.nc.Publish(q.eventSubject(id), data); err != nil {
		return q.wrapError("publish event", id, err)
	}
	return nil
}

// maxPendingEvents is how many events wait for a slow watcher; further ones are
// dropped.
const maxPendingEvents = 4096

// Watch returns the events of a task, or of all if the ID is empty, until ctx ends;
// then the channel is closed.
func (q *Queue) Watch(ctx context.Context, id string) (<-chan Event, error) {
	subject := q.opt.Name + ".event.*"
	if id != "" {
		subject = q.eventSubject(id)
	}
	sub, err := q.nc.SubscribeSync(subject)
	if err == nil {
		_ = sub.SetPendingLimits(maxPendingEvents, -1)
		err = q.nc.FlushTimeout(requestTimeout) // from here on nothing is missed
	}
	if err != nil {
		return nil, q.wrapError("watch events of", id, err)
	}
	out := make(chan Event)
	q.spawn(func() {
		defer close(out)
		defer sub.Unsubscribe()
		q.relay(ctx, sub, out)
	})
	return out, nil
}

func (q *Queue) relay(ctx context.Context, sub *nats.Subscription, out chan<- Event) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(q.ctx, cancel)()
	for {
		m, err := sub.NextMsgWithContext(ctx)
		if err == nats.ErrSlowConsumer {
			continue
		}
		if err != nil {
			return
		}
		var e Event
		if json.Unmarshal(m.Data, &e) != nil {
			continue
		}
		select {
		case out <- e:
		case <-ctx.Done():
			return
		}
	}
}
