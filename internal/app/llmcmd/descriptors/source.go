package descriptors

import (
	"context"
	"io"
	"slices"
	"sync"
)

// An readSide is the reading side of a descriptor, with a buffer. One call at a time uses it.
type readSide struct {
	pipe *pipe
	feed *asyncReader
	buf  []byte
	end  error // why nothing more comes; io.EOF at the end
}

// inlet makes the reading side of an input.
func (d *Table) inlet(in Input) *readSide {
	r := in.Reader
	if r == nil {
		return &readSide{end: io.EOF}
	}
	return &readSide{feed: &asyncReader{r: r}}
}

// chunk is the size of a read.
const chunk = 16 << 10

// more waits until buf grew or the end is known. It returns the error of the context.
func (in *readSide) more(ctx context.Context) error {
	in.buf = slices.Grow(in.buf, chunk)
	free := in.buf[len(in.buf):cap(in.buf)]
	var n int
	var err error
	switch {
	case in.end != nil:
		return nil
	case in.pipe != nil:
		n, err = in.pipe.read(ctx, free, nil)
	default:
		n, err = in.feed.readContext(ctx, free)
	}
	in.buf = in.buf[:len(in.buf)+n]
	if err != nil && ctx.Err() != nil {
		return err
	}
	in.end = err
	return nil
}

// use removes n bytes from the front.
func (in *readSide) use(n int) {
	if in.buf = in.buf[n:]; len(in.buf) == 0 {
		in.buf = nil
	}
}

// close closes the reading end.
func (in *readSide) close(drain bool) error {
	if in.pipe != nil {
		in.pipe.endReading(drain)
		return nil
	}
	if in.feed != nil {
		return in.feed.close()
	}
	return nil
}

// A asyncReader reads from a reader that may block. If nobody waits any more, the next call gets the data.
type asyncReader struct {
	r io.Reader

	mu   sync.Mutex      // held while reading; guards the fields below
	got  chan readResult // of the read in progress; nil if there is none
	rest []byte
	err  error
}

type readResult struct {
	b   []byte
	err error
}

// readContext waits for data until ctx ends.
func (f *asyncReader) readContext(ctx context.Context, b []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for len(f.rest) == 0 && f.err == nil {
		if f.got == nil {
			f.got = make(chan readResult, 1)
			go fetch(f.r, f.got)
		}
		select {
		case d := <-f.got:
			f.got, f.rest, f.err = nil, d.b, d.err
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		}
	}
	return f.readBuffered(b)
}

func fetch(r io.Reader, got chan<- readResult) {
	b := make([]byte, chunk)
	n, err := r.Read(b)
	got <- readResult{b[:n], err}
}

// readBuffered returns buffered data. The caller holds mu.
func (f *asyncReader) readBuffered(b []byte) (int, error) {
	if len(f.rest) == 0 {
		return 0, f.err
	}
	n := copy(b, f.rest)
	f.rest = f.rest[n:]
	return n, nil
}

// Read reads directly, for a script.
func (f *asyncReader) Read(b []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.got != nil {
		d := <-f.got
		f.got, f.rest, f.err = nil, d.b, d.err
	}
	if len(f.rest) > 0 || f.err != nil {
		return f.readBuffered(b)
	}
	n, err := f.r.Read(b)
	f.err = err
	return n, err
}

func (f *asyncReader) close() error {
	if c, ok := f.r.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

// An scriptStdin is the standard input of a script: what the model left in the buffer, then the rest.
type scriptStdin struct {
	ctx  context.Context
	wait *waitPolicy

	mu   sync.Mutex // a cancelled script may still be reading
	head []byte
	in   *readSide
}

func (t *scriptStdin) Read(b []byte) (int, error) {
	if t.ctx.Err() != nil {
		return 0, context.Cause(t.ctx)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case len(t.head) > 0:
		n := copy(b, t.head)
		t.head = t.head[n:]
		return n, nil
	case t.in.end != nil:
		return 0, t.in.end
	case t.in.pipe != nil:
		return t.in.pipe.read(t.ctx, b, t.wait)
	}
	defer t.wait.stopClock()()
	return t.in.feed.Read(b)
}
