package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"

	"hako/run/fault"
)

// pullTimeout is how long the server keeps a request for work before it says that there
// is none. It bounds how long a request that a failing server forgot is missed.
const pullTimeout = 3 * time.Second

// Reasons not to take a task, which nobody outside sees.
var (
	errAlreadyHeld = errors.New("we have it already")
	errNothingToDo = errors.New("there is nothing to do in this round")
)

// Take waits for a task and takes it. It ends early only with its context, with
// the queue, or when the server refuses for a reason that waiting does not mend.
func (q *Queue) Take(ctx context.Context) (*Lease, error) {
	for {
		m, err := q.next(ctx)
		if err != nil {
			return nil, err
		}
		if m == nil {
			continue
		}
		l, err := q.claim(ctx, m)
		if l != nil || err != nil {
			return l, err
		}
	}
}

// A puller is an address for answers. Each request for work needs one of its
// own: the messages that come say where they were put, not who asked.
type puller struct {
	sub   *nats.Subscription
	inbox string
}

// puller returns an address that waits for nothing.
func (q *Queue) puller() (*puller, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if n := len(q.idle); n > 0 {
		p := q.idle[n-1]
		q.idle = q.idle[:n-1]
		return p, nil
	}
	inbox := q.nc.NewInbox()
	sub, err := q.nc.SubscribeSync(inbox)
	return &puller{sub, inbox}, err
}

// next asks for one message. Nil means that there was none. Whoever stops
// waiting leaves somebody behind to give back what still comes.
func (q *Queue) next(ctx context.Context) (*nats.Msg, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	p, err := q.puller()
	if err == nil {
		subject := "$JS.API.CONSUMER.MSG.NEXT." + q.streamName("work") + "." + consumerName
		err = q.nc.PublishRequest(subject, p.inbox, fmt.Appendf(nil, `{"batch":1,"expires":%d}`, pullTimeout.Nanoseconds()))
	}
	if err != nil {
		return nil, q.wrapError("take task", q.opt.Name, err)
	}
	m, err := q.answer(ctx, p)
	switch {
	case ctx.Err() != nil && err != nil:
		q.spawn(func() { m, _ := q.answer(q.ctx, p); q.nak(m, 0) })
		return nil, ctx.Err()
	case ctx.Err() != nil:
		q.nak(m, 0)
		return nil, ctx.Err()
	case err == nil && m.Header.Get(statusHeader) == "":
		return m, nil
	case err == nil && m.Header.Get(statusHeader) == "408":
		return nil, nil // the server has waited for us
	}
	return nil, q.sleep(ctx, 100*time.Millisecond) // a server that fails, or we are cut off
}

// statusHeader is in the header of an answer that is no message.
const statusHeader = "Status"

// answer waits for what comes to an address. The address is free for another
// request then; if nothing came in time it is given up.
func (q *Queue) answer(ctx context.Context, p *puller) (*nats.Msg, error) {
	within, cancel := context.WithTimeout(ctx, pullTimeout+requestTimeout)
	defer cancel()
	m, err := p.sub.NextMsgWithContext(within)
	if err == nil {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.idle = append(q.idle, p)
	} else if ctx.Err() == nil {
		_ = p.sub.Unsubscribe() // whatever still comes is handed out again in time
	}
	return m, err
}

// nak lets the server hand out a message again after a while. If that does
// not reach it, it does so by itself when the time of the lease is over.
func (q *Queue) nak(m *nats.Msg, after time.Duration) {
	if m != nil && m.Reply != "" {
		_ = q.nc.Publish(m.Reply, fmt.Appendf(nil, `-NAK {"delay":%d}`, max(0, after.Nanoseconds())))
	}
}

// ack removes a message. If that gets lost it comes again, finds that there
// is nothing to do, and is dismissed then.
func (q *Queue) ack(m *nats.Msg) { _ = q.nc.Publish(m.Reply, []byte("+ACK")) }

// claim makes us the holder of the task that a message is about. Neither lease
// nor error means that there was nothing to do.
func (q *Queue) claim(ctx context.Context, m *nats.Msg) (*Lease, error) {
	var c workMessage
	if err := json.Unmarshal(m.Data, &c); err != nil || c.ID == "" {
		q.ack(m) // not from us; it would come back for ever
		return nil, nil
	}
	since, self, wasDead := time.Now(), nonce(), false
	first := version{}
	if c.Round == 0 {
		first.record = &record{} // most have no record yet; then nothing needs to be read
	}
	v, err := q.change(ctx, "take task", c.ID, first, func(r *record) error {
		wasDead = r.State == Dead
		return q.acquire(r, c, self)
	})
	switch {
	case errors.Is(err, errNothingToDo):
		return nil, q.finishMessage(ctx, m, v, c)
	case err != nil && !errors.Is(err, errAlreadyHeld):
		q.nak(m, time.Second)
		return nil, err
	case v.State == Dead:
		return nil, q.finishMessage(ctx, m, v, c)
	case wasDead:
		if err := q.undoDeadLetter(ctx, c.ID); err != nil {
			q.nak(m, time.Second)
			return nil, err
		}
	}
	return q.withStep(ctx, q.lease(m, v, since))
}

// withStep reads the step of a task that was just taken, if it is a large one. A
// task whose step is lost has failed once more.
func (q *Queue) withStep(ctx context.Context, l *Lease) (*Lease, error) {
	large := l.now.Large
	if large == nil {
		return l, nil
	}
	reading, stop := context.WithCancel(ctx)
	defer stop()
	step, err := q.readBlob(l.KeepAlive(reading), "take task", l.Item.ID, large)
	if err == nil {
		l.Step = step
		return l, nil
	}
	_, over := l.held()
	switch {
	case over != nil:
		return nil, nil // it took too long, and somebody else may have it
	case fault.KindOf(err) == fault.Invalid:
		return nil, l.Fail(ctx, err.Error())
	}
	return nil, errors.Join(err, l.Release(context.WithoutCancel(ctx), time.Second))
}

// acquire makes a worker the holder, or gives the task up.
func (q *Queue) acquire(r *record, c workMessage, self string) error {
	switch {
	case r.State == Held && r.Lease == self:
		return errAlreadyHeld
	case r.State == "":
		*r = record{Item: c.Item, Round: c.Round}
	case c.Round < r.Round, c.Round == r.Round && r.ended():
		return errNothingToDo
	case c.Round > r.Round:
		r.startRound(c)
	}
	r.Token++
	r.Lease, r.Holder = self, q.opt.Worker
	if r.Tries >= q.opt.MaxDeliver {
		r.giveUp(fmt.Sprintf("no worker came to an end with it in %d tries", r.Tries))
		return nil
	}
	r.Tries++
	r.State = Held
	return nil
}

// startRound starts a new round.
func (r *record) startRound(c workMessage) {
	if r.State != Parked {
		r.Order = nil // it was obeyed, or came too late
	}
	r.Item, r.Round, r.Tries = c.Item, c.Round, 0
	if c.Forget {
		r.Step, r.Large, r.Effects, r.Reason = nil, nil, nil, ""
	}
}

func (r *record) giveUp(why string) {
	if r.Reason != "" {
		why += "; the last one said: " + r.Reason
	}
	r.State, r.Reason, r.Holder, r.Lease = Dead, why, "", ""
}

// finishMessage removes a message that means nothing any more, but sees to the letter
// first that somebody who was killed may not have written.
func (q *Queue) finishMessage(ctx context.Context, m *nats.Msg, v version, c workMessage) error {
	if v.State == Dead && v.Round == c.Round {
		if err := q.deadLetter(ctx, c.ID); err != nil {
			q.nak(m, time.Second)
			return err
		}
	}
	q.ack(m)
	return nil
}
