package guest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"hako/internal/container/guest/nursery"
	"hako/internal/fault"
)

// A server answers clients.
type server struct {
	opts    Options
	site    site
	desk    *desk
	nursery *nursery.Nursery
	running atomic.Int64 // commands and jobs
	stop    chan struct{}
	once    sync.Once // for stop
	quiet   func()    // called when nobody was connected for a while; nil means nothing

	mu    sync.Mutex // guards what follows
	links map[*link]bool
	rest  *time.Timer // for quiet; nil before the first connection has gone
	ended bool
}

func newServer(o Options, n *nursery.Nursery, with launcher) *server {
	o = o.filled()
	where := newSite(o, with)
	return &server{opts: o, site: where, nursery: n, stop: make(chan struct{}), links: map[*link]bool{},
		desk: &desk{site: where, dir: o.Spool, keep: o.Keep, limit: o.Log}}
}

// admit makes room for one more command.
func (s *server) admit() error {
	if s.running.Add(1) > int64(s.opts.Running) {
		s.running.Add(-1)
		return &fault.Error{Kind: fault.Exhausted, Op: "run command", Why: fmt.Sprintf("%d are running already", s.opts.Running), Hint: "wait for some of them, or end them"}
	}
	return nil
}

func (s *server) release() { s.running.Add(-1) }

// accept serves connections until the listener is closed.
func (s *server) accept(l net.Listener, trusted func(net.Conn) error) {
	for {
		conn, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // most likely no descriptor is free
			time.Sleep(10 * time.Millisecond)
			continue
		}
		go s.welcome(conn, trusted(conn))
	}
}

// welcome serves one connection, unless there is a reason not to.
func (s *server) welcome(conn net.Conn, why error) {
	k := newLink(s, conn)
	if why == nil {
		why = s.join(k)
	}
	if why != nil {
		_ = conn.SetDeadline(time.Now().Add(greetTime))
		k.send(errorFrame(0, why))
		conn.Close()
		return
	}
	k.serve()
	s.leave(k)
}

// quietTime is how long a guest without connections waits before it makes itself
// small.
const quietTime = 5 * time.Second

func (s *server) leave(k *link) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.links, k)
	if len(s.links) > 0 || s.quiet == nil {
		return
	}
	if s.rest == nil {
		s.rest = time.AfterFunc(quietTime, s.ifQuiet)
		return
	}
	s.rest.Reset(quietTime)
}

func (s *server) ifQuiet() {
	s.mu.Lock()
	still := len(s.links) == 0
	s.mu.Unlock()
	if still {
		s.quiet()
	}
}

func (s *server) join(k *link) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.ended:
		return &fault.Error{Kind: fault.Unavailable, Op: "connect to guest", Why: "it is being stopped", Hint: "start the environment again"}
	case len(s.links) >= s.opts.Links:
		return &fault.Error{Kind: fault.Exhausted, Op: "connect to guest", Why: fmt.Sprintf("it has %d connections already", len(s.links)), Hint: "close some of them"}
	}
	s.links[k] = true
	return nil
}

// askToStop makes the guest end soon.
func (s *server) askToStop() { s.once.Do(func() { close(s.stop) }) }

// lastWords is how long clients get to hear how their commands ended.
const lastWords = time.Second

// close ends all processes, tells everybody, and hangs up.
func (s *server) close() {
	s.mu.Lock()
	s.ended = true
	s.mu.Unlock()
	s.nursery.EndAll(s.opts.Grace)
	for end := time.Now().Add(lastWords); s.running.Load() > 0 && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for k := range s.links {
		k.conn.Close()
	}
}

// edit passes a call on to the editor.
func (s *server) edit(ctx context.Context, call []byte) (result []byte, err error) {
	if s.opts.Edit == nil {
		return nil, &fault.Error{Kind: fault.Unavailable, Op: "edit", Why: "this guest has no editor", Hint: "use commands instead"}
	}
	err = nursery.As(s.site.uid, s.site.gid, func() { result = s.opts.Edit(ctx, call) })
	return result, err
}

// makeSpool makes the directory for outputs, for our eyes only.
func makeSpool(dir string) (string, error) {
	if dir == "" {
		dir = os.TempDir() + "/" + Name
	}
	made := ""
	err := os.MkdirAll(dir, 0o700)
	if err == nil {
		made, err = os.MkdirTemp(dir, "jobs-*")
	}
	if err != nil {
		return "", &fault.Error{Kind: fault.Unavailable, Op: "start guest", Subject: dir, Why: "the output of jobs cannot be kept there", Err: cause(err), Hint: "name a directory that can be written with -spool"}
	}
	return made, nil
}
