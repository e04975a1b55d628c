package agent

import (
	"cmp"
	"context"

	"hako/llm"
	"hako/quota"
)

const (
	// usualAnswer is how many tokens an answer may have where there is a total for all runs and nobody set a limit:
	// without any limit nothing could be reserved. It is what models of all providers allow.
	usualAnswer = 8192
	// leastAnswer is how many tokens it must be worth asking for.
	leastAnswer = 256
)

// reserve sets aside what a call may use, and has the provider hold the answer to it.
func (l *ChargedModel) reserve(ctx context.Context, d *llm.Dialog) (*quota.Reservation, error) {
	if l.Cap == nil {
		return nil, nil
	}
	if l.Ahead != nil {
		u := l.Ahead()
		return l.Cap.Reserve(ctx, quota.Need{Model: l.Name, Input: u.Input, Cached: u.Cached, Output: u.Output,
			Least: u.Output})
	}
	n := quota.Need{Model: l.Name, Input: mostInput(d), Output: cmp.Or(d.MaxOutput, usualAnswer), Least: leastAnswer}
	r, err := l.Cap.Reserve(ctx, n)
	if err == nil {
		d.MaxOutput = r.Output
	}
	return r, err
}

// mostInput is more tokens than a dialog has with any tokenizer: the estimate is two times what English and Japanese
// have, which covers numbers and codes.
func mostInput(d *llm.Dialog) int64 { return 2*weightOf(d) + 100 }

// settlement is what a call counts for that has ended. A provider that refused has used nothing; of a call that was
// interrupted before its first word nobody knows more than that its input was sent.
func (l *ChargedModel) settlement(ctx context.Context, turn *llm.Turn, said *quota.Usage, d *llm.Dialog) quota.Usage {
	u := *said
	switch {
	case turn != nil:
		u = turn.Usage
	case u.Output == 0 && ctx.Err() != nil:
		u.Input = weightOf(d)
	}
	u.Calls = 1
	return u
}
