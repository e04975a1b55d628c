package quota

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"hako/internal/testload"
	"hako/run/fault"
)

// TestGaugeTrips passes each limit in turn: the script is cancelled with an
// error that names it, and every later charge fails with the same.
func TestGaugeTrips(t *testing.T) {
	for name, charge := range map[string]func(*Limiter) error{
		"memory": func(g *Limiter) error { return g.Hold(2 << 20) },
		"output": func(g *Limiter) error { return g.Print(2 << 20) },
		"files":  func(g *Limiter) error { return g.File(20) },
		"depth":  func(g *Limiter) error { return g.Depth(20) },
		"stages": func(g *Limiter) error { return g.Stages(20) },
		"loops": func(g *Limiter) error {
			for range 20 {
				if err := g.Loop(); err != nil {
					return err
				}
			}
			return nil
		},
		"time": func(g *Limiter) error {
			time.Sleep(50 * time.Millisecond)
			return g.Err()
		},
	} {
		g := NewLimiter(ScriptLimits{Memory: 1 << 20, Output: 1 << 20, Files: 10, Depth: 10, Stages: 10, Loops: 10,
			Time: 20 * time.Millisecond})
		ctx, stop := g.Start(t.Context())
		err := charge(g)
		if err == nil || !strings.Contains(err.Error(), "limit "+name+"=") ||
			!strings.Contains(fault.FlagHint(err), "--limit "+name+"=") || !strings.Contains(fault.Hint(err), "limits."+name) {
			t.Errorf("%s: %v", name, err)
		}
		if ctx.Err() == nil || !errors.Is(context.Cause(ctx), err) {
			t.Errorf("%s: the script goes on: %v", name, context.Cause(ctx))
		}
		for _, again := range []error{g.Hold(1), g.Loop(), g.Print(1), g.Err()} {
			if !errors.Is(again, err) {
				t.Errorf("%s: later charges say %v", name, again)
			}
		}
		stop()
		_, stop = g.Start(t.Context())
		if err := g.Loop(); err != nil {
			t.Errorf("%s: the next script inherits %v", name, err)
		}
		stop()
	}
}

// TestGaugePause stops the clock while a person thinks.
func TestGaugePause(t *testing.T) {
	g := NewLimiter(ScriptLimits{Time: 50 * time.Millisecond})
	ctx, stop := g.Start(t.Context())
	defer stop()
	resume := g.Pause()
	time.Sleep(100 * time.Millisecond)
	if ctx.Err() != nil {
		t.Error("thinking was charged")
	}
	resume()
	select {
	case <-ctx.Done():
	case <-time.After(testload.Bound(5 * time.Second)):
		t.Error("the clock never went on")
	}
}

// TestGaugeFork checks that a session and its fork hold no more together than
// one may, and that each is stopped alone.
func TestGaugeFork(t *testing.T) {
	g := NewLimiter(ScriptLimits{Memory: 100, Files: 10, Time: time.Minute, Loops: 5})
	if err := g.Hold(60); err != nil {
		t.Fatal(err)
	}
	f := g.Fork()
	if f.Held() != 60 {
		t.Errorf("the fork begins with %d", f.Held())
	}
	if err := f.Hold(60); fault.KindOf(err) != fault.Exhausted {
		t.Errorf("together they hold 120 of 100: %v", err)
	}
	if err := g.Err(); err != nil {
		t.Errorf("the fork stopped its parent: %v", err)
	}
	_ = f.Hold(-60)
	if g.Held() != 0 {
		t.Errorf("%d are still held", g.Held())
	}
	var none *Limiter
	if none.Fork() != nil || none.Hold(1) != nil || none.Err() != nil {
		t.Error("a nil gauge measures something")
	}
}
