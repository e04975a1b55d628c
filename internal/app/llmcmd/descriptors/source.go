package descriptors

import (
	"context"
	"io"
	"slices"
	"sync"
)

// An inlet is the reading side of a descriptor, with a buffer. One call at a time uses it.
type inlet struct {
	pipe *pipe
	feed *feeder
	buf  []byte
	end  error // why nothing more comes; io.EOF at the end
}

// inlet makes the reading side of an input.
func (d *Table) inlet(in Input) *inlet {
	r := in.Reader
	if r == nil {
		return &inlet{end: io.EOF}
	}
	return &inlet{feed: &feeder{r: r}}
}

// chunk is the size of a read.
const chunk = 16 << 10

// more waits until buf grew or the end is known. It returns the error of the context.
func (in *inlet) more(ctx context.Context) error {
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
		n, err = in.feed.take(ctx, free)
	}
	in.buf = in.buf[:len(in.buf)+n]
	if err != nil && ctx.Err() != nil {
		return err
	}
	in.end = err
	return nil
}

// use removes n bytes from the front.
func (in *inlet) use(n int) {
	if in.buf = in.buf[n:]; len(in.buf) == 0 {
		in.buf = nil
	}
}

// close closes the reading end.
func (in *inlet) close(drain bool) error {
	if in.pipe != nil {
		in.pipe.endReading(drain)
		return nil
	}
	if in.feed != nil {
		return in.feed.close()
	}
	return nil
}

// A feeder reads from a reader that may block. If nobody waits any more, the next call gets the data.
type feeder struct {
	r io.Reader

	mu   sync.Mutex    // held while reading; guards the fields below
	got  chan delivery // of the read in progress; nil if there is none
	rest []byte
	err  error
}

type delivery struct {
	b   []byte
	err error
}

// take waits for data until ctx ends.
func (f *feeder) take(ctx context.Context, b []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for len(f.rest) == 0 && f.err == nil {
		if f.got == nil {
			f.got = make(chan delivery, 1)
			go fetch(f.r, f.got)
		}
		select {
		case d := <-f.got:
			f.got, f.rest, f.err = nil, d.b, d.err
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		}
	}
	return f.hand(b)
}

func fetch(r io.Reader, got chan<- delivery) {
	b := make([]byte, chunk)
	n, err := r.Read(b)
	got <- delivery{b[:n], err}
}

// hand returns buffered data. The caller holds mu.
func (f *feeder) hand(b []byte) (int, error) {
	if len(f.rest) == 0 {
		return 0, f.err
	}
	n := copy(b, f.rest)
	f.rest = f.rest[n:]
	return n, nil
}

// Read reads directly, for a script.
func (f *feeder) Read(b []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.got != nil {
		d := <-f.got
		f.got, f.rest, f.err = nil, d.b, d.err
	}
	if len(f.rest) > 0 || f.err != nil {
		return f.hand(b)
	}
	n, err := f.r.Read(b)
	f.err = err
	return n, err
}

func (f *feeder) close() error {
	if c, ok := f.r.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

// An intake is the standard input of a script: what the model left in the buffer, then the rest.
type intake struct {
	ctx  context.Context
	wait *patience

	mu   sync.Mutex // a cancelled script may still be reading
	head []byte
	in   *inlet
}

func (t *intake) Read(b []byte) (int, error) {
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
	defer t.wait.rest()()
	return t.in.feed.Read(b)
}
