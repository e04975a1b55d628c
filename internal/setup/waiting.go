package setup

import (
	"io"
	"os"
	"sync"
	"time"

	"hako/quota"
)

// Waiting is the standard input of somebody's own script: while nothing comes
// and nobody does anything meanwhile, its clock stands still.
func Waiting(stdin io.Reader, g *quota.Limiter) io.Reader {
	if stdin == nil {
		return nil
	}
	return readerFunc(func(p []byte) (int, error) {
		defer keepVigil(g).end()
		return stdin.Read(p)
	})
}

type readerFunc func([]byte) (int, error)

// Read implements [io.Reader].
func (read readerFunc) Read(p []byte) (int, error) { return read(p) }

// spell is how long the process is watched at a time.
const spell = 100 * time.Millisecond

// A vigil watches the process while something is waited for. It gives the script
// back each spell in which next to nothing was done. Another part of the script
// that works all the while, as in cat | awk '…', has its time counted.
type vigil struct {
	gauge *quota.Limiter
	spell time.Duration

	mu    sync.Mutex
	timer *time.Timer
	busy  time.Duration // what the process had used at the last look
	over  bool
}

func keepVigil(g *quota.Limiter) *vigil {
	v := &vigil{gauge: g, spell: min(spell, g.Limits().Time/4), busy: cpuTime()}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.timer = time.AfterFunc(v.spell, v.look)
	return v
}

func (v *vigil) look() {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.over {
		return
	}
	now := cpuTime()
	if now-v.busy < v.spell/5 {
		v.gauge.Extend(v.spell)
	}
	v.busy = now
	v.timer.Reset(v.spell)
}

func (v *vigil) end() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.over = true
	v.timer.Stop()
}

// Unhurried are the limits at a terminal: whoever types can press Ctrl-C.
func Unhurried() quota.ScriptLimits {
	l := quota.Lenient()
	l.Time = 10 * time.Minute
	return l
}

// grace is how long a script that was told to stop may take to do so.
const grace = 700 * time.Millisecond

// Watch ends the process with the status that end returns if a script outlives its
// time limit: the last resort against a command that does not notice that it was
// stopped.
func Watch(g *quota.Limiter, end func(error) int) (stop func()) {
	done := make(chan struct{})
	go func() {
		for {
			select {
			case <-done:
				return
			case <-time.After(100 * time.Millisecond):
			}
			if err := g.Err(); err != nil && g.Overdue(grace) {
				os.Exit(end(err))
			}
		}
	}()
	return func() { close(done) }
}
