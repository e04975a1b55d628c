package guest

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"

	"hako/container/guest/wire"
	"hako/run/fault"
)

// A Client is a connection to a guest. It is safe for concurrent use. A lost connection is not restored: the guest
// ends its running commands, and the caller dials again.
type Client struct {
	conn net.Conn
	gone chan struct{} // closed when nothing will be read any more

	writing sync.Mutex
	buf     []byte

	mu     sync.Mutex // guards what follows
	serial uint64
	open   map[uint64]*pendingCall
	err    error // why the connection ended
}

// A pendingCall is a command in progress, or a call that awaits its answer.
type pendingCall struct {
	in    *wire.Inbox
	run   bool         // it is a command
	stdin *wire.Window // for input; nil means none
	over  bool         // its final frame arrived; only used by listen
}

// Time limits of a guest. It answers every call quickly but the end of a job.
const (
	answerTime = 10 * time.Second // for handshakes, answers and writes
	grace      = 10 * time.Second // to report the end of a command that timed out
)

// Dial connects to the guest that listens on a socket. It does not follow links: root in a container could redirect
// us to the guest of another.
func Dial(ctx context.Context, socket string) (*Client, error) {
	return connect(ctx, socket, dialSocket)
}

func connect(ctx context.Context, socket string, dial func(context.Context, string) (net.Conn, error)) (*Client,
	error) {
	ctx, cancel := context.WithTimeoutCause(ctx, answerTime, noAnswer("connect to guest"))
	defer cancel()
	conn, err := dial(ctx, socket)
	if err != nil {
		return nil, dialError(ctx, socket, err)
	}
	return newClient(ctx, conn, socket)
}

func newClient(ctx context.Context, conn net.Conn, socket string) (*Client, error) {
	stop := context.AfterFunc(ctx, func() { conn.SetDeadline(time.Unix(1, 0)) })
	c := &Client{conn: conn, gone: make(chan struct{}), open: map[uint64]*pendingCall{}}
	in := wire.NewScanner(conn, wire.MaxChunk)
	err := c.greet(in)
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		conn.Close()
		return nil, dialError(ctx, socket, err)
	}
	go c.listen(in)
	return c, nil
}

// noAnswer is for a guest that does not answer.
func noAnswer(op string) error {
	return &fault.Error{Kind: fault.Unavailable, Op: op, Why: "the guest of the container does not answer",
		Hint:     "end the environment, then start it again",
		FlagHint: "end the environment with hako env down --task ID, then start it again with hako env up"}
}

func dialError(ctx context.Context, socket string, err error) error {
	var f *fault.Error
	if errors.As(err, &f) {
		return f
	}
	e := &fault.Error{Kind: fault.Unavailable, Op: "connect to guest", Err: err,
		Hint: "the environment may have ended: hako env info shows its state, hako env up starts it"}
	switch {
	case errors.As(context.Cause(ctx), &f):
		return f
	case ctx.Err() != nil:
		e.Kind, e.Why, e.Err = fault.Timeout, "it did not answer in time", ctx.Err()
	case errors.Is(err, syscall.ENOENT), errors.Is(err, syscall.ECONNREFUSED):
		e.Subject, e.Why, e.Err = socket, "no process listens there", nil
	}
	return e
}

// notSocket is for another file in the place of the socket.
func notSocket(socket string) error {
	return &fault.Error{Kind: fault.Denied, Op: "connect to guest", Subject: socket,
		Why:  "it is no socket: something in the container has put another file in its place",
		Hint: "end the environment", FlagHint: "end the environment with hako env down --task ID"}
}

// greet exchanges handshakes.
func (c *Client) greet(in *wire.Scanner) error {
	wrong := c.write(wire.Handshake{Version: wire.Version}.Frame())
	f, err := in.Next(wire.MaxGreeting) // even then: it may have sent the reason
	if err != nil && wrong != nil {
		return wrong
	}
	if err != nil {
		return err
	}
	_, err = wire.ReadHandshake(f)
	return err
}

func (c *Client) write(f wire.Frame) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	c.buf = f.AppendTo(c.buf[:0])
	_ = c.conn.SetWriteDeadline(
		time.Now().Add(answerTime)) // a guest always reads
	_, err := c.conn.Write(c.buf)
	if cap(c.buf) > wire.KeptBuffer {
		c.buf = nil
	}
	return err
}

// send sends a frame. If it fails, it returns the reason that the other side may have sent.
func (c *Client) send(f wire.Frame) error {
	if err := c.write(f); err != nil {
		if errors.Is(err, os.ErrDeadlineExceeded) {
			c.giveUp(noAnswer("ask guest"))
		}
		c.conn.Close()
		<-c.gone
		return c.reason()
	}
	return nil
}

// giveUp sets the reason for the end of the connection, unless there is one.
func (c *Client) giveUp(why error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil {
		c.err = why
	}
}

func (c *Client) reason() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// listen dispatches frames to pending calls. It never waits for them: flow control leaves room for every frame.
func (c *Client) listen(in *wire.Scanner) {
	var err error
	for err == nil {
		var f wire.Frame
		if f, err = in.Next(wire.MaxFrame); err == nil {
			err = c.handle(f)
		}
	}
	c.conn.Close()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil {
		c.err = lost(err)
	}
	for _, a := range c.open {
		a.end(c.err)
	}
	close(c.gone)
}

func (a *pendingCall) end(why error) {
	a.in.Close(why)
	if a.stdin != nil {
		a.stdin.Close()
	}
}

// lost explains the end of a connection.
func lost(err error) error {
	var f *fault.Error
	switch {
	case errors.As(err, &f):
		return f
	case errors.Is(err, wire.ErrFrame), errors.Is(err, wire.ErrTooLong):
		return &fault.Error{Kind: fault.Unavailable, Op: "ask guest", Why: "its answer is invalid",
			Err: err, Hint: "end the environment with hako env down and start it again"}
	}
	return &fault.Error{Kind: fault.Unavailable, Op: "ask guest", Why: "the connection is lost", Err: unlessEOF(err),
		Hint: "the environment may have ended: hako env info shows its state, hako env up starts it"}
}

func unlessEOF(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

func (c *Client) handle(f wire.Frame) error {
	if f.ID == 0 {
		if f.Op == wire.OpError {
			return wire.FaultFrom(f.Word(0))
		}
		return wire.ErrFrame
	}
	c.mu.Lock()
	a := c.open[f.ID]
	c.mu.Unlock()
	if a == nil {
		return nil // the call was cancelled
	}
	ok := true
	switch f.Op {
	case wire.OpStdinTaken:
		ok = a.stdin != nil && f.N <= wire.StdinWindow && a.stdin.Give(int(f.N))
	case wire.OpStdinShut:
		if a.stdin != nil {
			a.stdin.Close()
		}
	case wire.OpStdout, wire.OpStderr:
		ok = a.run && !a.over && a.in.Put(f)
	case wire.OpExited, wire.OpAnswer, wire.OpError:
		ok = a.last(f) && a.in.Put(f)
	default:
		ok = false
	}
	if !ok {
		return wire.ErrFrame
	}
	return nil
}

// last reports whether a frame can be the final one of a call. Frames after it would stay in memory.
func (a *pendingCall) last(f wire.Frame) bool {
	fits := f.Op == wire.OpError || a.run == (f.Op == wire.OpExited)
	ok := fits && !a.over
	a.over = true
	return ok
}

// begin registers a call and returns its ID.
func (c *Client) begin(a *pendingCall) (uint64, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return 0, c.err
	}
	c.serial++
	c.open[c.serial] = a
	return c.serial, nil
}

// finish unregisters a call.
func (c *Client) finish(id uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if a := c.open[id]; a != nil {
		a.end(io.EOF)
		delete(c.open, id)
	}
}

// Close closes the connection. The guest ends running commands; jobs go on.
func (c *Client) Close() error {
	c.giveUp(&fault.Error{Kind: fault.Unavailable, Op: "ask guest", Why: "the client is closed", Hint: "dial again"})
	c.conn.Close()
	<-c.gone
	return nil
}

// Gone returns a channel that is closed when the connection is lost.
func (c *Client) Gone() <-chan struct{} { return c.gone }

// ask makes a call and waits for its answer. All calls but waiting for a job have a timeout.
func (c *Client) ask(ctx context.Context, verb string, what func(id uint64) wire.Frame) ([][]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, cancelled(ctx, verb)
	}
	if verb != wire.CallWait {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, answerTime, noAnswer("ask guest"))
		defer cancel()
	}
	a := &pendingCall{in: wire.NewInbox(wire.MaxFrame)}
	id, err := c.begin(a)
	if err != nil {
		return nil, err
	}
	defer c.finish(id)
	if err := c.send(what(id)); err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { a.in.Close(cancelled(ctx, verb)) })
	defer stop()
	f, err := a.in.Take()
	switch {
	case err != nil && ctx.Err() != nil:
		go c.send(wire.Frame{Op: wire.OpCancel, ID: id}) // a guest that does not answer may not read either
		return nil, err
	case err != nil:
		return nil, err
	case f.Op == wire.OpError:
		return nil, wire.FaultFrom(f.Word(0))
	}
	return f.Words, nil
}

// cancelled is the error of a cancelled call.
func cancelled(ctx context.Context, verb string) error {
	if f, mute := context.Cause(ctx).(*fault.Error); mute {
		return f
	}
	e := &fault.Error{Op: "ask guest", Subject: verb, Why: "it was cancelled", Err: ctx.Err()}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		e.Kind, e.Why = fault.Timeout, "it did not answer in time"
	}
	return e
}

// question makes a call with parameters and decodes its answer.
func (c *Client) question(ctx context.Context, verb string, p wire.Parameters, result any) ([][]byte, error) {
	words, err := c.ask(ctx, verb, func(id uint64) wire.Frame {
		return wire.Frame{Op: wire.OpCall, ID: id, Words: [][]byte{[]byte(verb), wire.JSON(p)}}
	})
	if err != nil || result == nil {
		return words, err
	}
	if len(words) == 0 || json.Unmarshal(words[0], result) != nil {
		return nil, lost(wire.ErrFrame)
	}
	return words, nil
}
