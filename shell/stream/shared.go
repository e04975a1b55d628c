package stream

import (
	"context"
	"io"
	"sync"
)

// Shared is a source that several readers use in turn, a keyboard for one. It
// reads only when somebody waits, and a reader that gives up waiting leaves
// what it would have got to the next: nothing that was typed is lost.
type Shared struct {
	src io.Reader

	mu    sync.Mutex // guards what follows
	rest  []byte
	err   error
	ready chan struct{} // closed when the read under way is done; nil if none is
}

// NewShared returns a Shared of src.
func NewShared(src io.Reader) *Shared { return &Shared{src: src} }

// Read implements [io.Reader] for a reader that never gives up.
func (s *Shared) Read(p []byte) (int, error) { return s.read(context.Background(), p) }

func (s *Shared) read(ctx context.Context, p []byte) (int, error) {
	for {
		n, ready, err := s.take(p)
		if ready == nil {
			return n, err
		}
		select {
		case <-ready:
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		}
	}
}

// take returns what is there, or else what to wait for.
func (s *Shared) take(p []byte) (int, <-chan struct{}, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.rest) > 0 {
		n := copy(p, s.rest)
		s.rest = s.rest[n:]
		return n, nil, nil
	}
	if err := s.err; err != nil {
		s.err = nil // a terminal goes on after the end of input
		return 0, nil, err
	}
	if s.ready == nil {
		s.ready = make(chan struct{})
		go s.fetch(s.ready)
	}
	return 0, s.ready, nil
}

func (s *Shared) fetch(ready chan struct{}) {
	b := make([]byte, 4096)
	n, err := s.src.Read(b)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rest, s.err, s.ready = b[:n], err, nil
	close(ready)
}

// turn is one reader of a Shared.
type turn struct {
	ctx context.Context
	s   *Shared
}

func (t turn) Read(p []byte) (int, error) { return t.s.read(t.ctx, p) }
