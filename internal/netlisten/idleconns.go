package netlisten

import (
	"context"
	"net"
	"net/http"
	"sync"
)

// IdleConns are connections on which nobody who may come in asks for something.
// Browsers open some in advance, and package http would wait five seconds for
// each when the server stops; and a stranger who opens all there may be must not
// keep others out. The zero value is ready for use.
type IdleConns struct {
	Most int // connections there may be; zero means any number

	mu      sync.Mutex
	open    int
	turn    int // counts, so that the oldest is known
	conns   map[net.Conn]quiet
	stopped bool
}

// quiet is how a connection is silent.
type quiet struct {
	since int
	fresh bool // nothing at all came yet
}

type connKey struct{}

// Mark is for [http.Server.ConnContext].
func (s *IdleConns) Mark(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, c)
}

// Proven takes out the connection of a request with a good token or cookie,
// until that is answered.
func (s *IdleConns) Proven(r *http.Request) {
	if c, ok := r.Context().Value(connKey{}).(net.Conn); ok {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.conns, c)
	}
}

// Note is for [http.Server.ConnState].
func (s *IdleConns) Note(c net.Conn, state http.ConnState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch state {
	case http.StateNew:
		s.open++
		s.welcome(c)
	case http.StateActive:
		if q, ok := s.conns[c]; ok { // half a request is no better than none
			s.conns[c] = quiet{since: q.since}
		}
	case http.StateIdle:
		s.keep(c, false)
	case http.StateClosed, http.StateHijacked:
		s.open--
		delete(s.conns, c)
	}
}

// welcome takes a new connection. If it is the last there may be, the one that is
// silent for longest has to go: the next finds a place.
func (s *IdleConns) welcome(c net.Conn) {
	if s.stopped {
		c.Close()
		return
	}
	if s.Most > 0 && s.open >= s.Most {
		s.dropOldest()
	}
	s.keep(c, true)
}

func (s *IdleConns) keep(c net.Conn, fresh bool) {
	if s.conns == nil {
		s.conns = map[net.Conn]quiet{}
	}
	s.turn++
	s.conns[c] = quiet{s.turn, fresh}
}

func (s *IdleConns) dropOldest() {
	var oldest net.Conn
	for c, q := range s.conns {
		if oldest == nil || q.since < s.conns[oldest].since {
			oldest = c
		}
	}
	if oldest != nil {
		delete(s.conns, oldest)
		go oldest.Close() // the end of TLS is said first, and a client may not listen
	}
}

// Stop closes those on which nothing was asked yet, and those that still come.
func (s *IdleConns) Stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopped = true
	for c, q := range s.conns {
		if q.fresh {
			c.Close()
		}
	}
}
