package gate

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"hako/policy"
	"hako/run"
	"hako/run/fault"
)

func TestAsk(t *testing.T) {
	for name, c := range map[string]struct {
		ask   func(context.Context, Question) (Answer, error)
		why   string // empty if it may run
		story string
	}{
		"once": {func(context.Context, Question) (Answer, error) { return Once, nil }, "",
			"asked judged approved started allowed ended"},
		"no": {func(context.Context, Question) (Answer, error) { return No, nil }, "a person said no",
			"asked judged refused ended"},
		"strange": {func(context.Context, Question) (Answer, error) { return 9, nil }, "a person said no",
			"asked judged refused ended"},
		"error": {func(context.Context, Question) (Answer, error) { return Once, errors.New("gone") },
			"nobody could be asked: gone", "asked judged refused ended"},
		"nobody": {nil, "nobody is there", "asked judged refused ended"},
	} {
		next := &fake{}
		g, log := newGate(judge{"push": policy.Ask}, next)
		g.opts.Ask = c.ask
		_, err := g.Run(t.Context(), &run.Request{Script: "push it"})
		if next.ran != (c.why == "") || (err == nil) != (c.why == "") || !strings.Contains(fmt.Sprint(err), c.why) &&
			err != nil {
			t.Errorf("%s: ran %v, %v", name, next.ran, err)
		}
		if err != nil && fault.KindOf(err) != fault.Denied {
			t.Errorf("%s is a %v", name, fault.KindOf(err))
		}
		if got := log.story(); got != c.story {
			t.Errorf("%s: %s", name, got)
		}
	}
}

func TestQuestionShowsEverything(t *testing.T) {
	g, _ := newGate(judge{"push": policy.Ask}, &fake{})
	var got Question
	g.opts.Ask = func(_ context.Context, q Question) (Answer, error) { got = q; return Once, nil }
	g.Run(t.Context(), &run.Request{ID: "r/1", Actor: "agent:x", Reason: "to share it, password=hunter2",
		Script: `push --token ghp_0123456789abcdef PASSWORD=1\;rm`})
	// What only a name makes a secret is shown: a command could hide behind it.
	want := Question{ID: "r/1", Actor: "agent:x", Command: "push --token [redacted] 'PASSWORD=1\\;rm'",
		Script: `push --token [redacted] PASSWORD=1\;rm`, Reason: "to share it, password=[redacted]", Why: "because",
		Rule: "test.policy:1"}
	got.Argv = nil
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %+v", got)
	}
}

func TestSessionAnswerIsRemembered(t *testing.T) {
	g, log := newGate(judge{"push": policy.Ask}, &fake{})
	asked := 0
	answer := Once
	g.opts.Ask = func(context.Context, Question) (Answer, error) { asked++; return answer, nil }
	for i, c := range []struct {
		script string
		answer Answer
		asked  int
	}{
		{"push a; push a", Once, 1}, // once is for the whole request
		{"push a", Session, 2},      // but not for the next
		{"push a; push a", No, 2},   // now it is known
		{"push b", Once, 3},         // other words are another question
	} {
		answer = c.answer
		if _, err := g.Run(t.Context(), &run.Request{Script: c.script}); err != nil || asked != c.asked {
			t.Errorf("%d: asked %d times, %v", i, asked, err)
		}
	}
	if n := strings.Count(log.story(), "approved"); n != 4 {
		t.Errorf("%d approvals on record: %s", n, log.story())
	}
}

func TestSilenceIsNo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		next := &fake{}
		g, _ := newGate(judge{"push": policy.Ask}, next)
		release := make(chan bool)
		g.opts.Ask = func(context.Context, Question) (Answer, error) { <-release; return Once, nil } // deaf to its context
		began := time.Now()
		_, err := g.Run(t.Context(), &run.Request{Script: "push"})
		if fault.KindOf(err) != fault.Denied || !strings.Contains(err.Error(), "within 5m0s") || next.ran ||
			time.Since(began) != 300*time.Second {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
		close(release)
	})
}

func TestPauseWhileAsking(t *testing.T) {
	var story []string
	next := &fake{do: func(ctx context.Context, req *run.Request) error { return req.Check(ctx, "", []string{"push"}) }}
	g, _ := newGate(judge{"echo": policy.Allow, "push": policy.Ask}, next)
	g.opts.Pause = func() func() { story = append(story, "pause"); return func() { story = append(story, "resume") } }
	g.opts.Ask = func(context.Context, Question) (Answer, error) { story = append(story, "ask"); return Once, nil }
	if _, err := g.Run(t.Context(), &run.Request{Script: "echo"}); err != nil ||
		strings.Join(story, " ") != "pause ask resume" {
		t.Errorf("%v, %v", story, err)
	}
}

// TestQuestionShowsTheScript: who is asked about a part sees the whole, in which
// nothing is hidden, unless it is too long to be looked through.
func TestQuestionShowsTheScript(t *testing.T) {
	g, _ := newGate(judge{"ls": policy.Allow, "push": policy.Ask}, &fake{})
	var got Question
	g.opts.Ask = func(_ context.Context, q Question) (Answer, error) { got = q; return Once, nil }
	g.Run(t.Context(), &run.Request{Script: "ls '\x1b'\npush a\n"})
	if got.Command != "push a" || got.Script != "ls '\\x1b'\npush a" {
		t.Errorf("got %+v", got)
	}
	g.Run(t.Context(), &run.Request{Script: "push b; ls " + strings.Repeat("x", maxShownScript)})
	if got.Command != "push b" || got.Script != "" {
		t.Errorf("%s in a script of %d bytes", got.Command, len(got.Script))
	}
}

// TestWaitingIsNotRunning: the time that a person takes is not that of a script.
func TestWaitingIsNotRunning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asks := runnerFunc(func(ctx context.Context, req *run.Request) (run.Result, error) {
			began := time.Now()
			time.Sleep(2 * time.Second)
			err := req.Check(ctx, "", []string{"push", "late"})
			return run.Result{Duration: time.Since(began)}, err
		})
		g, _ := newGate(judge{"push": policy.Ask}, asks)
		g.opts.Ask = func(context.Context, Question) (Answer, error) { time.Sleep(time.Minute); return Once, nil }
		res, err := g.Run(t.Context(), &run.Request{Script: "push early"})
		if err != nil || res.Duration != 2*time.Second {
			t.Errorf("it took %v, %v", res.Duration, err)
		}
		g.opts.Ask = func(context.Context, Question) (Answer, error) { time.Sleep(time.Minute); return No, nil }
		if res, err := g.Run(t.Context(), &run.Request{Script: "push no"}); err == nil || res.Duration != 0 {
			t.Errorf("what did not run took %v, %v", res.Duration, err)
		}
	})
}

func TestAnswerWords(t *testing.T) {
	for _, a := range []Answer{No, Once, Session} {
		if got, known := ParseAnswer(a.String()); got != a || !known {
			t.Errorf("%v became %v", a, got)
		}
	}
	for _, word := range []string{"", "yes", "Once", "no"} {
		if got, known := ParseAnswer(word); got != No || known {
			t.Errorf("%q is %v", word, got)
		}
	}
	if got := Answer(7).String(); got != "deny" {
		t.Errorf("an answer that does not exist is %s", got)
	}
}
