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
	if _, err := r.studio.usage().Within(total, quota.Budget{Weights: weights(r.studio.conf)}); err != nil {
		return nil, err
	}
	defer r.studio.book(r.errand)
	return r.Model.Next(ctx, d)
}

func (w *studio) usage() quota.State { return quota.State{Path: w.conf.StateFile("usage.json")} }

// book keeps what a task has used of the model since the last time, for hako
// quota.
func (w *studio) book(e *errand) {
	w.mu.Lock()
	used := e.bill.Total().Usage
	fresh := used.Less(e.booked)
	e.booked = used
	w.mu.Unlock()
	if fresh == (quota.Usage{}) {
		return
	}
	if err := w.usage().Add(quota.Day(time.Now()), w.model.name, fresh); err != nil {
		w.view.trouble(err)
	}
}
