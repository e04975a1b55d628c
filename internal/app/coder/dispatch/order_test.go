package dispatch

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"hako/internal/app/coder"
	"hako/internal/app/coder/forge"
	"hako/internal/app/coder/queue"
	fake "hako/internal/fakes/forge"
	"hako/internal/testload"
)

// places are where a task can be met, one for each phase.
var places = []string{"plan", "prepare", "command", "check", "push"}

// meet has something happen when the task first comes to a place, and leaves it
// there until it is called away.
func (s *site) meet(place string, happens func()) {
	var once sync.Once
	s.setHook(func(ctx context.Context, at string) error {
		if at != place {
			return nil
		}
		var err error
		once.Do(func() {
			happens()
			select {
			case <-ctx.Done():
				err = context.Cause(ctx)
			case <-time.After(testload.Bound(10 * time.Second)):
				s.Errorf("nobody called it away from %s", place)
			}
		})
		return err
	})
}

// stopped wants a task to have ended as itself.
func (s *site) stopped(n int) {
	s.Helper()
	s.only(coder.Stopped)
	s.labelled(fake.Issue, n, "coding agent stopped")
	if keys, _ := s.comments(fake.Issue, n); !slices.Contains(keys, "stopped") || slices.Contains(keys, "done") ||
		slices.Contains(keys, "failed") {
		s.Errorf("said %q", keys)
	}
	if now := s.state(fake.Issue, n); now.State != queue.Done || len(s.Items(s.repo, fake.Pull)) > 0 || len(s.pushed) > 0 {
		s.Errorf("the queue has %s, pushed %v", now.State, s.pushed)
	}
}

// paused wants a task to be put aside, and to go on with what resumes it.
func (s *site) paused(n int, resume func()) {
	s.Helper()
	s.only(coder.Paused)
	s.labelled(fake.Issue, n, "coding agent paused")
	if now := s.state(fake.Issue, n); now.State != queue.Parked {
		s.Errorf("the queue has %s", now.State)
	}
	if sum := s.poll(); sum != (PollResult{}) {
		s.Errorf("polled %+v", sum)
	}
	if rest := s.drain(); len(rest) > 0 {
		s.Errorf("it went on: %v", summary(rest))
	}
	resume()
	s.only(coder.Done)
	s.labelled(fake.Issue, n, "coding agent done")
	keys, _ := s.comments(fake.Issue, n)
	slices.Sort(keys)
	if want := []string{"done", "paused-1", "plan-1", "progress"}; !slices.Equal(keys, want) {
		s.Errorf("said %q", keys)
	}
	if len(s.Items(s.repo, fake.Pull)) != 1 {
		s.Error("nothing was proposed")
	}
	for branch, text := range s.pushed {
		if text != fixed {
			s.Errorf("pushed %q to %s", text, branch)
		}
	}
}

// byLabel resumes as people do on the forge.
func (s *site) byLabel(n int) func() {
	return func() {
		s.Helper()
		s.label(n, "coding agent", "")
		if sum := s.poll(); sum.Resumed != 1 {
			s.Errorf("polled %+v", sum)
		}
	}
}

// TestOrders pauses and stops a task in each phase, by the queue and by labels.
func TestOrders(t *testing.T) {
	for i, place := range places {
		provider := []string{forge.GitHub, forge.GitLab}[i%2]
		t.Run(place+" paused by order", func(t *testing.T) {
			t.Parallel()
			s := newSite(t, provider)
			n := s.issue(fake.Item{})
			s.poll()
			s.meet(place, func() { s.fine(s.queue.Order(s.Context(), s.thread(fake.Issue, n), queue.Pause)) })
			s.paused(n, func() { s.fine(s.queue.Order(s.Context(), s.thread(fake.Issue, n), queue.Resume)) })
		})
		t.Run(place+" paused by label", func(t *testing.T) {
			t.Parallel()
			s := newSite(t, provider)
			n := s.issue(fake.Item{})
			s.poll()
			s.meet(place, func() { s.label(n, "coding agent paused", "") })
			s.paused(n, s.byLabel(n))
		})
		for name, happens := range map[string]func(s *site, n int){
			"order":      func(s *site, n int) { s.fine(s.queue.Order(s.Context(), s.thread(fake.Issue, n), queue.Stop)) },
			"label":      func(s *site, n int) { s.label(n, "coding agent stopped", "") },
			"no label":   func(s *site, n int) { s.label(n, "", "coding agent processing") },
			"unassigned": func(s *site, n int) { s.Change(s.repo, fake.Issue, n, func(i *fake.Item) { i.Assignees = nil }) },
			"closed":     func(s *site, n int) { s.Change(s.repo, fake.Issue, n, func(i *fake.Item) { i.Closed = true }) },
		} {
			t.Run(place+" stopped by "+name, func(t *testing.T) {
				t.Parallel()
				s := newSite(t, provider)
				n := s.issue(fake.Item{Assignees: []string{bot}})
				s.poll()
				s.meet(place, func() { happens(s, n) })
				s.stopped(n)
			})
		}
	}
}

// What is wanted before anybody has begun counts too.
func TestOrdersBeforeTheBeginning(t *testing.T) {
	stop := map[string]func(s *site, n int){
		"order":      func(s *site, n int) { s.fine(s.queue.Order(s.Context(), s.thread(fake.Issue, n), queue.Stop)) },
		"no label":   func(s *site, n int) { s.label(n, "", "coding agent") },
		"closed":     func(s *site, n int) { s.Change(s.repo, fake.Issue, n, func(i *fake.Item) { i.Closed = true }) },
		"unassigned": func(s *site, n int) { s.Change(s.repo, fake.Issue, n, func(i *fake.Item) { i.Assignees = nil }) },
	}
	for name, happens := range stop {
		t.Run("stopped by "+name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, forge.GitHub)
			n := s.issue(fake.Item{Assignees: []string{bot}})
			s.poll()
			happens(s, n)
			s.stopped(n)
			if len(s.asked)+len(s.tasks) > 0 {
				t.Error("it was begun")
			}
		})
	}
	for name, happens := range map[string]func(s *site, n int){
		"order": func(s *site, n int) { s.fine(s.queue.Order(s.Context(), s.thread(fake.Issue, n), queue.Pause)) },
		"label": func(s *site, n int) { s.label(n, "coding agent paused", "coding agent") },
	} {
		t.Run("paused by "+name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, forge.GitLab)
			n := s.issue(fake.Item{})
			s.poll()
			happens(s, n)
			s.paused(n, s.byLabel(n))
		})
	}
}

// A task that is put aside can be called off.
func TestStopParked(t *testing.T) {
	s := newSite(t, forge.GitHub)
	n := s.issue(fake.Item{})
	s.poll()
	s.meet("command", func() { s.label(n, "coding agent paused", "") })
	s.only(coder.Paused)
	s.fine(s.queue.Order(s.Context(), s.thread(fake.Issue, n), queue.Stop))
	s.stopped(n)
}

// A pause that comes after a resumption is a pause, although the queue was told
// to go on before.
func TestPausedTwiceByLabel(t *testing.T) {
	s := newSite(t, forge.GitHub)
	n := s.issue(fake.Item{})
	s.poll()
	s.meet("command", func() { s.label(n, "coding agent paused", "") })
	s.only(coder.Paused)
	s.byLabel(n)()
	s.meet("check", func() { s.label(n, "coding agent paused", "") })
	s.only(coder.Paused)
	if now := s.state(fake.Issue, n); now.State != queue.Parked {
		t.Errorf("the queue has %s", now.State)
	}
	s.byLabel(n)()
	s.only(coder.Done)
}

// Whoever says go on before the pause is over need not say it again.
func TestResumedMeanwhile(t *testing.T) {
	s := newSite(t, forge.GitHub)
	n := s.issue(fake.Item{})
	s.poll()
	s.meet("command", func() { s.fine(s.queue.Order(s.Context(), s.thread(fake.Issue, n), queue.Pause)) })
	s.worker.Observe = func(e Event) {
		if e.Type == "work" && e.Work.Type == "state" && e.Work.Text == string(coder.Paused) {
			s.fine(s.queue.Order(s.Context(), s.thread(fake.Issue, n), queue.Resume))
		}
		s.observe(e)
	}
	s.only(coder.Done)
	if s.count("released") != 1 || s.count("parked") != 0 {
		t.Errorf("%d released, %d parked", s.count("released"), s.count("parked"))
	}
}

// A worker that died between pausing a task and putting it aside has paused it.
func TestPausedAndDied(t *testing.T) {
	s := newSite(t, forge.GitHub)
	n := s.issue(fake.Item{})
	s.poll()
	s.meet("command", func() { s.fine(s.queue.Order(s.Context(), s.thread(fake.Issue, n), queue.Pause)) })
	l, err := s.queue.Take(t.Context())
	s.fine(err)
	attempt := &attempt{Worker: s.worker, lease: l, journal: &journal{lease: l}, began: time.Now(), leaseContext: l.KeepAlive(t.Context())}
	s.fine(attempt.open())
	s.fine(attempt.work(t.Context()))
	s.fine(l.Release(t.Context(), 0)) // as the queue does by itself in time
	s.paused(n, s.byLabel(n))
}

// An issue that is deleted in the middle of the work stops it.
func TestDeleted(t *testing.T) {
	for i, place := range places {
		t.Run(place, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, []string{forge.GitHub, forge.GitLab}[i%2])
			n := s.issue(fake.Item{})
			s.poll()
			s.meet(place, func() { s.Delete(s.repo, fake.Issue, n) })
			s.only(coder.Stopped)
			if now := s.state(fake.Issue, n); now.State != queue.Done {
				t.Errorf("the queue has %s", now.State)
			}
		})
	}
	t.Run("before", func(t *testing.T) {
		t.Parallel()
		s := newSite(t, forge.GitHub)
		n := s.issue(fake.Item{})
		s.poll()
		s.Delete(s.repo, fake.Issue, n)
		s.only(coder.Stopped)
	})
}

// Our own moves of labels are no wishes, however slow the forge is with them.
func TestOwnMoves(t *testing.T) {
	s := newSite(t, forge.GitHub)
	s.worker.OrderEvery = time.Millisecond
	s.AddFault(fake.Fault{Path: "/labels", Times: -1, Delay: 100 * time.Millisecond})
	n := s.issue(fake.Item{})
	s.poll()
	s.only(coder.Done)
	s.labelled(fake.Issue, n, "coding agent done")
	if now := s.state(fake.Issue, n); now.Order != "" {
		t.Errorf("somebody ordered %s", now.Order)
	}
}

// flicker is a forge that once answers with what was a moment ago.
type flicker struct {
	forge.Forge
	left atomic.Int64 // looks until then
}

func (f *flicker) Get(ctx context.Context, ref forge.Ref) (forge.Issue, error) {
	t, err := f.Forge.Get(ctx, ref)
	if f.left.Add(-1) == 0 {
		t.Labels = []string{"coding agent"}
	}
	return t, err
}

// What is seen for a moment only is no wish.
func TestFlicker(t *testing.T) {
	s := newSite(t, forge.GitHub)
	f := &flicker{Forge: s.client.Forges[0].Forge}
	s.client.Forges[0].Forge = f
	n := s.issue(fake.Item{})
	s.poll()
	s.setHook(func(_ context.Context, place string) error {
		if place == "command" {
			f.left.Store(2)
			time.Sleep(200 * time.Millisecond) // ten looks
		}
		return nil
	})
	s.only(coder.Done)
	if now := s.state(fake.Issue, n); now.Order != "" || f.left.Load() >= 0 {
		t.Errorf("somebody ordered %q, %d looks", now.Order, f.left.Load())
	}
}

// The watch is on while labels are those of people.
func TestWatch(t *testing.T) {
	var w labelWatch
	for i, c := range []struct {
		e  coder.Event
		on bool
	}{
		{coder.Event{Type: "note"}, false}, {coder.Event{Type: "phase", Phase: coder.Planning}, true},
		{coder.Event{Type: "call"}, true},
		{coder.Event{Type: "state"}, false}, {coder.Event{Type: "phase", Phase: coder.Reporting}, false},
	} {
		if w.follow(c.e); w.active.Load() != c.on {
			t.Errorf("%d: %v", i, w.active.Load())
		}
	}
}

// A label that pauses what waits counts, although the queue was told to go on
// before.
func TestPausedAfterResume(t *testing.T) {
	s := newSite(t, forge.GitHub)
	n := s.issue(fake.Item{})
	s.poll()
	for _, what := range []queue.Command{queue.Pause, queue.Resume} {
		s.fine(s.queue.Order(t.Context(), s.thread(fake.Issue, n), what))
	}
	s.label(n, "coding agent paused", "coding agent")
	s.paused(n, s.byLabel(n))
}
