package netlisten

import (
	"context"
	"net"
	"net/http"
	"sync"
)

// IdleConns tracks connections without an authenticated request. Browsers open some in advance, for which package http
// would wait five seconds at shutdown; and an attacker who opens all of them must not lock others out. The zero value
// is ready for use.
type IdleConns struct {
	Most int // maximum number of connections; zero means no limit

	mu      sync.Mutex
	open    int
	turn    int // sequence number
	conns   map[net.Conn]quiet
	stopped bool
}

// quiet is the state of an idle connection.
type quiet struct {
	since int
	fresh bool // it has sent nothing yet
}

type connKey struct{}

// Mark is for [http.Server.ConnContext].
func (s *IdleConns) Mark(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, c)
}

// Authenticated removes the connection of an authenticated request, until that is answered.
func (s *IdleConns) Authenticated(r *http.Request) {
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
		s.add(c)
	case http.StateActive:
		if q, ok := s.conns[c]; ok { // an incomplete request is no better than none
			s.conns[c] = quiet{since: q.since}
		}
	case http.StateIdle:
		s.keep(c, false)
	case http.StateClosed, http.StateHijacked:
		s.open--
		delete(s.conns, c)
	}
}

// add adds a new connection. If it is the last one possible, the one that is idle for longest is closed.
func (s *IdleConns) add(c net.Conn) {
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
		go oldest.Close() // TLS sends an alert first, which may block
	}
}

// Stop closes connections that have sent nothing yet, and new ones.
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
