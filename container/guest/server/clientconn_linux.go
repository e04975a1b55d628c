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

// greetTime is the timeout of a handshake.
const greetTime = 10 * time.Second

// maxCalls limits the concurrent calls of one connection.
const maxCalls = 64

// readBuffer is small, because most frames are.
const readBuffer = 4 << 10

// A clientConn is one connection of a client.
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

// A foregroundCommand is a command whose output is sent to the client.
type foregroundCommand struct {
	id    uint64
	order wire.CommandRequest
	out   *wire.Window
	errs  *wire.Window
	stdin *wire.Inbox // nil if there is none

	mu      sync.Mutex // guards what follows
	stopped bool
	stop    chan struct{} // closed when it is cancelled
}

func newClientConn(s *server, conn net.Conn) *clientConn {
	k := &clientConn{s: s, conn: conn, in: wire.NewScanner(conn, readBuffer), runs: map[uint64]*foregroundCommand{},
		calls: map[uint64]context.CancelFunc{}}
	k.ctx, k.cancel = context.WithCancel(context.Background())
	return k
}

// serve serves the client until it disconnects. An invalid message ends only this connection.
func (k *clientConn) serve() {
	err := k.greet()
	for err == nil {
		var f wire.Frame
		if f, err = k.in.Next(wire.MaxFrame); err == nil {
			err = k.handle(f)
		}
	}
	if why := protocolError(err); why != nil {
		_ = k.conn.SetWriteDeadline(time.Now().Add(greetTime)) // it may not be reading either
		k.send(wire.ErrorFrame(0, why))
	}
	k.close()
}

// protocolError returns the error to report to the client, if it made one.
func protocolError(err error) error {
	var f *fault.Error
	switch {
	case errors.Is(err, wire.ErrFrame), errors.Is(err, wire.ErrTooLong):
		return &fault.Error{Kind: fault.Invalid, Op: "read message", Why: err.Error(),
			Hint: "the connection is closed; connect again"}
	case errors.As(err, &f):
		return f
	}
	return nil // it disconnected, or timed out
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

// close ends the commands of this client.
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
		k.conn.Close() // ends the reader
	}
	if cap(k.buf) > wire.KeptBuffer {
		k.buf = nil
	}
}

// handle handles a frame. An error ends the connection.
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
		if r := k.find(f.ID); r != nil { // unless it has just ended
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

// giveUp cancels a request.
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

func (r *foregroundCommand) cancel() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.stopped {
		r.stopped = true
		close(r.stop)
	}
}

// exec starts a foreground command.
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

// register registers a command. It refuses an ID that is in use.
func (k *clientConn) register(r *foregroundCommand) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.taken(r.id) {
		return false
	}
	k.runs[r.id] = r
	return true
}

// taken reports whether an ID is invalid or in use. The caller holds the lock.
func (k *clientConn) taken(id uint64) bool {
	return id == 0 || k.runs[id] != nil || k.calls[id] != nil
}

func (k *clientConn) run(r *foregroundCommand) {
	last := k.execute(r)
	k.mu.Lock()
	delete(k.runs, r.id)
	k.mu.Unlock()
	k.s.release()
	k.send(last)
}

// execute runs a command and returns its final frame.
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

// startFailure reports why a command did not start, as a shell would.
func (k *clientConn) startFailure(r *foregroundCommand, err error) wire.Frame {
	var like *startError
	if !errors.As(err, &like) {
		return wire.ErrorFrame(r.id, err)
	}
	k.send(wire.Frame{Op: wire.OpStderr, ID: r.id, Words: [][]byte{[]byte(like.text + "\n")}})
	return exited(r.id, wire.Ending{Exit: like.status})
}
