package server

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"time"

	"hako/container/guest/wire"
	"hako/run/fault"
)

// greetTime is how long a stranger may be silent.
const greetTime = 10 * time.Second

// maxCalls is how many calls of one connection are answered at the same time.
const maxCalls = 64

// readBuffer is small: most of what clients send is, and what is not goes past it.
const readBuffer = 4 << 10

// A clientConn is one connection as the guest sees it.
type clientConn struct {
	s       *server
	conn    net.Conn
	in      *wire.Scanner
	ctx     context.Context // ends with the connection
	cancel  context.CancelFunc
	working sync.WaitGroup

	writing sync.Mutex
	buf     []byte // of the frame that is being written

	mu    sync.Mutex // guards what follows
	runs  map[uint64]*foregroundCommand
	calls map[uint64]context.CancelFunc
}

// foregroundCommand is a command in the foreground.
type foregroundCommand struct {
	id    uint64
	order wire.CommandRequest
	out   *wire.Window
	errs  *wire.Window
	stdin *wire.Inbox // nil if there is none

	mu      sync.Mutex // guards what follows
	stopped bool
	stop    chan struct{} // closed when nobody wants it any more
}

func newClientConn(s *server, conn net.Conn) *clientConn {
	k := &clientConn{s: s, conn: conn, in: wire.NewScanner(conn, readBuffer), runs: map[uint64]*foregroundCommand{},
		calls: map[uint64]context.CancelFunc{}}
	k.ctx, k.cancel = context.WithCancel(context.Background())
	return k
}

// serve does what the client asks for until it is gone. What it does not
// understand ends the connection and nothing else.
func (k *clientConn) serve() {
	err := k.greet()
	for err == nil {
		var f wire.Frame
		if f, err = k.in.Next(wire.MaxFrame); err == nil {
			err = k.handle(f)
		}
	}
	if why := protocolError(err); why != nil {
		_ = k.conn.SetWriteDeadline(time.Now().Add(greetTime)) // it may not be listening either
		k.send(wire.ErrorFrame(0, why))
	}
	k.close()
}

// protocolError says what the client did wrong, if it did.
func protocolError(err error) error {
	var f *fault.Error
	switch {
	case errors.Is(err, wire.ErrFrame), errors.Is(err, wire.ErrTooLong):
		return &fault.Error{Kind: fault.Invalid, Op: "read message", Why: err.Error(),
			Hint: "the connection is closed; connect again"}
	case errors.As(err, &f):
		return f
	}
	return nil // it is gone, or so silent that it may as well be
}

func (k *clientConn) greet() error {
	_ = k.conn.SetReadDeadline(time.Now().Add(greetTime))
	k.send(wire.Handshake{Version: wire.Version}.Frame())
	f, err := k.in.Next(wire.MaxGreeting)
	if err != nil {
		return err
	}
	_ = k.conn.SetReadDeadline(time.Time{})
	_, err = wire.ReadHandshake(f)
	return err
}

// close ends what only this client wanted.
func (k *clientConn) close() {
	k.cancel()
	k.conn.Close()
	k.mu.Lock()
	for _, r := range k.runs {
		r.cancel()
		r.out.Close()
		r.errs.Close()
	}
	k.mu.Unlock()
	k.working.Wait()
}

func (k *clientConn) send(f wire.Frame) {
	k.writing.Lock()
	defer k.writing.Unlock()
	k.buf = f.AppendTo(k.buf[:0])
	if _, err := k.conn.Write(k.buf); err != nil {
		k.conn.Close() // the reader notices
	}
	if cap(k.buf) > wire.KeptBuffer {
		k.buf = nil
	}
}

// handle does what a frame says. An error means that the client cannot be understood.
func (k *clientConn) handle(f wire.Frame) error {
	switch f.Op {
	case wire.OpExec:
		return k.exec(f)
	case wire.OpCall:
		return k.call(f)
	case wire.OpCancel:
		k.giveUp(f.ID)
		return nil
	case wire.OpStdin, wire.OpStdinEnd, wire.OpStdoutTaken, wire.OpStderrTaken:
		if r := k.find(f.ID); r != nil { // or it has just ended
			return r.handle(f)
		}
		return nil
	}
	return wire.ErrFrame
}

func (k *clientConn) find(id uint64) *foregroundCommand {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.runs[id]
}

// giveUp ends what the client does not want any more.
func (k *clientConn) giveUp(id uint64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if r := k.runs[id]; r != nil {
		r.cancel()
	}
	if cancel := k.calls[id]; cancel != nil {
		cancel()
	}
}

func (r *foregroundCommand) handle(f wire.Frame) error {
	ok := true
	switch f.Op {
	case wire.OpStdin, wire.OpStdinEnd:
		ok = r.stdin != nil && r.stdin.Put(f)
	case wire.OpStdoutTaken:
		ok = f.N <= wire.OutputWindow && r.out.Give(int(f.N))
	case wire.OpStderrTaken:
		ok = f.N <= wire.OutputWindow && r.errs.Give(int(f.N))
	}
	if !ok {
		return wire.ErrFrame
	}
	return nil
}

// cancel ends the command.
func (r *foregroundCommand) cancel() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.stopped {
		r.stopped = true
		close(r.stop)
	}
}

// exec starts a command in the foreground.
func (k *clientConn) exec(f wire.Frame) error {
	o, err := wire.ReadCommand(f.Words, f.N)
	if errors.Is(err, wire.ErrFrame) {
		return err
	}
	r := &foregroundCommand{id: f.ID, order: o, out: wire.NewWindow(wire.OutputWindow),
		errs: wire.NewWindow(wire.OutputWindow), stop: make(chan struct{})}
	if o.Stdin {
		r.stdin = wire.NewInbox(wire.StdinWindow)
	}
	if err == nil {
		err = k.s.admit()
	}
	if err != nil {
		k.send(wire.ErrorFrame(f.ID, err))
		return nil
	}
	if !k.register(r) {
		k.s.release()
		return wire.ErrFrame
	}
	k.working.Go(func() { k.run(r) })
	return nil
}

// register makes a command known. It refuses one whose id is in use.
func (k *clientConn) register(r *foregroundCommand) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.taken(r.id) {
		return false
	}
	k.runs[r.id] = r
	return true
}

// taken tells whether an id is in use, or none. The link is locked.
func (k *clientConn) taken(id uint64) bool {
	return id == 0 || k.runs[id] != nil || k.calls[id] != nil
}

// run runs a command to its end.
func (k *clientConn) run(r *foregroundCommand) {
	last := k.execute(r)
	k.mu.Lock()
	delete(k.runs, r.id)
	k.mu.Unlock()
	k.s.release()
	k.send(last)
}

// execute runs a command and returns what to say at the end.
func (k *clientConn) execute(r *foregroundCommand) wire.Frame {
	p, err := k.s.exec.launch(r.order)
	if err != nil {
		return k.startFailure(r, err)
	}
	if r.stdin != nil {
		k.working.Go(func() { k.feed(r, p.Process) })
	}
	timedOut := supervise(p.Process, r.order.Timeout, r.stop, k.pump(r, wire.OpStdout, p.Stdout, r.out),
		k.pump(r, wire.OpStderr, p.Stderr, r.errs))
	if r.stdin != nil {
		r.stdin.Close(io.EOF)
		p.Stdin.Close()
	}
	return exited(r.id, p.finish(timedOut))
}

func exited(id uint64, e wire.Ending) wire.Frame {
	return wire.Frame{Op: wire.OpExited, ID: id, Words: [][]byte{wire.JSON(e)}}
}

// startFailure says why a command did not start: as shells do where they would.
func (k *clientConn) startFailure(r *foregroundCommand, err error) wire.Frame {
	var like *startError
	if !errors.As(err, &like) {
		return wire.ErrorFrame(r.id, err)
	}
	k.send(wire.Frame{Op: wire.OpStderr, ID: r.id, Words: [][]byte{[]byte(like.text + "\n")}})
	return exited(r.id, wire.Ending{Exit: like.status})
}
