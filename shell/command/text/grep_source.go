package text

import (
	"bytes"
	"context"
	"io"

	"hako/shell"
	"hako/shell/stream"
	"hako/shell/vfs"
)

// A grepSource returns blocks of whole lines. If own is set, the data must stay valid
// after the next call.
type grepSource interface {
	next(ctx context.Context, b *grepBlock, own bool) error
}

// A grepStream reads blocks from a descriptor that other commands may read afterwards.
type grepStream struct {
	c   *shell.Call
	in  *stream.Reader
	end byte
}

func (s *grepStream) next(_ context.Context, b *grepBlock, own bool) (err error) {
	if b.data, err = s.in.Records(s.end); err != nil || !own {
		return err
	}
	if len(b.data) > cap(b.buf) {
		if err := s.c.Limiter.Fits(int64(len(b.data)) * grepQueue); err != nil {
			return err
		}
	}
	b.buf = append(b.buf[:0], b.data...)
	b.data = b.buf
	return nil
}

// A grepFile reads a file directly into the blocks.
type grepFile struct {
	c    *shell.Call
	file *vfs.File
	end  byte
	rest []byte // the beginning of a line that continues in the next block
	over bool
}

func (s *grepFile) next(_ context.Context, b *grepBlock, _ bool) error {
	if b.buf == nil {
		b.buf = make([]byte, stream.Size)
	}
	n, seen := s.carry(b), 0
	for !s.over {
		if n == len(b.buf) {
			if err := s.grow(b); err != nil {
				return err
			}
		}
		m, err := s.file.Read(b.buf[n:])
		n += m
		s.over = err == io.EOF
		if err != nil && !s.over {
			return err
		}
		if i := bytes.LastIndexByte(b.buf[seen:n], s.end); i >= 0 {
			b.data = b.buf[:seen+i+1]
			s.rest = append(s.rest[:0], b.buf[seen+i+1:n]...)
			return nil
		}
		seen = n
	}
	if b.data = b.buf[:n]; n == 0 {
		return io.EOF
	}
	return nil
}

// carry copies the rest of the last block to the beginning of this one.
func (s *grepFile) carry(b *grepBlock) int {
	if len(s.rest) > len(b.buf) {
		b.buf = make([]byte, 2*len(s.rest))
	}
	n := copy(b.buf, s.rest)
	s.rest = s.rest[:0]
	return n
}

// grow makes room for a line that is longer than the block.
func (s *grepFile) grow(b *grepBlock) error {
	if err := s.c.Limiter.Fits(int64(len(b.buf)) * grepQueue); err != nil {
		return err
	}
	b.buf = append(b.buf, make([]byte, len(b.buf))...)
	return nil
}
