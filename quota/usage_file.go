package quota

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"

	"hako/internal/ownerfile"
	"hako/run/fault"
)

// A UsageFile keeps usage across runs: by period, then by model. Several processes may add to one file.
type UsageFile struct {
	Path string
}

// Periods holds the usage of each model in each period.
type Periods map[string]map[string]Usage

// Day returns the default period: one calendar day.
func Day(t time.Time) string { return t.Format(time.DateOnly) }

// Add adds usage to a period. The model "" stands for usage without a model.
func (s UsageFile) Add(period, model string, u Usage) error {
	return s.change(func(p Periods) { p.add(period, model, u) })
}

func (p Periods) add(period, model string, u Usage) {
	if p[period] == nil {
		p[period] = make(map[string]Usage)
	}
	p[period][model] = p[period][model].Add(u)
}

// Reset removes a period; "" removes all. Reservations of dead processes belong to their period.
func (s UsageFile) Reset(period string) error {
	if err := s.Reclaim(); err != nil {
		return err
	}
	return s.change(func(p Periods) {
		if period == "" {
			clear(p)
		}
		delete(p, period)
	})
}

// Show returns the content of the file; a missing file means no usage.
func (s UsageFile) Show() (Periods, error) {
	f, err := ownerfile.Open(s.Path, os.O_RDONLY)
	if fault.KindOf(err) == fault.NotFound {
		return make(Periods), nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(f)
	if err != nil {
		return nil, err
	}
	p := make(Periods)
	if err := json.Unmarshal(text, &p); err != nil {
		return nil, &fault.Error{Kind: fault.Invalid, Op: "read usage", Subject: s.Path, Err: err,
			Hint: "move the file away to begin anew"}
	}
	return p, nil
}

// Spent returns the weighted tokens of all periods, rounded up. Weights are as in [Limits].
func (s UsageFile) Spent(weights map[string]Weights) (int64, error) {
	periods, err := s.Show()
	return whole(periods.quarters(weights)), err
}

// quarters returns the weighted tokens of all periods, in quarters.
func (p Periods) quarters(weights map[string]Weights) (sum int64) {
	scale := New(Limits{Weights: weights})
	for _, models := range p {
		for model, u := range models {
			sum = plus(sum, scale.weightsOf(model).Quarters(u))
		}
	}
	return sum
}

// Within returns b with at most the tokens that are left of a total for all periods. The error is
// [fault.Exhausted] if none are.
func (s UsageFile) Within(total int64, b Limits) (Limits, error) {
	if total == NoLimit {
		return b, nil
	}
	spent, err := s.Spent(b.Weights)
	if err != nil {
		return b, err
	}
	if spent >= total {
		return b, &fault.Error{Kind: fault.Exhausted, Op: "charge", Why: fmt.Sprintf("all runs together used %d of %d tokens",
			spent, total),
			Hint: "raise quota.total_tokens, or begin anew with hako quota reset"}
	}
	if b.Tokens == 0 {
		b.Tokens = DefaultLimits().Tokens
	}
	b.Tokens = min(b.Tokens, total-spent)
	return b, nil
}

// change reads, alters and replaces the file.
func (s UsageFile) change(alter func(Periods)) error {
	return s.locked(func() error {
		p, err := s.Show()
		if err != nil {
			return err
		}
		alter(p)
		return s.write(p)
	})
}

// locked calls do while holding a lock between processes. The lock is a second file, since replacing the first
// would remove its lock.
func (s UsageFile) locked(do func() error) error {
	lock, err := ownerfile.Open(s.Path+".lock", os.O_CREATE|os.O_RDWR)
	if err != nil {
		return err
	}
	defer lock.Close() // which unlocks it
	if err := ownerfile.Lock(lock); err != nil {
		return &fault.Error{Kind: fault.Unavailable, Op: "lock usage", Subject: s.Path, Err: err}
	}
	defer ownerfile.Unlock(lock)
	return do()
}

func (s UsageFile) write(p Periods) error {
	text, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return err
	}
	return ownerfile.Replace(s.Path, append(text, '\n'))
}
