package guest

import (
	"sync"
)

// A window says how many bytes may still be sent before the other side has taken
// some.
type window struct {
	mu     sync.Mutex
	change sync.Cond
	size   int
	free   int
	closed bool
}

func newWindow(size int) *window {
	w := &window{size: size, free: size}
	w.change.L = &w.mu
	return w
}

// take waits until something may be sent and reserves up to most bytes. It
// returns zero when nothing will ever be taken again.
func (w *window) take(most int) int {
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

// give adds n bytes, because they were taken or not used after all. It reports
// whether that can be true.
func (w *window) give(n int) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if n < 0 || n > w.size-w.free {
		return false
	}
	w.free += n
	w.change.Broadcast()
	return true
}

// close wakes everybody who waits.
func (w *window) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	w.change.Broadcast()
}

// An inbox holds the frames about one request until somebody takes them. It
// never holds more bytes of streams than limit; the sender knows that.
type inbox struct {
	limit int

	mu     sync.Mutex
	change sync.Cond
	frames []frame
	bytes  int
	err    error // why nothing will come any more
}

func newInbox(limit int) *inbox {
	b := &inbox{limit: limit}
	b.change.L = &b.mu
	return b
}

// put adds a frame, whose words it copies. It reports whether there was room.
// Many small pieces of a stream become one, so that they do not cost more than
// they hold.
func (b *inbox) put(f frame) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err != nil {
		return true
	}
	if isStream(f.op) {
		b.bytes += len(f.word(0))
		if b.bytes > b.limit {
			return false
		}
		if b.merge(f) {
			return true
		}
	}
	if len(b.frames) == maxFrames || isStream(f.op) && len(f.words) != 1 {
		return false
	}
	b.frames = append(b.frames, f.owned())
	b.change.Signal()
	return true
}

// crowded is how many frames wait before two streams are no longer kept in the
// order in which they came; maxFrames is more than ever wait then.
const (
	crowded   = 1 << 10
	maxFrames = 2 * crowded
)

// merge adds a piece of a stream to one that waits already.
func (b *inbox) merge(f frame) bool {
	reach := 1
	if len(b.frames) > crowded {
		reach = 2
	}
	for i := len(b.frames) - 1; i >= max(len(b.frames)-reach, 0); i-- {
		if last := b.frames[i]; last.op == f.op && len(last.words[0]) < maxChunk {
			last.words[0] = append(last.words[0], f.word(0)...)
			return true
		}
	}
	return false
}

func isStream(op byte) bool { return op == opStdout || op == opStderr || op == opStdin }

// take waits for the next frame.
func (b *inbox) take() (frame, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for len(b.frames) == 0 && b.err == nil {
		b.change.Wait()
	}
	if len(b.frames) == 0 {
		return frame{}, b.err
	}
	f := b.frames[0]
	b.frames = b.frames[1:]
	if isStream(f.op) {
		b.bytes -= len(f.word(0))
	}
	return f, nil
}

// close lets take return err once the frames are taken.
func (b *inbox) close(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err == nil {
		b.err = err
		b.change.Broadcast()
	}
}
