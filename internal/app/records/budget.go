package records

import (
	"context"
	"maps"
	"slices"
	"time"

	"hako/quota"
)

// Budget reports the usage of models by all runs.
type Budget struct {
	State quota.UsageFile

	Total   int64                                     // limit in weighted tokens; [quota.NoLimit] means none
	Weights map[string]quota.Weights                  // see [quota.Budget]; nil means the default
	Cost    func(model string, u quota.Usage) float64 // in dollars; nil means unknown
	Clock   func() time.Time                          // nil means time.Now
}

// Days implements [hako/internal/web/api.Budget]: the latest calendar days since the first usage.
func (b Budget) Days(_ context.Context, newest int) ([]Day, error) {
	used, err := b.State.Show()
	if err != nil || len(used) == 0 {
		return nil, err
	}
	first := slices.Min(slices.Collect(maps.Keys(used)))
	var days []Day
	for at := now(b.Clock); len(days) < min(newest, maxDays) && quota.Day(at) >= first; at = at.AddDate(0, 0, -1) {
		days = append(days, b.day(quota.Day(at), used))
	}
	slices.Reverse(days)
	return days, nil
}

func (b Budget) day(name string, used quota.Periods) Day {
	d := Day{Day: name, Models: []ModelUsage{}}
	scale := quota.New(quota.Limits{Weights: b.Weights})
	for _, model := range slices.Sorted(maps.Keys(used[name])) {
		u := used[name][model]
		if model == "" && u.Calls == 0 {
			continue // scripts and files, not a model
		}
		one := ModelUsage{Model: model, Calls: u.Calls, Input: u.Input, Cached: u.Cached, Output: u.Output,
			Tokens: scale.Weigh(model, u)}
		if b.Cost != nil {
			one.Cost = b.Cost(model, u)
		}
		d.Models = append(d.Models, one)
	}
	return d
}

// Left implements [hako/internal/web/api.Budget].
func (b Budget) Left(context.Context) (Left, error) {
	if b.Total == quota.NoLimit {
		return Left{Tokens: -1, Total: -1}, nil
	}
	total := max(b.Total, 0)
	spent, err := b.State.Spent(b.Weights)
	return Left{Tokens: max(0, total-spent), Total: total}, err
}
