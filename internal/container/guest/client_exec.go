package guest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"syscall"
	"time"

	"hako/internal/fault"
)

// A Run is a command that was begun.
type Run struct {
	c     *Client
	id    uint64
	ctx   context.Context
	cmd   Command
	asked *asked
	took  [2]int // bytes of each stream that the guest was not told about yet
	bytes int64
}

// Exec runs a command to its end, passing on what it prints. An exit status
// other than zero is an answer, not an error. When ctx ends, so does the command
// with all that came of it; a writer that does not come back still has to.
func (c *Client) Exec(ctx context.Context, cmd Command) (Result, error) {
	r, err := c.Begin(ctx, cmd)
	if err != nil {
		return Result{}, err
	}
	return r.Wait()
}

// Begin starts a command. Somebody has to call Wait: until then the command
// prints only as much as fits into buffers.
func (c *Client) Begin(ctx context.Context, cmd Command) (*Run, error) {
	if err := ctx.Err(); err != nil {
		return nil, cut(err)
	}
	o := cmd.order()
	if err := o.check(); err != nil {
		return nil, err
	}
	r := &Run{c: c, ctx: ctx, cmd: cmd, asked: &asked{in: newInbox(2 * outputWindow)}}
	if cmd.Stdin != nil {
		r.asked.stdin = newWindow(stdinWindow)
	}
	var err error
	if r.id, err = c.begin(r.asked); err != nil {
		return nil, err
	}
	if err := c.send(o.frame(opExec, r.id)); err != nil {
		c.finish(r.id)
		return nil, err
	}
	if cmd.Stdin != nil {
		go r.feed()
	}
	return r, nil
}

// Signal sends SIGINT or SIGTERM to the command and its group, or ends it with
// all that came of it by SIGKILL. A command that has ended does not mind.
func (r *Run) Signal(s os.Signal) error {
	number, ok := s.(syscall.Signal)
	if !ok || !signalAllowed(uint64(number)) {
		return &fault.Error{Kind: fault.Invalid, Op: "signal command", Subject: s.String(), Why: "it is none of INT, TERM and KILL", Hint: "use one of them"}
	}
	return r.c.send(frame{op: opSignal, id: r.id, n: uint64(number)})
}

// lingering is how long the guest may take to end a command that nobody wants.
const lingering = 8 * time.Second

// Wait passes on what the command prints until it ends.
func (r *Run) Wait() (Result, error) {
	defer r.c.finish(r.id)
	stop := context.AfterFunc(r.ctx, r.cancel)
	defer stop()
	for {
		f, err := r.asked.in.take()
		if err != nil {
			return r.lost(err)
		}
		switch f.op {
		case opStdout:
			err = r.pass(f, 0, r.cmd.Stdout)
		case opStderr:
			err = r.pass(f, 1, r.cmd.Stderr)
		case opExited:
			return r.ended(f.word(0))
		case opError:
			return r.lost(faultFrom(f.word(0)))
		}
		if err != nil {
			return r.unwanted(err)
		}
	}
}

// cancel has the command ended, and waits for that no longer than it can take.
func (r *Run) cancel() {
	_ = r.c.send(frame{op: opCancel, id: r.id})
	time.AfterFunc(lingering, func() {
		r.asked.in.close(&fault.Error{Kind: fault.Unavailable, Op: "run command", Why: "the guest does not say that it has ended", Hint: "end the environment with hako env down"})
	})
}

// pass writes a piece of output and tells the guest when it may send more.
func (r *Run) pass(f frame, stream int, to io.Writer) error {
	p := f.word(0)
	if to != nil {
		if _, err := to.Write(p); err != nil {
			return err
		}
	}
	r.bytes += int64(len(p))
	r.took[stream] += len(p)
	if r.took[stream] < outputWindow/4 {
		return nil
	}
	n := r.took[stream]
	r.took[stream] = 0
	return r.c.send(frame{op: [2]byte{opStdoutTaken, opStderrTaken}[stream], id: r.id, n: uint64(n)})
}

// unwanted ends a command whose output cannot be passed on.
func (r *Run) unwanted(why error) (Result, error) {
	r.cancel()
	for {
		f, err := r.asked.in.take()
		if err != nil || f.op == opExited || f.op == opError {
			break
		}
		if f.op == opStdout || f.op == opStderr {
			op := byte(opStdoutTaken)
			if f.op == opStderr {
				op = opStderrTaken
			}
			_ = r.c.send(frame{op: op, id: r.id, n: uint64(len(f.word(0)))})
		}
	}
	var f *fault.Error
	if errors.As(why, &f) {
		return Result{Bytes: r.bytes}, why
	}
	return Result{Bytes: r.bytes}, &fault.Error{Op: "run command", Why: "its output could not be passed on", Err: why}
}

// ended reads how the command ended.
func (r *Run) ended(text []byte) (Result, error) {
	var e ending
	if json.Unmarshal(text, &e) != nil {
		return r.lost(lost(errFrame))
	}
	res := Result{Exit: e.Exit, Signal: e.Signal, TimedOut: e.TimedOut, Duration: e.Duration, Bytes: r.bytes}
	if e.TimedOut {
		res.Exit = -1
		res.Note = "Command timeout after " + seconds(r.cmd.Timeout) + " seconds"
	}
	if err := r.ctx.Err(); err != nil {
		return res, cut(err)
	}
	return res, nil
}

func seconds(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) }

// lost is for a command of which nobody knows how it ended.
func (r *Run) lost(err error) (Result, error) {
	if ctxErr := r.ctx.Err(); ctxErr != nil {
		err = cut(fmt.Errorf("%w (%v)", ctxErr, err))
	}
	return Result{Bytes: r.bytes}, err
}

// cut is for a command that was ended before its time.
func cut(err error) error {
	e := &fault.Error{Op: "run command", Why: "it was stopped", Err: err}
	if errors.Is(err, context.DeadlineExceeded) {
		e.Kind = fault.Timeout
	}
	return e
}

// feed sends the input, as fast as it is taken. It may outlive the command: a
// reader that does not come back cannot be called back.
func (r *Run) feed() {
	buf := make([]byte, 16<<10)
	for {
		n, err := r.cmd.Stdin.Read(buf)
		for sent := 0; sent < n; {
			m := r.asked.stdin.take(n - sent)
			if m == 0 {
				return
			}
			if r.c.send(frame{op: opStdin, id: r.id, words: [][]byte{buf[sent : sent+m]}}) != nil {
				return
			}
			sent += m
		}
		if err != nil {
			_ = r.c.send(frame{op: opStdinEnd, id: r.id})
			return
		}
	}
}
