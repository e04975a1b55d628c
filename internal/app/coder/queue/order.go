package queue

import (
	"context"
	"encoding/json"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"hako/run/fault"
)

// A Command is an order to a task.
type Command string

// The commands.
const (
	Pause  Command = "pause"
	Resume Command = "resume"
	Stop   Command = "stop"
)

// An order is a command as a record stores it.
type order struct {
	What   Command   `json:"what"`
	Number uint64    `json:"number"`
	At     time.Time `json:"at"`
}

// Order orders a task to pause, resume or stop, wherever it is: waiting, running,
// between two workers, or parked. The last order counts. A task that has ended accepts
// none.
func (q *Queue) Order(ctx context.Context, id string, what Command) error {
	if what != Pause && what != Resume && what != Stop {
		return &fault.Error{Kind: fault.Invalid, Op: "order task", Subject: string(what), Why: "no such order",
			Hint: "use pause, resume or stop"}
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
		return &fault.Error{Kind: fault.Invalid, Op: "order task", Subject: r.Item.ID, Why: "it has ended",
			Hint: "queue it again if it is to be done once more"}
	}
	next := order{What: what, Number: 1, At: time.Now().UTC()}
	if r.Order != nil {
		next.Number += r.Order.Number
	}
	r.Order = &next
	return nil
}

// Orders returns a channel of the orders to the task, including one that was given
// before it was taken. Of several orders only the last is delivered. The channel is
// never closed.
func (l *Lease) Orders(ctx context.Context) (<-chan Command, error) {
	ctx, cancel := l.within(ctx)
	var w jetstream.KeyWatcher
	err := l.q.retry(ctx, "hear orders for", l.Item.ID, func(context.Context) (err error) {
		w, err = l.q.bucket.Watch(ctx, key(l.Item.ID)) // ends with its context
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

// observeRecord handles a version of the record that somebody wrote, possibly an old
// one.
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

// deliverOrder delivers a new order. An order to resume is not delivered to a worker
// that just took the task. The lock is held.
func (l *Lease) deliverOrder(r *record) {
	if r.Order == nil || r.Order.Number <= l.lastOrder {
		return
	}
	if first := l.lastOrder == 0 && r.Order.What == Resume; !first {
		select {
		case <-l.orders: // one that was not received yet is replaced
		default:
		}
		l.orders <- r.Order.What
	}
	l.lastOrder = r.Order.Number
}
