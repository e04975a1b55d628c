package stream

import (
	"context"
	"io"
	"sync"
	"time"
)

// depth is how many buffers may wait in a pipe.
const depth = 4

// pipe is a queue of buffers with two ends.
type pipe struct {
	done  <-chan struct{} // of the context the pipe lives in
	cause func() error
	full  chan []byte
	gone  chan struct{} // closed when nobody reads any more
	free  chan []byte
	ends  [2]sync.Once
	alone sync.Mutex // writers share an end; the channel must not close under one
	shut  bool

	left    time.Time // when the reader closed, before gone is closed
	dropped int       // bytes written since then
}

// A pipe of the kernel takes bufferSize bytes that nobody reads before a write
// fails, so that in "echo hi | true" echo succeeds. A writer that goes on for longer
// than lingerTime is not served this way: it might write a line a minute.
const (
	bufferSize = 64 << 10
	lingerTime = time.Second
)

// drop takes what is written after the reader has closed.
func (p *pipe) drop(n int) error {
	if p.dropped += n; p.dropped > bufferSize || time.Since(p.left) > lingerTime {
		return ErrPipe
	}
	return nil
}

// Pipe returns the two ends of a pipe. Both fail once ctx is done.
func Pipe(ctx context.Context) (*PipeReader, *PipeWriter) {
	p := &pipe{
		done: ctx.Done(), cause: func() error { return context.Cause(ctx) },
		full: make(chan []byte, depth), gone: make(chan struct{}), free: make(chan []byte, depth+1),
	}
	return &PipeReader{p: p}, &PipeWriter{p}
}

// A PipeReader is the reading end.
type PipeReader struct {
	p    *pipe
	last []byte // handed out, to be recycled by the next call
	rest []byte // what Read has not copied yet
}

// Next implements [Source].
func (r *PipeReader) Next() ([]byte, error) {
	if r.last != nil {
		select {
		case r.p.free <- r.last[:0]:
		default:
			Put(r.last)
		}
		r.last = nil
	}
	select {
	case b, ok := <-r.p.full:
		return r.got(b, ok)
	default:
	}
	select {
	case b, ok := <-r.p.full:
		return r.got(b, ok)
	case <-r.p.gone: // closed while somebody was still waiting, see [Reader.Await]
		return nil, io.EOF
	case <-r.p.done:
		return nil, r.p.cause()
	}
}

func (r *PipeReader) got(b []byte, ok bool) ([]byte, error) {
	if !ok {
		return nil, io.EOF
	}
	r.last = b
	return b, nil
}

// Read implements [io.Reader].
func (r *PipeReader) Read(b []byte) (int, error) {
	if len(r.rest) == 0 {
		var err error
		if r.rest, err = r.Next(); err != nil {
			return 0, err
		}
	}
	n := copy(b, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// Close tells the writer that nobody reads any more.
func (r *PipeReader) Close() error {
	r.p.ends[0].Do(func() {
		r.p.left = time.Now()
		close(r.p.gone)
	})
	return nil
}

// A PipeWriter is the writing end. Several commands may write to it in turn or
// at once; each Take and each Write arrives whole.
type PipeWriter struct{ p *pipe }

// Take implements [Taker].
func (w *PipeWriter) Take(b []byte) ([]byte, error) {
	if err := w.send(b); err != nil {
		return b[:0], err
	}
	select {
	case f := <-w.p.free:
		return f, nil
	default:
		return nil, nil // the next write decides how much it needs
	}
}

func (w *PipeWriter) send(b []byte) error {
	w.p.alone.Lock()
	defer w.p.alone.Unlock()
	if w.p.shut {
		return ErrPipe
	}
	select {
	case <-w.p.gone:
		return w.p.drop(len(b))
	default:
	}
	select {
	case w.p.full <- b:
		return nil
	case <-w.p.gone:
		return w.p.drop(len(b))
	case <-w.p.done:
		return w.p.cause()
	}
}

// Write implements [io.Writer] by copying b.
func (w *PipeWriter) Write(b []byte) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	if err := w.send(append(make([]byte, 0, len(b)), b...)); err != nil {
		return 0, err
	}
	return len(b), nil
}

// Close ends the stream for the reader.
func (w *PipeWriter) Close() error {
	w.p.ends[1].Do(func() {
		w.p.alone.Lock()
		defer w.p.alone.Unlock()
		w.p.shut = true
		close(w.p.full)
	})
	return nil
}
