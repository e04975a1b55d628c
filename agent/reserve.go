package agent

import (
	"cmp"
	"context"

	"hako/llm"
	"hako/quota"
)

const (
	// defaultOutput is how many tokens an answer may have under a shared budget if no limit is set: without a limit
	// nothing could be reserved. Models of all providers allow it.
	defaultOutput = 8192
	// minOutput is the least that is reserved for an answer.
	minOutput = 256
)

// reserve reserves what a call may use, and limits the answer to it.
func (l *ChargedModel) reserve(ctx context.Context, d *llm.Dialog) (*quota.Reservation, error) {
	if l.Cap == nil {
		return nil, nil
	}
	if l.Ahead != nil {
		u := l.Ahead()
		return l.Cap.Reserve(ctx, quota.Need{Model: l.Name, Input: u.Input, Cached: u.Cached, Output: u.Output,
			Least: u.Output})
	}
	n := quota.Need{Model: l.Name, Input: maxInput(d), Output: cmp.Or(d.MaxOutput, defaultOutput), Least: minOutput}
	r, err := l.Cap.Reserve(ctx, n)
	if err == nil {
		d.MaxOutput = r.Output
	}
	return r, err
}

// maxInput is more tokens than a dialog has with any tokenizer: twice the estimate covers numbers and codes.
func maxInput(d *llm.Dialog) int64 { return 2*d.Weight() + 100 }

// settlement is what a finished call is charged. A provider that refused has used nothing; a call that was interrupted
// before any output is charged its input.
func (l *ChargedModel) settlement(ctx context.Context, turn *llm.Turn, said *quota.Usage, d *llm.Dialog) quota.Usage {
	u := *said
	switch {
	case turn != nil:
		u = turn.Usage
	case u.Output == 0 && ctx.Err() != nil:
		u.Input = d.Weight()
	}
	u.Calls = 1
	return u
}
