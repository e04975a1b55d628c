package coder

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"hako/llm"
	"hako/quota"
	"hako/run/fault"
)

// TestLimits has models that would never end.
func TestLimits(t *testing.T) {
	endless := func(turn func(n int) *llm.Turn) func(d *llm.Dialog) *llm.Turn {
		n := 0
		return func(d *llm.Dialog) *llm.Turn {
			if planning(d) {
				return &llm.Turn{Text: goodPlan}
			}
			n++
			return turn(n)
		}
	}
	looking := func(n int) *llm.Turn { return callTurn("", command(fmt.Sprint("look ", n))) }
	for name, c := range map[string]struct {
		limits Limits
		brain  func(d *llm.Dialog) *llm.Turn
		why    string
	}{
		"turns":   {Limits{Turns: 10}, endless(looking), "after 10 turns"},
		"actions": {Limits{Actions: 10}, endless(looking), "after 10 actions"},
		"tokens": {Limits{Tokens: 5000}, endless(func(n int) *llm.Turn {
			turn := looking(n)
			turn.Usage = quota.Usage{Input: 1000}
			return turn
		}), "tokens"},
		"cost": {Limits{Cost: 0.1}, endless(looking), " of $0.10"},
		"unknown tools": {Limits{},
			endless(func(n int) *llm.Turn { return callTurn("", fmt.Sprintf("no_such_tool_%d {}", n)) }),
			"tools that do not exist 5 times"},
		"same error": {Limits{}, endless(func(int) *llm.Turn { return callTurn("", command("bad")) }),
			"the same error occurred 5 times"},
		"same error between others": {Limits{}, endless(func(n int) *llm.Turn {
			if n%2 == 0 {
				return looking(n)
			}
			return callTurn("", command("bad"))
		}), "the same error occurred 5 times"},
		"says nothing": {Limits{}, endless(func(int) *llm.Turn { return &llm.Turn{} }), "said nothing"},
		"never correct": {Limits{Replans: -1}, endless(func(int) *llm.Turn { return &llm.Turn{Text: "Done."} }),
			"1 test failed"},
		"cut short": {Limits{}, endless(func(int) *llm.Turn { return &llm.Turn{Text: "And", Cut: "length"} }),
			"longer than the model may write"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.brain = c.brain
			w.execute = func(_ *room, c string) (Outcome, error, bool) {
				return Outcome{ExitCode: 1, Stderr: "no"}, nil, c == "bad"
			}
			co := w.coordinator()
			co.Limits = c.limits
			rec, err, _ := w.runBy(t.Context(), co, exampleTask)
			if err != nil || rec.State != Failed || !strings.Contains(rec.Why, c.why) || rec.Phase != Ended {
				t.Fatalf("%v: %s, %s", err, rec.State, rec.Why)
			}
			if !strings.Contains(w.comments["failed"], c.why) || w.rooms != 0 || w.shown[len(w.shown)-1] != Failed {
				t.Errorf("%v, %d rooms: %s", w.shown, w.rooms, w.comments["failed"])
			}
			if len(w.asked) > 40 {
				t.Errorf("asked %d times", len(w.asked))
			}
		})
	}
}

type purse struct {
	month, task Spent
	user        string
}

func (p *purse) Charge(_ context.Context, user, _ string, s Spent) (Spent, error) {
	p.task, p.user = s, user
	return p.month.Add(s), nil
}

func TestUsersLimits(t *testing.T) {
	for name, c := range map[string]struct {
		spent  Spent
		limits Limits
		want   State
	}{
		"tokens":     {Spent{Usage: quota.Usage{Input: 1000}}, Limits{UserTokens: 1000}, Failed},
		"cost":       {Spent{Cost: 3}, Limits{UserCost: 3}, Failed},
		"some left":  {Spent{Cost: 2}, Limits{UserCost: 3, UserTokens: 10_000}, Done},
		"no limit":   {Spent{Cost: 1e9}, Limits{}, Done},
		"used up by": {Spent{Cost: 2.985}, Limits{UserCost: 3}, Failed}, // two turns
	} {
		w := newWorld(t)
		co := w.coordinator()
		p := &purse{month: c.spent}
		co.Limits, co.Accounts = c.limits, p
		rec, err, _ := w.runBy(t.Context(), co, exampleTask)
		if err != nil || rec.State != c.want {
			t.Errorf("%s: %v, %s %s", name, err, rec.State, rec.Why)
		}
		if p.user != "github/alice" || c.want == Failed && !strings.Contains(rec.Why, "alice") ||
			strings.Contains(rec.Why, "githubalice") {
			t.Errorf("%s: on the account of %s: %s", name, p.user, rec.Why)
		}
		if p.task != rec.Spent {
			t.Errorf("%s: booked %+v of %+v", name, p.task, rec.Spent)
		}
	}
}

func TestSpentIsAddedUp(t *testing.T) {
	w := newWorld(t)
	rec := w.must(exampleTask)
	if n := int64(len(w.asked)); rec.Spent.Input != 100*n || rec.Spent.Calls != n || rec.Count.Turns != int(n) ||
		rec.Spent.Cost < 0.0099*float64(n) {
		t.Errorf("%d turns: %+v", n, rec.Spent)
	}
	if !strings.Contains(w.comments["progress"], fmt.Sprintf("$%.4f", rec.Spent.Cost)) {
		t.Error(w.comments["progress"])
	}
}

// TestPrepareFails has each step of making the place fail.
func TestPrepareFails(t *testing.T) {
	for step, failure := range map[string]*fault.Error{
		"engine": {Kind: fault.Unavailable, Op: "ask docker", Why: "dial unix:///var/run/docker.sock: connection refused",
			Hint: "start docker"},
		"image": {Kind: fault.NotFound, Op: "start python environment",
			Why: "docker has no image coding-agent-executor-python:latest", Hint: "hako env build python"},
		"create": {Kind: fault.Exhausted, Op: "make container", Why: "no space left in /var/lib/docker/overlay2/abc"},
		"clone": {Kind: fault.Denied, Op: "clone",
			Subject: "https://x-access-token:ghp_abcdefghijklmnopqrstuvwxyz0123456789@github.com/o/r.git",
			Why:     "the key hunter2hunter2 was refused"},
		"guest": {Op: "greet", Why: "/home/someone/.local/state/hako/boxes/b1/run/guest.sock does not answer"},
	} {
		t.Run(step, func(t *testing.T) {
			w := newWorld(t)
			w.prepare = func(int) error { return failure }
			c := w.coordinator()
			c.Secrets = newSecrets("hunter2hunter2")
			rec, err, _ := w.runBy(t.Context(), c, exampleTask)
			if err != nil || rec.State != Failed || w.rooms != 0 || w.shown[len(w.shown)-1] != Failed {
				t.Fatalf("%v: %s, shown %v, %d rooms", err, rec.State, w.shown, w.rooms)
			}
			text := w.comments["failed"]
			for _, bad := range []string{"ghp_", "hunter2", "/var/", "/home/", "docker.sock", "someone"} {
				if strings.Contains(text, bad) || strings.Contains(w.comments["progress"], bad) {
					t.Errorf("%q is told: %s", bad, text)
				}
			}
			if !strings.Contains(text, "prepare environment python") || failure.Hint != "" &&
				!strings.Contains(text, failure.Hint) {
				t.Error(text)
			}
		})
	}
}

// What the outside does not answer now is no failure of the task: another worker
// goes on later.
func TestSilenceIsNoFailure(t *testing.T) {
	sleeps := &fault.Error{Kind: fault.Unavailable, Op: "ask forge", Why: "it answers 502"}
	for _, op := range []string{"say plan-1", "show", "say done", "propose", "model"} {
		w := newWorld(t)
		awake := false
		if op == "model" {
			w.brain = func(d *llm.Dialog) *llm.Turn {
				if !awake && turnsOf(d) == 2 {
					return nil
				}
				return fixer(d)
			}
		} else {
			w.deskErr = func(o string) error {
				if o == op && !awake {
					return sleeps
				}
				return nil
			}
		}
		if rec, err, _ := w.run(exampleTask); err == nil || rec.State == Failed || w.rooms != 0 {
			t.Errorf("%s: %v, %s, %d rooms", op, err, rec.State, w.rooms)
		}
		awake = true
		if rec := w.must(exampleTask); rec.State != Done || w.commits[w.branch]["a.txt"] != fixedText || w.notified != 1 ||
			w.pushes != 1 {
			t.Errorf("%s: %s, %q", op, rec.State, w.commits[w.branch])
		}
	}
	// What is only nice to have is not waited for.
	for _, op := range []string{"say progress", "hear"} {
		w := newWorld(t)
		heard := 0
		w.deskErr = func(o string) error {
			if o == op {
				if heard++; heard > 1 {
					return sleeps
				}
			}
			return nil
		}
		if rec, err, _ := w.run(exampleTask); err != nil || rec.State != Done {
			t.Errorf("%s: %v, %s", op, err, rec.State)
		}
	}
}

// A proposal that is refused for good is a failure.
func TestRefusedProposalFails(t *testing.T) {
	w := newWorld(t)
	w.deskErr = func(op string) error {
		if op == "propose" {
			return &fault.Error{Kind: fault.Invalid, Op: "propose", Why: "the branch was force-pushed by somebody"}
		}
		return nil
	}
	if rec := w.must(exampleTask); rec.State != Failed || !strings.Contains(w.comments["failed"], "force-pushed") {
		t.Errorf("%s: %s", rec.State, w.comments["failed"])
	}
}

func TestIssueGone(t *testing.T) {
	for _, from := range []string{"hear", "say plan-1", "say progress", "show"} {
		w := newWorld(t)
		w.deskErr = func(op string) error {
			if op == from || len(w.events) > 0 && w.events[len(w.events)-1].Type == "state" { // and nothing can be said any more
				return &fault.Error{Kind: fault.NotFound, Op: "ask forge", Why: "404"}
			}
			return nil
		}
		rec, err, _ := w.run(exampleTask)
		if err != nil || rec.State != Stopped || rec.Phase != Ended || w.rooms != 0 {
			t.Errorf("%s: %v, %s %s", from, err, rec.State, rec.Phase)
		}
	}
}

// Who lost the task touches nothing any more, not even what there is to clean up.
func TestLost(t *testing.T) {
	for at := 1; at < 12; at++ {
		w := newWorld(t)
		w.saveErr = func() error {
			if w.saves >= at {
				return fmt.Errorf("save: %w", ErrLost)
			}
			return nil
		}
		rec, err, _ := w.run(exampleTask)
		if !errors.Is(err, ErrLost) {
			t.Fatalf("save %d: %v, %s", at, err, rec.State)
		}
		if w.prepared > 0 && w.rooms != 1 {
			t.Errorf("save %d: another's container was taken away", at)
		}
		if w.saves != at {
			t.Errorf("it was saved %d times, after it was lost at %d", w.saves, at)
		}
	}
}

func TestGiveUp(t *testing.T) {
	w := newWorld(t)
	w.deskErr = func(op string) error {
		if op == "say plan-1" {
			return &fault.Error{Kind: fault.Unavailable, Op: "ask forge", Why: "502"}
		}
		return nil
	}
	if _, err, _ := w.run(exampleTask); err == nil {
		t.Fatal("it worked")
	}
	why := &fault.Error{Kind: fault.Exhausted, Op: "work", Why: "it was taken up 5 times"}
	rec, err := w.coordinator().GiveUp(t.Context(), exampleTask, w, w.saved(), why)
	if err != nil || rec.State != Failed || rec.Phase != Ended ||
		!strings.Contains(w.comments["failed"], "taken up 5 times") {
		t.Fatalf("%v: %+v", err, rec)
	}
	if rec, err := w.coordinator().GiveUp(t.Context(), exampleTask, w, Record{State: Paused, Phase: Execution},
		why); err == nil {
		t.Errorf("a paused task is %s", rec.State)
	}
	if again, err := w.coordinator().GiveUp(t.Context(), exampleTask, w, w.saved(), why); err != nil ||
		again.State != Failed || count(w.said, "failed") != 1 {
		t.Errorf("%v, said %q", err, w.said)
	}
}

func TestTwoToolsOfOneName(t *testing.T) {
	w := newWorld(t)
	c := w.coordinator()
	c.Edit.Name = c.Execute.Name
	if rec, err, _ := w.runBy(t.Context(), c, exampleTask); err != nil || rec.State != Failed ||
		!strings.Contains(rec.Why, "two of this name") {
		t.Errorf("%v: %s", err, rec.Why)
	}
}

// Errors between which something worked are not in a row.
func TestErrorsInARow(t *testing.T) {
	w := newWorld(t)
	var turns []*llm.Turn
	for i := range 4 {
		turns = append(turns, callTurn("", command(fmt.Sprint("bad ", i))), callTurn("", command("good")))
	}
	w.execute = func(_ *room, c string) (Outcome, error, bool) {
		return Outcome{ExitCode: 1, Stderr: c}, nil, strings.HasPrefix(c, "bad")
	}
	w.brain = following(append(turns, callTurn("", edit("fixed\n")))...)
	if rec := w.must(exampleTask); rec.State != Done || rec.Count.Reflections != 0 {
		t.Errorf("%s %s: %+v", rec.State, rec.Why, rec.Count)
	}
}

// With a person's help a model that went in circles may go on.
func TestHelpEndsCircles(t *testing.T) {
	w := newWorld(t)
	w.execute = func(_ *room, c string) (Outcome, error, bool) {
		return Outcome{ExitCode: 1, Stderr: "no"}, nil, c == "bad"
	}
	bad := 0
	w.brain = func(d *llm.Dialog) *llm.Turn {
		switch {
		case planning(d):
			return &llm.Turn{Text: goodPlan}
		case strings.Contains(lastText(d), "look at the work so far"):
			return &llm.Turn{Text: "{}"}
		case bad < 5:
			if bad++; bad == 5 {
				w.thread = []Comment{{ID: "1", Author: "bob", Authorised: true, Text: "Edit it."}}
			}
			return callTurn("", command("bad"))
		case bad == 5:
			bad++
			return callTurn("", edit("fixed\n"))
		}
		return &llm.Turn{Text: "Done."}
	}
	if rec := w.must(exampleTask); rec.State != Done {
		t.Errorf("%s: %s", rec.State, rec.Why)
	}
}

// A place that cannot be kept is worked in all the same, and who takes over is
// told.
func TestUnkept(t *testing.T) {
	for name, refuse := range map[string]error{"refused": &fault.Error{Kind: fault.Denied, Op: "push", Why: "protected"}} {
		w := newWorld(t)
		w.keepErr = refuse
		w.order = func(*world) Order {
			if len(w.asked) == 4 && len(w.shown) == 1 {
				return Pause
			}
			return Continue
		}
		if rec := w.must(exampleTask); rec.State != Paused || !rec.Unkept || len(rec.Warnings) != 1 {
			t.Fatalf("%s: %s %s: %+v", name, rec.State, rec.Why, rec.Warnings)
		}
		w.keepErr = nil
		w.must(exampleTask)
		if d := w.asked[4]; !strings.Contains(lastText(&d), "may be gone") {
			t.Errorf("%s: %q", name, lastText(&d))
		}
	}
}

// However much people write, the model can hold it.
func TestLongTexts(t *testing.T) {
	for _, letter := range []string{"x", "あ"} {
		w := newWorld(t)
		long := strings.Repeat(letter, 200_000)
		w.base["AGENTS.md"], w.base["CLAUDE.md"] = long, long
		for i := range 100 {
			w.thread = append(w.thread, Comment{ID: fmt.Sprint(i), Author: "bob", Authorised: true, Text: fmt.Sprint(i) + long})
		}
		task := exampleTask
		task.Title, task.Body = long, long
		c := w.coordinator()
		c.Context = 32_000
		rec, err, _ := w.runBy(t.Context(), c, task)
		if err != nil || rec.State != Done {
			t.Fatalf("%v: %s %s", err, rec.State, rec.Why)
		}
		for _, d := range w.asked {
			weight := int64(0)
			for _, it := range d.Items {
				weight += it.Weight()
			}
			if weight > 24_000 {
				t.Errorf("%s: %d tokens", letter, weight)
			}
		}
		if text := w.asked[0].Items[0].Text; !strings.Contains(text, "\n99"+letter) ||
			strings.Contains(text, "\n83"+letter) || !strings.Contains(text, "(84 earlier") {
			t.Errorf("%.2000s", text)
		}
		for key, text := range w.comments {
			if len(text) > 65_000 {
				t.Errorf("%s has %d bytes", key, len(text))
			}
		}
	}
}

// A forge that tells the same comment again and again keeps nobody from working
// for ever.
func TestStutteringForge(t *testing.T) {
	w := newWorld(t)
	w.stutter = true
	w.thread = []Comment{{ID: "1", Author: "bob", Authorised: true, Text: "Go."}}
	c := w.coordinator()
	c.Limits.Turns = 20
	if rec, err, _ := w.runBy(t.Context(), c, exampleTask); err != nil || rec.State != Failed {
		t.Errorf("%v: %s %s", err, rec.State, rec.Why)
	}
}

// An issue that is gone when the work is done does not undo it.
func TestIssueGoneAtTheEnd(t *testing.T) {
	for _, at := range []string{"say done", "show"} {
		w := newWorld(t)
		w.deskErr = func(op string) error {
			if op == at && len(w.shown) == 1 {
				return &fault.Error{Kind: fault.NotFound, Op: "ask forge", Why: "404"}
			}
			return nil
		}
		if rec := w.must(exampleTask); rec.State != Done || rec.Phase != Ended || rec.Proposal == "" {
			t.Errorf("%s: %s in %s", at, rec.State, rec.Phase)
		}
	}
}

// A forge that says no is not asked for ever: the task fails, and ends although
// that cannot be told in full.
func TestForgeSaysNo(t *testing.T) {
	for op, told := range map[string]bool{"show": true, "say plan-1": true, "say failed": false, "say": false, "": false} {
		w := newWorld(t)
		w.deskErr = func(o string) error {
			if op == "say failed" && o == "show" && len(w.shown) == 0 || strings.HasPrefix(o, op) && o != "hear" {
				return &fault.Error{Kind: fault.Denied, Op: "label", Why: "the token may not"}
			}
			return nil
		}
		rec, err, _ := w.run(exampleTask)
		if err != nil || rec.State != Failed || rec.Phase != Ended || !strings.Contains(rec.Why, "the token may not") ||
			w.rooms != 0 || w.pushes != 0 {
			t.Errorf("%q: %v, %s %s: %s", op, err, rec.State, rec.Phase, rec.Why)
		}
		if (w.comments["failed"] != "") != told || len(w.said) > 10 {
			t.Errorf("%q: said %q", op, w.said)
		}
		noted := slices.ContainsFunc(w.events, func(e Event) bool {
			return e.Type == "note" &&
				strings.Contains(e.Text, "could not be reported")
		})
		if noted != (op != "say plan-1") {
			t.Errorf("%q: noted %v", op, noted)
		}
	}
}

// What ended well stays so, whatever cannot be told about it.
func TestDoneUntold(t *testing.T) {
	w := newWorld(t)
	w.deskErr = func(o string) error {
		if o == "say done" {
			return &fault.Error{Kind: fault.Denied, Op: "comment", Why: "the issue is locked"}
		}
		return nil
	}
	if rec := w.must(exampleTask); rec.State != Done || rec.Phase != Ended ||
		!slices.Equal(w.shown, []State{Processing, Done}) {
		t.Errorf("%s %s: shown %v", rec.State, rec.Phase, w.shown)
	}
}

type refusing struct{ retry bool }

func (r refusing) Next(context.Context, *llm.Dialog) (*llm.Turn, error) {
	return nil, llm.Refuse("m", "the key is wrong", "", &llm.Refusal{Status: 401, Retry: r.retry})
}

// A key that is refused is a failure at once; a provider that is busy is none.
func TestRefusedKeyFails(t *testing.T) {
	for _, retry := range []bool{false, true} {
		w := newWorld(t)
		co := w.coordinator()
		co.Model = func(Task, *quota.Budget) llm.Model { return refusing{retry} }
		rec, err := co.Run(t.Context(), exampleTask, w, Record{})
		if failed := err == nil && rec.State == Failed && strings.Contains(rec.Why, "the key is wrong"); failed == retry {
			t.Errorf("retry %v: %s, %q, %v", retry, rec.State, rec.Why, err)
		}
	}
}
