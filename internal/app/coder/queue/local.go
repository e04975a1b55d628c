package queue

import (
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"hako/internal/ownerfile"
	"hako/run/fault"
)

// local is the embedded server, or the connection to that of another process with the
// same directory. There is no port: processes meet at a socket in the directory, which
// only its owner may enter.
type local struct {
	dir      string
	sync     time.Duration
	joinOnly bool // never serve

	mu     sync.Mutex
	node   *node // nil means that another process serves
	closed bool
}

var errServed = errors.New("the process that serves the queue does not answer")

// start serves the directory unless another process does. It fails early where
// connecting would be retried for ever.
func (l *local) start() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.serve(); err != nil && !errors.Is(err, errServed) {
		return err
	}
	return nil
}

// InProcessConn is called for every connection, also to reconnect. A process that finds
// no server serves from then on.
func (l *local) InProcessConn() (net.Conn, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, net.ErrClosed
	}
	if l.node == nil {
		if c, err := net.DialTimeout("unix", socketPath(l.dir), time.Second); err == nil {
			return c, nil
		}
		if err := l.serve(); err != nil {
			return nil, err
		}
	}
	return l.node.srv.InProcessConn()
}

// serve starts the server if no other process has the directory.
func (l *local) serve() error {
	if l.joinOnly {
		return errServed
	}
	lock, err := ownerfile.Open(filepath.Join(l.dir, "lock"), os.O_CREATE|os.O_RDWR)
	if err != nil {
		return dirError(l.dir, err)
	}
	if !ownerfile.TryLock(lock) {
		lock.Close()
		return errServed
	}
	l.node, err = startNode(l.dir, l.sync)
	if err != nil {
		lock.Close()
		return dirError(l.dir, err)
	}
	l.node.lock = lock
	return nil
}

// broken reports whether our server has stopped storing, as it does when a write to the
// disk fails.
func (l *local) broken() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.node != nil && !l.closed && !l.node.srv.JetStreamEnabled()
}

func dirError(dir string, err error) error {
	return &fault.Error{Kind: fault.Unavailable, Op: "open queue", Subject: dir, Why: "the data directory cannot be used",
		Err:  err,
		Hint: "give a directory that you may write to, on a disk with room"}
}

func (l *local) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	if l.node != nil {
		l.node.close()
		l.node = nil
	}
}

// A node is a running server.
type node struct {
	srv      *server.Server
	lock     *os.File
	listener net.Listener // nil if the path is too long for a socket: then other processes cannot join
	mu       sync.Mutex
	conns    map[net.Conn]bool // nil after close
	busy     sync.WaitGroup
}

const (
	maxMessage    = 8 << 20
	maxSocketPath = 100 // bytes; the system's limit is slightly above
)

func socketPath(dir string) string { return filepath.Join(dir, "queue.sock") }

func startNode(dir string, sync time.Duration) (*node, error) {
	opts := &server.Options{ServerName: "hako", DontListen: true, NoSigs: true, NoLog: true, MaxPayload: maxMessage,
		SyncInterval: sync}
	if sync < 0 {
		opts.SyncAlways, opts.SyncInterval = true, time.Second
	}
	srv, err := server.NewServer(opts)
	if err != nil {
		return nil, err
	}
	srv.Start()
	// Enabled here rather than by an option, which would report errors to a log only.
	if err := srv.EnableJetStream(&server.JetStreamConfig{StoreDir: dir}); err != nil {
		srv.Shutdown()
		return nil, err
	}
	n := &node{srv: srv, conns: map[net.Conn]bool{}}
	if err := n.listen(socketPath(dir)); err != nil {
		n.close()
		return nil, err
	}
	return n, nil
}

// listen opens the socket for other processes. It removes the socket of a killed
// process: we hold the lock, so nobody serves it.
func (n *node) listen(path string) error {
	if len(path) > maxSocketPath {
		return nil
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	door, err := net.Listen("unix", path)
	if err != nil {
		return err
	}
	n.listener = door
	n.busy.Go(n.accept)
	return nil
}

func (n *node) accept() {
	for {
		outer, err := n.listener.Accept()
		if err != nil {
			return
		}
		inner, err := n.srv.InProcessConn()
		if err != nil {
			outer.Close()
			continue
		}
		if !n.track(outer, inner) {
			return
		}
		n.busy.Go(func() { proxy(outer, inner) })
		n.busy.Go(func() { proxy(inner, outer); n.untrack(outer, inner) })
	}
}

func (n *node) track(conns ...net.Conn) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, c := range conns {
		if n.conns == nil {
			c.Close()
			continue
		}
		n.conns[c] = true
	}
	return n.conns != nil
}

func (n *node) untrack(conns ...net.Conn) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, c := range conns {
		delete(n.conns, c)
	}
}

// proxy copies until one side ends, and then closes both.
func proxy(to, from net.Conn) {
	_, _ = io.Copy(to, from)
	to.Close()
	from.Close()
}

// close stops serving; the lock is released last, when everything is on disk.
func (n *node) close() {
	if n.listener != nil {
		n.listener.Close()
	}
	n.mu.Lock()
	for c := range n.conns {
		c.Close()
	}
	n.conns = nil
	n.mu.Unlock()
	n.srv.Shutdown()
	n.srv.WaitForShutdown()
	n.busy.Wait()
	if n.lock != nil {
		n.lock.Close()
	}
}
