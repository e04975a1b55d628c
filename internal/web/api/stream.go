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

// An item is one piece of a stream.
type item struct {
	id   string // by which a client says where to go on; empty means that it cannot
	name string // of the event; empty means a sign of life
	data any
}

var keepAlive = item{}

// errSlow is why a stream is cut whose client does not read.
var errSlow = errors.New("the client does not read")

// errOut is why a stream ends whose client would not be let in again.
var errOut = errors.New("the client is out")

// A producer makes the pieces of a stream until ctx ends. It may make many at
// once: push waits for a client that reads, and not long for one that does not.
type producer func(ctx context.Context, push func(item)) error

// stream sends what a producer makes. It is over when the producer is, the
// client goes, the session ends or the server does. A client that does not read
// is cut off and may come back; nobody waits for it. Nothing is left when it
// returns.
func (s *Server) stream(c *call, produce producer) error {
	if c.Method == http.MethodHead {
		return nil // who asks for no body gets no stream
	}
	release, err := s.streams.take(c.identity.slotKeys(&s.limits)...)
	if err != nil {
		return err
	}
	defer release()
	withoutDeadlines(c.w)
	ctx, end := s.lasting(c.Context(), c.identity)
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

// pour writes pieces as they come.
func (s *Server) writeEvents(ctx context.Context, c *call, items <-chan item, done <-chan error) error {
	eventWriter := &eventWriter{w: c.w, patience: s.limits.write, still: func() bool { return s.still(c.identity) }}
	defer eventWriter.leave()
	defer context.AfterFunc(ctx, eventWriter.hurry)()
	beat := time.NewTicker(s.limits.beat)
	defer beat.Stop()
	for {
		select {
		case i := <-items:
			if eventWriter.send(i) != nil {
				return nil
			}
		case err := <-done:
			return eventWriter.finish(items, err)
		case <-beat.C:
			if eventWriter.send(keepAlive) != nil {
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

// A spout writes server-sent events to one client.
type eventWriter struct {
	w        http.ResponseWriter
	patience time.Duration // with a client that does not read
	still    func() bool   // the client may have more
	open     bool

	mu     sync.Mutex
	ending bool // there is no more patience
	left   bool // the client is not ours any more
}

// lastWords is how long a client has to take the end of a stream.
const lastWords = 250 * time.Millisecond

// hurry ends a write that waits for a client: the server would stop only after
// it.
func (s *eventWriter) hurry() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ending = true
	if !s.left {
		http.NewResponseController(s.w).SetWriteDeadline(time.Now().Add(lastWords))
	}
}

// leave keeps a late hurry from the client.
func (s *eventWriter) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.left = true
}

// until sets by when a write must be done; zero means that none is waited for.
func (s *eventWriter) until(t time.Time) {
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
	if !s.still() {
		return errOut
	}
	s.until(time.Now().Add(s.patience))
	defer s.until(time.Time{}) // HTTP/2 would end the stream then, though nothing waits
	if !s.open {
		s.open = true
		s.w.Header().Set("Content-Type", "text/event-stream")
		s.w.Header().Set("X-Accel-Buffering", "no") // a proxy must not collect the pieces
	}
	if _, err := s.w.Write([]byte(text)); err != nil {
		return err
	}
	return http.NewResponseController(s.w).Flush()
}

// text spells a piece. Data is JSON in one line, so nobody's text can make a
// second event of it.
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

// finish sends what is left, and the error with which it ended. If nothing was
// sent before, the error is the answer.
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

// streams counts those that are open: each costs memory and a connection.
type streams struct {
	mu   sync.Mutex
	open map[string]int // by the name of a purse
}

// A purse is what somebody may have open. The one without a name is everybody's.
type slots struct {
	name string
	most int
}

func (s *streams) take(from ...slots) (release func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range from {
		if n := s.open[p.name]; n >= p.most {
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

func (s *streams) put(back []slots) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range back {
		if s.open[p.name]--; s.open[p.name] == 0 {
			delete(s.open, p.name)
		}
	}
}

// pass on what comes from a channel until it is closed or ctx ends.
func passOn[T any](ctx context.Context, from <-chan T, push func(T)) {
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
