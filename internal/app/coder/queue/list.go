package queue

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// An Entry is a task as the queue knows it.
type Entry struct {
	Item
	State   State             `json:"state"`
	Token   uint64            `json:"token,omitempty"`
	Holder  string            `json:"holder,omitempty"`
	Tries   int               `json:"tries,omitempty"`
	Reason  string            `json:"reason,omitempty"`  // of the last failure
	Order   Command           `json:"order,omitempty"`   // the last one
	Step    json.RawMessage   `json:"step,omitempty"`    // the last one; lists omit those over 8 KB
	Effects map[string]string `json:"effects,omitempty"` // outcomes by name; empty if over 1 KB
	Doubts  []string          `json:"doubts,omitempty"`  // effects that were begun and not recorded as done
	Changed time.Time         `json:"changed"`           // also by every heartbeat
}

func (r *record) entry() Entry {
	t := Entry{Item: r.Item, State: r.State, Token: r.Token, Holder: r.Holder, Tries: r.Tries, Reason: r.Reason,
		Step:    r.Step,
		Changed: r.Changed, Effects: map[string]string{}}
	if r.Order != nil {
		t.Order = r.Order.What
	}
	for name, e := range r.Effects {
		if e.Done {
			t.Effects[name] = e.Ref
		} else {
			t.Doubts = append(t.Doubts, name)
		}
	}
	slices.Sort(t.Doubts)
	return t
}

// Due returns when a task can be taken: when the lease of a silent holder expires, or
// when the backoff after a failure ends. It is for people; nothing may be decided by
// it. Zero means unknown.
func (q *Queue) Due(t Entry) time.Time {
	switch {
	case t.State == Held:
		return t.Changed.Add(q.ackWait)
	case t.State == Queued && t.Tries > 0:
		return t.Changed.Add(q.backoff(t.Tries))
	}
	return time.Time{}
}

// State returns the entry of a task.
func (q *Queue) State(ctx context.Context, id string) (Entry, error) {
	for was := ""; ; {
		t, large, err := q.state(ctx, id)
		if err != nil || large == nil {
			return t, err
		}
		t.Step, err = q.readBlob(ctx, "read task", id, large)
		if err == nil || large.Name == was {
			return t, err
		}
		was = large.Name // its holder may have replaced it meanwhile
	}
}

// state is State without a large step.
func (q *Queue) state(ctx context.Context, id string) (Entry, *blob, error) {
	v, next, err := q.lookupWithMessage(ctx, id)
	switch {
	case err != nil:
		return Entry{}, nil, err
	case next != nil:
		v.record = next.applyTo(v.record)
	case v.State == "":
		return Entry{}, nil, q.notFound("read task", id)
	}
	return v.entry(), v.Large, nil
}

// lookupWithMessage reads a record and, if there is none or it has ended, the message
// that will change that.
func (q *Queue) lookupWithMessage(ctx context.Context, id string) (v version, next *workMessage, err error) {
	v, err = q.lookup(ctx, id)
	if err != nil || v.State != "" && !v.ended() {
		return v, nil, err
	}
	round := v.Round
	if v.State != "" {
		round++ // it may have been queued again
	}
	next, err = q.waiting(ctx, id, round)
	return v, next, err
}

// applyTo returns the record that a message will lead to.
func (c workMessage) applyTo(r *record) *record {
	if r.State == "" {
		return &record{Item: c.Item, Round: c.Round, State: Queued}
	}
	next := r.clone()
	next.startRound(c)
	next.State = Queued
	return next
}

// waiting returns the message of a round, nil if there is none.
func (q *Queue) waiting(ctx context.Context, id string, round uint64) (c *workMessage, err error) {
	err = q.retry(ctx, "read task", id, func(ctx context.Context) error {
		m, err := q.work.GetLastMsgForSubject(ctx, q.workSubject(id, round))
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			return nil
		}
		if err == nil {
			c = new(workMessage)
			err = json.Unmarshal(m.Data, c)
		}
		return err
	})
	return c, err
}

// List returns all known tasks, sorted by ID: waiting, running, and those that ended
// not too long ago. In a cluster it may be slightly old.
func (q *Queue) List(ctx context.Context) ([]Entry, error) {
	waiting, err := q.workMessages(ctx) // first: a task loses its message once it has a record
	if err != nil {
		return nil, err
	}
	known, err := q.allRecords(ctx)
	if err != nil {
		return nil, err
	}
	for id, c := range waiting {
		r, found := known[id]
		if !found {
			r = &record{}
		}
		if !found || c.Round > r.Round {
			known[id] = c.applyTo(r)
		}
	}
	tasks := make([]Entry, 0, len(known))
	for _, r := range known {
		tasks = append(tasks, r.entry())
	}
	slices.SortFunc(tasks, func(a, b Entry) int { return cmp.Compare(a.ID, b.ID) })
	return tasks, nil
}

// workMessages reads all messages; of each task that of its last round.
func (q *Queue) workMessages(ctx context.Context) (map[string]workMessage, error) {
	waiting := map[string]workMessage{}
	err := q.forEachMessage(ctx, "list tasks", q.work, ">", func(m *nats.Msg) error {
		var c workMessage
		if json.Unmarshal(m.Data, &c) == nil && c.Round >= waiting[c.ID].Round {
			waiting[c.ID] = c
		}
		return nil
	})
	return waiting, err
}

// allRecords reads all records. One that is changed meanwhile is read again.
func (q *Queue) allRecords(ctx context.Context) (map[string]*record, error) {
	known := map[string]*record{}
	err := q.forEachMessage(ctx, "list tasks", q.records, ">", func(m *nats.Msg) error {
		r := new(record)
		if !isDeleted(m.Header) && json.Unmarshal(m.Data, r) == nil {
			known[r.Item.ID] = r
		}
		return nil
	})
	return known, err
}

// Dead returns the tasks that were given up.
func (q *Queue) Dead(ctx context.Context) (tasks []Entry, err error) {
	err = q.forEachMessage(ctx, "list tasks", q.dead, ">", func(m *nats.Msg) error {
		v, err := q.lookup(ctx, string(m.Data))
		if err == nil && v.State == Dead {
			tasks = append(tasks, v.entry())
		}
		return err
	})
	return tasks, err
}

// Stats count tasks.
type Stats struct {
	Queued  uint64 `json:"queued"`  // not taken yet
	Held    uint64 `json:"held"`    // held, or waiting for another attempt
	Dead    uint64 `json:"dead"`    // given up
	Known   uint64 `json:"known"`   // with a record
	Waiting int    `json:"waiting"` // workers that wait for a task
}

// Stats counts tasks, at the same cost however many there are.
func (q *Queue) Stats(ctx context.Context) (s Stats, err error) {
	err = q.retry(ctx, "count tasks", q.opt.Name, func(ctx context.Context) error {
		c, err := q.work.Consumer(ctx, consumerName)
		if err != nil {
			return err
		}
		info := c.CachedInfo()
		dead, err := q.dead.Info(ctx)
		if err != nil {
			return err
		}
		known, err := q.records.Info(ctx)
		if err != nil {
			return err
		}
		s = Stats{info.NumPending, uint64(info.NumAckPending), dead.State.Msgs, known.State.Msgs, info.NumWaiting}
		return nil
	})
	return s, err
}
