// Package server is the guest: process 1 of a container, which runs commands for clients outside it.
//
// It handles the socket and its access control, commands and jobs, the text editor, the bridge to the proxy outside,
// and the size limit of the workspace. Not here: the protocol (package wire), process trees (procgroup), and
// measurements (usage). Policy is checked outside.
//
// The rule to keep: access to files for a command happens as the user of the commands, see [procgroup.As].
package server

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"hako/container/guest"
	"hako/container/guest/procgroup"
	"hako/container/guest/wire"
	"hako/run/fault"
)

func withDefaults(o guest.Options) guest.Options {
	o.Dir = cmp.Or(o.Dir, "/")
	o.Running = cmp.Or(o.Running, 512)
	o.Links = cmp.Or(o.Links, 256)
	o.Keep = cmp.Or(o.Keep, 50)
	o.Log = cmp.Or(o.Log, 64<<20)
	o.Grace = cmp.Or(o.Grace, 10*time.Second)
	return o
}

// A server serves clients.
type server struct {
	opts    guest.Options
	exec    execContext
	jobs    *jobTable
	editor  *editorServer
	procs   *procgroup.Group
	reads   semaphore    // limits concurrent file access of calls
	running atomic.Int64 // commands and jobs
	stop    chan struct{}
	once    sync.Once // for stop
	quiet   func()    // called when nothing ran for quietTime; nil means none

	mu         sync.Mutex // guards what follows
	conns      map[*clientConn]bool
	quietTimer *time.Timer // nil before the first command
	ended      bool
}

func newServer(o guest.Options, n *procgroup.Group, with launcher) *server {
	o = withDefaults(o)
	where := newExecContext(o, with)
	where.running.disk = where.watchDisk(o.Disk, n)
	return &server{opts: o, exec: where, procs: n, stop: make(chan struct{}), conns: map[*clientConn]bool{},
		editor: &editorServer{root: where.workspace(), dir: where.dir},
		reads:  make(semaphore, maxConcurrent),
		jobs:   &jobTable{exec: where, dir: o.Spool, keep: o.Keep, limit: o.Log, writes: make(semaphore, maxConcurrent)}}
}

// admit reserves a slot for one more command.
func (s *server) admit() error {
	if s.running.Add(1) > int64(s.opts.Running) {
		s.running.Add(-1)
		return &fault.Error{Kind: fault.Exhausted, Op: "run command",
			Why: fmt.Sprintf("%d are running already", s.opts.Running), Hint: "wait for some of them, or end them"}
	}
	return nil
}

func (s *server) release() {
	s.running.Add(-1)
	s.scheduleQuiet()
}

// accept serves connections until the listener is closed.
func (s *server) accept(l net.Listener, trusted func(net.Conn) error) {
	for {
		conn, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // probably no free descriptor
			time.Sleep(10 * time.Millisecond)
			continue
		}
		go s.serveConn(conn, trusted(conn))
	}
}

// serveConn serves one connection, or rejects it.
func (s *server) serveConn(conn net.Conn, why error) {
	k := newClientConn(s, conn)
	if why == nil {
		why = s.join(k)
	}
	if why != nil {
		_ = conn.SetDeadline(time.Now().Add(greetTime))
		k.send(wire.ErrorFrame(0, why))
		conn.Close()
		return
	}
	k.serve()
	s.leave(k)
}

// quietTime is how long nothing must run before the guest releases memory.
const quietTime = 500 * time.Millisecond

func (s *server) leave(k *clientConn) {
	s.mu.Lock()
	delete(s.conns, k)
	s.mu.Unlock()
	s.scheduleQuiet()
}

// scheduleQuiet schedules quiet, if nothing runs.
func (s *server) scheduleQuiet() {
	if s.running.Load() > 0 || s.quiet == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.quietTimer == nil {
		s.quietTimer = time.AfterFunc(quietTime, s.runQuiet)
		return
	}
	s.quietTimer.Reset(quietTime)
}

func (s *server) runQuiet() {
	if s.running.Load() == 0 {
		s.quiet()
	}
}

func (s *server) join(k *clientConn) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.ended:
		return &fault.Error{Kind: fault.Unavailable, Op: "connect to guest", Why: "it is being stopped",
			Hint: "start the environment again"}
	case len(s.conns) >= s.opts.Links:
		return &fault.Error{Kind: fault.Exhausted, Op: "connect to guest", Why: fmt.Sprintf("it has %d connections already",
			len(s.conns)), Hint: "close some of them"}
	}
	s.conns[k] = true
	return nil
}

func (s *server) askToStop() { s.once.Do(func() { close(s.stop) }) }

// lastWords is how long clients get to receive the outcome of their commands.
const lastWords = time.Second

// close ends all processes and closes the connections.
func (s *server) close() {
	s.mu.Lock()
	s.ended = true
	s.mu.Unlock()
	s.procs.EndAll(s.opts.Grace)
	for end := time.Now().Add(lastWords); s.running.Load() > 0 && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for k := range s.conns {
		k.conn.Close()
	}
}

// makeSpoolDir creates a private directory for outputs.
func makeSpoolDir(dir string) (string, error) {
	if dir == "" {
		dir = os.TempDir() + "/" + guest.Name
	}
	made := ""
	err := os.MkdirAll(dir, 0o700)
	if err == nil {
		made, err = os.MkdirTemp(dir, "jobs-*")
	}
	if err != nil {
		return "", &fault.Error{Kind: fault.Unavailable, Op: "start guest", Subject: dir,
			Why: "the output of jobs cannot be kept there", Err: cause(err),
			Hint: "name a directory that can be written with -spool"}
	}
	return made, nil
}

// cause strips the path from an error.
func cause(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}
