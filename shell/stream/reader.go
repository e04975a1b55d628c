package stream

import (
	"bytes"
	"io"
	"sync"
)

// A Source hands over whole buffers, see [PipeReader]. The buffer returned by
// Next belongs to the caller until the next call of Next.
type Source interface {
	Next() ([]byte, error)
}

// A Reader is the reading side of a descriptor. Commands that read one after
// the other from the same descriptor share it, so what one leaves unread is
// there for the next.
//
// The lock keeps two commands that read at the same time from corrupting the
// state; who gets which bytes is then undefined, as it is with processes. It is
// not held while the source is asked: whoever needs more than is buffered
// waits for its turn then.
type Reader struct {
	mu      sync.Mutex
	changed sync.Cond // told when what follows changes, and when there are bytes
	asking  bool      // one goroutine is asking src
	feeding bool      // what was buffered is with [Reader.Feed]
	gone    bool      // Release was called
	keep    bool      // Share was called

	src   io.Reader
	hand  Source // src, if it hands over buffers
	buf   []byte // unread bytes
	own   []byte // our buffer, nil while buf belongs to hand
	err   error  // what src said last
	carry []byte // a line put together from several buffers

	// Grow is asked before a line longer than a buffer is put together.
	// Nil permits any length.
	Grow func(n int64) error
	wait func() // see OnWait
}

// NewReader returns a Reader of src; nil is an empty source.
func NewReader(src io.Reader) *Reader {
	r := &Reader{src: src}
	if src == nil {
		r.err = io.EOF
	}
	r.hand, _ = src.(Source)
	return r
}

// NewBytes returns a Reader of b.
func NewBytes(b []byte) *Reader { return &Reader{buf: b, err: io.EOF} }

// OnWait has f called before the reader may block, until undo is called. Nil
// means that nothing is called. [Reader.Await] calls nothing, nor does anybody
// after [Reader.Share].
func (r *Reader) OnWait(f func()) (undo func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	old := r.wait
	r.wait = f
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.wait = old
	}
}

// fill makes buf non-empty or returns why it cannot. It lets go of mu while it
// waits.
func (r *Reader) fill() error {
	if len(r.buf) > 0 && !r.feeding {
		return nil
	}
	if !r.keep && r.wait != nil && r.err == nil {
		r.wait()
	}
	return r.more()
}

func (r *Reader) more() error {
	for len(r.buf) == 0 || r.feeding {
		switch {
		case r.feeding:
			r.rest()
		case r.err != nil:
			return r.err
		case r.asking:
			r.rest()
		default:
			r.ask()
		}
	}
	return nil
}

// rest waits until something changes.
func (r *Reader) rest() {
	r.changed.L = &r.mu
	r.changed.Wait()
}

// ask gets the next bytes from the source, without holding mu meanwhile.
func (r *Reader) ask() {
	own := r.own
	r.own = nil
	r.asking = true
	r.mu.Unlock()
	var b []byte
	var err error
	if r.hand != nil {
		b, err = r.hand.Next()
	} else {
		if own == nil {
			own = Get()
		}
		var n int
		n, err = r.src.Read(own[:cap(own)])
		b = own[:n]
	}
	r.mu.Lock()
	r.asking = false
	r.changed.Broadcast()
	switch {
	case r.gone: // the bytes came too late for anybody
		Put(own)
		return
	case r.keep && r.hand != nil:
		b = bytes.Clone(b)
	case !r.keep:
		r.own = own
	}
	r.err = err
	r.buf = join(r.buf, b) // bytes may have been pushed meanwhile
}

// join returns one after the other, copied only if both hold something.
func join(a, b []byte) []byte {
	switch {
	case len(a) == 0:
		return b
	case len(b) == 0:
		return a
	}
	return append(append(make([]byte, 0, len(a)+len(b)), a...), b...)
}

// Read implements [io.Reader].
func (r *Reader) Read(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(p) == 0 {
		return 0, nil
	}
	if err := r.fill(); err != nil {
		return 0, err
	}
	n := copy(p, r.buf)
	r.buf = r.buf[n:]
	return n, nil
}

// ReadByte implements [io.ByteReader].
func (r *Reader) ReadByte() (byte, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.fill(); err != nil {
		return 0, err
	}
	b := r.buf[0]
	r.buf = r.buf[1:]
	return b, nil
}

// Chunk takes whatever comes next: at least one byte, or an error.
func (r *Reader) Chunk() ([]byte, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.fill(); err != nil {
		return nil, err
	}
	b := r.buf
	r.buf = r.buf[len(b):]
	return b, nil
}

// Unread gives back the last n bytes of the slice that was taken last. It must
// come before any other call.
func (r *Reader) Unread(taken []byte, n int) {
	if n == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	rest := taken[len(taken)-n:]
	r.buf = join(rest, r.buf)
}

// Lines takes as many whole lines as are at hand: one or more, each with its
// newline, except that the last of the stream may lack it.
func (r *Reader) Lines() ([]byte, error) { return r.Records('\n') }

// Records is Lines with another terminator.
func (r *Reader) Records(end byte) ([]byte, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.fill(); err != nil {
		return nil, err
	}
	i := bytes.LastIndexByte(r.buf, end)
	if i < 0 {
		return r.long(end)
	}
	b := r.buf[:i+1]
	r.buf = r.buf[i+1:]
	return b, nil
}

// Line takes one line with its newline; the last may lack it.
func (r *Reader) Line() ([]byte, error) { return r.Record('\n') }

// Record is Line with another terminator.
func (r *Reader) Record(end byte) ([]byte, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.fill(); err != nil {
		return nil, err
	}
	i := bytes.IndexByte(r.buf, end)
	if i < 0 {
		return r.long(end)
	}
	b := r.buf[:i+1]
	r.buf = r.buf[i+1:]
	return b, nil
}

// long puts together one record that reaches beyond the buffer.
func (r *Reader) long(end byte) ([]byte, error) {
	carry := append(r.carry[:0], r.buf...)
	r.carry, r.buf = nil, nil // fill lets others in, who must not get the same
	defer func() {
		if !r.keep {
			r.carry = carry
		}
	}()
	for {
		switch err := r.fill(); {
		case err == io.EOF:
			return carry, nil
		case err != nil:
			return nil, err
		}
		i := bytes.IndexByte(r.buf, end)
		n := i + 1
		if i < 0 {
			n = len(r.buf)
		}
		if r.Grow != nil && len(carry)+n > cap(carry) {
			if err := r.Grow(int64(len(carry)+n) * 3); err != nil {
				return nil, err
			}
		}
		carry = append(carry, r.buf[:n]...)
		r.buf = r.buf[n:]
		if i >= 0 {
			return carry, nil
		}
	}
}

// WriteTo implements [io.WriterTo] without a buffer of its own.
func (r *Reader) WriteTo(w io.Writer) (int64, error) {
	var n int64
	for {
		b, err := r.Chunk()
		if err == io.EOF {
			return n, nil
		}
		if err != nil {
			return n, err
		}
		m, err := w.Write(b)
		n += int64(m)
		if err != nil {
			return n, err
		}
	}
}

// Discard drops what was read ahead and returns how many bytes that were. The
// source is asked again then, even after its end.
func (r *Reader) Discard() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.feeding || r.asking || r.gone {
		return 0
	}
	n := len(r.buf)
	r.buf = r.buf[n:]
	if r.err == io.EOF {
		r.err = nil
	}
	return n
}

// Release gives the buffer back when the descriptor is closed. It waits for
// nobody: what is being read at the moment is dropped when it arrives.
func (r *Reader) Release() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.own != nil {
		Put(r.own)
	}
	r.own, r.buf, r.carry, r.err, r.gone = nil, nil, nil, io.EOF, true
	r.changed.Broadcast()
}
