package sandbox

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"hako/run/fault"
)

// A Sandbox runs programs. It is safe for concurrent use.
type Sandbox struct {
	Report Report
	helper *os.Process
	socket *os.File // to the helper
	cgroup *cgroup
	root   *os.File // directories of the plan, as seen inside
	temp   *os.File
	gone   chan struct{} // closed when the helper has ended

	writing sync.Mutex

	mu      sync.Mutex // guards what follows
	last    int64
	waiting map[int64]*Process
	sweeps  []chan struct{}
	closed  bool
}

// New builds the strongest sandbox that the system allows, of at least the given level.
func New(ctx context.Context, plan Plan, least Level) (*Sandbox, error) {
	if least == None {
		return nil, &fault.Error{Kind: fault.Denied, Op: "build sandbox", Why: "nothing is started without one",
			Hint: "set bash_executor.sandbox to full or landlock-only"}
	}
	c, missing := best(ctx, plan)
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case c == nil:
		return nil, tooWeak(Report{Missing: missing}, least)
	case c.Report.Level < least:
		c.Close()
		return nil, tooWeak(c.Report, least)
	}
	return c, nil
}

// Probe describes the sandbox that New would build.
func Probe(ctx context.Context, plan Plan) Report {
	c, missing := best(ctx, plan)
	if c == nil {
		return Report{Landlock: landlockABI(), Missing: missing}
	}
	defer c.Close()
	return c.Report
}

// best builds the strongest possible sandbox, or none, and returns what is missing.
func best(ctx context.Context, plan Plan) (*Sandbox, []string) {
	abi := landlockABI()
	var missing []string
	if abi == 0 {
		missing = append(missing, "Landlock: the kernel does not have it, or it is switched off")
	}
	for _, namespaces := range []bool{true, false} {
		if why := tooOld(namespaces, abi); why != "" {
			missing = append(missing, why)
			break
		}
		c, err := build(ctx, plan, namespaces, abi)
		if err != nil {
			missing = append(missing, err.Error())
			continue
		}
		c.Report.Missing = append(missing, c.Report.Missing...)
		return c, c.Report.Missing
	}
	return nil, missing
}

// tooOld returns why Landlock alone is not sufficient on a kernel, or "". Before version 3, any file could be
// truncated by name.
func tooOld(namespaces bool, abi int) string {
	if namespaces || abi >= 3 {
		return ""
	}
	return fmt.Sprintf("Landlock alone: version 3 is needed (Linux 6.2), this kernel has %d", abi)
}

// cloneFlags are the namespaces of a sandbox.
const cloneFlags = unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNS | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS

// ambient are the capabilities of the helper in its own namespaces during setup. No program ever has any.
var ambient = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_NET_ADMIN, unix.CAP_SETPCAP}

func build(ctx context.Context, plan Plan, namespaces bool, abi int) (*Sandbox, error) {
	attr := &syscall.SysProcAttr{Setsid: true}
	if namespaces {
		attr.Cloneflags = cloneFlags
		if !plan.Network {
			attr.Cloneflags |= unix.CLONE_NEWNET
		}
		attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getuid(), HostID: os.Getuid(), Size: 1}}
		attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getgid(), HostID: os.Getgid(), Size: 1}}
		attr.AmbientCaps = ambient
	}
	c, err := startHelper(plan, attr)
	if err != nil {
		return nil, fmt.Errorf("namespaces: %w", err)
	}
	if err := c.configure(ctx, setup{plan, namespaces, abi}); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

func startHelper(plan Plan, attr *syscall.SysProcAttr) (*Sandbox, error) {
	ours, theirs, err := socketpair()
	if err != nil {
		return nil, err
	}
	defer theirs.Close()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		ours.Close()
		return nil, err
	}
	defer null.Close()
	helper, err := os.StartProcess("/proc/self/exe", []string{name}, &os.ProcAttr{
		Dir: "/", Env: append([]string{"GOMAXPROCS=2", "GOGC=off", "GOMEMLIMIT=64MiB"}, detector...),
		Files: []*os.File{null, null, null, theirs}, Sys: attr,
	})
	if err != nil {
		ours.Close()
		return nil, errors.Unwrap(err)
	}
	return &Sandbox{helper: helper, socket: ours, cgroup: newCgroup(helper.Pid, plan.Limits), gone: make(chan struct{}),
		waiting: map[int64]*Process{}}, nil
}

// socketpair returns our end, which is non-blocking, and the helper's, which blocks.
func socketpair() (ours, theirs *os.File, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, err
	}
	if err := unix.SetNonblock(fds[0], true); err != nil {
		return nil, nil, err
	}
	return os.NewFile(uintptr(fds[0]), "sandbox"), os.NewFile(uintptr(fds[1]), "sandbox"), nil
}

// A setup is a plan and how to implement it.
type setup struct {
	Plan
	Namespaces bool // it has its own namespaces
	ABI        int  // of Landlock; zero means none
}

// patience is how long the helper may take to restrict itself.
const patience = 10 * time.Second

// configure sends the plan to the helper and waits until it has restricted itself.
func (c *Sandbox) configure(ctx context.Context, o setup) error {
	text, err := json.Marshal(o)
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { c.socket.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	c.socket.SetReadDeadline(time.Now().Add(patience))
	if err := c.send(frame{op: opPlan, words: []string{string(text)}}, nil); err != nil {
		return err
	}
	answer, dirs, err := c.first()
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		return fmt.Errorf("the helper process: %w", err)
	case answer.op == opBroken && len(answer.words) == 2:
		return fmt.Errorf("%s: %s", answer.words[0], answer.words[1])
	case answer.op != opReady || len(answer.words) != 1 || len(dirs) != 2:
		closeAll(dirs)
		return errFrame
	}
	c.root, c.temp = os.NewFile(uintptr(dirs[0]), o.Root), os.NewFile(uintptr(dirs[1]), o.Temp)
	c.socket.SetReadDeadline(time.Time{})
	if err := json.Unmarshal([]byte(answer.words[0]), &c.Report); err != nil {
		return err
	}
	c.Report.Counting = c.cgroup.kinds()
	if len(c.Report.Counting) == 0 && o.Limits.Processes > 0 {
		c.Report.Missing = append(c.Report.Missing,
			"process limit: for the superuser it takes a control group for pids, which cannot be made here")
	}
	go c.listen(bufio.NewReader(c.socket))
	return nil
}

// first reads the first message and its files.
func (c *Sandbox) first() (frame, []int, error) {
	raw, err := c.socket.SyscallConn()
	if err != nil {
		return frame{}, nil, err
	}
	r := &rightsReader{receive: func(p, oob []byte) (n, oobn int, err error) {
		rerr := raw.Read(func(fd uintptr) bool {
			n, oobn, _, _, err = unix.Recvmsg(int(fd), p, oob, unix.MSG_CMSG_CLOEXEC)
			return err != unix.EAGAIN
		})
		return n, oobn, errors.Join(rerr, err)
	}}
	f, err := readFrame(r)
	return f, r.files, err
}

// Root returns the root as programs see it, with hidden and read-only parts if mounts are possible.
func (c *Sandbox) Root() (*os.Root, error) { return reopen(c.root) }

// Temp returns the temporary directory as programs see it.
func (c *Sandbox) Temp() (*os.Root, error) { return reopen(c.temp) }

// reopen opens a directory by descriptor: its path would not show the sandbox's mounts.
func reopen(dir *os.File) (*os.Root, error) {
	root, err := os.OpenRoot("/proc/self/fd/" + strconv.Itoa(int(dir.Fd())))
	runtime.KeepAlive(dir)
	return root, err
}

// send writes a message, with files attached to its first byte.
func (c *Sandbox) send(f frame, files []*os.File) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	data := f.encode()
	var rights []byte
	if len(files) > 0 {
		fds := make([]int, len(files))
		for i, file := range files {
			fds[i] = int(file.Fd())
		}
		rights = unix.UnixRights(fds...)
	}
	raw, err := c.socket.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = raw.Write(func(fd uintptr) bool {
		for len(data) > 0 {
			n, err := unix.SendmsgN(int(fd), data, rights, nil, unix.MSG_NOSIGNAL)
			if err == unix.EINTR {
				continue
			}
			if err == unix.EAGAIN {
				return false
			}
			if failed = err; err != nil {
				return true
			}
			data, rights = data[n:], nil
		}
		return true
	})
	return errors.Join(failed, err)
}

// listen handles messages of the helper until its end.
func (c *Sandbox) listen(in io.Reader) {
	for {
		f, err := readFrame(in)
		if err != nil {
			break
		}
		c.take(f)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	close(c.gone)
	for id, p := range c.waiting {
		p.finish(0, errGone)
		delete(c.waiting, id)
	}
	for _, s := range c.sweeps {
		close(s)
	}
	c.sweeps = nil
}

func (c *Sandbox) take(f frame) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.waiting[f.id]
	switch {
	case f.op == opSwept && len(c.sweeps) > 0:
		close(c.sweeps[0])
		c.sweeps = c.sweeps[1:]
	case p == nil:
	case f.op == opStarted:
		close(p.started)
	case f.op == opFailed:
		delete(c.waiting, f.id)
		p.finish(0, syscall.Errno(f.n))
		close(p.started)
	case f.op == opExited:
		delete(c.waiting, f.id)
		p.finish(int(f.n), nil)
	}
}

var errGone = &fault.Error{Op: "run program", Why: "the sandbox was ended from outside",
	Hint: "run the command again; a new one is built"}

// Sweep kills every process in the sandbox and returns when none is left.
func (c *Sandbox) Sweep() error {
	done := make(chan struct{})
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return errGone
	}
	c.sweeps = append(c.sweeps, done)
	c.mu.Unlock()
	if err := c.send(frame{op: opSweep}, nil); err != nil {
		return errGone
	}
	// If that takes long, the cgroup kills everything in one call, including the helper.
	timer := time.AfterFunc(patience, func() { c.cgroup.kill() })
	defer timer.Stop()
	select {
	case <-done:
		return nil
	case <-c.gone:
		return errGone
	}
}

// Close ends the sandbox with everything in it.
func (c *Sandbox) Close() error {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return nil
	}
	c.closed = true
	c.mu.Unlock()
	c.socket.Close() // the helper ends
	timer := time.AfterFunc(3*time.Second, c.force)
	defer timer.Stop()
	_, err := c.helper.Wait()
	c.cgroup.remove()
	if c.root != nil {
		c.root.Close()
		c.temp.Close()
	}
	return err
}

// force kills a slow helper. Without namespaces its children would survive, so it is left alone.
func (c *Sandbox) force() {
	if !c.cgroup.kill() && c.Report.Level != LandlockOnly {
		c.helper.Kill()
	}
}

// A Process is a program that was started in a sandbox.
type Process struct {
	sandbox *Sandbox
	id      int64
	started chan struct{}
	done    chan struct{}
	status  syscall.WaitStatus
	err     error
}

// Start starts a program. The error is that of the system, such as ENOENT.
func (c *Sandbox) Start(p Program) (*Process, error) {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return nil, errGone
	}
	c.last++
	proc := &Process{sandbox: c, id: c.last, started: make(chan struct{}), done: make(chan struct{})}
	c.waiting[proc.id] = proc
	c.mu.Unlock()
	words := append([]string{p.Path, p.Dir}, p.Argv...)
	f := frame{op: opStart, id: proc.id, n: int64(len(p.Argv)), words: append(words, p.Env...)}
	if err := c.send(f, []*os.File{p.Stdin, p.Stdout, p.Stderr}); err != nil {
		return nil, errGone
	}
	select {
	case <-proc.started:
	case <-proc.done:
	}
	select {
	case <-proc.done:
		if proc.err != nil {
			return nil, proc.err
		}
	default:
	}
	return proc, nil
}

func (p *Process) finish(status int, err error) {
	p.status, p.err = syscall.WaitStatus(status), err
	close(p.done)
}

// Done returns a channel that is closed when the program has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Status waits and returns the exit status as shells do: 128 plus the signal.
func (p *Process) Status() (int, error) {
	<-p.done
	switch {
	case p.err != nil:
		return 0, p.err
	case p.status.Signaled():
		return 128 + int(p.status.Signal()), nil
	}
	return p.status.ExitStatus(), nil
}

// Kill kills the program with its process group, without waiting.
func (p *Process) Kill() { _ = p.sandbox.send(frame{op: opKill, id: p.id}, nil) }
