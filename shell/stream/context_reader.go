package stream

import (
	"bytes"
	"context"
	"io"
	"strings"
)

// WithContext returns a reader of src whose reads end when ctx does, even if src
// never delivers. It asks src for no more than it is asked for itself, so what
// a person types next is left to whoever reads next.
func WithContext(ctx context.Context, src io.Reader) io.Reader {
	switch src := src.(type) {
	case nil, *bytes.Reader, *bytes.Buffer, *strings.Reader:
		return src // these never wait
	case *Shared:
		return turn{ctx, src}
	}
	return &contextReader{ctx: ctx, src: src, got: make(chan delivery, 1)}
}

type contextReader struct {
	ctx context.Context
	src io.Reader
	got chan delivery
	buf []byte
}

type delivery struct {
	n   int
	err error
}

// Next implements [Source]. A read that never returns keeps a goroutine and
// the buffer, and nothing else.
func (p *contextReader) Next() ([]byte, error) {
	if p.buf == nil {
		p.buf = Get()
	}
	b := p.buf[:cap(p.buf)]
	go func() {
		n, err := p.src.Read(b)
		p.got <- delivery{n, err}
	}()
	select {
	case d := <-p.got:
		return b[:d.n], d.err
	case <-p.ctx.Done():
		p.buf = nil // the read may still come back and write into it
		return nil, context.Cause(p.ctx)
	}
}

// Read implements [io.Reader]; a Reader uses Next instead.
func (p *contextReader) Read(b []byte) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	data, err := p.Next()
	n := copy(b, data)
	if n < len(data) {
		return n, io.ErrShortBuffer
	}
	return n, err
}
