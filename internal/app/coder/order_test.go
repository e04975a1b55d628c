package coder

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
)

// TestOrdersAtEveryPhase pauses and stops a task before each phase, and between
// turns.
func TestOrdersAtEveryPhase(t *testing.T) {
	for _, phase := range []Phase{Planning, Environment, Execution, Verification, Delivery} {
		for _, order := range []Order{Pause, Stop} {
			t.Run(string(phase)+" "+string(order), func(t *testing.T) {
				w := newWorld(t)
				given := false
				w.order = func(*world) Order {
					if last := w.events[len(w.events)-1]; !given && last.Type == "phase" && last.Phase == phase {
						given = true
						return order
					}
					return Continue
				}
				ordered(t, w, order, phase)
			})
		}
	}
	for turn := range 4 {
		for _, order := range []Order{Pause, Stop} {
			w := newWorld(t)
			given := false
			w.order = func(*world) Order {
				if n := len(w.asked); !given && n == turn+2 {
					given = true
					return order
				}
				return Continue
			}
			ordered(t, w, order, Execution)
		}
	}
}

// ordered runs a task that gets an order, and sees how it ends and goes on.
func ordered(t *testing.T, w *world, order Order, phase Phase) {
	t.Helper()
	rec := w.must(exampleTask)
	want := map[Order]State{Pause: Paused, Stop: Stopped}[order]
	if rec.State != want || w.rooms != 0 || !slices.Equal(w.shown, []State{Processing, want}) || w.pushes != 0 ||
		len(w.proposals) != 0 {
		t.Fatalf("%s: %s, shown %v, %d rooms, %d pushes", phase, rec.State, w.shown, w.rooms, w.pushes)
	}
	if key := map[Order]string{Pause: "paused-1", Stop: "stopped"}[order]; w.comments[key] == "" ||
		w.comments["done"]+w.comments["failed"] != "" {
		t.Errorf("said %q", w.said)
	}
	if order == Stop {
		if rec.Phase != Ended {
			t.Errorf("stopped in %s", rec.Phase)
		}
		return
	}
	if rec.Phase != phase {
		t.Errorf("paused in %s, it would go on in %s", phase, rec.Phase)
	}
	if rec := w.must(exampleTask); rec.State != Done || w.commits[w.branch]["a.txt"] != fixedText || w.notified != 1 ||
		count(w.said, "plan-1") != 1 {
		t.Errorf("%s: resumed, %s %s: %q, %d notified", phase, rec.State, rec.Why, w.commits[w.branch]["a.txt"], w.notified)
	}
	if !slices.Equal(w.shown, []State{Processing, Paused, Processing, Done}) {
		t.Errorf("shown %v", w.shown)
	}
}

// An order that ends a running command ends the task as itself.
func TestOrderEndsTheContext(t *testing.T) {
	for _, order := range []Order{Pause, Stop} {
		w := newWorld(t)
		ctx, end := context.WithCancelCause(t.Context())
		w.execute = func(_ *room, c string) (Outcome, error, bool) {
			if c == "check" && ctx.Err() == nil {
				end(order)
				return Outcome{}, order, true
			}
			return Outcome{}, nil, false
		}
		rec, err, _ := w.runBy(ctx, w.coordinator(), exampleTask)
		if want := map[Order]State{Pause: Paused, Stop: Stopped}[order]; err != nil || rec.State != want || w.rooms != 0 ||
			w.shown[1] != want {
			t.Fatalf("%s: %v, %s, shown %v", order, err, rec.State, w.shown)
		}
		if order == Stop {
			continue
		}
		w.execute = nil
		if rec := w.must(exampleTask); rec.State != Done || w.commits[w.branch]["a.txt"] != fixedText || w.notified != 1 {
			t.Errorf("%s %s: %q, %d notified", rec.State, rec.Why, w.commits[w.branch]["a.txt"], w.notified)
		}
	}
}

// A worker that is asked to end leaves the task as it is for another.
func TestWorkerEnds(t *testing.T) {
	for at := 1; at < 60; at++ {
		w := newWorld(t)
		ctx, end := context.WithCancel(t.Context())
		w.onTick = func(n int) {
			if n == at {
				end()
			}
		}
		rec, err, _ := w.runBy(ctx, w.coordinator(), exampleTask)
		end()
		if w.rooms != 0 {
			t.Errorf("tick %d: a room is left", at)
		}
		if err == nil && rec.State != Done || err != nil && !errors.Is(err, context.Canceled) || rec.State == Failed {
			t.Fatalf("tick %d: %v, %s %s", at, err, rec.State, rec.Why)
		}
		w.onTick = nil
		if rec := w.must(exampleTask); rec.State != Done || w.commits[w.branch]["a.txt"] != fixedText || w.notified != 1 {
			t.Errorf("tick %d: %s, %q, notified %d", at, rec.State, w.commits[w.branch]["a.txt"], w.notified)
		}
	}
}

func TestPausedTwice(t *testing.T) {
	w := newWorld(t)
	at := 3
	w.order = func(*world) Order {
		if len(w.asked) == at && at < 5 {
			at++
			return Pause
		}
		return Continue
	}
	for range 2 {
		if rec := w.must(exampleTask); rec.State != Paused {
			t.Fatalf("%s: %s", rec.State, rec.Why)
		}
	}
	if rec := w.must(exampleTask); rec.State != Done || w.comments["paused-1"] == "" || w.comments["paused-2"] == "" ||
		w.commits[w.branch]["a.txt"] != fixedText {
		t.Errorf("%s %s: %q", rec.State, rec.Why, w.said)
	}
	if text := w.asked[len(w.asked)-1].Items; !slices.ContainsFunc(text,
		func(it item) bool { return strings.Contains(it.Text, "in a new container") }) {
		t.Error("the model does not know that it is somewhere else")
	}
}
