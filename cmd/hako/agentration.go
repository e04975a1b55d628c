package main

import (
	"time"

	"hako/internal/app"
	"hako/quota"
)

func (w *studio) usage() quota.UsageFile { return app.UsageState(w.conf) }

// book keeps what a task has used of the model since the last time, for hako
// quota. What could not be kept is kept the next time.
func (w *studio) book(e *errand) error {
	if e.bill.Cap != nil {
		return nil // every call was settled with it
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	used := e.bill.Total().Usage
	fresh := used.Less(e.booked)
	if fresh == (quota.Usage{}) {
		return nil
	}
	err := w.usage().Add(quota.Day(time.Now()), w.model.Name, fresh)
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
