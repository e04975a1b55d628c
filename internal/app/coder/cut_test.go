package coder

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"hako/internal/redact"
	"hako/llm"
)

type item = llm.Item

func newSecrets(values ...string) *redact.Set {
	s := new(redact.Set)
	s.Add(values...)
	return s
}

// survived checks a world in which workers were killed: everything that can be
// seen was done once.
func survived(t *testing.T, w *world, rec Record, where ...int) {
	t.Helper()
	if rec.State != Done || rec.Phase != Ended {
		t.Fatalf("killed at %v: %s, %s", where, rec.State, rec.Why)
	}
	if got := w.commits[w.branch]["a.txt"]; got != fixedText {
		t.Errorf("killed at %v: pushed %q", where, got)
	}
	if w.pushes != 1 || len(w.proposals) != 1 || w.notified > 1 || w.rooms != 0 {
		t.Errorf("killed at %v: %d pushes, %d proposals, notified %d times, %d rooms", where, w.pushes, len(w.proposals),
			w.notified, w.rooms)
	}
	heard := 0
	for _, it := range w.asked[len(w.asked)-1].Items {
		heard += strings.Count(it.Text, "Mind the docs.")
	}
	if want := max(len(w.thread)-2, 0); heard != want {
		t.Errorf("killed at %v: the model was told %d times", where, heard)
	}
	if !strings.Contains(w.comments[fmt.Sprintf("plan-%d", rec.Version)], rec.Plan.Comment) {
		t.Errorf("killed at %v: another plan was told than is followed", where)
	}
	if count(w.said, "plan-1") > 1 && len(where) == 0 {
		t.Errorf("said %q", w.said)
	}
	if want := w.version; rec.Version != want {
		t.Errorf("killed at %v: %d plans", where, rec.Version)
	}
	for _, key := range []string{"plan-1", fmt.Sprintf("plan-%d", rec.Version), "progress", "done"} {
		if w.comments[key] == "" {
			t.Errorf("killed at %v: %s was never said", where, key)
		}
	}
	if n := 3 + max(rec.Version-1, 0); len(w.comments) != n || w.shown[len(w.shown)-1] != Done {
		t.Errorf("killed at %v: said %q, shown %v", where, w.said, w.shown)
	}
}

// lives are tasks that go through everything that can happen.
var lives = map[string]func(w *world){
	"straight": func(*world) {},
	"comments": func(w *world) {
		w.thread = []Comment{{ID: "1", Author: "bob", Authorised: true, Text: "Go."}, {ID: "2", Author: "eve", Text: "Stop."}}
		w.brain = func(d *llm.Dialog) *llm.Turn {
			if turnsOf(d) == 2 && len(w.thread) == 2 {
				w.thread = append(w.thread, Comment{ID: "3", Author: "bob", Authorised: true, Text: "Mind the docs."})
			}
			return fixer(d)
		}
	},
	"reflection": func(w *world) {
		w.brain = func(d *llm.Dialog) *llm.Turn {
			if strings.Contains(lastText(d), "look at the work so far") {
				return &llm.Turn{Text: `{"on_track":true,"assessment":"good","plan_revision_needed":false,"next":"go on"}`}
			}
			if !planning(d) && turnsOf(d) == 0 {
				return callTurn("", strings.Split(strings.TrimSuffix(strings.Repeat(command("look")+"\x00", 15), "\x00"),
					"\x00")...)
			}
			return fixer(d)
		}
	},
	"plans that differ": func(w *world) {
		w.brain = func(d *llm.Dialog) *llm.Turn {
			turn := fixer(d)
			turn.Text = strings.Replace(turn.Text, "I will fix it.", fmt.Sprintf("Plan %d of the model.", len(w.asked)), 1)
			return turn
		}
	},
	"not yet": func(w *world) {
		w.version = 2
		w.brain = func(d *llm.Dialog) *llm.Turn {
			turn := fixer(d)
			if !planning(d) && turnsOf(d) == 3 && !said(d, "not done") { // the model stops too early
				return &llm.Turn{Text: "I fixed a.txt."}
			}
			return turn
		}
	},
}

func said(d *llm.Dialog, text string) bool {
	return slices.ContainsFunc(d.Items, func(it item) bool {
		return it.Role == llm.User &&
			strings.Contains(it.Text, text)
	})
}

// TestKilledAnywhere kills a worker at every moment, and lets another go on.
func TestKilledAnywhere(t *testing.T) {
	for name, live := range lives {
		t.Run(name, func(t *testing.T) {
			for at := 1; ; at++ {
				w := newWorld(t)
				live(w)
				w.dieAt = at
				rec, err, lived := w.run(exampleTask)
				if lived {
					if at < 50 || err != nil {
						t.Fatalf("only %d moments: %v", at, err)
					}
					survived(t, w, rec)
					return
				}
				w.dieAt = 0
				survived(t, w, w.must(exampleTask), at)
			}
		})
	}
}

// TestKilledAgainAndAgain kills several workers one after the other.
func TestKilledAgainAndAgain(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	tries := 150
	if testing.Short() {
		tries = 20
	}
	for name, live := range lives {
		for range tries {
			w := newWorld(t)
			live(w)
			var where []int
			for lived := false; !lived; {
				if w.dieAt = 0; len(where) < 6 {
					w.dieAt = w.ticks + 1 + r.IntN(40)
				}
				var rec Record
				var err error
				if rec, err, lived = w.run(exampleTask); lived {
					if err != nil {
						t.Fatalf("%s: killed at %v: %v", name, where, err)
					}
					survived(t, w, rec, where...)
				}
				where = append(where, w.dieAt)
			}
		}
	}
}

// Where nobody knows whether a call was carried out the model is told so, and it
// is not carried out again.
func TestDoubtfulCall(t *testing.T) {
	doubts := 0
	for at := 1; ; at++ {
		w := newWorld(t)
		w.dieAt = at
		if _, _, lived := w.run(exampleTask); lived {
			break
		}
		w.dieAt = 0
		w.must(exampleTask)
		for _, it := range w.asked[len(w.asked)-1].Items {
			if it.Name == "forge_notify" && it.Text != "" && it.Text[0] == '{' {
				doubts++
			}
		}
		if w.notified > 1 {
			t.Errorf("killed at %d: notified %d times", at, w.notified)
		}
	}
	if doubts == 0 {
		t.Error("there was never any doubt")
	}
}
