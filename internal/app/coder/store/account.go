package store

import (
	"context"
	"math"
	"time"

	"hako/internal/app/coder"
)

// Limits of an account, which is read and written with every turn of a model.
const (
	minTasks  = 100            // that are never folded
	maxTasks  = 3000           // more would not fit into a value
	idleAfter = 24 * time.Hour // after which a task counts as ended
)

// An account is what a user has spent in a month, by task. The cost of a task is set
// rather than added, so that setting it twice does no harm.
//
// If there are many, those that were not charged for a day are folded into one sum. A
// task that was paused for longer and then continues counts twice: too much rather than
// too little.
type account struct {
	User  string           `json:"user"`
	Month string           `json:"month"`
	Tasks map[string]entry `json:"tasks"`
	Rest  coder.Spent      `json:"rest"` // of all other tasks
}

type entry struct {
	coder.Spent
	At int64 `json:"at,omitempty"` // when it was set, in seconds
}

func (a *account) charge(task string, spent coder.Spent, now time.Time) {
	if a.Tasks == nil {
		a.Tasks = make(map[string]entry)
	}
	a.Tasks[task] = entry{spent, now.Unix()}
	if len(a.Tasks) > minTasks {
		a.compact(now.Add(-idleAfter).Unix())
	}
}

// compact folds the tasks that were charged before a time, and the oldest of those that
// are too many.
func (a *account) compact(before int64) {
	for task, e := range a.Tasks {
		if e.At < before && len(a.Tasks) > minTasks {
			a.foldTask(task)
		}
	}
	for len(a.Tasks) > maxTasks {
		a.foldTask(a.oldest())
	}
}

// foldTask adds a task to the rest.
func (a *account) foldTask(task string) {
	a.Rest = a.Rest.Add(a.Tasks[task].Spent)
	delete(a.Tasks, task)
}

func (a *account) oldest() (oldest string) {
	at := int64(math.MaxInt64)
	for task, e := range a.Tasks {
		if e.At < at {
			oldest, at = task, e.At
		}
	}
	return oldest
}

func (a *account) total() coder.Spent {
	sum := a.Rest
	for _, e := range a.Tasks {
		sum = sum.Add(e.Spent)
	}
	return sum
}

func (s *Store) month() string { return s.now().UTC().Format("2006-01") }

// Charge implements [coder.Accounts]. A task counts in full in the month in which it
// was worked on last.
func (s *Store) Charge(ctx context.Context, user, task string, spent coder.Spent) (month coder.Spent, err error) {
	now := s.month()
	err = change(ctx, s.keyValue(), hashedKey("accounts", user), func(a *account) error {
		if a.Month != now {
			*a = account{Month: now}
		}
		a.User = user
		a.charge(task, spent, s.now())
		month = a.total()
		return nil
	})
	return month, err
}
