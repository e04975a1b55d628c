package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"hako/run/fault"
)

// An item is one event of a stream.
type item struct {
	id   string // from which a client can continue; empty means that it cannot
	name string // of the event; empty means a keep-alive
	data any
}

var keepAlive = item{}

// errSlow ends a stream whose client does not read.
var errSlow = errors.New("the client does not read")

// errLoggedOut ends a stream whose token or session became invalid.
var errLoggedOut = errors.New("the client is out")

// A producer produces the events of a stream until ctx ends. push blocks while the client reads slowly, up to the write
// timeout.
type producer func(ctx context.Context, push func(item)) error

// stream sends the events of a producer. It ends with the producer, the client, the session or the server. A client
// that does not read is disconnected. When it returns, the producer has ended.
func (s *Server) stream(c *call, produce producer) error {
	if c.Method == http.MethodHead {
		return nil // no body, no stream
	}
	release, err := s.streams.take(c.identity.quotas(&s.limits)...)
	if err != nil {
		return err
	}
	defer release()
	withoutDeadlines(c.w)
	ctx, end := s.whileValid(c.Context(), c.identity)
	defer end()
	ctx, cut := context.WithCancelCause(ctx)
	items, done := make(chan item, s.limits.buffer), make(chan error, 1)
	push := func(i item) {
		select {
		case items <- i:
		case <-ctx.Done():
		case <-time.After(s.limits.write):
			cut(errSlow)
		}
	}
	var producing sync.WaitGroup
	producing.Go(func() { done <- produce(ctx, push) })
	defer producing.Wait()
	defer cut(nil)
	return s.writeEvents(ctx, c, items, done)
}

// writeEvents writes events as they come.
func (s *Server) writeEvents(ctx context.Context, c *call, items <-chan item, done <-chan error) error {
	out := &eventWriter{w: c.w, timeout: s.limits.write, valid: func() bool { return s.valid(c.identity) }}
	defer out.detach()
	defer context.AfterFunc(ctx, out.expire)()
	beat := time.NewTicker(s.limits.keepAlive)
	defer beat.Stop()
	for {
		select {
		case i := <-items:
			if out.send(i) != nil {
				return nil
			}
		case err := <-done:
			return out.finish(items, err)
		case <-beat.C:
			if out.send(keepAlive) != nil {
				return nil
			}
		case <-ctx.Done():
			if context.Cause(ctx) == errSlow {
				s.log().Info("stream cut", "path", c.URL.Path, "actor", c.identity.Name, "why", errSlow)
			}
			return nil
		}
	}
}

// An eventWriter writes server-sent events to one client.
type eventWriter struct {
	w       http.ResponseWriter
	timeout time.Duration // of one write
	valid   func() bool   // reports whether the token or session is still valid
	open    bool

	mu       sync.Mutex
	ending   bool // the stream is ending
	detached bool // the handler has returned
}

// endTimeout is how long the last write of a stream may take.
const endTimeout = 250 * time.Millisecond

// expire limits a pending write, which would delay the end of the server.
func (s *eventWriter) expire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ending = true
	if !s.detached {
		http.NewResponseController(s.w).SetWriteDeadline(time.Now().Add(endTimeout))
	}
}

// detach makes later calls of expire do nothing.
func (s *eventWriter) detach() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.detached = true
}

// setDeadline sets the deadline of a write; zero means none.
func (s *eventWriter) setDeadline(t time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ending {
		http.NewResponseController(s.w).SetWriteDeadline(t)
	}
}

func (s *eventWriter) send(i item) error {
	text, err := i.text()
	if err != nil {
		return err
	}
	if !s.valid() {
		return errLoggedOut
	}
	s.setDeadline(time.Now().Add(s.timeout))
	defer s.setDeadline(time.Time{}) // HTTP/2 would end the stream at the deadline, even without a pending write
	if !s.open {
		s.open = true
		s.w.Header().Set("Content-Type", "text/event-stream")
		s.w.Header().Set("X-Accel-Buffering", "no") // a proxy must not buffer events
	}
	if _, err := s.w.Write([]byte(text)); err != nil {
		return err
	}
	return http.NewResponseController(s.w).Flush()
}

// text formats an event. Data is JSON in one line, so that no text can forge a second event.
func (i item) text() (string, error) {
	if i.name == "" {
		return ":\n\n", nil
	}
	data, err := encode(i.data)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	if i.id != "" {
		fmt.Fprintf(&b, "id: %s\n", i.id)
	}
	fmt.Fprintf(&b, "event: %s\ndata: %s\n", i.name, data) // data ends with a newline
	return b.String(), nil
}

// finish sends the remaining events and the error. If nothing was sent before, the error becomes the response.
func (s *eventWriter) finish(items <-chan item, err error) error {
	for {
		select {
		case i := <-items:
			if s.send(i) != nil {
				return nil
			}
			continue
		default:
		}
		break
	}
	switch {
	case err == nil || errors.Is(err, context.Canceled):
		if !s.open {
			s.send(keepAlive)
		}
		return nil
	case !s.open:
		return err
	}
	s.send(item{name: "error", data: bodyOf(err)})
	return nil
}

// streams counts open streams, each of which takes memory and a connection.
type streams struct {
	mu   sync.Mutex
	open map[string]int // by the name of a quota
}

// A quota limits open streams. The one without a name is the total.
type quota struct {
	name  string
	limit int
}

func (s *streams) take(from ...quota) (release func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range from {
		if n := s.open[p.name]; n >= p.limit {
			return nil, &fault.Error{Kind: fault.Exhausted, Op: "open stream", Why: fmt.Sprintf("%d streams are open already",
				n), Hint: "close another page or program first"}
		}
	}
	if s.open == nil {
		s.open = map[string]int{}
	}
	for _, p := range from {
		s.open[p.name]++
	}
	return sync.OnceFunc(func() { s.put(from) }), nil
}

func (s *streams) put(back []quota) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range back {
		if s.open[p.name]--; s.open[p.name] == 0 {
			delete(s.open, p.name)
		}
	}
}

// forward passes on the values of a channel until it is closed or ctx ends.
func forward[T any](ctx context.Context, from <-chan T, push func(T)) {
	for {
		select {
		case v, more := <-from:
			if !more {
				return
			}
			push(v)
		case <-ctx.Done():
			return
		}
	}
}
