package queue

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// A Task is how a task is, for those who look on.
type Task struct {
	Item
	State   State             `json:"state"`
	Token   uint64            `json:"token,omitempty"`
	Holder  string            `json:"holder,omitempty"`
	Tries   int               `json:"tries,omitempty"`
	Reason  string            `json:"reason,omitempty"`  // why it failed the last time
	Order   Command           `json:"order,omitempty"`   // the last one
	Step    json.RawMessage   `json:"step,omitempty"`    // the last one
	Effects map[string]string `json:"effects,omitempty"` // where the outcome of each is
	Doubts  []string          `json:"doubts,omitempty"`  // effects that were begun and not recorded as done
	Changed time.Time         `json:"changed"`           // also by every heartbeat
}

func (r *record) task() Task {
	t := Task{Item: r.Item, State: r.State, Token: r.Token, Holder: r.Holder, Tries: r.Tries, Reason: r.Reason, Step: r.Step,
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

// State returns how a task is.
func (q *Queue) State(ctx context.Context, id string) (Task, error) {
	v, next, err := q.lookAhead(ctx, id)
	switch {
	case err != nil:
		return Task{}, err
	case next != nil:
		return next.over(v.record).task(), nil
	case v.State == "":
		return Task{}, q.unknown("read task", id)
	}
	return v.task(), nil
}

// lookAhead reads a record and, if there is none or it is over, the message that
// will change that.
func (q *Queue) lookAhead(ctx context.Context, id string) (v version, next *call, err error) {
	v, err = q.look(ctx, id)
	if err != nil || v.State != "" && !v.over() {
		return v, nil, err
	}
	round := v.Round
	if v.State != "" {
		round++ // somebody may have asked for it again
	}
	next, err = q.waiting(ctx, id, round)
	return v, next, err
}

// over shows what a message will make of a record.
func (c call) over(r *record) *record {
	if r.State == "" {
		return &record{Item: c.Item, Round: c.Round, State: Queued}
	}
	next := r.clone()
	next.begin(c)
	next.State = Queued
	return next
}

// waiting returns the message of a round, nil if there is none.
func (q *Queue) waiting(ctx context.Context, id string, round uint64) (c *call, err error) {
	err = q.insist(ctx, "read task", id, func(ctx context.Context) error {
		m, err := q.work.GetLastMsgForSubject(ctx, q.workSubject(id, round))
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			return nil
		}
		if err == nil {
			c = new(call)
			err = json.Unmarshal(m.Data, c)
		}
		return err
	})
	return c, err
}

// List returns all tasks that are known, by their ID: those that wait, those
// that somebody has, and those that were over not too long ago. In a cluster it
// may come from a server that lags a moment behind.
func (q *Queue) List(ctx context.Context) ([]Task, error) {
	known, err := q.all(ctx)
	if err != nil {
		return nil, err
	}
	err = q.each(ctx, q.work, func(data []byte) error {
		var c call
		if json.Unmarshal(data, &c) != nil {
			return nil
		}
		r, found := known[c.ID]
		if !found {
			r = &record{}
		}
		if !found || c.Round > r.Round {
			known[c.ID] = c.over(r)
		}
		return nil
	})
	tasks := make([]Task, 0, len(known))
	for _, r := range known {
		tasks = append(tasks, r.task())
	}
	slices.SortFunc(tasks, func(a, b Task) int { return cmp.Compare(a.ID, b.ID) })
	return tasks, err
}

// all reads all records.
func (q *Queue) all(ctx context.Context) (map[string]*record, error) {
	var w jetstream.KeyWatcher
	err := q.insist(ctx, "list tasks", q.opt.Name, func(context.Context) (err error) {
		w, err = q.bucket.WatchAll(ctx, jetstream.IgnoreDeletes()) // lives as long as its context
		return err
	})
	if err != nil {
		return nil, err
	}
	defer w.Stop()
	known := map[string]*record{}
	for {
		select {
		case e := <-w.Updates():
			if e == nil {
				return known, nil // that was the last
			}
			r := new(record)
			if json.Unmarshal(e.Value(), r) == nil {
				known[r.Item.ID] = r
			}
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-q.ctx.Done():
			return nil, q.rest(ctx, 0)
		}
	}
}

// each goes through the messages of a stream.
func (q *Queue) each(ctx context.Context, s jetstream.Stream, do func([]byte) error) error {
	for seq := uint64(1); ; seq++ {
		var m *jetstream.RawStreamMsg
		err := q.insist(ctx, "list tasks", q.opt.Name, func(ctx context.Context) (err error) {
			m, err = s.GetMsg(ctx, seq, jetstream.WithGetMsgSubject(">"))
			if errors.Is(err, jetstream.ErrMsgNotFound) {
				err = nil
			}
			return err
		})
		if err != nil || m == nil {
			return err
		}
		if err := do(m.Data); err != nil {
			return err
		}
		seq = m.Sequence
	}
}

// Dead returns the tasks that were given up.
func (q *Queue) Dead(ctx context.Context) (tasks []Task, err error) {
	err = q.each(ctx, q.dead, func(id []byte) error {
		v, err := q.look(ctx, string(id))
		if err == nil && v.State == Dead {
			tasks = append(tasks, v.task())
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
	err = q.insist(ctx, "count tasks", q.opt.Name, func(ctx context.Context) error {
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
