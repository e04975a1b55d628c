package engine

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"hako/run/fault"
)

// An Exec is a command to run in a running container.
type Exec struct {
	Argv   []string
	Env    []string  // in addition to the container's
	Dir    string    // empty means the container's
	User   string    // "uid:gid"; empty means the container's
	Stdin  io.Reader // nil means none; a blocked one keeps a goroutine
	Stdout io.Writer // nil means discard
	Stderr io.Writer
}

// Exec runs a command and returns its exit status after all output was written. An engine cannot stop a command: if
// ctx ends first, Exec returns, and the command goes on.
func (e *Engine) Exec(ctx context.Context, id string, x Exec) (int, error) {
	ctx, cancel := e.bound(ctx, 0)
	defer cancel()
	run, err := e.prepare(ctx, id, x)
	if err != nil {
		return 0, err
	}
	line, err := e.attach(ctx, run)
	if err != nil {
		return 0, err
	}
	defer line.Close()
	if x.Stdin != nil {
		go line.feed(x.Stdin)
	}
	err = demux(bufio.NewReaderSize(line, maxPiece), orDiscard(x.Stdout), orDiscard(x.Stderr))
	var reset *resetError
	if errors.As(err, &reset) && x.Stdin != nil {
		return e.afterReset(ctx, run, err)
	}
	if err != nil {
		return 0, e.interrupted(ctx, err)
	}
	return e.status(ctx, run)
}

// afterReset checks whether a command ended without reading all of its input: then the engine closes the connection
// with unread bytes, which the system reports as a reset. Any other reset may have lost output.
func (e *Engine) afterReset(ctx context.Context, run string, reset error) (int, error) {
	soon, cancel := context.WithTimeout(ctx, resetPatience)
	defer cancel()
	exit, err := e.status(soon, run)
	if err != nil {
		return 0, e.interrupted(ctx, reset)
	}
	return exit, nil
}

// resetPatience is how long after its connection a command may end.
const resetPatience = 2 * time.Second

const execOp = "run in container"

func orDiscard(w io.Writer) io.Writer {
	if w == nil {
		return io.Discard
	}
	return w
}

// prepare creates an exec instance and returns its ID.
func (e *Engine) prepare(ctx context.Context, id string, x Exec) (string, error) {
	path, err := containerPath(execOp, id, "/exec")
	if err != nil {
		return "", err
	}
	r := request{op: execOp, subject: id, method: http.MethodPost, path: path, body: map[string]any{
		"AttachStdin": x.Stdin != nil, "AttachStdout": true, "AttachStderr": true, "Tty": false,
		"Cmd": x.Argv, "Env": x.Env, "WorkingDir": x.Dir, "User": x.User, "Privileged": false,
	}}
	var out struct{ ID string }
	if err := e.call(ctx, r, &out); err != nil {
		return "", err
	}
	if !nameLike(out.ID) {
		return "", garbled(r)
	}
	return out.ID, nil
}

// attach starts a command and hijacks the connection, which is closed when ctx ends.
func (e *Engine) attach(ctx context.Context, run string) (*hijackedConn, error) {
	asking, cancel := e.bound(ctx, e.timeout)
	defer cancel()
	r := request{op: execOp, method: http.MethodPost, path: "/exec/" + run + "/start",
		body: map[string]bool{"Detach": false, "Tty": false}, upgrade: true}
	res, err := e.do(asking, r)
	if err != nil {
		return nil, err
	}
	both, ok := res.Body.(io.ReadWriteCloser)
	if res.StatusCode != http.StatusSwitchingProtocols || !ok {
		defer discard(res.Body)
		return nil, refuse(r, res)
	}
	return &hijackedConn{both, context.AfterFunc(ctx, func() { both.Close() })}, nil
}

// A hijackedConn carries the streams of a command.
type hijackedConn struct {
	io.ReadWriteCloser
	stop func() bool
}

func (l *hijackedConn) Close() error {
	l.stop()
	return l.ReadWriteCloser.Close()
}

// feed sends the input and closes it. It ignores a command that does not read.
func (l *hijackedConn) feed(from io.Reader) {
	io.Copy(l.ReadWriteCloser, from)
	if half, ok := l.ReadWriteCloser.(interface{ CloseWrite() error }); ok {
		half.CloseWrite()
	}
}

func (e *Engine) interrupted(ctx context.Context, err error) error {
	var w *writeError
	switch {
	case ctx.Err() == nil && errors.As(err, &w):
		return w.cause
	case ctx.Err() == nil && errors.Is(err, errFrame):
		return &fault.Error{Kind: fault.Unavailable, Op: execOp, Why: "docker's answer is invalid"}
	}
	return e.connFailure(ctx, execOp, err)
}

// status returns the exit status. The streams may end a moment before the command.
func (e *Engine) status(ctx context.Context, run string) (int, error) {
	r := request{op: execOp, path: "/exec/" + run + "/json"}
	for pause := time.Millisecond; ; pause = min(2*pause, time.Second) {
		var x struct {
			Running  bool
			ExitCode *int
		}
		if err := e.call(ctx, r, &x); err != nil {
			return 0, err
		}
		if !x.Running && x.ExitCode == nil {
			return 0, garbled(r)
		}
		if !x.Running {
			return *x.ExitCode, nil
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return 0, e.connFailure(ctx, execOp, ctx.Err())
		}
	}
}
