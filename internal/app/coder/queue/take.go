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

// pullTimeout is how long the server keeps a request for work. It bounds how long a
// request is missed that a failing server forgot.
const pullTimeout = 3 * time.Second

// Reasons not to take a task.
var (
	errAlreadyHeld = errors.New("we have it already")
	errNothingToDo = errors.New("there is nothing to do in this round")
)

// Take waits for a task and takes it. It ends early only with ctx, with the queue, or
// if the server refuses for a reason that waiting does not remove.
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

// A puller is an inbox for a request for work. Each request needs its own: a message
// says where it was stored, not who asked.
type puller struct {
	sub   *nats.Subscription
	inbox string
}

// puller returns an idle puller.
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

// next asks for one message. Nil means that there was none. If the caller stops
// waiting, a goroutine gives back what still arrives.
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
		return nil, nil // the request expired
	}
	return nil, q.sleep(ctx, 100*time.Millisecond) // the server failed, or the connection is lost
}

// statusHeader is set in a response that is no message.
const statusHeader = "Status"

// answer waits for the response to a puller, which is idle then. Without a response in
// time the puller is dropped.
func (q *Queue) answer(ctx context.Context, p *puller) (*nats.Msg, error) {
	within, cancel := context.WithTimeout(ctx, pullTimeout+requestTimeout)
	defer cancel()
	m, err := p.sub.NextMsgWithContext(within)
	if err == nil {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.idle = append(q.idle, p)
	} else if ctx.Err() == nil {
		_ = p.sub.Unsubscribe() // what still arrives is delivered again in time
	}
	return m, err
}

// nak has the server deliver a message again after a delay. If that does not reach it,
// it does so when the lease expires.
func (q *Queue) nak(m *nats.Msg, after time.Duration) {
	if m != nil && m.Reply != "" {
		_ = q.nc.Publish(m.Reply, fmt.Appendf(nil, `-NAK {"delay":%d}`, max(0, after.Nanoseconds())))
	}
}

// ack removes a message. If that gets lost the message is delivered again, has no
// effect, and is acknowledged then.
func (q *Queue) ack(m *nats.Msg) { _ = q.nc.Publish(m.Reply, []byte("+ACK")) }

// claim makes us the holder of the task of a message. Without a lease and an error
// there was nothing to do.
func (q *Queue) claim(ctx context.Context, m *nats.Msg) (*Lease, error) {
	var c workMessage
	if err := json.Unmarshal(m.Data, &c); err != nil || c.ID == "" {
		q.ack(m) // it is not ours, and would come back for ever
		return nil, nil
	}
	since, self, wasDead := time.Now(), nonce(), false
	first := version{}
	if c.Round == 0 {
		first.record = &record{} // most have no record yet, so nothing needs to be read
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

// withStep reads the step of a task that was just taken, if it is a large one. A task
// whose step is lost has failed once more.
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
		return nil, nil // it took too long: another worker may have the task
	case fault.KindOf(err) == fault.Invalid:
		return nil, l.Fail(ctx, err.Error())
	}
	return nil, errors.Join(err, l.Release(context.WithoutCancel(ctx), time.Second))
}

// acquire makes us the holder, or gives the task up.
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
		r.giveUp(fmt.Sprintf("no worker could finish it in %d attempts", r.Tries))
		return nil
	}
	r.Tries++
	r.State = Held
	return nil
}

// startRound starts a new round.
func (r *record) startRound(c workMessage) {
	if r.State != Parked {
		r.Order = nil // it was carried out, or came too late
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

// finishMessage removes a message without effect. It first writes the dead letter that
// a killed worker may not have written.
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
