package cli

import (
	"context"
	"time"

	"hako/internal/llm"
	"hako/internal/quota"
)

// A rationed model is not asked once all runs of hako together have used up
// their total.
type rationed struct {
	llm.Model
	studio *studio
	errand *errand
}

// Next implements [llm.Model]. Where there is a total, what was used is booked
// after each answer: other tasks, and other processes, use of the same.
func (r rationed) Next(ctx context.Context, d *llm.Dialog) (*llm.Turn, error) {
	total := r.studio.conf.TotalTokens()
	if total == quota.NoLimit {
		return r.Model.Next(ctx, d)
	}
	if err := r.studio.book(r.errand); err != nil { // what could not be booked last time
		return nil, err
	}
	if _, err := r.studio.usage().Within(total, quota.Budget{Weights: weights(r.studio.conf)}); err != nil {
		return nil, err
	}
	turn, err := r.Model.Next(ctx, d)
	r.studio.settleUsage(r.errand)
	return turn, err
}

func (w *studio) usage() quota.State { return quota.State{Path: w.conf.StateFile("usage.json")} }

// book keeps what a task has used of the model since the last time, for hako
// quota. What could not be kept is kept the next time.
func (w *studio) book(e *errand) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	used := e.bill.Total().Usage
	fresh := used.Less(e.booked)
	if fresh == (quota.Usage{}) {
		return nil
	}
	err := w.usage().Add(quota.Day(time.Now()), w.model.name, fresh)
	if err == nil {
		e.booked = used
	}
	return err
}

// settleUsage books where nobody can be refused any more.
func (w *studio) settleUsage(e *errand) {
	if err := w.book(e); err != nil {
		w.view.trouble(err)
	}
}
