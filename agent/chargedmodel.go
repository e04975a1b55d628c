package agent

import (
	"context"
	"errors"
	"sync"
	"time"

	"hako/audit"
	"hako/llm"
	"hako/quota"
	"hako/run/fault"
)

// A ChargedModel charges and records every call of a model, each try for itself. It stands directly before the
// provider. The fields up to Log are required.
type ChargedModel struct {
	Model  llm.Model
	ID     string // of the run, for the record
	Name   string // of the model, for the record and for its weights
	Actor  string
	Budget *quota.Budget
	Log    audit.Log
	// Cap holds each call to what all runs together may use; nil means that nothing does.
	Cap *quota.SharedBudget
	// Ahead tells what the next call will use, of a model that knows. Nil means that it is estimated.
	Ahead func() quota.Usage
	// Price returns what usage costs in dollars; false means that nobody knows. Nil means that nobody ever does.
	Price func(model string, u quota.Usage) (dollars float64, known bool)

	mu    sync.Mutex // guards total
	total Total
}

// A Total is what a model was used for.
type Total struct {
	quota.Usage
	Tries    int     // calls, also those that came to nothing
	Failed   int     // calls that came to nothing
	Cost     float64 // dollars, as far as prices are known
	Unpriced bool    // some of it has no known price
	Time     time.Duration
}

// SharedBudget returns what was used so far.
func (l *ChargedModel) Total() Total {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.total
}

// next implements [llm.Model].
func (l *ChargedModel) Next(ctx context.Context, d *llm.Dialog) (*llm.Turn, error) {
	if err := l.Budget.Charge(quota.Usage{Calls: 1}); err != nil {
		return nil, err
	}
	heard, said := l.listen(d)
	reserved, err := l.reserve(ctx, heard)
	if err != nil {
		return nil, err // unreserved means unasked
	}
	if err := l.Log.Append(audit.Event{What: audit.Asked, ID: l.ID, Actor: l.Actor, Provider: l.Name,
		Mode: "model"}); err != nil {
		return nil, errors.Join(err, reserved.Settle(quota.Usage{})) // unrecorded means unasked
	}
	began := time.Now()
	turn, err := l.Model.Next(ctx, heard)
	if err != nil && said.Output > 0 {
		said.Input = weightOf(d)
	}
	over := l.book(turn, said, err, time.Since(began))
	settled := reserved.Settle(l.settlement(ctx, turn, said, d))
	for _, e := range []error{err, over, settled} {
		if e != nil {
			return nil, e
		}
	}
	return turn, nil
}

// listen counts what the model says, so that an answer that breaks off is paid for too: the provider does not tell what
// it was worth.
func (l *ChargedModel) listen(d *llm.Dialog) (*llm.Dialog, *quota.Usage) {
	heard, said := *d, new(quota.Usage)
	heard.OnText = func(piece string) {
		said.Output += llm.Estimate(piece)
		if d.OnText != nil {
			d.OnText(piece)
		}
	}
	return &heard, said
}

// weightOf estimates the tokens of a whole dialog.
func weightOf(d *llm.Dialog) int64 {
	n := fixedWeight(d)
	for i := range d.Items {
		n += d.Items[i].Weight()
	}
	return n
}

// book charges and records what came of a call.
func (l *ChargedModel) book(turn *llm.Turn, said *quota.Usage, failed error, took time.Duration) error {
	e := audit.Event{What: audit.Model, ID: l.ID, Actor: l.Actor, Provider: l.Name, Micros: took.Microseconds()}
	u := *said
	if turn != nil {
		u = turn.Usage
	} else {
		l.fail()
	}
	over := l.Budget.ChargeModel(l.Name, u)
	e.Input, e.Cached, e.Output, e.Tokens = u.Input, u.Cached, u.Output, l.Budget.Weigh(l.Name, u)
	e.Cost = l.add(u, took)
	if failed != nil {
		e.Error, e.Kind = failed.Error(), fault.KindOf(failed).String()
	}
	if err := l.Log.Append(e); err != nil {
		return err
	}
	return over
}

func (l *ChargedModel) fail() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.total.Failed++
}

// add sums up and returns the cost.
func (l *ChargedModel) add(u quota.Usage, took time.Duration) (dollars float64) {
	known := u == quota.Usage{}
	if l.Price != nil && !known {
		dollars, known = l.Price(l.Name, u)
	}
	u.Calls = 1
	l.mu.Lock()
	defer l.mu.Unlock()
	l.total.Usage = l.total.Add(u)
	l.total.Tries++
	l.total.Cost += dollars
	l.total.Unpriced = l.total.Unpriced || !known
	l.total.Time += took
	return dollars
}
