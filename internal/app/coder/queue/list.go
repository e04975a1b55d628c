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

// A Entry is how a task is, for those who look on.
type Entry struct {
	Item
	State   State             `json:"state"`
	Token   uint64            `json:"token,omitempty"`
	Holder  string            `json:"holder,omitempty"`
	Tries   int               `json:"tries,omitempty"`
	Reason  string            `json:"reason,omitempty"`  // why it failed the last time
	Order   Command           `json:"order,omitempty"`   // the last one
	Step    json.RawMessage   `json:"step,omitempty"`    // the last one; lists leave out those over 8 KB
	Effects map[string]string `json:"effects,omitempty"` // where the outcome of each is; empty if that has over 1 KB
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

// Due is when a task can be taken that nobody can take yet: its holder will have
// been silent for too long by then, or its pause after a failure is over. It is
// for people: nothing may be decided by it. Zero means that no time is known.
func (q *Queue) Due(t Entry) time.Time {
	switch {
	case t.State == Held:
		return t.Changed.Add(q.ackWait)
	case t.State == Queued && t.Tries > 0:
		return t.Changed.Add(q.backoff(t.Tries))
	}
	return time.Time{}
}

// State returns how a task is.
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
		was = large.Name // its holder may have replaced it while we read
	}
}

// state is State without a step that is large.
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

// lookupWithMessage reads a record and, if there is none or it is over, the message that
// will change that.
func (q *Queue) lookupWithMessage(ctx context.Context, id string) (v version, next *workMessage, err error) {
	v, err = q.lookup(ctx, id)
	if err != nil || v.State != "" && !v.ended() {
		return v, nil, err
	}
	round := v.Round
	if v.State != "" {
		round++ // somebody may have asked for it again
	}
	next, err = q.waiting(ctx, id, round)
	return v, next, err
}

// applyTo shows what a message will make of a record.
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

// List returns all tasks that are known, by their ID: those that wait, those
// that somebody has, and those that were over not too long ago. In a cluster it
// may come from a server that lags a moment behind.
func (q *Queue) List(ctx context.Context) ([]Entry, error) {
	waiting, err := q.workMessages(ctx) // first: a task loses its message when it has a record
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

// workMessages reads all messages; of a task, that of its last round.
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
	Queued  uint64 `json:"queued"`  // nobody has taken them yet
	Held    uint64 `json:"held"`    // somebody has them, or they wait for another try
	Dead    uint64 `json:"dead"`    // they were given up
	Known   uint64 `json:"known"`   // they have a record
	Waiting int    `json:"waiting"` // workers that wait for a task
}

// Stats counts, at the same cost however many there are.
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
