package queue

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"hako/run/fault"
)

var errBusy = errors.New("it waits or is being worked on")

// A workMessage asks workers to look at a task.
type workMessage struct {
	Item
	Round  uint64 `json:"round,omitempty"`
	Forget bool   `json:"forget,omitempty"` // start without the steps and effects of the round before
}

// Put queues a task and reports whether it was new. A task that waits, is running, is
// done or was given up is not queued again: see [Queue.Requeue]. A task that lost its
// message gets a new one.
func (q *Queue) Put(ctx context.Context, item Item) (fresh bool, err error) {
	if err := item.check(q.maxPayload()); err != nil {
		return false, err
	}
	was, err := q.lookup(ctx, item.ID)
	if err != nil {
		return false, err
	}
	c := workMessage{Item: item, Round: was.Round}
	switch {
	case was.State == Parked && was.Order != nil && was.Order.What != Pause:
		c.Round++ // whoever gave the order was interrupted
	case was.ended():
		return false, nil
	}
	return q.publishWork(ctx, c)
}

// maxPayload leaves room for the rest of the record.
func (q *Queue) maxPayload() int64 { return q.nc.MaxPayload() / 4 }

// lookup reads a record, with retries.
func (q *Queue) lookup(ctx context.Context, id string) (v version, err error) {
	err = q.retry(ctx, "read task", id, func(ctx context.Context) (err error) {
		v, err = q.read(ctx, id)
		return err
	})
	return v, err
}

// publishWork sends the message unless it exists: each round has a subject of its own,
// and the server accepts only the first message. If we had to retry, the first may have
// been ours.
func (q *Queue) publishWork(ctx context.Context, c workMessage) (fresh bool, err error) {
	self := nonce()
	data, err := json.Marshal(c)
	if err != nil {
		return false, err
	}
	attempts := 0
	err = q.retry(ctx, "queue task", c.ID, func(ctx context.Context) error {
		attempts++
		_, err := q.js.PublishMsg(ctx, &nats.Msg{Subject: q.workSubject(c.ID, c.Round), Data: data},
			jetstream.WithMsgID(self), jetstream.WithExpectLastSequencePerSubject(0))
		fresh = err == nil
		if !isConflict(err) {
			return err
		}
		if attempts > 1 {
			fresh, err = q.sentByUs(ctx, c, self)
			return err
		}
		return nil
	})
	return fresh, err
}

// sentByUs reports whether we sent the message of a round.
func (q *Queue) sentByUs(ctx context.Context, c workMessage, self string) (bool, error) {
	m, err := q.work.GetLastMsgForSubject(ctx, q.workSubject(c.ID, c.Round))
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return false, nil // whoever sent it, it was acknowledged
	}
	return err == nil && m.Header.Get(jetstream.MsgIDHeader) == self, err
}

// RequeueOptions say how a task that is done, given up or parked is queued again.
type RequeueOptions struct {
	Payload json.RawMessage // nil means the last one
	Forget  bool            // start anew; otherwise it continues from its last step and repeats no effect
}

// Requeue queues a task again that has ended or is parked. One that waits or is running
// is left alone, and the result is false.
func (q *Queue) Requeue(ctx context.Context, id string, how RequeueOptions) (fresh bool, err error) {
	// Written although nothing changes: what was read could be old, and a message of an
	// old round has no effect.
	was, err := q.change(ctx, "queue task again", id, version{}, func(r *record) error {
		switch {
		case r.State == "":
			return q.notFound("queue task again", id)
		case !r.ended():
			return errBusy
		}
		return nil
	})
	if errors.Is(err, errBusy) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	c := workMessage{Item: was.Item, Round: was.Round + 1, Forget: how.Forget}
	if how.Payload != nil {
		c.Payload = how.Payload
	}
	if err := c.check(q.maxPayload()); err != nil {
		return false, err
	}
	if fresh, err = q.publishWork(ctx, c); err == nil && was.State == Dead {
		err = q.undoDeadLetter(ctx, id)
	}
	return fresh, err
}

func (q *Queue) notFound(op, id string) error {
	return &fault.Error{Kind: fault.NotFound, Op: op, Subject: id, Why: "no such task",
		Hint: "list the tasks to see their names"}
}

// deadLetter records that a task was given up.
func (q *Queue) deadLetter(ctx context.Context, id string) error {
	return q.retry(ctx, "give up task", id, func(ctx context.Context) error {
		_, err := q.js.Publish(ctx, q.deadSubject(id), []byte(id))
		return err
	})
}

// undoDeadLetter removes that record.
func (q *Queue) undoDeadLetter(ctx context.Context, id string) error {
	return q.retry(ctx, "queue task again", id, func(ctx context.Context) error {
		err := q.dead.Purge(ctx, jetstream.WithPurgeSubject(q.deadSubject(id)))
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			return nil
		}
		return err
	})
}
