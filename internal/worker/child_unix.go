//go:build unix

package worker

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// inheritedFile is the descriptor of the link in a worker.
const inheritedFile = 3

func inherited() io.ReadWriteCloser {
	unix.CloseOnExec(inheritedFile)
	return os.NewFile(inheritedFile, "door")
}

// startChild starts a worker process.
func startChild(func(json.RawMessage) (Parts, error)) (io.ReadWriteCloser, child, error) {
	program, err := executable()
	if err != nil {
		return nil, nil, err
	}
	ours, theirs, err := socketpair()
	if err != nil {
		return nil, nil, err
	}
	defer theirs.Close()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		ours.Close()
		return nil, nil, err
	}
	defer null.Close()
	said, saying, err := os.Pipe()
	if err != nil {
		ours.Close()
		return nil, nil, err
	}
	defer saying.Close()
	proc, err := os.StartProcess(program, []string{Name}, &os.ProcAttr{
		Env: environment(os.Environ()), Files: []*os.File{null, null, saying, theirs}, Sys: attributes(),
	})
	if err != nil {
		ours.Close()
		said.Close()
		return nil, nil, err
	}
	c := &childProcess{process: proc, stderrDone: make(chan struct{})}
	go c.listen(said)
	return ours, c, nil
}

// executable returns this program, even if its file was replaced.
func executable() (string, error) {
	if runtime.GOOS == "linux" {
		return "/proc/self/exe", nil
	}
	return os.Executable()
}

// socketpair returns the server's and the worker's end.
func socketpair() (ours, theirs *os.File, err error) {
	syscall.ForkLock.RLock() // other children must not inherit them
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err == nil {
		unix.CloseOnExec(fds[0])
		unix.CloseOnExec(fds[1])
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return nil, nil, err
	}
	if err := errors.Join(unix.SetNonblock(fds[0], true), unix.SetNonblock(fds[1], true)); err != nil {
		return nil, nil, errors.Join(err, unix.Close(fds[0]), unix.Close(fds[1]))
	}
	return os.NewFile(uintptr(fds[0]), "worker"), os.NewFile(uintptr(fds[1]), "door"), nil
}

// passedVariables are the variables that a worker gets. None of them is secret.
var passedVariables = []string{"HOME", "PATH", "TMPDIR", "LANG", "TZ", "USER", "LOGNAME", "GORACE", "GOCOVERDIR",
	"GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL"}

func environment(all []string) (env []string) {
	for _, pair := range all {
		name, _, _ := strings.Cut(pair, "=")
		if strings.HasPrefix(name, "XDG_") || strings.HasPrefix(name, "LC_") {
			env = append(env, pair)
			continue
		}
		if slices.Contains(passedVariables, name) {
			env = append(env, pair)
		}
	}
	return env
}

// A childProcess is a worker process.
type childProcess struct {
	process    *os.Process
	stderrDone chan struct{} // closed at the end of its standard error
	stderr     headBuffer
}

// maxStderr is how much standard error of a worker is kept: a Go program begins with why it crashes.
const maxStderr = 4 << 10

func (c *childProcess) listen(r *os.File) {
	defer close(c.stderrDone)
	defer r.Close()
	_, _ = io.Copy(&c.stderr, r)
}

// headBuffer keeps the beginning of what is written to it.
type headBuffer struct {
	mu   sync.Mutex
	text []byte
}

func (t *headBuffer) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if room := maxStderr - len(t.text); room > 0 {
		t.text = append(t.text, p[:min(room, len(p))]...)
	}
	return len(p), nil
}

func (c *childProcess) kill() { _ = c.process.Kill() }

func (c *childProcess) wait() (string, error) {
	state, err := c.process.Wait()
	<-c.stderrDone
	c.stderr.mu.Lock()
	defer c.stderr.mu.Unlock()
	if err == nil && !state.Success() {
		err = errors.New(state.String())
	}
	return string(c.stderr.text), err
}

func (c *childProcess) resident() int64 { return residentOf(c.process.Pid) }
