package wire

import (
	"sync"
)

// A Window is the number of bytes that may be sent before the receiver acknowledges some.
type Window struct {
	mu     sync.Mutex
	change sync.Cond
	size   int
	free   int
	closed bool
}

// NewWindow returns a window of that size.
func NewWindow(size int) *Window {
	w := &Window{size: size, free: size}
	w.change.L = &w.mu
	return w
}

// Take waits for free space and reserves up to most bytes. It returns zero when the window is closed.
func (w *Window) Take(most int) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.free == 0 && !w.closed {
		w.change.Wait()
	}
	if w.closed {
		return 0
	}
	n := min(w.free, most)
	w.free -= n
	return n
}

// Give returns n bytes to the window. It reports whether that is possible.
func (w *Window) Give(n int) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if n < 0 || n > w.size-w.free {
		return false
	}
	w.free += n
	w.change.Broadcast()
	return true
}

// Close wakes all waiting calls.
func (w *Window) Close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	w.change.Broadcast()
}

// An Inbox queues the frames of one request. It never holds more bytes than limit, which the sender knows.
type Inbox struct {
	limit int

	mu     sync.Mutex
	change sync.Cond
	frames []Frame
	bytes  int
	err    error // why no more frames will come
}

func NewInbox(limit int) *Inbox {
	b := &Inbox{limit: limit}
	b.change.L = &b.mu
	return b
}

// Put adds a copy of a frame. It reports whether there was room. Small pieces of a stream are merged, to limit
// overhead.
func (b *Inbox) Put(f Frame) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err != nil {
		return true
	}
	b.bytes += f.size()
	if b.bytes > b.limit || isStream(f.Op) && len(f.Words) != 1 {
		return false
	}
	if isStream(f.Op) && b.merge(f) {
		return true
	}
	if len(b.frames) == maxFrames {
		return false
	}
	b.frames = append(b.frames, f.Owned())
	b.change.Signal()
	return true
}

// crowded is the number of frames from which the relative order of two streams is given up; maxFrames is never
// reached then.
const (
	crowded   = 1 << 10
	maxFrames = 2 * crowded
)

// merge appends a piece of a stream to a queued one.
func (b *Inbox) merge(f Frame) bool {
	reach := 1
	if len(b.frames) > crowded {
		reach = 2
	}
	for i := len(b.frames) - 1; i >= max(len(b.frames)-reach, 0); i-- {
		if last := b.frames[i]; last.Op == f.Op && len(last.Words[0]) < MaxChunk {
			last.Words[0] = append(last.Words[0], f.Word(0)...)
			return true
		}
	}
	return false
}

func isStream(op byte) bool { return op == OpStdout || op == OpStderr || op == OpStdin }

// Take waits for the next frame.
func (b *Inbox) Take() (Frame, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for len(b.frames) == 0 && b.err == nil {
		b.change.Wait()
	}
	if len(b.frames) == 0 {
		return Frame{}, b.err
	}
	f := b.frames[0]
	b.frames = b.frames[1:]
	b.bytes -= f.size()
	return f, nil
}

// Close makes Take return err once the queue is empty.
func (b *Inbox) Close(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err == nil {
		b.err = err
		b.change.Broadcast()
	}
}
