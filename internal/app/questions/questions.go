// Package questions keeps the questions of gates until a person answers them through a page or a program.
//
// The gate judges and the HTTP API records. Anything but a clear yes of an operator in time means no.
package questions

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"sync"
	"time"

	"hako/gate"
	"hako/internal/app/access"
	"hako/internal/text"
	"hako/run/fault"
)

// A List keeps open questions. The zero List is ready for use, and safe for concurrent use.
type List struct {
	Wait time.Duration    // for an answer; zero means 300 seconds
	Most int              // open questions; zero means 1,000
	Now  func() time.Time // nil means time.Now

	mu       sync.Mutex
	open     map[string]*openQuestion
	asked    int // number of questions so far
	past     map[string]string
	pastIDs  []string // the keys of past, oldest first
	watchers map[chan struct{}]struct{}
}

// A openQuestion is an open question.
type openQuestion struct {
	Question
	number int
	answer chan gate.Answer // has room for one
}

const (
	defaultWait = 300 * time.Second
	defaultMost = 1000

	maxPerActor = 50   // open questions of one actor
	maxReason   = 1000 // characters
	maxPast     = 1000 // ended questions that are remembered to explain a late answer
)

// How a question ended.
const (
	endAnswered = "somebody has answered it already"
	endTimeout  = "nobody answered in time, which was a no"
	endGone     = "who asked has gone"
)

// Ask asks a question and waits for the answer. Silence and the end of ctx mean no, with an error. It fits
// [gate.Options.Ask].
func (d *List) Ask(ctx context.Context, q gate.Question) (gate.Answer, error) {
	return d.ask(ctx, q, "")
}

// AskIn is [List.Ask] for a conversation, in which the question is shown.
func (d *List) AskIn(session string) func(context.Context, gate.Question) (gate.Answer, error) {
	return func(ctx context.Context, q gate.Question) (gate.Answer, error) { return d.ask(ctx, q, session) }
}

func (d *List) ask(ctx context.Context, q gate.Question, session string) (gate.Answer, error) {
	wait := cmp.Or(d.Wait, defaultWait)
	m, err := d.add(ctx, q, session, wait)
	if err != nil {
		return gate.No, err
	}
	silence := time.NewTimer(wait)
	defer silence.Stop()
	select {
	case a := <-m.answer:
		return a, nil
	case <-silence.C:
		return d.end(m, endTimeout, &fault.Error{Kind: fault.Timeout, Op: "ask", Why: fmt.Sprintf("nobody answered within %v",
			wait), Err: context.DeadlineExceeded})
	case <-ctx.Done():
		return d.end(m, endReason(ctx), context.Cause(ctx))
	}
}

// endReason returns why a question whose context ended is closed.
func endReason(ctx context.Context) string {
	if ctx.Err() == context.DeadlineExceeded {
		return endTimeout
	}
	return endGone
}

func (d *List) add(ctx context.Context, q gate.Question, session string, wait time.Duration) (*openQuestion, error) {
	now := d.now()
	ends := now.Add(wait)
	if limit, ok := ctx.Deadline(); ok && limit.Before(ends) {
		ends = limit
	}
	m := &openQuestion{answer: make(chan gate.Answer, 1), Question: Question{
		ID: rand.Text(), Question: q, Session: session, Asked: now, Ends: ends,
	}}
	m.Reason = shorten(q.Reason)
	d.mu.Lock()
	defer d.mu.Unlock()
	if most := cmp.Or(d.Most, defaultMost); len(d.open) >= most {
		return nil, &fault.Error{Kind: fault.Exhausted, Op: "ask", Why: fmt.Sprintf("%d questions wait for an answer already",
			most),
			Hint: "answer some of them first"}
	}
	if own := d.countOf(q.Actor); own >= maxPerActor {
		return nil, &fault.Error{Kind: fault.Exhausted, Op: "ask",
			Why:  fmt.Sprintf("%d questions of %s wait for an answer already", own, q.Actor),
			Hint: "wait until they are answered"}
	}
	if d.open == nil {
		d.open = map[string]*openQuestion{}
	}
	d.asked++
	m.number = d.asked
	d.open[m.ID] = m
	d.changed()
	return m, nil
}

// countOf counts the open questions of one actor. The caller holds mu.
func (d *List) countOf(actor string) (n int) {
	for _, m := range d.open {
		if m.Actor == actor {
			n++
		}
	}
	return n
}

func shorten(reason string) string { return text.Shorten(reason, maxReason) }

func (d *List) now() time.Time {
	if d.Now == nil {
		return time.Now()
	}
	return d.Now()
}

// end closes an unanswered question. An answer given at the last moment counts.
func (d *List) end(m *openQuestion, how string, err error) (gate.Answer, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	select {
	case a := <-m.answer:
		return a, nil
	default:
	}
	d.remove(m.ID, how)
	return gate.No, err
}

// remove closes a question. The caller holds mu.
func (d *List) remove(id, how string) {
	delete(d.open, id)
	if d.past == nil {
		d.past = map[string]string{}
	}
	d.past[id] = how
	d.pastIDs = append(d.pastIDs, id)
	if len(d.pastIDs) > maxPast {
		delete(d.past, d.pastIDs[0])
		d.pastIDs = d.pastIDs[1:]
	}
	d.changed()
}

// Pending returns the open questions, oldest first.
func (d *List) Pending(context.Context) ([]Question, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	matters := make([]*openQuestion, 0, len(d.open))
	for _, m := range d.open {
		matters = append(matters, m)
	}
	slices.SortFunc(matters, func(a, b *openQuestion) int { return cmp.Compare(a.number, b.number) })
	questions := make([]Question, len(matters))
	for i, m := range matters {
		questions[i] = m.Question
	}
	return questions, nil
}

// Answer answers a question for an operator. The error is fault.Invalid if it was answered before, and fault.NotFound
// if it ended otherwise or never existed.
func (d *List) Answer(_ context.Context, who access.Actor, id string, a gate.Answer) error {
	e := &fault.Error{Kind: fault.Invalid, Op: "answer question", Subject: id}
	switch {
	case who.Role != access.Operator:
		e.Kind, e.Why, e.Hint = fault.Denied, "a reader may look but not decide", "log in with the token of an operator"
		return e
	case a > gate.Session:
		e.Why = "there is no such answer"
		return e
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	m := d.open[id]
	if m == nil {
		return d.lateError(e)
	}
	m.answer <- a
	d.remove(id, endAnswered)
	return nil
}

// lateError explains why a question cannot be answered. The caller holds mu.
func (d *List) lateError(e *fault.Error) error {
	switch e.Why = d.past[e.Subject]; e.Why {
	case endAnswered:
	case "":
		e.Kind, e.Why, e.Hint = fault.NotFound, "no such question waits",
			"see which do: a question has a new number each time"
	default:
		e.Kind = fault.NotFound
	}
	return e
}

// Changed returns a channel that receives after the list of questions has changed, and is closed when ctx ends.
// Several changes may be combined.
func (d *List) Changed(ctx context.Context) <-chan struct{} {
	c := make(chan struct{}, 1)
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.watchers == nil {
		d.watchers = map[chan struct{}]struct{}{}
	}
	d.watchers[c] = struct{}{}
	context.AfterFunc(ctx, func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		delete(d.watchers, c)
		close(c)
	})
	return c
}

// changed notifies the watchers. The caller holds mu, so that no channel is closed meanwhile.
func (d *List) changed() {
	for c := range d.watchers {
		select {
		case c <- struct{}{}:
		default: // a notification is pending
		}
	}
}
