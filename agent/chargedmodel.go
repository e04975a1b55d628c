package agent

import (
	"cmp"
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
	// Cap is the budget of all runs together; nil means no such limit.
	Cap *quota.SharedBudget
	// Ahead returns what the next call will use, if the model knows. Nil means that it is estimated.
	Ahead func() quota.Usage
	// Price returns what usage costs in dollars; false means that the price is not known. Nil means that none is.
	Price func(model string, u quota.Usage) (dollars float64, known bool)

	mu    sync.Mutex // guards total
	total Total
}

// A Total is the usage of a model so far.
type Total struct {
	quota.Usage
	Tries    int     // calls, also those that failed
	Failed   int     // calls that failed
	Cost     float64 // dollars, as far as prices are known
	Unpriced bool    // some of it has no known price
	Time     time.Duration
}

// Total returns the usage so far.
func (l *ChargedModel) Total() Total {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.total
}

// Next implements [llm.Model].
func (l *ChargedModel) Next(ctx context.Context, d *llm.Dialog) (*llm.Turn, error) {
	if err := l.Budget.Charge(quota.Usage{Calls: 1}); err != nil {
		return nil, err
	}
	wrapped, said := l.listen(d)
	reserved, err := l.reserve(ctx, wrapped)
	if err != nil {
		return nil, err // without a reservation the model is not asked
	}
	if err := l.Log.Append(audit.Event{What: audit.Asked, ID: l.ID, Actor: l.Actor, Provider: l.Name,
		Mode: "model"}); err != nil {
		return nil, errors.Join(err, reserved.Settle(quota.Usage{})) // without a record the model is not asked
	}
	began := time.Now()
	turn, err := l.Model.Next(ctx, wrapped)
	if err != nil && said.Output > 0 {
		said.Input = d.Weight()
	}
	over := l.book(turn, said, err, time.Since(began))
	settled := reserved.Settle(l.settlement(ctx, turn, said, d))
	if err := cmp.Or(err, over, settled); err != nil {
		return nil, err
	}
	return turn, nil
}

// listen counts the text that the model streams, so that a truncated answer is charged too: the provider does not
// report its usage.
func (l *ChargedModel) listen(d *llm.Dialog) (*llm.Dialog, *quota.Usage) {
	wrapped, said := *d, new(quota.Usage)
	wrapped.OnText = func(piece string) {
		said.Output += llm.Estimate(piece)
		if d.OnText != nil {
			d.OnText(piece)
		}
	}
	return &wrapped, said
}

// book charges and records the outcome of a call.
func (l *ChargedModel) book(turn *llm.Turn, said *quota.Usage, failed error, took time.Duration) error {
	e := audit.Event{What: audit.Model, ID: l.ID, Actor: l.Actor, Provider: l.Name, Micros: took.Microseconds()}
	u := *said
	if turn != nil {
		u = turn.Usage
	}
	over := l.Budget.ChargeModel(l.Name, u)
	e.Input, e.Cached, e.Output, e.Tokens = u.Input, u.Cached, u.Output, l.Budget.Weigh(l.Name, u)
	e.Cost = l.add(u, took, turn == nil)
	if failed != nil {
		e.Error, e.Kind = failed.Error(), fault.KindOf(failed).String()
	}
	if err := l.Log.Append(e); err != nil {
		return err
	}
	return over
}

// add adds a call to the total and returns its cost.
func (l *ChargedModel) add(u quota.Usage, took time.Duration, failed bool) (dollars float64) {
	known := u == quota.Usage{}
	if l.Price != nil && !known {
		dollars, known = l.Price(l.Name, u)
	}
	u.Calls = 1
	l.mu.Lock()
	defer l.mu.Unlock()
	l.total.Usage = l.total.Add(u)
	l.total.Tries++
	if failed {
		l.total.Failed++
	}
	l.total.Cost += dollars
	l.total.Unpriced = l.total.Unpriced || !known
	l.total.Time += took
	return dollars
}
