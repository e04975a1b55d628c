package dispatch

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"hako/internal/app/coder"
	"hako/internal/app/coder/forge"
	"hako/internal/app/coder/queue"
	fake "hako/internal/fakes/forge"
	"hako/llm"
)

// The forge is in trouble in the middle of the work, and the task is done
// nevertheless, with each comment once.
func TestForgeTrouble(t *testing.T) {
	secondary := fake.SecondaryRateLimit(time.Second)
	for name, f := range map[string]fake.Fault{
		"secondary limit": {Status: secondary.Status, Message: secondary.Message, Header: secondary.Header, Skip: 8,
			Times: 3},
		"in trouble":    {Status: 503, Skip: 8, Times: 12},
		"lost answers":  {Method: "POST", Cut: true, Done: true, Times: 2, Skip: 1},
		"slow":          {Delay: 400 * time.Millisecond, Skip: 6, Times: 3},
		"token refused": {Status: 401, Skip: 8, Times: 3},
		"odd not found": {Method: "POST", Status: 404, Message: "Not Found", Skip: 1, Times: 4},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, forge.GitHub)
			s.client.Forges[0] = s.forge(forge.Config{Timeout: 200 * time.Millisecond})
			s.worker.MaxAttempts = 20
			s.options.MaxDeliver = 20
			s.reopen()
			n := s.issue(fake.Item{})
			s.poll()
			s.AddFault(f)
			s.only(coder.Done)
			s.labelled(fake.Issue, n, "coding agent done")
			s.said(fake.Issue, n, "plan-1", "progress", "done")
			if len(s.Items(s.repo, fake.Pull)) != 1 {
				t.Error("no draft, or several")
			}
		})
	}
}

// reopen is a crew with another queue.
func (s *site) reopen() {
	s.options.Dir = s.TempDir()
	s.queue = s.open(s.options)
	s.producer.Queue, s.worker.Queue = s.queue, s.queue
}

// A task that comes to no end is given up, and people are told why without what
// they must not know.
func TestGiveUp(t *testing.T) {
	both(t, func(s *site) {
		s.worker.MaxAttempts = 2
		s.brain = func(*llm.Dialog) *llm.Turn { return nil }
		n := s.issue(fake.Item{})
		s.poll()
		e := s.only(coder.Failed)
		s.labelled(fake.Issue, n, "coding agent failed")
		s.said(fake.Issue, n, "progress", "failed")
		if _, texts := s.comments(fake.Issue, n); !strings.Contains(texts["failed"], "it sleeps") {
			s.Errorf("people are told:\n%s", texts["failed"])
		}
		if now := s.state(fake.Issue, n); now.State != queue.Done || len(s.asked) != 2 ||
			strings.Contains(e.Record.Why, secret) {
			s.Errorf("the queue has %s, %d turns, %s", now.State, len(s.asked), e.Record.Why)
		}
		if s.count("failed") != 1 || s.count("ended") != 1 {
			s.Errorf("%d failed, %d ended", s.count("failed"), s.count("ended"))
		}
	})
}

// Drain waits for another try or two, not for half an hour of them.
func TestDrainDoesNotWaitForEver(t *testing.T) {
	s := newSite(t, forge.GitHub)
	s.worker.MaxAttempts, s.options.Backoff = 20, []time.Duration{time.Millisecond, time.Millisecond, time.Hour}
	s.options.MaxDeliver = 25
	s.reopen()
	s.brain = func(*llm.Dialog) *llm.Turn { return nil }
	n := s.issue(fake.Item{})
	s.poll()
	all, err := s.worker.Drain(t.Context())
	if err != nil || len(all) != 1 || all[0].Err == nil || s.count("failed") != maxRetriesWaited {
		t.Errorf("%v: %+v, failed %d times", err, all, s.count("failed"))
	}
	if now := s.state(fake.Issue, n); now.State != queue.Queued {
		t.Errorf("it is %s", now.State)
	}
}

// Who drains again what failed too often has it tried again, and is told what is
// waited for meanwhile.
func TestDrainAgain(t *testing.T) {
	s := newSite(t, forge.GitHub)
	s.worker.MaxAttempts, s.options.Backoff = 20, []time.Duration{time.Millisecond, time.Millisecond, time.Second}
	s.options.MaxDeliver = 25
	s.reopen()
	awake := s.brain
	s.brain = func(*llm.Dialog) *llm.Turn { return nil }
	s.issue(fake.Item{})
	s.poll()
	if _, err := s.worker.Drain(t.Context()); err != nil || s.count("waiting") != 0 {
		t.Fatalf("%v, %d waiting", err, s.count("waiting"))
	}
	s.brain = awake
	s.only(coder.Done)
	if s.count("waiting") != 1 {
		t.Errorf("%d waiting", s.count("waiting"))
	}
	for _, e := range s.events {
		if e.Type == "waiting" && (e.Attempt != 4 || e.Wait <= 0 || e.Wait > time.Second) {
			t.Errorf("%+v", e)
		}
	}
}

// A reason has no secret in it where the queue keeps it.
func TestReasonIsClean(t *testing.T) {
	s := newSite(t, forge.GitHub)
	s.worker.MaxAttempts, s.options.Backoff = 5, []time.Duration{time.Hour}
	s.reopen()
	s.brain = func(*llm.Dialog) *llm.Turn { return nil }
	n := s.issue(fake.Item{})
	s.poll()
	ctx, stop := context.WithCancel(t.Context())
	s.worker.Observe = func(e Event) {
		if e.Type == "failed" {
			stop()
		}
	}
	s.fine(s.worker.Run(ctx))
	if now := s.state(fake.Issue, n); !strings.Contains(now.Reason, "it sleeps") || strings.Contains(now.Reason, secret) {
		t.Errorf("%s: %q", now.State, now.Reason)
	}
}

// A branch that git would not take is no reason to try again.
func TestOddBranch(t *testing.T) {
	both(t, func(s *site) {
		n := s.Add(s.repo, fake.Item{Kind: fake.Pull, Title: "x", Author: "ann", Branch: "--upload-pack=x",
			Labels: []string{"coding agent"}})
		s.poll()
		s.only(coder.Failed)
		s.labelled(fake.Pull, n, "coding agent failed")
		if s.count("taken") != 1 {
			s.Errorf("taken %d times", s.count("taken"))
		}
	})
}

// A mistake in one task ends neither the worker nor the task at once.
func TestPanic(t *testing.T) {
	s := newSite(t, forge.GitHub)
	var once sync.Once
	s.setHook(func(_ context.Context, place string) error {
		if place == "prepare" {
			once.Do(func() { panic("index out of range: " + secret) })
		}
		return nil
	})
	n := s.issue(fake.Item{})
	s.poll()
	s.only(coder.Done)
	s.said(fake.Issue, n, "plan-1", "progress", "done")
	why := ""
	for _, e := range s.events {
		if e.Type == "failed" {
			why += e.Why
		}
	}
	if !strings.Contains(why, "index out of range") || strings.Contains(why, secret) {
		t.Errorf("failed: %q", why)
	}
}

// A mistake in every try ends the task.
func TestPanicForEver(t *testing.T) {
	s := newSite(t, forge.GitHub)
	s.worker.MaxAttempts = 2
	s.setHook(func(_ context.Context, place string) error {
		if place == "prepare" {
			panic("always")
		}
		return nil
	})
	n := s.issue(fake.Item{})
	s.poll()
	s.only(coder.Failed)
	s.labelled(fake.Issue, n, "coding agent failed")
}

// A worker that is told to end gives back what it has, and another goes on.
func TestShutdown(t *testing.T) {
	for _, place := range places {
		t.Run(place, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, forge.GitHub)
			n := s.issue(fake.Item{})
			s.poll()
			ctx, stop := context.WithCancel(t.Context())
			s.meet(place, stop)
			s.fine(s.worker.Run(ctx))
			if s.count("released") != 1 || len(s.rooms) > 0 {
				t.Fatalf("%d released, rooms %v", s.count("released"), s.rooms)
			}
			if now := s.state(fake.Issue, n); now.State != queue.Queued || now.Tries != 0 {
				t.Errorf("the queue has %s after %d tries", now.State, now.Tries)
			}
			s.only(coder.Done)
			s.said(fake.Issue, n, "plan-1", "progress", "done")
		})
	}
}

// Two workers, one of which is cut off from the queue in the middle: the other
// takes the task over, and whatever the first still wants to do is not done.
func TestTakenOver(t *testing.T) {
	torn := errors.New("the line is dead")
	for name, c := range map[string]struct {
		place string
		sees  func(context.Context) error
	}{
		"it stops":           {"command", context.Cause},
		"it does not notice": {"command", func(context.Context) error { return nil }},
		"it is torn off":     {"prepare", func(context.Context) error { return torn }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, forge.GitHub)
			s.options.AckWait = 500 * time.Millisecond
			s.reopen()
			cut := s.options
			cut.Join, cut.Worker = true, "two"
			far := s.open(cut)
			first := s.workerOf(far)
			n := s.issue(fake.Item{})
			s.poll()
			over, reached, ends := make(chan struct{}), make(chan struct{}), make(chan Ending, 1)
			var met atomic.Bool
			s.setHook(func(ctx context.Context, place string) error {
				if place != c.place || met.Swap(true) {
					return nil
				}
				close(reached)
				<-over
				return c.sees(ctx)
			})
			l, err := far.Take(t.Context())
			s.fine(err)
			go func() { ends <- first.carryOut(context.Background(), l) }()
			<-reached
			go far.Close()
			s.only2(coder.Done)
			close(over)
			if e := <-ends; !errors.Is(e.Err, coder.ErrLost) {
				t.Errorf("the first ended with %v", e.Err)
			}
			s.said(fake.Issue, n, "plan-1", "progress", "done")
			s.labelled(fake.Issue, n, "coding agent done")
			if _, texts := s.comments(fake.Issue, n); !strings.Contains(texts["progress"], "**Status:** done") {
				t.Errorf("the first spoke after the second:\n%s", texts["progress"])
			}
			if s.cleaned != 1 {
				t.Errorf("cleaned up %d times: the room of the second is not the first's", s.cleaned)
			}
			if s.count("lost") != 1 || len(s.Items(s.repo, fake.Pull)) != 1 {
				t.Errorf("%d lost, %d drafts", s.count("lost"), len(s.Items(s.repo, fake.Pull)))
			}
		})
	}
}

// only2 is only while somebody else still has a room.
func (s *site) only2(state coder.State) {
	s.Helper()
	if all := s.drain(); len(all) != 1 || all[0].Record.State != state {
		s.Fatalf("want one as %s: %v", state, summary(all))
	}
}

// Drain does not wait for what a living worker has.
func TestDrainLeavesOthersAlone(t *testing.T) {
	s := newSite(t, forge.GitHub)
	s.options.AckWait = time.Second
	s.reopen()
	s.issue(fake.Item{})
	s.poll()
	l, err := s.queue.Take(t.Context())
	s.fine(err)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	l.KeepAlive(ctx)
	if all := s.drain(); len(all) != 0 {
		t.Errorf("%v", summary(all))
	}
}

// What the queue has and makes no sense is tried, given up, and keeps nobody
// waiting.
func TestNonsenseInTheQueue(t *testing.T) {
	s := newSite(t, forge.GitHub)
	s.options.MaxDeliver = 2
	s.reopen()
	for id, payload := range map[string]string{"x": `{"id":"y"}`,
		"github/acme/app/issue/5": `{"id":"y","provider":"github","repo":"acme/app","kind":"issue","number":6}`, "z": `[]`} {
		_, err := s.queue.Put(t.Context(), queue.Item{ID: id, Payload: []byte(payload)})
		s.fine(err)
	}
	n := s.issue(fake.Item{})
	s.poll()
	s.drain()
	s.labelled(fake.Issue, n, "coding agent done")
	if dead, err := s.queue.Dead(t.Context()); err != nil || len(dead) != 3 {
		t.Errorf("%d dead, %v", len(dead), err)
	}
	s.poll()
}

// Those who look on see what happens, without secrets.
func TestLookingOn(t *testing.T) {
	s := newSite(t, forge.GitHub)
	n := s.issue(fake.Item{})
	s.poll()
	ctx, stop := context.WithCancel(t.Context())
	events, err := s.queue.Watch(ctx, s.thread(fake.Issue, n))
	s.fine(err)
	var seen []string
	done := make(chan struct{})
	go func() {
		defer close(done)
		for e := range events {
			if seen = append(seen, e.What); strings.Contains(string(e.Data), secret) {
				t.Errorf("%s", e.Data)
			}
			if e.What == "ended" {
				stop()
			}
		}
	}()
	s.brain = func(d *llm.Dialog) *llm.Turn {
		attempt := fixer(d)
		if len(attempt.Calls) > 0 && attempt.Calls[0].ID == "1" {
			attempt.Calls[0].Arguments = `{"command":"echo ` + secret + `"}`
		}
		return attempt
	}
	s.only(coder.Done)
	<-done
	for _, want := range []string{"taken", "phase", "call", "result", "state", "ended"} {
		if !slices.Contains(seen, want) {
			t.Errorf("no %s among %q", want, seen)
		}
	}
}

// Who waits for a worker that was killed is told for whom and how long.
func TestDrainSaysWhoIsSilent(t *testing.T) {
	s := newSite(t, forge.GitHub)
	s.options.AckWait = 3 * time.Second
	s.reopen()
	n := s.issue(fake.Item{})
	s.poll()
	_, err := s.queue.Take(t.Context()) // and never says a word
	s.fine(err)
	s.only(coder.Done)
	var told []Event
	for _, e := range s.events {
		if e.Type == "waiting" {
			told = append(told, e)
		}
	}
	if len(told) != 1 || told[0].Worker != "one" || told[0].Thread != s.thread(fake.Issue, n) || told[0].Wait <= 0 ||
		told[0].Wait > s.options.AckWait-announceAfter {
		t.Errorf("%+v", told)
	}
}

// Who is told of a failure is told when the next try comes, if one does.
func TestFailureSaysWhatFollows(t *testing.T) {
	s := newSite(t, forge.GitHub)
	s.worker.MaxAttempts, s.options.MaxDeliver, s.options.Backoff = 20, 3,
		[]time.Duration{time.Millisecond, 2 * time.Millisecond, time.Hour}
	s.reopen()
	s.brain = func(*llm.Dialog) *llm.Turn { return nil }
	s.issue(fake.Item{})
	s.poll()
	if _, err := s.worker.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	var waits []time.Duration
	for _, e := range s.events {
		if e.Type == "failed" {
			waits = append(waits, e.Wait)
		}
	}
	if !slices.Equal(waits, []time.Duration{time.Millisecond, 2 * time.Millisecond, 0}) { // after the last it is given up
		t.Errorf("%v", waits)
	}
}
