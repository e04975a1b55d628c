// Package asksocket lets other processes of the same user ask questions through hako serve, over a Unix socket in a
// directory that only this user can enter. A [Server] accepts questions; a [Client] asks them.
//
// The socket only accepts questions, not answers: a process that connects can at most add a question to the page.
// Anything but a clear yes means no, and a slow or silent peer blocks nobody else.
package asksocket

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"hako/gate"
	"hako/internal/ownerfile"
	"hako/run/fault"
)

// A Server accepts questions of other processes. Dir, Ask and Record are required.
type Server struct {
	// Dir is the directory of the socket. It is created for its owner alone; one that others can enter is refused.
	Dir string

	// Ask puts a question to a person, as [gate.Options.Ask].
	Ask func(context.Context, gate.Question) (gate.Answer, error)

	// Record records a question; done records the answer, or why there is none. What cannot be recorded is
	// neither asked nor answered.
	Record func(actor, what string) (done func(words string, err error) error, err error)

	// Warn gets the reason if the socket cannot be opened later; may be nil.
	Warn func(error)

	MaxOpen       int           // concurrent questions; zero means 128
	MaxPerProcess int           // concurrent questions of one process; zero means 32
	PeerTimeout   time.Duration // for a slow peer; zero means 2 seconds
	LockInterval  time.Duration // interval of checks whether another hako serve has ended; zero means 1 second

	mu         sync.Mutex
	count      int
	perProcess map[int]int // by process
	work       sync.WaitGroup
}

const (
	defaultMaxOpen       = 128
	defaultMaxPerProcess = 32
	defaultPeerTimeout   = 2 * time.Second
	defaultLockInterval  = time.Second

	socketName = "ask"
	lockName   = "lock"
)

// Why a question ends without an answer.
var (
	errGone   = errors.New("who asked has gone")
	errEnding = errors.New("hako serve is ending")
)

// Open accepts questions until shut is called. If another hako serve has the socket, it waits until that has ended.
func (h *Server) Open() (shut func(), err error) {
	if err := ownerfile.OwnDir(h.Dir); err != nil {
		return nil, err
	}
	lock, err := ownerfile.Open(filepath.Join(h.Dir, lockName), os.O_CREATE|os.O_RDWR)
	if err != nil {
		return nil, err
	}
	var listener *net.UnixListener
	if ownerfile.TryLock(lock) {
		if listener, err = listen(h.Dir); err != nil {
			lock.Close()
			return nil, err
		}
	}
	life, end := context.WithCancelCause(context.Background())
	h.work.Go(func() { h.serveInTurn(life, lock, listener) })
	return func() {
		end(errEnding)
		h.work.Wait()
	}, nil
}

// serveInTurn serves until life ends, and removes the socket.
func (h *Server) serveInTurn(life context.Context, lock *os.File, listener *net.UnixListener) {
	defer lock.Close()
	if listener == nil {
		var err error
		if listener, err = h.waitLock(life, lock); err != nil && h.Warn != nil {
			h.Warn(err)
		}
		if listener == nil {
			return
		}
	}
	defer os.Remove(filepath.Join(h.Dir, socketName)) // while the lock is held
	stop := context.AfterFunc(life, func() { listener.Close() })
	defer stop()
	h.serve(life, listener)
}

// waitLock waits until no other process has the lock, or life has ended.
func (h *Server) waitLock(life context.Context, lock *os.File) (*net.UnixListener, error) {
	tick := time.NewTicker(cmp.Or(h.LockInterval, defaultLockInterval))
	defer tick.Stop()
	for {
		select {
		case <-life.Done():
			return nil, nil
		case <-tick.C:
			if ownerfile.TryLock(lock) {
				return listen(h.Dir)
			}
		}
	}
}

// listen creates the socket. An existing one was left by a killed process: a living one holds the lock.
func listen(dir string) (*net.UnixListener, error) {
	name := filepath.Join(dir, socketName)
	e := &fault.Error{Kind: fault.Unavailable, Op: "listen at", Subject: name}
	if !hasPeerCredentials {
		e.Why = "this system does not tell who comes in"
		return nil, e
	}
	if err := os.Remove(name); err != nil && !errors.Is(err, os.ErrNotExist) {
		e.Err = err
		return nil, e
	}
	short, done, err := socketPath(dir)
	if err != nil {
		e.Err = err
		return nil, e
	}
	defer done()
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: short, Net: "unix"})
	if err != nil {
		e.Err = err
		return nil, e
	}
	listener.SetUnlinkOnClose(false) // the short name is invalid by then
	if err := os.Chmod(name, 0o600); err != nil {
		listener.Close()
		e.Err = err
		return nil, e
	}
	return listener, nil
}

// serve accepts connections.
func (h *Server) serve(life context.Context, listener *net.UnixListener) {
	for life.Err() == nil {
		c, err := listener.AcceptUnix()
		if err != nil {
			select { // there may be no free descriptors
			case <-life.Done():
			case <-time.After(50 * time.Millisecond):
			}
			continue
		}
		h.serveConn(life, c)
	}
}

// serveConn serves a connection of this user, if there is room.
func (h *Server) serveConn(life context.Context, c *net.UnixConn) {
	uid, pid, err := peerCredentials(c)
	if err != nil || uid != os.Geteuid() {
		c.Close() // another user gets no reply
		return
	}
	if err := h.enter(pid); err != nil {
		h.send(c, reply{Error: err.Error()})
		c.Close()
		return
	}
	h.work.Go(func() {
		defer h.leave(pid)
		defer c.Close()
		h.serveQuestion(life, c, pid)
	})
}

func (h *Server) enter(pid int) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if most := cmp.Or(h.MaxOpen, defaultMaxOpen); h.count >= most {
		return fmt.Errorf("%d questions of other processes wait already", most)
	}
	if most := cmp.Or(h.MaxPerProcess, defaultMaxPerProcess); h.perProcess[pid] >= most {
		return fmt.Errorf("%d questions of this process wait already", most)
	}
	if h.perProcess == nil {
		h.perProcess = map[int]int{}
	}
	h.count++
	h.perProcess[pid]++
	return nil
}

func (h *Server) leave(pid int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.count--
	if h.perProcess[pid]--; h.perProcess[pid] == 0 {
		delete(h.perProcess, pid)
	}
}

func (h *Server) peerTimeout() time.Duration { return cmp.Or(h.PeerTimeout, defaultPeerTimeout) }

// send gives up on a peer that does not read.
func (h *Server) send(c net.Conn, r reply) {
	_ = c.SetWriteDeadline(time.Now().Add(h.peerTimeout()))
	_, _ = c.Write(encode(r))
}

// serveQuestion reads a question and sends the replies.
func (h *Server) serveQuestion(life context.Context, c net.Conn, pid int) {
	_ = c.SetReadDeadline(time.Now().Add(h.peerTimeout()))
	stop := context.AfterFunc(life, func() { _ = c.SetReadDeadline(time.Now()) })
	line, err := readLine(c, maxQuestion)
	stop()
	if err == io.EOF { // a Client.There
		return
	}
	var q question
	if err == nil {
		q, err = parse(line)
	}
	if err != nil {
		h.send(c, reply{Error: err.Error()})
		return
	}
	h.send(c, h.askAndRecord(life, c, q, pid))
}

// askAndRecord records a question, asks it, and records the answer.
func (h *Server) askAndRecord(life context.Context, c net.Conn, q question, pid int) reply {
	asked := q.withProcess(pid)
	done, err := h.Record(asked.Actor, "ask a person: "+q.Command)
	if err != nil {
		return reply{Error: "it cannot be put on record, so nobody is asked"}
	}
	h.send(c, reply{Taken: true})
	ctx, end := h.waitContext(life, c, q)
	answer, err := h.Ask(ctx, asked)
	if err != nil {
		answer = gate.No
	}
	r := outcome(ctx, answer, err)
	end()
	if done(r.recordText(q)) != nil {
		return reply{Error: "the answer cannot be put on record, so it does not count"}
	}
	return r
}

// waitContext returns a context that ends when the peer no longer waits for the answer.
func (h *Server) waitContext(life context.Context, c net.Conn, q question) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(life)
	end := func() { cancel(nil) }
	if q.Wait > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(ctx, time.Duration(q.Wait)*time.Millisecond)
		end = func() { stop(); cancel(nil) }
	}
	_ = c.SetReadDeadline(time.Time{})
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		_, _ = c.Read(make([]byte, 1)) // the peer sends nothing more, unless it disconnects
		cancel(errGone)
	}()
	return ctx, func() {
		end()
		_ = c.SetReadDeadline(time.Now())
		<-gone
	}
}

// outcome returns the final reply.
func outcome(ctx context.Context, a gate.Answer, err error) reply {
	switch {
	case err == nil:
		return reply{Answer: a.String()}
	case ctx.Err() == context.DeadlineExceeded:
		return reply{Silent: true}
	case ctx.Err() != nil:
		return reply{Error: context.Cause(ctx).Error()}
	}
	return reply{Error: why(err)}
}

// why returns the reason of an error without the operation.
func why(err error) string {
	var e *fault.Error
	if errors.As(err, &e) && e.Why != "" {
		return e.Why
	}
	return err.Error()
}

// recordText returns what is recorded about a reply.
func (r reply) recordText(q question) (words string, err error) {
	switch {
	case r.Silent:
		return "", &fault.Error{Kind: fault.Timeout, Op: "ask", Why: fmt.Sprintf("nobody answered within %v",
			time.Duration(q.Wait)*time.Millisecond)}
	case r.Error != "":
		return "", &fault.Error{Kind: fault.Unavailable, Op: "ask", Why: r.Error}
	}
	switch answer, _ := gate.ParseAnswer(r.Answer); answer {
	case gate.Once:
		return "a person approved it once", nil
	case gate.Session:
		return "a person approved it for the session", nil
	}
	return "a person said no", nil
}
