// Package asksocket is how other processes of the same user reach the questions of hako
// serve: a socket in a directory that only this user can enter. A [Server] takes
// questions in and passes answers out; a [Client] asks through it.
//
// Nothing is judged here and nobody is told apart: whoever may come in is the
// user. One can ask here and not answer, so it gives nobody more than a page that
// shows one more question. The one rule to keep: whatever is not a clear yes is a
// no, and what the other side does or leaves undone holds nobody up.
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

// A Server takes questions of other processes in. Dir, Ask and Record are
// required.
type Server struct {
	// Dir is where the socket is. It is made for its owner alone; one that
	// others can enter is refused.
	Dir string

	// Ask puts a question to a person, as [gate.Options.Ask].
	Ask func(context.Context, gate.Question) (gate.Answer, error)

	// Record puts on record that a question was asked, and then what came of it:
	// the answer in words, or why there is none. What is not on record is not
	// asked, nor answered.
	Record func(actor, what string) (done func(words string, err error) error, err error)

	// Complain is told why nobody can ask any more; nil means nobody is.
	Complain func(error)

	Most      int           // processes that ask at once; zero means 128
	MostOfOne int           // questions of one process at once; zero means 32
	Patience  time.Duration // with who is slow to ask, or to take an answer; zero means 2 seconds
	Turn      time.Duration // between looks whether another hako serve has ended; zero means 1 second

	mu    sync.Mutex
	count int
	of    map[int]int // by process
	work  sync.WaitGroup
}

const (
	usualMost      = 128
	usualMostOfOne = 32
	usualPatience  = 2 * time.Second
	usualTurn      = time.Second

	socketName = "ask"
	lockName   = "lock"
)

// Why a question ends that nobody answered.
var (
	errGone   = errors.New("who asked has gone")
	errEnding = errors.New("hako serve is ending")
)

// Open lets processes ask until it is closed. If another hako serve has the
// place, this one takes it when that has ended.
func (h *Server) Open() (shut func(), err error) {
	if err := ownerfile.OwnDir(h.Dir); err != nil {
		return nil, err
	}
	lock, err := ownerfile.Open(filepath.Join(h.Dir, lockName), os.O_CREATE|os.O_RDWR)
	if err != nil {
		return nil, err
	}
	var door *net.UnixListener
	if ownerfile.TryLock(lock) {
		if door, err = listen(h.Dir); err != nil {
			lock.Close()
			return nil, err
		}
	}
	life, end := context.WithCancelCause(context.Background())
	h.work.Go(func() { h.keep(life, lock, door) })
	return func() {
		end(errEnding)
		h.work.Wait()
	}, nil
}

// keep serves until life ends, once it is this one's turn, and cleans up.
func (h *Server) keep(life context.Context, lock *os.File, door *net.UnixListener) {
	defer lock.Close()
	if door == nil {
		var err error
		if door, err = h.wait(life, lock); err != nil && h.Complain != nil {
			h.Complain(err)
		}
		if door == nil {
			return
		}
	}
	defer os.Remove(filepath.Join(h.Dir, socketName)) // before the lock goes
	stop := context.AfterFunc(life, func() { door.Close() })
	defer stop()
	h.serve(life, door)
}

// wait returns when nobody else has the place, or life has ended.
func (h *Server) wait(life context.Context, lock *os.File) (*net.UnixListener, error) {
	tick := time.NewTicker(cmp.Or(h.Turn, usualTurn))
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

// listen makes the socket. One that is there was left by a process that was
// killed: who lives holds the lock.
func listen(dir string) (*net.UnixListener, error) {
	name := filepath.Join(dir, socketName)
	e := &fault.Error{Kind: fault.Unavailable, Op: "listen at", Subject: name}
	if !knowsPeers {
		e.Why = "this system does not tell who comes in"
		return nil, e
	}
	if err := os.Remove(name); err != nil && !errors.Is(err, os.ErrNotExist) {
		e.Err = err
		return nil, e
	}
	short, done, err := reachable(dir)
	if err != nil {
		e.Err = err
		return nil, e
	}
	defer done()
	door, err := net.ListenUnix("unix", &net.UnixAddr{Name: short, Net: "unix"})
	if err != nil {
		e.Err = err
		return nil, e
	}
	door.SetUnlinkOnClose(false) // the short name means nothing by then
	if err := os.Chmod(name, 0o600); err != nil {
		door.Close()
		e.Err = err
		return nil, e
	}
	return door, nil
}

// serve lets in who comes.
func (h *Server) serve(life context.Context, door *net.UnixListener) {
	for life.Err() == nil {
		c, err := door.AcceptUnix()
		if err != nil {
			select { // there may be no descriptors just now
			case <-life.Done():
			case <-time.After(50 * time.Millisecond):
			}
			continue
		}
		h.admit(life, c)
	}
}

// admit lets a process of this user in, if there is room.
func (h *Server) admit(life context.Context, c *net.UnixConn) {
	uid, pid, err := peer(c)
	if err != nil || uid != os.Geteuid() {
		c.Close() // somebody else's: not a word
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
		h.attend(life, c, pid)
	})
}

func (h *Server) enter(pid int) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if most := cmp.Or(h.Most, usualMost); h.count >= most {
		return fmt.Errorf("%d questions of other processes wait already", most)
	}
	if most := cmp.Or(h.MostOfOne, usualMostOfOne); h.of[pid] >= most {
		return fmt.Errorf("%d questions of this process wait already", most)
	}
	if h.of == nil {
		h.of = map[int]int{}
	}
	h.count++
	h.of[pid]++
	return nil
}

func (h *Server) leave(pid int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.count--
	if h.of[pid]--; h.of[pid] == 0 {
		delete(h.of, pid)
	}
}

func (h *Server) patience() time.Duration { return cmp.Or(h.Patience, usualPatience) }

// send gives up on who does not read: the answer is a no then.
func (h *Server) send(c net.Conn, r reply) {
	_ = c.SetWriteDeadline(time.Now().Add(h.patience()))
	_, _ = c.Write(encode(r))
}

// attend takes one question in and passes the answer out.
func (h *Server) attend(life context.Context, c net.Conn, pid int) {
	_ = c.SetReadDeadline(time.Now().Add(h.patience()))
	stop := context.AfterFunc(life, func() { _ = c.SetReadDeadline(time.Now()) })
	line, err := readLine(c, longestQuestion)
	stop()
	if err == io.EOF { // who only looked whether somebody is there
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
	h.send(c, h.pass(life, c, q, pid))
}

// pass puts a question on record and to a person, and the answer on record.
func (h *Server) pass(life context.Context, c net.Conn, q question, pid int) reply {
	asked := q.from(pid)
	done, err := h.Record(asked.Actor, "ask a person: "+q.Command)
	if err != nil {
		return reply{Error: "it cannot be put on record, so nobody is asked"}
	}
	h.send(c, reply{Taken: true})
	ctx, end := h.while(life, c, q)
	answer, err := h.Ask(ctx, asked)
	if err != nil {
		answer = gate.No
	}
	r := outcome(ctx, answer, err)
	end()
	if done(r.told(q)) != nil {
		return reply{Error: "the answer cannot be put on record, so it does not count"}
	}
	return r
}

// while is for as long as somebody waits for the answer.
func (h *Server) while(life context.Context, c net.Conn, q question) (context.Context, func()) {
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
		_, _ = c.Read(make([]byte, 1)) // there is nothing more to say; who does, or goes, asks no more
		cancel(errGone)
	}()
	return ctx, func() {
		end()
		_ = c.SetReadDeadline(time.Now())
		<-gone
	}
}

// outcome tells the asker what came of a question.
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

// why is the reason of an error without what was attempted, which the asker knows.
func why(err error) string {
	var e *fault.Error
	if errors.As(err, &e) && e.Why != "" {
		return e.Why
	}
	return err.Error()
}

// told is what the record says of a reply: an answer in words, or why there is
// none.
func (r reply) told(q question) (words string, err error) {
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
