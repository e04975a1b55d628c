package quota

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"hako/run/fault"
)

// A Limiter enforces the [ScriptLimits] of a running session. Everything that can grow charges it first: values,
// buffers, files, output, loops. The first charge over a limit stops the script: every later charge fails with
// the same error, and the context of [Limiter.Start] is cancelled with it.
//
// A nil Limiter limits nothing. A Limiter is safe for concurrent use.
type Limiter struct {
	limits ScriptLimits
	*sharedHeld

	output, loops atomic.Int64
	tripped       atomic.Pointer[fault.Error]

	mu       sync.Mutex // guards what follows
	cancel   context.CancelCauseFunc
	timer    *time.Timer
	deadline time.Time
	running  bool
}

// sharedHeld is what a session and its forks hold together.
type sharedHeld struct{ memory, files atomic.Int64 }

// NewLimiter returns the limiter of a session.
func NewLimiter(l ScriptLimits) *Limiter { return &Limiter{limits: l, sharedHeld: new(sharedHeld)} }

// Fork returns the limiter of a fork of the session. It has its own time, output and loops; memory and files are
// shared.
func (g *Limiter) Fork() *Limiter {
	if g == nil {
		return nil
	}
	return &Limiter{limits: g.limits, sharedHeld: g.sharedHeld}
}

// Reset clears an exceeded limit, as [Limiter.Start] does, for a limiter of which only forks are started.
func (g *Limiter) Reset() { g.tripped.Store(nil) }

// Limits returns the limits of the session.
func (g *Limiter) Limits() ScriptLimits {
	if g == nil {
		return Lenient()
	}
	return g.limits
}

// Start begins a script: output, loops and time start at zero; memory and files are kept. The caller must call
// stop.
func (g *Limiter) Start(ctx context.Context) (_ context.Context, stop func()) {
	g.output.Store(0)
	g.loops.Store(0)
	g.tripped.Store(nil)
	ctx, cancel := context.WithCancelCause(ctx)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.cancel = cancel
	g.deadline = time.Now().Add(g.limits.Time)
	g.timer = time.AfterFunc(g.limits.Time, func() { g.trip("time", g.limits.Time.String()) })
	g.running = true
	return ctx, func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.running = false
		g.timer.Stop()
		cancel(nil)
	}
}

// Overdue reports whether a running script has exceeded its time by more than the given duration.
func (g *Limiter) Overdue(by time.Duration) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.running && time.Until(g.deadline) < -by
}

// Extend gives the running script more time.
func (g *Limiter) Extend(d time.Duration) {
	if g == nil || d <= 0 {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.timer != nil && g.timer.Stop() {
		g.deadline = g.deadline.Add(d)
		g.timer.Reset(time.Until(g.deadline))
	}
}

// Pause stops the clock of the running script until resume is called.
func (g *Limiter) Pause() (resume func()) {
	start := time.Now()
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.timer == nil || !g.timer.Stop() {
		return func() {}
	}
	return func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.deadline = g.deadline.Add(time.Since(start))
		g.timer.Reset(time.Until(g.deadline))
	}
}

// Left returns the remaining time of the running script.
func (g *Limiter) Left() time.Duration {
	if g == nil {
		return 1 << 62
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return time.Until(g.deadline)
}

// Err returns the error of the exceeded limit, if any.
func (g *Limiter) Err() error {
	if g == nil {
		return nil
	}
	if e := g.tripped.Load(); e != nil {
		return e
	}
	return nil
}

// Hold charges n bytes of memory before they are allocated; a negative n releases them.
func (g *Limiter) Hold(n int64) error {
	if g == nil {
		return nil
	}
	if g.memory.Add(n) > g.limits.Memory && n > 0 {
		g.memory.Add(-n) // the caller will not allocate it
		return g.trip("memory", size(g.limits.Memory))
	}
	if err := g.Err(); err != nil && n > 0 {
		g.memory.Add(-n)
		return err
	}
	return nil
}

// Fits fails if n more bytes do not fit. It is for values that are too short-lived to be released.
func (g *Limiter) Fits(n int64) error {
	if g == nil {
		return nil
	}
	if g.memory.Load()+n > g.limits.Memory {
		return g.trip("memory", size(g.limits.Memory))
	}
	return nil
}

// Room returns how many more bytes can be held, for callers that can free memory.
func (g *Limiter) Room() int64 {
	if g == nil {
		return 1 << 62
	}
	return g.limits.Memory - g.memory.Load()
}

// Held returns the bytes held now.
func (g *Limiter) Held() int64 {
	if g == nil {
		return 0
	}
	return g.memory.Load()
}

// Loop charges one iteration.
func (g *Limiter) Loop() error {
	if g == nil {
		return nil
	}
	if g.loops.Add(1) > g.limits.Loops {
		return g.trip("loops", fmt.Sprint(g.limits.Loops))
	}
	return g.Err()
}

// Print charges n bytes of output.
func (g *Limiter) Print(n int64) error {
	if g == nil {
		return nil
	}
	if g.output.Add(n) > g.limits.Output {
		return g.trip("output", size(g.limits.Output))
	}
	return g.Err()
}

// File charges n new entries of the file system; a negative n releases them.
func (g *Limiter) File(n int64) error {
	if g == nil {
		return nil
	}
	if g.files.Add(n) > g.limits.Files && n > 0 {
		g.files.Add(-n)
		return g.trip("files", fmt.Sprint(g.limits.Files))
	}
	return nil
}

// Depth fails if n levels of nesting are too many.
func (g *Limiter) Depth(n int) error {
	if g == nil || int64(n) <= g.limits.Depth {
		return nil
	}
	return g.trip("depth", fmt.Sprint(g.limits.Depth))
}

// Stages fails if a pipeline of n commands is too long.
func (g *Limiter) Stages(n int) error {
	if g == nil || int64(n) <= g.limits.Stages {
		return nil
	}
	return g.trip("stages", fmt.Sprint(g.limits.Stages))
}

// trip stores the first limit that was exceeded and stops the script.
func (g *Limiter) trip(name, max string) error {
	kind := fault.Exhausted
	if name == "time" {
		kind = fault.Timeout
	}
	e := &fault.Error{Kind: kind, Op: "stop script", Why: fmt.Sprintf("it went over the limit %s=%s", name, max),
		Hint:     "do less at once, or have limits." + name + " raised",
		FlagHint: fmt.Sprintf("do less at once, or raise it: --limit %s=…", name)}
	if g.tripped.CompareAndSwap(nil, e) {
		g.mu.Lock()
		defer g.mu.Unlock()
		if g.cancel != nil {
			g.cancel(e)
		}
	}
	return g.tripped.Load()
}

// size formats a byte count as [ParseSize] reads it.
func size(n int64) string {
	for _, u := range []struct {
		shift uint
		name  string
	}{{30, "GB"}, {20, "MB"}, {10, "KB"}} {
		if n >= 1<<u.shift && n%(1<<u.shift) == 0 {
			return fmt.Sprintf("%d%s", n>>u.shift, u.name)
		}
	}
	return fmt.Sprint(n)
}

// Files returns the number of entries of the file system.
func (g *Limiter) Files() int64 {
	if g == nil {
		return 0
	}
	return g.files.Load()
}
