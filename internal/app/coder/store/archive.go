package store

import (
	"context"
	"slices"

	"hako/internal/app/coder"
	"hako/internal/text"
)

// Limits of what later tasks inherit.
const (
	maxPasts    = 20      // tasks of one issue
	maxPastText = 2 << 10 // bytes of each text, so that all fit into a value
)

// Keep implements [coder.Archive]. The context of the task is stored on this machine;
// older ones are removed to make room.
func (s *Store) Keep(ctx context.Context, t coder.Task, r coder.Record) error {
	if err := s.keepContext(t, r); err != nil {
		return err
	}
	if err := s.addPast(ctx, t, r); err != nil {
		return err
	}
	return s.prune(maxContexts, maxContextBytes)
}

// addPast adds a task to what the next on the same issue inherits.
func (s *Store) addPast(ctx context.Context, t coder.Task, r coder.Record) error {
	p := coder.Past{Task: t.ID, State: r.State, Summary: shorten(r.Summary), Why: shorten(r.Why), Commit: r.Commit,
		Proposal: r.Proposal}
	if r.Plan != nil {
		p.Objective = shorten(r.Plan.Goal.Objective)
	}
	return change(ctx, s.keyValue(), hashedKey("threads", t.Thread()), func(all *[]coder.Past) error {
		*all = slices.DeleteFunc(*all, func(o coder.Past) bool { return o.Task == t.ID })
		*all = append(*all, p)
		*all = (*all)[max(0, len(*all)-maxPasts):]
		return nil
	})
}

func shorten(s string) string { return text.Shorten(s, maxPastText) }

// Past implements [coder.Archive].
func (s *Store) Past(ctx context.Context, t coder.Task) (all []coder.Past, err error) {
	if err := get(ctx, s.keyValue(), hashedKey("threads", t.Thread()), &all); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(o coder.Past) bool { return o.Task == t.ID }), nil
}
