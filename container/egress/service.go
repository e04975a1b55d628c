package egress

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"hako/run/fault"
)

// A service is a running proxy.
type service struct {
	proxy    *Proxy
	rules    *rules
	limits   Limits
	events   *eventLog
	listener net.Listener
	cancel   context.CancelFunc
	done     chan struct{} // closed when nothing is left
	serial   atomic.Int64  // the last ID

	mu       sync.Mutex       // guards what follows
	clients  map[*client]bool // true for one that waits for a request
	draining bool
}

// serveConn serves one connection from the container.
func (s *service) serveConn(ctx context.Context, conn net.Conn) {
	c := &client{service: s, conn: conn, in: bufio.NewReader(conn), out: bufio.NewWriter(conn),
		pins: map[pinnedHost][]netip.Addr{}, transports: map[*repository]*http.Transport{}}
	c.run(ctx)
	s.mu.Lock()
	delete(s.clients, c)
	s.mu.Unlock()
	c.close()
}

// mark records whether a client waits for a request. It returns false if no further one is accepted.
func (s *service) mark(c *client, waits bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clients[c] = waits
	return !s.draining
}

// drain stops accepting connections and requests.
func (s *service) drain() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.draining = true
	s.listener.Close()
	for c, waits := range s.clients {
		if waits {
			c.conn.Close()
		}
	}
}

func (s *service) closeAll() {
	s.drain()
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.clients {
		c.conn.Close()
	}
}

// turnAway rejects a connection that is one too many.
func (s *service) turnAway(conn net.Conn) {
	s.newEntry().deny(errTooMany)
	reject(conn, errTooMany)
}

// accept passes connections to serve, or to busy at the limit. It returns when the listener is closed and all
// connections are served.
func accept(l net.Listener, limit int, serve, busy func(net.Conn)) error {
	const patience = 20
	var all sync.WaitGroup
	defer all.Wait()
	slots := make(chan struct{}, limit)
	for failures := 0; ; {
		conn, err := l.Accept()
		switch {
		case errors.Is(err, net.ErrClosed):
			return nil
		case err != nil && failures == patience:
			return &fault.Error{Kind: fault.Unavailable, Op: "accept connections", Err: err}
		case err != nil: // usually too many open files, which passes
			failures++
			time.Sleep(50 * time.Millisecond)
			continue
		}
		failures = 0
		select {
		case slots <- struct{}{}:
			all.Go(func() {
				defer func() { <-slots }()
				serve(conn)
			})
		default:
			busy(conn)
		}
	}
}

// A logEntry is the record of one connection or request.
type logEntry struct {
	Event
	events         *eventLog
	began          time.Time
	sent, received atomic.Int64
}

func (s *service) newEntry() *logEntry {
	return &logEntry{Event: Event{ID: s.serial.Add(1)}, events: s.events, began: time.Now()}
}

func (v *logEntry) setTarget(p hostPort) { v.Host, v.Port = p.host, p.port }

// open records that the connection is about to be made.
func (v *logEntry) open() error {
	e := v.Event
	e.What = Opened
	if err := v.events.log(e); err != nil {
		return &fault.Error{Kind: fault.Unavailable, Op: "connect", Subject: v.Host,
			Why:  "the connection could not be recorded, so it is not made",
			Hint: "check the audit log on the machine outside"}
	}
	return nil
}

// deny records that it is not made.
func (v *logEntry) deny(why error) {
	e := v.Event
	e.What, e.Why = Denied, reason(why)
	v.events.deny(e)
}

// end records its end. A nil cause means success.
func (v *logEntry) end(cause error) {
	e := v.Event
	e.What, e.Why = Closed, reason(cause)
	e.Sent, e.Received, e.Duration = v.sent.Load(), v.received.Load(), time.Since(v.began)
	_ = v.events.log(e) // it is over; if recording fails, the next one is not made
}

func reason(err error) string {
	var e *fault.Error
	switch {
	case err == nil || errors.Is(err, io.EOF):
		return ""
	case errors.As(err, &e) && e.Why != "":
		return e.Why
	}
	return "the connection broke"
}
