package stream

import (
	"bytes"
	"context"
	"io"
	"strings"
)

// Patient returns a reader of src whose reads end when ctx does, even if src
// never delivers. It reads ahead by one buffer, and only once it is read from.
func Patient(ctx context.Context, src io.Reader) io.Reader {
	switch src.(type) {
	case nil, *bytes.Reader, *bytes.Buffer, *strings.Reader:
		return src // these never wait
	}
	return &patient{ctx: ctx, src: src}
}

type patient struct {
	ctx  context.Context
	src  io.Reader
	full chan delivery
	free chan []byte
	last []byte
}

type delivery struct {
	b   []byte
	err error
}

// Next implements [Source].
func (p *patient) Next() ([]byte, error) {
	if p.full == nil {
		p.full, p.free = make(chan delivery), make(chan []byte, 2)
		go p.pump()
	}
	if p.last != nil {
		p.free <- p.last
		p.last = nil
	}
	select {
	case d := <-p.full:
		p.last = d.b[:0]
		return d.b, d.err
	case <-p.ctx.Done():
		return nil, context.Cause(p.ctx)
	}
}

// pump reads until the source or the context ends. A read that never returns
// keeps this goroutine, and nothing else.
func (p *patient) pump() {
	for i := 0; ; i++ {
		var b []byte
		if i < 2 {
			b = Get()
		} else {
			b = <-p.free
		}
		n, err := p.src.Read(b[:cap(b)])
		select {
		case p.full <- delivery{b[:n], err}:
		case <-p.ctx.Done():
			return
		}
		if err != nil {
			return
		}
	}
}

// Read implements [io.Reader]; a Reader uses Next instead.
func (p *patient) Read(b []byte) (int, error) {
	data, err := p.Next()
	n := copy(b, data)
	if n < len(data) {
		return n, io.ErrShortBuffer
	}
	return n, err
}
