package egress

import (
	"io"
	"net"
	"sync"
	"time"
)

// An idleTimer calls a function after a time without activity.
type idleTimer struct {
	mu    sync.Mutex // guards what follows
	timer *time.Timer
	idle  time.Duration
	off   bool
}

// newIdleTimer calls end when touch was not called for that long; zero means never.
func newIdleTimer(idle time.Duration, end func()) *idleTimer {
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

// A spliceEnd is one side of a [splice].
type spliceEnd struct {
	net.Conn
	from   io.Reader   // the connection, with what was read of it before
	passed func(n int) // called with the number of bytes read here and written there; nil means none
}

// splice copies bytes both ways until both sides have closed, one of them breaks, or nothing passes for as long as idle;
// zero means any time. It closes both.
func splice(a, b spliceEnd, buffer int, idle time.Duration) {
	closeBoth := func() {
		a.Close()
		b.Close()
	}
	w := newIdleTimer(idle, closeBoth)
	defer w.stop()
	defer closeBoth()
	var both sync.WaitGroup
	for _, ends := range [][2]spliceEnd{{a, b}, {b, a}} {
		both.Go(func() {
			if !copyOneWay(ends[0], ends[1], buffer, w) {
				closeBoth()
			}
		})
	}
	both.Wait()
}

// copyOneWay copies until the end of from. It returns false when the other direction has to end too.
func copyOneWay(from, to spliceEnd, buffer int, w *idleTimer) bool {
	piece := make([]byte, buffer)
	for {
		n, err := from.from.Read(piece)
		if n > 0 {
			w.touch()
			if _, err := to.Write(piece[:n]); err != nil {
				return false
			}
			if from.passed != nil {
				from.passed(n)
			}
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
