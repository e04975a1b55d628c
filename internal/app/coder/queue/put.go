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

// A workMessage is the message that somebody ought to look at a task.
type workMessage struct {
	Item
	Round  uint64 `json:"round,omitempty"`
	Forget bool   `json:"forget,omitempty"` // begin without the steps and effects of the round before
}

// Put queues a task and tells whether it was new. A task that waits, is being
// worked on, was done or given up is not queued again: see [Queue.Requeue]. A
// task that lost its message to an accident gets a new one.
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
		c.Round++ // whoever gave the order could not finish it
	case was.ended():
		return false, nil
	}
	return q.publishWork(ctx, c)
}

// maxPayload is how many bytes a payload may have, so that its record has room for more.
func (q *Queue) maxPayload() int64 { return q.nc.MaxPayload() / 4 }

// lookup reads a record for somebody outside.
func (q *Queue) lookup(ctx context.Context, id string) (v version, err error) {
	err = q.retry(ctx, "read task", id, func(ctx context.Context) (err error) {
		v, err = q.read(ctx, id)
		return err
	})
	return v, err
}

// summon sends the message unless there is one: each round has a subject of its
// own, and the server takes only the first. If we had to send it twice, the
// first may have been ours.
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

// sentByUs tells whether it was us who sent the message of a round.
func (q *Queue) sentByUs(ctx context.Context, c workMessage, self string) (bool, error) {
	m, err := q.work.GetLastMsgForSubject(ctx, q.workSubject(c.ID, c.Round))
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return false, nil // whoever it was, it has been answered
	}
	return err == nil && m.Header.Get(jetstream.MsgIDHeader) == self, err
}

// RequeueOptions says how a task that was done, given up or parked is to be done again.
type RequeueOptions struct {
	Payload json.RawMessage // what the worker needs to know; nil means what it was
	Forget  bool            // begin anew; otherwise it goes on from its last step and repeats no effect
}

// Requeue queues a task again that is over. One that waits or is being worked on
// is left alone, and the answer is false.
func (q *Queue) Requeue(ctx context.Context, id string, how RequeueOptions) (fresh bool, err error) {
	// Written although nothing changes: a read alone could be old, and a message
	// of an old round would mean nothing.
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

// bury writes the letter about a task that was given up.
func (q *Queue) deadLetter(ctx context.Context, id string) error {
	return q.retry(ctx, "give up task", id, func(ctx context.Context) error {
		_, err := q.js.Publish(ctx, q.deadSubject(id), []byte(id))
		return err
	})
}

// unbury removes it.
func (q *Queue) undoDeadLetter(ctx context.Context, id string) error {
	return q.retry(ctx, "queue task again", id, func(ctx context.Context) error {
		err := q.dead.Purge(ctx, jetstream.WithPurgeSubject(q.deadSubject(id)))
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			return nil
		}
		return err
	})
}
