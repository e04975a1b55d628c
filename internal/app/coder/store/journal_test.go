package store

import (
	"context"

	"hako/internal/app/coder"
	"hako/run/fault"
)

// A Journal is the record of one task. Its holder is alone with it: who takes a
// task sees to that.
type Journal struct {
	files   *files
	record  string // its path
	effects string // their key
}

// Journal returns the journal of a task.
func (s *Store) Journal(task string) (*Journal, error) {
	record, err := s.taskFile(task, "record")
	if err != nil {
		return nil, err
	}
	effects, _ := taskKey(task, "effects") // the name was good a moment ago
	return &Journal{s.files(), record, effects}, nil
}

// Load returns the record as it was saved last; the zero one if it never was.
func (j *Journal) Load() (r coder.Record, err error) { return r, load(j.record, &r) }

// Save implements [coder.Journal].
func (j *Journal) Save(_ context.Context, r coder.Record) error { return write(j.record, r) }

// effects are what was done, by key. An empty entry was begun and has not ended.
type effects map[string]*effect

type effect struct {
	Done bool   `json:"done"`
	Ref  string `json:"ref,omitempty"`
}

// Once implements [coder.Journal]: that something is about to be done is written
// down before, and what it came to after.
func (j *Journal) Once(ctx context.Context, key string, do func(context.Context, bool) (string, error)) (ref string,
	err error) {
	var before effect
	err = change(ctx, j.files, j.effects, func(all *effects) error {
		if *all == nil {
			*all = make(effects)
		}
		if e := (*all)[key]; e != nil {
			before = *e
		} else {
			(*all)[key] = new(effect)
			before.Ref = fresh
		}
		return nil
	})
	if err != nil || before.Done {
		return before.Ref, err
	}
	ref, err = do(ctx, before.Ref != fresh)
	if err != nil {
		return "", j.undo(ctx, key, err)
	}
	return ref, change(ctx, j.files, j.effects, func(all *effects) error {
		(*all)[key] = &effect{Done: true, Ref: ref}
		return nil
	})
}

// fresh marks something that nobody began before; no reference is spelled so.
const fresh = "\x00"

// undo forgets what was certainly not done: it was refused. What may have been
// done although there was an error stays in doubt.
func (j *Journal) undo(ctx context.Context, key string, why error) error {
	switch fault.KindOf(why) {
	case fault.Unavailable, fault.Timeout, fault.Other:
		return why
	}
	if err := change(ctx, j.files, j.effects, func(all *effects) error { delete(*all, key); return nil }); err != nil {
		return err
	}
	return why
}

// Spent returns what a person has spent in this month.
func (s *Store) Spent(ctx context.Context, user string) (month coder.Spent, err error) {
	var a account
	if err := get(ctx, s.keyValue(), hashedKey("accounts", user), &a); err != nil || a.Month != s.month() {
		return month, err
	}
	return a.total(), nil
}
