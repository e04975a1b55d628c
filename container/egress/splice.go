package egress

import (
	"io"
	"net"
	"sync"
	"time"
)

// A idleTimer ends what has been idle for too long.
type idleTimer struct {
	mu    sync.Mutex // guards what follows
	timer *time.Timer
	idle  time.Duration
	off   bool
}

// newWatch calls end when nobody touches the watch for so long; zero means that
// it never does.
func newWatch(idle time.Duration, end func()) *idleTimer {
	w := &idleTimer{idle: idle, off: idle <= 0}
	if !w.off {
		w.timer = time.AfterFunc(idle, end)
	}
	return w
}

func (w *idleTimer) touch() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.off {
		w.timer.Reset(w.idle)
	}
}

func (w *idleTimer) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.off {
		w.timer.Stop()
	}
	w.off = true
}

// An spliceEnd is one side of what is spliced.
type spliceEnd struct {
	net.Conn
	from   io.Reader   // what is read; the connection, with what was read of it before
	passed func(n int) // called with what was read here and written there
}

// splice passes bytes both ways until both sides have said all, one of them
// breaks, or nothing passes for as long as idle; zero means any time. It closes
// both.
func splice(a, b spliceEnd, idle time.Duration) {
	closeBoth := func() {
		a.Close()
		b.Close()
	}
	w := newWatch(idle, closeBoth)
	defer w.stop()
	defer closeBoth()
	var both sync.WaitGroup
	for _, way := range [][2]spliceEnd{{a, b}, {b, a}} {
		both.Go(func() {
			if !pour(way[0], way[1], w) {
				closeBoth()
			}
		})
	}
	both.Wait()
}

// pour passes bytes one way. It answers false when the other way has to end too.
func pour(from, to spliceEnd, w *idleTimer) bool {
	piece := make([]byte, 32<<10)
	for {
		n, err := from.from.Read(piece)
		if n > 0 {
			w.touch()
			if _, err := to.Write(piece[:n]); err != nil {
				return false
			}
			from.passed(n)
			w.touch()
		}
		if err == io.EOF {
			half, ok := to.Conn.(interface{ CloseWrite() error })
			return ok && half.CloseWrite() == nil
		}
		if err != nil {
			return false
		}
	}
}
