package guest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"hako/container/guest/wire"
	"hako/run/fault"
)

// A Run is a running command.
type Run struct {
	c     *Client
	id    uint64
	ctx   context.Context
	cmd   Command
	call  *pendingCall
	took  [2]int // bytes of each stream that were not yet acknowledged
	bytes int64
	watch *deadlineWatch // nil means no timeout
}

// Exec runs a command to its end and copies its output. A non-zero exit status is no error. When ctx ends, the
// command and its descendants are killed.
func (c *Client) Exec(ctx context.Context, cmd Command) (Result, error) {
	r, err := c.Begin(ctx, cmd)
	if err != nil {
		return Result{}, err
	}
	return r.Wait()
}

// Begin starts a command. Its output is blocked until Wait is called.
func (c *Client) Begin(ctx context.Context, cmd Command) (*Run, error) {
	if err := ctx.Err(); err != nil {
		return nil, cut(err)
	}
	o := cmd.Request()
	if err := o.Check(); err != nil {
		return nil, err
	}
	r := &Run{c: c, ctx: ctx, cmd: cmd, call: &pendingCall{in: wire.NewInbox(2*wire.OutputWindow + lastWords), run: true}}
	if cmd.Stdin != nil {
		r.call.stdin = wire.NewWindow(wire.StdinWindow)
	}
	var err error
	if r.id, err = c.begin(r.call); err != nil {
		return nil, err
	}
	if cmd.Timeout > 0 {
		r.watch = newDeadlineWatch(cmd.Timeout, r.giveUpGuest)
	}
	if err := c.send(o.Frame(wire.OpExec, r.id)); err != nil {
		c.finish(r.id)
		return nil, err
	}
	if cmd.Stdin != nil {
		go r.feed()
	}
	return r, nil
}

// lastWords is the maximum size of the final frame of a command.
const lastWords = 64 << 10

// lingering is how long the guest may take to end a cancelled command.
const lingering = 8 * time.Second

// Wait copies the output of the command until it ends.
func (r *Run) Wait() (Result, error) {
	defer r.c.finish(r.id)
	stop := context.AfterFunc(r.ctx, r.cancel)
	defer stop()
	for {
		f, err := r.next()
		if err != nil {
			return r.lost(err)
		}
		switch f.Op {
		case wire.OpStdout:
			err = r.pass(f, 0, r.cmd.Stdout)
		case wire.OpStderr:
			err = r.pass(f, 1, r.cmd.Stderr)
		case wire.OpExited:
			return r.ended(f.Word(0))
		case wire.OpError:
			return r.lost(wire.FaultFrom(f.Word(0)))
		}
		if err != nil {
			return r.stopCommand(err)
		}
	}
}

// next waits for the next frame.
func (r *Run) next() (f wire.Frame, err error) {
	if r.watch == nil {
		return r.call.in.Take()
	}
	r.watch.wait(func() { f, err = r.call.in.Take() })
	if err == nil && r.watch.flooded(len(f.Word(0))) {
		r.giveUpGuest()
		return f, noAnswer("run command")
	}
	return f, err
}

// giveUpGuest gives up a guest that does not report the end of a command.
func (r *Run) giveUpGuest() {
	r.call.in.Close(noAnswer("run command"))
	go r.c.send(wire.Frame{Op: wire.OpCancel, ID: r.id}) // it may not even read
}

// cancel cancels the command, and bounds the time until it ends.
func (r *Run) cancel() {
	time.AfterFunc(lingering, func() {
		r.call.in.Close(&fault.Error{Kind: fault.Unavailable, Op: "run command",
			Why: "the guest does not report its end", Hint: "end the environment with hako env down"})
	})
	_ = r.c.send(wire.Frame{Op: wire.OpCancel, ID: r.id})
}

// pass writes output and returns credit to the guest.
func (r *Run) pass(f wire.Frame, stream int, to io.Writer) error {
	p := f.Word(0)
	if to != nil {
		if _, err := to.Write(p); err != nil {
			return err
		}
	}
	r.bytes += int64(len(p))
	r.took[stream] += len(p)
	if r.took[stream] < wire.OutputWindow/4 {
		return nil
	}
	n := r.took[stream]
	r.took[stream] = 0
	return r.c.send(wire.Frame{Op: [2]byte{wire.OpStdoutTaken, wire.OpStderrTaken}[stream], ID: r.id, N: uint64(n)})
}

// stopCommand ends a command whose output cannot be written.
func (r *Run) stopCommand(why error) (Result, error) {
	r.cancel()
	for {
		f, err := r.next()
		if err != nil || f.Op == wire.OpExited || f.Op == wire.OpError {
			break
		}
		if f.Op == wire.OpStdout || f.Op == wire.OpStderr {
			op := byte(wire.OpStdoutTaken)
			if f.Op == wire.OpStderr {
				op = wire.OpStderrTaken
			}
			_ = r.c.send(wire.Frame{Op: op, ID: r.id, N: uint64(len(f.Word(0)))})
		}
	}
	var f *fault.Error
	if errors.As(why, &f) {
		return Result{Bytes: r.bytes}, why
	}
	return Result{Bytes: r.bytes}, &fault.Error{Op: "run command", Why: "its output could not be passed on", Err: why}
}

// ended decodes the outcome of the command.
func (r *Run) ended(text []byte) (Result, error) {
	var e wire.Ending
	if json.Unmarshal(text, &e) != nil || !isExit(e.Exit) || e.Duration < 0 {
		return r.lost(lost(wire.ErrFrame))
	}
	res := Result{Exit: e.Exit, Signal: e.Signal, TimedOut: e.TimedOut, Duration: e.Duration, Bytes: r.bytes,
		Note: e.Note, OutOfMemory: e.OutOfMemory, DiskFull: e.DiskFull}
	if e.TimedOut {
		res.Exit = -1
		res.Note = "Command timeout after " + seconds(r.cmd.Timeout) + " seconds"
	}
	if err := r.ctx.Err(); err != nil {
		return res, cut(err)
	}
	return res, nil
}

// isExit reports whether a number can be an exit status: a larger one could become zero where only a byte is passed
// on.
func isExit(n int) bool { return n >= -1 && n <= 255 }

func seconds(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) }

// lost is for a command whose outcome is unknown.
func (r *Run) lost(err error) (Result, error) {
	if ctxErr := r.ctx.Err(); ctxErr != nil {
		err = cut(fmt.Errorf("%w (%v)", ctxErr, err))
	}
	return Result{Bytes: r.bytes}, err
}

// cut is for a command that was stopped.
func cut(err error) error {
	e := &fault.Error{Op: "run command", Why: "it was stopped", Err: err}
	if errors.Is(err, context.DeadlineExceeded) {
		e.Kind = fault.Timeout
	}
	return e
}

// feed sends the input as fast as it is read. It may outlive the command, because a blocked reader cannot be
// interrupted.
func (r *Run) feed() {
	buf := make([]byte, 16<<10)
	for {
		n, err := r.cmd.Stdin.Read(buf)
		for sent := 0; sent < n; {
			m := r.call.stdin.Take(n - sent)
			if m == 0 {
				return
			}
			if r.c.send(wire.Frame{Op: wire.OpStdin, ID: r.id, Words: [][]byte{buf[sent : sent+m]}}) != nil {
				return
			}
			sent += m
		}
		if err != nil {
			_ = r.c.send(wire.Frame{Op: wire.OpStdinEnd, ID: r.id})
			return
		}
	}
}
