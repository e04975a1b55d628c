package setup

import (
	"io"
	"os"
	"sync"
	"time"

	"hako/quota"
)

// PauseWhileReading returns a standard input that stops the clock of the script while a read waits and the
// process is idle.
func PauseWhileReading(stdin io.Reader, g *quota.Limiter) io.Reader {
	if stdin == nil {
		return nil
	}
	return readerFunc(func(p []byte) (int, error) {
		defer startInputWait(g).end()
		return stdin.Read(p)
	})
}

type readerFunc func([]byte) (int, error)

// Read implements [io.Reader].
func (read readerFunc) Read(p []byte) (int, error) { return read(p) }

// waitInterval is how often the processor time is checked.
const waitInterval = 100 * time.Millisecond

// An inputWait extends the time limit of the script by each interval in which the process used next to no
// processor time. Another part of the script that works meanwhile, as in cat | awk '…', has its time counted.
type inputWait struct {
	limiter  *quota.Limiter
	interval time.Duration

	mu    sync.Mutex
	timer *time.Timer
	busy  time.Duration // what the process had used at the last look
	over  bool
}

func startInputWait(g *quota.Limiter) *inputWait {
	v := &inputWait{limiter: g, interval: min(waitInterval, g.Limits().Time/4), busy: cpuTime()}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.timer = time.AfterFunc(v.interval, v.check)
	return v
}

func (v *inputWait) check() {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.over {
		return
	}
	now := cpuTime()
	if now-v.busy < v.interval/5 {
		v.limiter.Extend(v.interval)
	}
	v.busy = now
	v.timer.Reset(v.interval)
}

func (v *inputWait) end() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.over = true
	v.timer.Stop()
}

// TerminalLimits are the limits at a terminal, where a person can press Ctrl-C.
func TerminalLimits() quota.ScriptLimits {
	l := quota.Lenient()
	l.Time = 10 * time.Minute
	return l
}

// grace is how long a cancelled script may take to end.
const grace = 700 * time.Millisecond

// KillOverdue ends the process with the status that end returns if a script exceeds its time limit by far: the
// last resort against a command that ignores cancellation.
func KillOverdue(g *quota.Limiter, end func(error) int) (stop func()) {
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
