package queue

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"hako/run/fault"
)

// A Lease is a task held by a worker. It has to be renewed by [Lease.Renew] or
// [Lease.KeepAlive] and ended by Done, Fail, Release or Park; otherwise another worker
// takes the task over. It is safe for concurrent use.
type Lease struct {
	Item       Item
	Token      uint64          // fencing token: larger than that of every earlier holder
	Deliveries int             // attempts in this round, this one included
	Step       json.RawMessage // that the last holder saved; nil means none

	q *Queue
	m *nats.Msg

	writing sync.Mutex // serializes changes; locked before mu

	mu     sync.Mutex
	now    version
	endErr error // why the lease has ended; nil while it is held
	expiry *time.Timer

	life context.Context // ends with the lease, for whatever reason
	end  context.CancelFunc
	lost chan struct{} // closed when another worker may have the task

	lastOrder uint64 // number of the last order that was delivered
	orders    chan Command
}

// lease makes the lease. It expires here before the server delivers the task to another
// worker, so that two never work at the same time.
func (q *Queue) lease(m *nats.Msg, v version, since time.Time) *Lease {
	l := &Lease{Item: v.Item, Token: v.Token, Deliveries: v.Tries, Step: v.Step, q: q, m: m, now: v,
		lost: make(chan struct{}), orders: make(chan Command, 1)}
	l.life, l.end = context.WithCancel(q.ctx)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.expiry = time.AfterFunc(time.Until(since.Add(q.leaseDuration())), func() { l.lose("it was not renewed in time") })
	l.deliverOrder(v.record)
	return l
}

// leaseDuration is how long a lease lasts here without an answer of the server.
func (q *Queue) leaseDuration() time.Duration { return q.ackWait * 9 / 10 }

// Lost is closed when another worker may hold the task. The worker must stop then.
func (l *Lease) Lost() <-chan struct{} { return l.lost }

// lose ends the lease against our will.
func (l *Lease) lose(why string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.endErr == nil {
		close(l.lost)
	}
	l.endLocked(why)
}

// endLocked ends the lease; mu is held.
func (l *Lease) endLocked(why string) {
	if l.endErr != nil {
		return
	}
	l.endErr = &fault.Error{Kind: fault.Denied, Op: "hold task", Subject: l.Item.ID, Why: why, Err: ErrFenced,
		Hint: "stop working on it and take another"}
	l.expiry.Stop()
	l.end()
}

// held returns the record as we know it, or why the lease has ended.
func (l *Lease) held() (version, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.now, l.endErr
}

// update changes the record if we hold the task.
func (l *Lease) update(ctx context.Context, op string, alter func(*record) error) error {
	l.writing.Lock()
	defer l.writing.Unlock()
	return l.updateAlone(ctx, op, alter)
}

// updateAlone is update for the holder of writing. It gives up when the lease ends: it
// could only come too late.
func (l *Lease) updateAlone(ctx context.Context, op string, alter func(*record) error) error {
	was, err := l.held()
	if err != nil {
		return err
	}
	ctx, cancel := l.within(ctx)
	defer cancel()
	v, err := l.q.change(ctx, op, l.Item.ID, was, func(r *record) error {
		switch {
		case r.Token < l.Token:
			return errConflict // read from a server that lags behind
		case r.Token > l.Token || r.Lease != was.Lease:
			return ErrFenced
		}
		return alter(r)
	})
	if errors.Is(err, ErrFenced) {
		l.lose("another worker has taken it over")
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil {
		return cmp.Or(l.endErr, err)
	}
	l.now = v
	l.deliverOrder(v.record)
	return nil
}

// Renew renews the lease, and finds out whether we still hold the task.
func (l *Lease) Renew(ctx context.Context) error {
	since := time.Now()
	if err := l.extendDelivery(ctx); err != nil {
		return err
	}
	// The write is what counts: it cannot succeed for a worker that lost the lease.
	if err := l.update(ctx, "renew task", func(*record) error { return nil }); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.endErr != nil {
		return l.endErr
	}
	l.expiry.Reset(time.Until(since.Add(l.q.leaseDuration())))
	return nil
}

// extendDelivery resets the server's timer of the message.
func (l *Lease) extendDelivery(ctx context.Context) error {
	return l.q.retry(ctx, "renew task", l.Item.ID, func(ctx context.Context) error {
		if _, err := l.held(); err != nil {
			return err
		}
		_, err := l.q.nc.RequestWithContext(ctx, l.m.Reply, []byte("+WPI"))
		return err
	})
}

// KeepAlive renews the lease in the background until ctx or the lease ends. The context
// it returns ends with the lease, so that work stops when the task is lost.
func (l *Lease) KeepAlive(ctx context.Context) context.Context {
	held, cancel := context.WithCancelCause(ctx)
	l.q.spawn(func() {
		tick := time.NewTicker(l.q.ackWait / 3)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				_ = l.renewInTime(held) // if this continues the lease expires
			case <-l.life.Done():
				_, why := l.held()
				cancel(why) // nil when the queue was closed
				return
			case <-held.Done():
				cancel(nil)
				return
			}
		}
	})
	return held
}

func (l *Lease) renewInTime(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, l.q.ackWait)
	defer cancel()
	return l.Renew(ctx)
}

// Save records the progress of the work, in up to 64 MB of JSON; the next holder
// continues from there.
func (l *Lease) Save(ctx context.Context, step json.RawMessage) error {
	return l.Advance(ctx, step, nil)
}

// Advance is [Lease.Save] for work that no longer needs some of its side effects: those
// that past reports are forgotten in the same write. A task with many thousands of
// effects has to do so, as its record keeps each. A nil past forgets none.
func (l *Lease) Advance(ctx context.Context, step json.RawMessage, past func(effect string) bool) error {
	set, err := l.stepSetter(ctx, step)
	if err != nil {
		return err
	}
	return l.update(ctx, "save step", func(r *record) error {
		set(r)
		if past != nil {
			maps.DeleteFunc(r.Effects, func(name string, _ effect) bool { return past(name) })
		}
		return nil
	})
}

// stepSetter checks a step and returns the function that puts it into the record. A
// large one is written now: that takes time, during which renewals must go on.
func (l *Lease) stepSetter(ctx context.Context, step json.RawMessage) (set func(*record), err error) {
	switch {
	case len(step) > maxStep:
		return nil, &fault.Error{Kind: fault.TooLarge, Op: "save step", Subject: l.Item.ID,
			Why:  fmt.Sprintf("it has %d MB, and a step may have %d", len(step)>>20, maxStep>>20),
			Hint: "keep large things elsewhere and save where they are"}
	case !json.Valid(step):
		return nil, &fault.Error{Kind: fault.Invalid, Op: "save step", Subject: l.Item.ID, Why: "it is not JSON",
			Hint: "pass a JSON value"}
	case len(step) <= maxInlineStep:
		return func(r *record) { r.Step, r.Large = step, nil }, nil
	}
	p, err := l.writeBlob(ctx, "save step", step)
	return func(r *record) { r.Step, r.Large = nil, p }, err
}

// writeBlob writes a blob while the lease lasts.
func (l *Lease) writeBlob(ctx context.Context, op string, content []byte) (*blob, error) {
	if _, err := l.held(); err != nil {
		return nil, err
	}
	ctx, cancel := l.within(ctx)
	defer cancel()
	p, err := l.q.writeBlob(ctx, op, l.Item.ID, content)
	if err != nil {
		_, over := l.held()
		err = cmp.Or(over, err)
	}
	return p, err
}

// finish writes the last change and ends the lease.
func (l *Lease) finish(ctx context.Context, op string, alter func(*record) error) error {
	l.writing.Lock()
	defer l.writing.Unlock()
	err := l.updateAlone(ctx, op, func(r *record) error {
		if err := alter(r); err != nil {
			return err
		}
		r.Holder = ""
		return nil
	})
	if err == nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.endLocked("it was released")
	}
	return err
}

// Done ends the task, with the last step; nil keeps the one before. If the lease ends
// during the write, Done returns an error although the task may be done: the queue
// knows, and delivers it to nobody if it is.
func (l *Lease) Done(ctx context.Context, step json.RawMessage) (err error) {
	set := func(*record) {}
	if step != nil {
		if set, err = l.stepSetter(ctx, step); err != nil {
			return err
		}
	}
	err = l.finish(ctx, "finish task", func(r *record) error {
		r.State, r.Reason = Done, ""
		set(r)
		return nil
	})
	if err == nil {
		l.q.ack(l.m)
	}
	return err
}

// maxReason is how much of the reason of a failure is stored.
const maxReason = 4 << 10

// Fail releases the task for another attempt after a delay, or gives it up after too
// many.
func (l *Lease) Fail(ctx context.Context, reason string) error {
	last := l.Deliveries >= l.q.opt.MaxDeliver
	reason = strings.ToValidUTF8(reason[:min(len(reason), maxReason)], "")
	err := l.finish(ctx, "fail task", func(r *record) error {
		r.State, r.Reason = Queued, reason
		if last {
			r.Reason = ""
			r.giveUp(fmt.Sprintf("it was attempted %d times; the last error: %s", r.Tries, reason))
			r.Lease = l.now.Lease // so that we recognise it if the response gets lost
		}
		return nil
	})
	switch {
	case err != nil:
		return err
	case last:
		return l.q.finishMessage(ctx, l.m, l.now, workMessage{Item: l.Item, Round: l.now.Round})
	}
	l.q.nak(l.m, l.q.backoff(l.Deliveries))
	return nil
}

// backoff returns how long a task waits after some failures.
func (q *Queue) backoff(failures int) time.Duration {
	return q.opt.Backoff[min(max(failures, 1), len(q.opt.Backoff))-1]
}

// Retry returns how long the task waits for its next attempt if this one fails; zero
// means that there is none.
func (l *Lease) Retry() time.Duration {
	if l.Deliveries >= l.q.opt.MaxDeliver {
		return 0
	}
	return l.q.backoff(l.Deliveries)
}

// Release releases the task as if it had not been taken, to be delivered after a delay.
func (l *Lease) Release(ctx context.Context, after time.Duration) error {
	tries := l.Deliveries - 1
	err := l.finish(ctx, "give back task", func(r *record) error {
		r.State, r.Tries = Queued, tries
		return nil
	})
	if err == nil {
		l.q.nak(l.m, after)
	}
	return err
}

// Park puts the task aside until it is ordered to resume or to stop. If that has
// happened already, it returns false and the lease continues.
func (l *Lease) Park(ctx context.Context) (parked bool, err error) {
	errOrdered := errors.New("there is another order")
	err = l.finish(ctx, "park task", func(r *record) error {
		if r.Order != nil && r.Order.What != Pause {
			return errOrdered
		}
		r.State, r.Tries = Parked, 0
		return nil
	})
	if errors.Is(err, errOrdered) {
		return false, nil
	}
	if err == nil {
		l.q.ack(l.m)
	}
	return err == nil, err
}
