package queue

import (
	"context"
	"encoding/json"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"hako/run/fault"
)

// A Command is what a person wants of a running task.
type Command string

// The commands.
const (
	Pause  Command = "pause"
	Resume Command = "resume"
	Stop   Command = "stop"
)

// order is a command as a record keeps it.
type order struct {
	What   Command   `json:"what"`
	Number uint64    `json:"number"`
	At     time.Time `json:"at"`
}

// Order tells a task to pause, to go on or to stop, wherever it is: waiting,
// being worked on, between two workers, or parked. The last order counts. A task
// that is over takes none.
func (q *Queue) Order(ctx context.Context, id string, what Command) error {
	if what != Pause && what != Resume && what != Stop {
		return &fault.Error{Kind: fault.Invalid, Op: "order task", Subject: string(what), Why: "no such order",
			Hint: "say pause, resume or stop"}
	}
	was, next, err := q.lookupWithMessage(ctx, id)
	if err != nil {
		return err
	}
	v, err := q.change(ctx, "order task", id, was, func(r *record) error {
		if next != nil && (r.State == "" || r.ended() && r.Round < next.Round) {
			*r = *next.applyTo(r)
		}
		if r.State == "" {
			return q.notFound("order task", id)
		}
		return r.setOrder(what)
	})
	if err == nil && v.State == Parked && what != Pause {
		_, err = q.publishWork(ctx, workMessage{Item: v.Item, Round: v.Round + 1})
	}
	return err
}

func (r *record) setOrder(what Command) error {
	if r.State == Done || r.State == Dead {
		return &fault.Error{Kind: fault.Invalid, Op: "order task", Subject: r.Item.ID, Why: "it is over",
			Hint: "queue it again if it is to be done once more"}
	}
	next := order{What: what, Number: 1, At: time.Now().UTC()}
	if r.Order != nil {
		next.Number += r.Order.Number
	}
	r.Order = &next
	return nil
}

// Orders passes on what somebody ordered, also before the task was taken. Only
// the last counts if several came. It is not closed: wait for the end of ctx or
// of the lease beside it.
func (l *Lease) Orders(ctx context.Context) (<-chan Command, error) {
	ctx, cancel := l.within(ctx)
	var w jetstream.KeyWatcher
	err := l.q.retry(ctx, "hear orders for", l.Item.ID, func(context.Context) (err error) {
		w, err = l.q.bucket.Watch(ctx, key(l.Item.ID)) // lives as long as its context
		return err
	})
	if err != nil {
		cancel()
		return nil, err
	}
	l.q.spawn(func() {
		defer cancel()
		defer w.Stop()
		for {
			select {
			case e := <-w.Updates():
				if e != nil {
					l.observeRecord(e.Value())
				}
			case <-ctx.Done():
				return
			}
		}
	})
	return l.orders, nil
}

// observeRecord takes in a version of the record that somebody wrote. It may be an old one.
func (l *Lease) observeRecord(data []byte) {
	var r record
	if json.Unmarshal(data, &r) != nil {
		return
	}
	if r.Token > l.Token {
		l.lose("another worker has taken it over")
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.deliverOrder(&r)
}

// deliverOrder passes on an order that is new. Whoever takes a task needs not be told to
// go on with it. The lock is held.
func (l *Lease) deliverOrder(r *record) {
	if r.Order == nil || r.Order.Number <= l.lastOrder {
		return
	}
	if first := l.lastOrder == 0 && r.Order.What == Resume; !first {
		select {
		case <-l.orders: // one that nobody took yet is overtaken
		default:
		}
		l.orders <- r.Order.What
	}
	l.lastOrder = r.Order.Number
}
