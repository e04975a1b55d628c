// Package progress shows a spinner: one line with an animated mark, what is being done
// and for how long, for anything longer than a second. It has no bars and percentages,
// as a model does not know its progress, and does not detect terminals; the caller
// does.
//
// Whoever prints to the same terminal while a spinner runs must use Writer or Wrap, or
// print between Pause and Resume.
package progress

import (
	"io"
	"sync"
	"time"
)

// A Spinner is one line on a terminal. Its fields may be set before Start; its methods
// are safe for concurrent use.
type Spinner struct {
	Delay time.Duration // before the line is shown; zero means a second
	Width func() int    // columns of the terminal, called for each drawing; nil means 80
	Color bool          // color the mark; false means that no SGR sequence is written

	w        io.Writer
	terminal bool

	mu        sync.Mutex
	label     string
	began     time.Time
	stop      chan struct{} // nil while the spinner does not run
	done      chan struct{}
	delayOver bool // the delay is over
	shown     bool // the line is on the terminal
	midLine   bool // others have written a line without its end
	paused    int
	frame     int
}

// New returns a spinner on w. If w is not a terminal nothing is printed.
func New(w io.Writer, terminal bool) *Spinner {
	return &Spinner{w: w, terminal: terminal}
}

const (
	defaultDelay = time.Second
	tick         = 100 * time.Millisecond
	clearLine    = "\r\x1b[K"
)

// Start starts the timer. A spinner that runs already restarts it, with the new label,
// but stays visible.
func (s *Spinner) Start(label string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.label, s.began = label, time.Now()
	if !s.terminal || s.stop != nil {
		s.draw()
		return
	}
	s.stop, s.done, s.delayOver = make(chan struct{}), make(chan struct{}), false
	delay := s.Delay
	if delay == 0 {
		delay = defaultDelay
	}
	go s.run(delay, s.stop, s.done)
}

// Label changes the label.
func (s *Spinner) Label(label string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.label = label
	s.draw()
}

// Stop clears the line. When it returns no goroutine is left. It does nothing if the
// spinner does not run.
func (s *Spinner) Stop() {
	s.mu.Lock()
	stop, done := s.stop, s.done
	s.stop, s.delayOver = nil, false
	s.clear()
	s.mu.Unlock()
	if stop != nil {
		close(stop)
		<-done
	}
}

// Pause clears the line until Resume is called as often as Pause.
func (s *Spinner) Pause() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.paused++
	s.clear()
}

// Resume shows the line again.
func (s *Spinner) Resume() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.paused = max(s.paused-1, 0)
	s.draw()
}

// run draws until stop is closed. It has its own channels: the spinner may have been
// started again by then.
func (s *Spinner) run(delay time.Duration, stop, done chan struct{}) {
	defer close(done)
	wait := time.NewTimer(delay)
	defer wait.Stop()
	select {
	case <-stop:
		return
	case <-wait.C:
	}
	ticks := time.NewTicker(tick)
	defer ticks.Stop()
	for s.drawNext(stop) {
		select {
		case <-stop:
			return
		case <-ticks.C:
		}
	}
}

// drawNext draws the next frame, unless the spinner was stopped.
func (s *Spinner) drawNext(stop chan struct{}) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stop != stop {
		return false
	}
	s.delayOver = true
	s.frame++
	s.draw()
	return true
}

// draw shows the line if it may be visible. The lock is held.
func (s *Spinner) draw() {
	if !s.delayOver || s.paused > 0 || s.midLine {
		return
	}
	s.shown = true
	io.WriteString(s.w, "\r"+s.line()+"\x1b[K")
}

// clear removes the line. The lock is held.
func (s *Spinner) clear() {
	if s.shown {
		s.shown = false
		io.WriteString(s.w, clearLine)
	}
}

// Writer returns a writer to the same terminal, which clears the line before it writes
// and shows it again after.
func (s *Spinner) Writer() io.Writer { return s.Wrap(s.w) }

// Wrap is Writer for another writer to the same terminal. While a written line has no
// end, the spinner stays hidden: it would overwrite it.
func (s *Spinner) Wrap(w io.Writer) io.Writer {
	if !s.terminal {
		return w
	}
	return &writer{s, w}
}

type writer struct {
	s *Spinner
	w io.Writer
}

func (w *writer) Write(p []byte) (int, error) {
	w.s.mu.Lock()
	defer w.s.mu.Unlock()
	w.s.clear()
	n, err := w.w.Write(p)
	if n > 0 && n <= len(p) {
		w.s.midLine = p[n-1] != '\n'
	}
	w.s.draw()
	return n, err
}
