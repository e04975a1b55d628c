package dispatch

import (
	"context"
	"errors"
	"testing"
	"time"

	"hako/internal/app/coder"
	"hako/internal/app/coder/forge"
	"hako/internal/app/coder/queue"
	fake "hako/internal/fakes/forge"
	"hako/run/fault"
)

// takeOver returns a lease that somebody else has now, and the one of the other.
func (s *site) takeOver() (old, now *queue.Lease) {
	s.Helper()
	s.options.AckWait = 200 * time.Millisecond
	s.reopen()
	s.issue(fake.Item{})
	s.poll()
	take := func() *queue.Lease {
		l, err := s.queue.Take(s.Context())
		s.fine(err)
		return l
	}
	old = take()
	_, _ = (&journal{lease: old}).Once(s.Context(), "begun", func(context.Context, bool) (string, error) {
		return "",
			errors.New("killed")
	})
	return old, take()
}

// Whoever was taken over can neither write down nor say anything.
func TestFenced(t *testing.T) {
	s := newSite(t, forge.GitHub)
	old, _ := s.takeOver()
	s.ClearRequests()
	task, desk, book := s.task(coder.Issue, 1), fencedClient{s.client, old}, &journal{lease: old}
	never := func(context.Context, bool) (string, error) { t.Error("it was done"); return "", nil }
	_, saying := desk.WriteComment(t.Context(), task, "a", "x")
	_, proposing := desk.OpenPullRequest(t.Context(), task, coder.Proposal{Title: "x"})
	_, doing := book.Once(t.Context(), "new", never)
	for name, err := range map[string]error{"say": saying, "propose": proposing,
		"show": desk.SetState(t.Context(), task, coder.Done), "once": doing, "save": book.Save(t.Context(), coder.Record{})} {
		if !errors.Is(err, coder.ErrLost) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if asked := s.Requests(); len(asked) > 0 {
		t.Errorf("the forge was asked: %v", asked)
	}
}

// What was begun by one who died is in doubt for the next; what was done is not
// done again; what was refused can be tried again.
func TestOnce(t *testing.T) {
	s := newSite(t, forge.GitHub)
	_, now := s.takeOver()
	book := &journal{lease: now}
	do := func(key string, fails error) (ref string, doubt bool, done bool) {
		t.Helper()
		ref, err := book.Once(t.Context(), key, func(_ context.Context, again bool) (string, error) {
			doubt, done = again, true
			return "ref", fails
		})
		if !errors.Is(err, fails) {
			t.Error(err)
		}
		return ref, doubt, done
	}
	if ref, doubt, done := do("begun", nil); ref != "ref" || !doubt || !done {
		t.Error(ref, doubt, done)
	}
	if ref, _, done := do("begun", nil); ref != "ref" || done {
		t.Error("it was done again")
	}
	for kind, want := range map[fault.Kind]bool{fault.Denied: false, fault.Invalid: false, fault.NotFound: false,
		fault.Unavailable: true, fault.Timeout: true, fault.Other: true} {
		do(kind.String(), &fault.Error{Kind: kind, Op: "say", Why: "no"})
		if _, doubt, _ := do(kind.String(), nil); doubt != want {
			t.Errorf("%s: in doubt is %v", kind, doubt)
		}
	}
}
