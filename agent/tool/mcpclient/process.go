package mcpclient

import (
	"bufio"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"hako/run/fault"
)

const (
	grace  = 2 * time.Second // for a program to end by itself, and again after SIGTERM
	linger = time.Second     // for the rest of what it wrote, once it has ended
)

// A process is a running program with its process group.
type process struct {
	cmd      *exec.Cmd
	in       io.WriteCloser
	out      *messageFilter
	patience time.Duration // a program that does not read its input for so long is killed
	gone     chan struct{} // closed when the program has ended
	how      string        // it ended, once gone is closed
}

// launch starts a program. Its standard error goes to the log.
func launch(s Server, patience time.Duration, n *serverLog) (*process, error) {
	cmd := exec.Command(s.Command[0], s.Command[1:]...)
	cmd.Env = environment(s.Env)
	newProcessGroup(cmd)
	in, inErr := cmd.StdinPipe()
	out, outErr := cmd.StdoutPipe()
	complaints, err := cmd.StderrPipe()
	if err = errors.Join(inErr, outErr, err); err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return nil, launchError(s, err)
	}
	p := &process{cmd: cmd, in: in, out: newMessageFilter(out, n), patience: patience, gone: make(chan struct{})}
	var read sync.WaitGroup
	read.Go(func() { n.follow(complaints) })
	go p.reap(complaints, &read)
	return p, nil
}

func launchError(s Server, err error) error {
	e := &fault.Error{Kind: fault.Unavailable, Op: "start MCP server", Subject: s.Name,
		Why: "its program cannot be started: " + reason(err), Hint: "check its command in mcp_servers"}
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
		e.Kind, e.Why = fault.NotFound, "there is no program "+s.Command[0]
		e.Hint = "install it, or give its full path in mcp_servers"
	}
	return e
}

// reason returns an error without the operation and path before it.
func reason(err error) string {
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		return path.Err.Error()
	}
	if lookup, ok := errors.AsType[*exec.Error](err); ok {
		return lookup.Err.Error()
	}
	return err.Error()
}

// reap waits for the program and kills its process group: a wrapper that has ended must not leave the server that it
// started.
func (p *process) reap(complaints io.Closer, read *sync.WaitGroup) {
	state, err := p.cmd.Process.Wait()
	p.kill()
	_ = p.in.Close()
	rest := make(chan struct{})
	go func() {
		read.Wait()
		<-p.out.done
		close(rest)
	}()
	select {
	case <-rest:
	case <-time.After(linger): // a process outside of the group keeps the streams open
	}
	_ = complaints.Close()
	_ = p.out.Close()
	<-rest
	p.how = "it ended"
	if err == nil {
		p.how += " with " + strings.TrimPrefix(state.String(), "exit ")
	}
	close(p.gone)
}

// Write implements [io.Writer]. A server that does not read its input is killed.
func (p *process) Write(b []byte) (int, error) {
	t := time.AfterFunc(p.patience, p.kill)
	defer t.Stop()
	return p.in.Write(b)
}

// Close implements [io.Closer]: it closes the program's standard input.
func (p *process) Close() error { return p.in.Close() }

// end closes standard input, then sends SIGTERM, then SIGKILL, and waits for the program.
func (p *process) end() {
	_ = p.in.Close()
	for _, firmer := range []func(){p.terminate, p.kill} {
		select {
		case <-p.gone:
			return
		case <-time.After(grace):
			firmer()
		}
	}
	<-p.gone
}

// passed are the variables that a server inherits. Others may hold keys.
var passed = []string{
	"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR",
	"APPDATA", "COMSPEC", "HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA", "PATHEXT", "PROCESSOR_ARCHITECTURE", "PROGRAMFILES",
	"SYSTEMDRIVE", "SYSTEMROOT", "TEMP", "TMP", "USERNAME", "USERPROFILE", "WINDIR",
}

// environment is the environment of a server.
func environment(added map[string]string) []string {
	env := []string{"TERM=dumb"}
	for _, kv := range os.Environ() {
		if name, _, _ := strings.Cut(kv, "="); slices.Contains(passed, strings.ToUpper(name)) {
			env = append(env, kv)
		}
	}
	for name, value := range added {
		env = append(env, name+"="+value)
	}
	return env
}

// A messageFilter passes the lines of a server's output that are messages and logs the others: many servers print a
// greeting first.
type messageFilter struct {
	in    io.ReadCloser
	lines *bufio.Reader
	notes *serverLog
	rest  []byte      // of the line that is being read
	large atomic.Bool // a message was too large; reading has stopped
	done  chan struct{}
	once  func()
}

const maxMessage = 16 << 20 // of one message; the largest that is of use is a picture

func newMessageFilter(in io.ReadCloser, n *serverLog) *messageFilter {
	f := &messageFilter{in: in, lines: bufio.NewReaderSize(in, 64<<10), notes: n, done: make(chan struct{})}
	f.once = sync.OnceFunc(func() { close(f.done) })
	return f
}

// Read implements [io.Reader].
func (f *messageFilter) Read(b []byte) (int, error) {
	for len(f.rest) == 0 {
		line, err := f.line()
		if err != nil {
			f.once()
			return 0, err
		}
		if message(line) {
			f.rest = append(line, '\n')
		} else {
			f.notes.odd(line)
		}
	}
	n := copy(b, f.rest)
	f.rest = f.rest[n:]
	return n, nil
}

// line reads one line, whose end may be the end of the stream.
func (f *messageFilter) line() (line []byte, err error) {
	for {
		part, err := f.lines.ReadSlice('\n')
		if len(line)+len(part) > maxMessage {
			f.large.Store(true)
			return nil, bufio.ErrTooLong
		}
		line = append(line, part...)
		switch {
		case err == nil, err == io.EOF && len(line) > 0:
			return line, nil
		case err != bufio.ErrBufferFull:
			return nil, err
		}
	}
}

// Close implements [io.Closer].
func (f *messageFilter) Close() error {
	f.once()
	return f.in.Close()
}

// Check reports whether the program of a server is installed. Nothing is started.
func (s Server) Check() error {
	if len(s.Command) == 0 {
		return nil
	}
	if _, err := exec.LookPath(s.Command[0]); err != nil {
		return &fault.Error{Kind: fault.NotFound, Op: "start MCP server", Subject: s.Name, Why: "there is no program " +
			s.Command[0], Hint: "install it, or take the server out of mcp_servers"}
	}
	return nil
}
