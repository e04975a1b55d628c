package stream

import "io"

// small is the first buffer of a Writer: most commands print a few lines.
const small = 1 << 10

// A Taker accepts whole buffers, see [PipeWriter]. The buffer given to Take is
// no longer the caller's; the one returned is, and is empty.
type Taker interface {
	Take(buf []byte) (fresh []byte, err error)
}

// A Writer is the writing side of one command: it gathers small writes and
// passes large ones through. After an error it swallows everything and keeps
// the error, so that a command may check once.
//
// It is for one goroutine. Whoever made it calls Flush.
type Writer struct {
	dst  io.Writer
	take Taker // dst, if it accepts buffers
	buf  []byte
	err  error
}

// NewWriter returns a Writer to dst; nil discards.
func NewWriter(dst io.Writer) *Writer {
	if dst == nil {
		dst = io.Discard
	}
	w := &Writer{dst: dst}
	w.take, _ = dst.(Taker)
	return w
}

// Reset makes w as new for another destination, keeping its buffer.
func (w *Writer) Reset(dst io.Writer) {
	w.dst, w.err, w.buf = dst, nil, w.buf[:0]
	w.take, _ = dst.(Taker)
}

// Err returns the first error of a write.
func (w *Writer) Err() error { return w.err }

// Write implements [io.Writer].
func (w *Writer) Write(p []byte) (int, error) {
	if len(p) <= cap(w.buf)-len(w.buf) {
		w.buf = append(w.buf, p...)
		return len(p), w.err
	}
	return len(p), w.slow(p)
}

func (w *Writer) slow(p []byte) error {
	for len(p) > 0 && w.err == nil {
		w.room()
		if len(w.buf) == 0 && len(p) >= cap(w.buf) && w.take == nil {
			_, w.err = w.dst.Write(p)
			break
		}
		n := min(len(p), cap(w.buf)-len(w.buf))
		w.buf = append(w.buf, p[:n]...)
		p = p[n:]
	}
	return w.err
}

// room makes space for at least one byte.
func (w *Writer) room() {
	switch {
	case cap(w.buf) == 0:
		w.buf = make([]byte, 0, small)
	case len(w.buf) < cap(w.buf):
	case cap(w.buf) < Size:
		w.buf = append(Get(), w.buf...)
	default:
		w.Flush()
	}
}

// WriteString writes s.
func (w *Writer) WriteString(s string) (int, error) {
	if len(s) <= cap(w.buf)-len(w.buf) {
		w.buf = append(w.buf, s...)
		return len(s), w.err
	}
	return len(s), w.slow([]byte(s))
}

// WriteByte writes b.
func (w *Writer) WriteByte(b byte) error {
	if len(w.buf) == cap(w.buf) {
		w.room()
	}
	w.buf = append(w.buf, b)
	return w.err
}

// Free returns the unused part of the buffer, at least n bytes if n is at most
// Size; what is put into it is written by Advance.
func (w *Writer) Free(n int) []byte {
	if cap(w.buf)-len(w.buf) < n {
		w.Flush()
		if cap(w.buf) < Size {
			w.buf = Get()
		}
	}
	return w.buf[len(w.buf):cap(w.buf)]
}

// Advance writes the first n bytes of what Free returned.
func (w *Writer) Advance(n int) { w.buf = w.buf[:len(w.buf)+n] }

// ReadFrom implements [io.ReaderFrom]: it reads into the buffer that will be handed on.
func (w *Writer) ReadFrom(r io.Reader) (int64, error) {
	var total int64
	for w.err == nil {
		n, err := r.Read(w.Free(Size / 4))
		w.Advance(n)
		total += int64(n)
		if err == io.EOF {
			return total, w.err
		}
		if err != nil {
			return total, err
		}
	}
	return total, w.err
}

// Flush passes on what was gathered.
func (w *Writer) Flush() error {
	if len(w.buf) == 0 || w.err != nil {
		w.buf = w.buf[:0]
		return w.err
	}
	if w.take != nil {
		w.buf, w.err = w.take.Take(w.buf)
		return w.err
	}
	_, w.err = w.dst.Write(w.buf)
	w.buf = w.buf[:0]
	return w.err
}

// Release gives the buffer back; w must not be used afterwards.
func (w *Writer) Release() {
	Put(w.buf)
	w.buf = nil
}
