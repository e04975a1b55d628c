package host

import (
	"context"
	"errors"
	"io"
	"os"
	"sync"
	"syscall"
	"time"

	"hako/host/sandbox"
	"hako/run/fault"
	"hako/shell"
	"hako/shell/stream"
)

// find returns a command that starts a program.
func (r *Runner) find(name string) (shell.Command, bool) {
	path := r.search.program(name)
	if path == "" {
		return shell.Command{}, false
	}
	return shell.Command{Name: name, Usage: "[word...]", Summary: "the program " + path,
		Run: func(ctx context.Context, c *shell.Call) error {
			return r.program(ctx, path, c)
		}}, true
}

// program runs a program to its end with the streams of the call.
func (r *Runner) program(ctx context.Context, path string, c *shell.Call) error {
	box, err := r.ensureSandbox(ctx)
	if err != nil {
		return err
	}
	if err := c.Stdout.Flush(); err != nil {
		return err
	}
	l := &programRun{}
	defer l.closeAll()
	if err := l.connect(c); err != nil {
		return err
	}
	argv := append([]string{c.Name}, c.Args...)
	if c.Name == "git" {
		argv = gitWords(argv)
	}
	r.begin()
	l.proc, err = box.Start(sandbox.Program{Path: path, Argv: argv, Env: r.programEnv(c.Environ(), c.Dir), Dir: c.Dir,
		Stdin: l.child[0], Stdout: l.child[1], Stderr: l.child[2]})
	if err != nil {
		return notRun(c, err)
	}
	return l.wait(ctx, c)
}

// begin is called before each program starts. Before the first one of a request, it takes a snapshot of what is
// protected.
func (r *Runner) begin() {
	r.snapshotting.Lock()
	defer r.snapshotting.Unlock()
	if !r.dirty.Load() {
		r.protection.snapshot()
		r.dirty.Store(true)
	}
}

// notRun explains why a program was not started.
func notRun(c *shell.Call, err error) error {
	var no syscall.Errno
	if !errors.As(err, &no) {
		return err
	}
	if no == syscall.ENOENT {
		return c.Fail(127, "%s", no)
	}
	return c.Fail(notStarted, "%s", no)
}

// A programRun is a running program with its pipes.
type programRun struct {
	proc  *sandbox.Process
	child [3]*os.File  // the program's ends
	in    *stdinFeeder // nil means no input
	outs  []*outputReader
}

// grace is how long to read on after a program has ended, if a daemon holds its output open.
const grace = 100 * time.Millisecond

func (l *programRun) connect(c *shell.Call) error {
	if c.Stdin.Empty() {
		null, err := os.Open(os.DevNull)
		if err != nil {
			return err
		}
		l.child[0] = null
	} else {
		r, w, err := os.Pipe()
		if err != nil {
			return pipeError(err)
		}
		l.child[0], l.in = r, &stdinFeeder{from: c.Stdin, to: w, end: r}
	}
	if err := l.output(1, c.Out); err != nil {
		return err
	}
	if c.Merged {
		l.child[2] = l.child[1]
		return nil
	}
	return l.output(2, c.Stderr)
}

func (l *programRun) output(n int, to io.Writer) error {
	r, w, err := os.Pipe()
	if err != nil {
		return pipeError(err)
	}
	l.child[n] = w
	l.outs = append(l.outs, &outputReader{from: r, to: to, done: make(chan struct{}), failed: make(chan struct{})})
	return nil
}

func pipeError(err error) error {
	return &fault.Error{Op: "connect program", Err: err, Hint: "run fewer programs at the same time"}
}

// wait copies data until the program has ended.
func (l *programRun) wait(ctx context.Context, c *shell.Call) error {
	l.child[1].Close() // otherwise there would be no end of file
	l.child[2].Close()
	if l.in != nil {
		go l.in.run()
	}
	for _, d := range l.outs {
		go d.run()
	}
	err := l.await(ctx)
	if l.in != nil {
		l.in.stop()
	}
	for _, d := range l.outs {
		if derr := d.finish(); err == nil && !errors.Is(derr, stream.ErrPipe) {
			err = derr
		}
	}
	if err != nil {
		return err
	}
	status, err := l.proc.Status()
	if err != nil || status == 0 {
		return err
	}
	return shell.Status(status)
}

// await waits for the program, and kills it if ctx ends or its output cannot be written.
func (l *programRun) await(ctx context.Context) error {
	var lost <-chan struct{}
	first, second := l.outs[0].failed, l.outs[len(l.outs)-1].failed
	select {
	case <-l.proc.Done():
		return nil
	case <-ctx.Done():
	case <-first:
		lost = first
	case <-second:
		lost = second
	}
	l.proc.Kill()
	<-l.proc.Done()
	if lost != nil && ctx.Err() == nil {
		return nil // the outputReader has the reason
	}
	return context.Cause(ctx)
}

func (l *programRun) closeAll() {
	for _, f := range l.child {
		if f != nil {
			f.Close()
		}
	}
	if l.in != nil {
		l.in.to.Close()
	}
	for _, d := range l.outs {
		d.from.Close()
	}
}

// A stdinFeeder feeds a program from the script's input. What the program does not read is returned: the next command
// of a loop reads it.
type stdinFeeder struct {
	from *stream.Reader
	to   *os.File
	end  *os.File // the program's end

	mu   sync.Mutex // held while copying
	over bool
}

func (f *stdinFeeder) run() {
	for f.from.Await() == nil {
		if !f.move() {
			return
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.over {
		f.to.Close()
	}
}

// move copies available data and reports whether to go on.
func (f *stdinFeeder) move() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.over {
		return false
	}
	_, err := f.from.Feed(f.to)
	return err == nil
}

// stop stops feeding and takes back what was not read.
func (f *stdinFeeder) stop() {
	f.to.SetWriteDeadline(time.Unix(1, 0)) // interrupts a blocked write
	f.mu.Lock()
	defer f.mu.Unlock()
	f.over = true
	f.to.Close()
	if rest := unread(f.end); len(rest) > 0 {
		f.from.Push(rest)
	}
}

// An outputReader copies the output of a program.
type outputReader struct {
	from   *os.File
	to     io.Writer
	done   chan struct{}
	failed chan struct{} // closed when the output cannot be written, so that the script must end
	err    error
}

func (d *outputReader) run() {
	defer close(d.done)
	buf := stream.Get()
	defer stream.Put(buf)
	for {
		n, err := d.from.Read(buf[:cap(buf)])
		if n > 0 {
			if _, d.err = d.to.Write(buf[:n]); d.err != nil {
				break
			}
		}
		if errors.Is(err, os.ErrDeadlineExceeded) && pending(d.from) > 0 {
			d.from.SetReadDeadline(time.Now().Add(grace))
			continue
		}
		if err != nil {
			return
		}
	}
	d.from.Close() // the program gets SIGPIPE
	if !errors.Is(d.err, stream.ErrPipe) {
		close(d.failed)
	}
}

// finish waits for the rest of the output.
func (d *outputReader) finish() error {
	d.from.SetReadDeadline(time.Now().Add(grace))
	<-d.done
	return d.err
}
