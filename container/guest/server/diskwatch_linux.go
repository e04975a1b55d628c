package server

import (
	"context"
	"sync"
	"time"

	"hako/container/guest/usage"
)

const (
	lookEvery    = 2 * time.Second  // while commands run
	measureOnce  = time.Second      // minimum interval for a new command
	measureAll   = 30 * time.Second // maximum interval while commands run
	measureShare = 100              // measuring may take this fraction of the time
)

// A diskWatch limits the size of a directory where the kernel does not. Measuring all files takes time, so it happens
// when the free space of the disk has decreased so much that the limit may be near, and periodically: others may have
// freed space on the same disk meanwhile.
//
// A directory that nobody can read hides its contents. Where that matters, the workspace is a file system of its own,
// and nothing is watched.
type diskWatch struct {
	dir     string
	limit   int64
	measure func(ctx context.Context) (int64, error)
	free    func() int64
	busy    func() bool // whether commands run
	over    func()      // called when the directory is too large

	mu    sync.Mutex // guards what follows; held while measuring
	used  int64
	left  int64 // free space when it was measured
	at    time.Time
	took  time.Duration
	deep  bool // it cannot be measured
	timer *time.Timer
	set   bool // the timer runs
}

// keepLooking checks periodically until nothing runs.
func (w *diskWatch) keepLooking() {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.set:
		return
	case w.timer == nil:
		w.timer = time.AfterFunc(lookEvery, w.tick)
	default:
		w.timer.Reset(lookEvery)
	}
	w.set = true
}

func (w *diskWatch) tick() {
	w.mu.Lock()
	w.set = false
	if w.suspicious() || time.Since(w.at) >= min(measureShare*w.took, measureAll) {
		w.look()
	}
	full := w.tooMuch()
	w.mu.Unlock()
	if full {
		w.over()
	}
	if w.busy() {
		w.keepLooking()
	}
}

// full reports whether a new command must not write.
func (w *diskWatch) full() bool {
	if w == nil {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if (w.tooMuch() || w.suspicious()) && time.Since(w.at) >= measureOnce {
		w.look()
	}
	return w.tooMuch()
}

func (w *diskWatch) tooMuch() bool { return w.deep || w.used > w.limit }

// suspicious reports whether the free space has decreased so much that the limit may be near.
func (w *diskWatch) suspicious() bool {
	return w.at.IsZero() || w.left-w.free() > max(w.limit-w.used, 0)/8
}

// look measures the directory.
func (w *diskWatch) look() {
	left, began := w.free(), time.Now()
	used, err := w.measure(context.Background())
	w.used, w.left, w.at, w.deep = used, left, time.Now(), err != nil
	w.took = w.at.Sub(began)
}

func (w *diskWatch) last() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.used
}

// fullNote is the message when the disk is full.
func (w *diskWatch) fullNote() string {
	return "the disk limit of " + usage.Bytes(w.limit) + " is reached: delete something in " + w.dir
}
