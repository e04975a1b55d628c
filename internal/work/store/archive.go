package store

import (
	"context"
	"slices"
	"time"

	"hako/internal/work"
)

// mostPasts is how many tasks of one issue are remembered.
const mostPasts = 20

// Keep implements [work.Archive].
func (s *Store) Keep(_ context.Context, t work.Task, r work.Record) error {
	task, err := s.taskFile(t.ID, "task.json")
	if err != nil {
		return err
	}
	if err := write(task, t); err != nil {
		return err
	}
	p := work.Past{Task: t.ID, State: r.State, Summary: r.Summary, Why: r.Why, Commit: r.Commit, Proposal: r.Proposal}
	if r.Plan != nil {
		p.Objective = r.Plan.Goal.Objective
	}
	return change(s, s.hashed("threads", t.Thread()), func(all *[]work.Past) error {
		*all = slices.DeleteFunc(*all, func(o work.Past) bool { return o.Task == t.ID })
		*all = append(*all, p)
		*all = (*all)[max(0, len(*all)-mostPasts):]
		return nil
	})
}

// Past implements [work.Archive].
func (s *Store) Past(_ context.Context, t work.Task) (all []work.Past, err error) {
	if err := load(s.hashed("threads", t.Thread()), &all); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(o work.Past) bool { return o.Task == t.ID }), nil
}

// An account is what a person has spent in a month, by task: what a task has
// cost is set rather than added, so that setting it twice does no harm.
type account struct {
	User  string                `json:"user"`
	Month string                `json:"month"`
	Tasks map[string]work.Spent `json:"tasks"`
}

// Charge implements [work.Accounts]. A task counts in full in the month in which
// it was worked on last.
func (s *Store) Charge(_ context.Context, user, task string, spent work.Spent) (month work.Spent, err error) {
	now := s.now().UTC().Format("2006-01")
	err = change(s, s.hashed("accounts", user), func(a *account) error {
		if a.Month != now {
			*a = account{Month: now}
		}
		if a.Tasks == nil {
			a.Tasks = make(map[string]work.Spent)
		}
		a.User = user
		a.Tasks[task] = spent
		month = work.Spent{}
		for _, t := range a.Tasks {
			month = month.Add(t)
		}
		return nil
	})
	return month, err
}

// Spent returns what a person has spent in this month.
func (s *Store) Spent(user string) (month work.Spent, err error) {
	var a account
	if err := load(s.hashed("accounts", user), &a); err != nil || a.Month != s.now().UTC().Format("2006-01") {
		return month, err
	}
	for _, t := range a.Tasks {
		month = month.Add(t)
	}
	return month, nil
}

func (s *Store) now() time.Time {
	if s.Now != nil {
		return s.Now()
	}
	return time.Now()
}
