package procgroup

import (
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"hako/run/fault"
)

// A forkedChild holds what a child needs between fork and exec, where it must not use the Go runtime.
//
// syscall.ForkExec blocks this process until the child has called exec. The child changes its user before that, and
// then another process of that user can stop it for ever. So the child gets a copy of our memory instead, and only
// the caller waits for it.
//
// The limit on open files is inherited: containers have equal soft and hard limits, so the runtime has not raised
// ours.
type forkedChild struct {
	path, dir *byte
	argv, env **byte
	files     [3]int
	report    int // pipe for the error

	user      bool // it changes the user
	uid, gid  uint32
	setGroups bool
	groups    *uint32 // nil means none
	count     int     // of groups
}

func newForkedChild(p Program, cred *syscall.Credential, env []string, files [3]int, report int) (*forkedChild, error) {
	b := &forkedChild{files: files, report: report}
	for to, text := range map[**byte]string{&b.path: p.Path, &b.dir: p.Dir} {
		var err error
		if *to, err = syscall.BytePtrFromString(text); err != nil {
			return nil, err
		}
	}
	for to, words := range map[***byte][]string{&b.argv: p.Argv, &b.env: env} {
		list, err := syscall.SlicePtrFromStrings(words)
		if err != nil {
			return nil, err
		}
		*to = &list[0] // ends with nil
	}
	if cred != nil {
		b.user, b.uid, b.gid, b.setGroups, b.count = true, cred.Uid, cred.Gid, !cred.NoSetGroups, len(cred.Groups)
		b.groups = unsafe.SliceData(cred.Groups)
	}
	return b, nil
}

// forkExec starts a program. If exec fails, the child writes the error to report.
func forkExec(p Program, cred *syscall.Credential, env []string, files [3]int, report int) (pid int, err error) {
	b, err := newForkedChild(p, cred, env, files, report)
	if err != nil {
		return 0, err
	}
	pid, errno := b.fork()
	if errno != 0 {
		return 0, errno
	}
	return pid, nil
}

const (
	everySignal = 64
	wordSize    = 8 // of a set of signals
)

// fork forks. Signals are blocked meanwhile: their handlers belong to the runtime, of which the child has only one
// thread.
//
//go:norace
//go:nosplit
//go:noinline
func (b *forkedChild) fork() (pid int, errno syscall.Errno) {
	all, before := ^uint64(0), uint64(0)
	syscall.RawSyscall6(unix.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK, uintptr(unsafe.Pointer(&all)),
		uintptr(unsafe.Pointer(&before)), wordSize, 0, 0)
	child, _, errno := syscall.RawSyscall6(unix.SYS_CLONE, uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
	if child == 0 && errno == 0 {
		b.runChild(before)
	}
	syscall.RawSyscall6(unix.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK, uintptr(unsafe.Pointer(&before)), 0, wordSize, 0, 0)
	return int(child), errno
}

// runChild runs in the child. It executes the program or reports the error, and never returns.
//
//go:norace
//go:nosplit
//go:noinline
func (b *forkedChild) runChild(signals uint64) {
	dropHandlers()
	errno := b.prepare()
	if errno == 0 {
		syscall.RawSyscall6(unix.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK, uintptr(unsafe.Pointer(&signals)), 0, wordSize, 0, 0)
		_, _, errno = syscall.RawSyscall(unix.SYS_EXECVE, uintptr(unsafe.Pointer(b.path)), uintptr(unsafe.Pointer(b.argv)),
			uintptr(unsafe.Pointer(b.env)))
	}
	syscall.RawSyscall(unix.SYS_WRITE, uintptr(b.report), uintptr(unsafe.Pointer(&errno)), unsafe.Sizeof(errno))
	for {
		syscall.RawSyscall(unix.SYS_EXIT_GROUP, 126, 0, 0)
	}
}

// dropHandlers resets signal handlers; ignored signals stay ignored.
//
//go:norace
//go:nosplit
//go:noinline
func dropHandlers() {
	const ignore = 1
	for number := uintptr(1); number <= everySignal; number++ {
		var action, none [4]uint64 // the first word is the handler
		syscall.RawSyscall6(unix.SYS_RT_SIGACTION, number, 0, uintptr(unsafe.Pointer(&action)), wordSize, 0, 0)
		if action[0] > ignore {
			syscall.RawSyscall6(unix.SYS_RT_SIGACTION, number, uintptr(unsafe.Pointer(&none)), 0, wordSize, 0, 0)
		}
	}
}

// prepare sets session, user, directory and files of the child.
//
//go:norace
//go:nosplit
//go:noinline
func (b *forkedChild) prepare() (errno syscall.Errno) {
	if _, _, errno = syscall.RawSyscall(unix.SYS_SETSID, 0, 0, 0); errno != 0 {
		return errno
	}
	if errno = b.become(); errno != 0 {
		return errno
	}
	if _, _, errno = syscall.RawSyscall(unix.SYS_CHDIR, uintptr(unsafe.Pointer(b.dir)), 0, 0); errno != 0 {
		return errno
	}
	for to := range 3 { // they are all above 2, see Open
		if _, _, errno = syscall.RawSyscall(unix.SYS_DUP3, uintptr(b.files[to]), uintptr(to), 0); errno != 0 {
			return errno
		}
	}
	return 0
}

// become changes the user. From here on others can stop the child.
//
//go:norace
//go:nosplit
//go:noinline
func (b *forkedChild) become() (errno syscall.Errno) {
	if !b.user {
		return 0
	}
	if b.setGroups {
		if _, _, errno = syscall.RawSyscall(unix.SYS_SETGROUPS, uintptr(b.count), uintptr(unsafe.Pointer(b.groups)),
			0); errno != 0 {
			return errno
		}
	}
	if _, _, errno = syscall.RawSyscall(unix.SYS_SETGID, uintptr(b.gid), 0, 0); errno != 0 {
		return errno
	}
	_, _, errno = syscall.RawSyscall(unix.SYS_SETUID, uintptr(b.uid), 0, 0)
	return errno
}

const (
	pollInterval = 200 * time.Millisecond // between checks of a child before exec
	maxStart     = 5 * time.Second        // after which it is killed
)

// awaitExec waits until the child has executed the program, or returns the error. It kills a child that was stopped
// before.
func (p *Process) awaitExec(report int) error {
	for late := time.Now().Add(maxStart); ; {
		ready, _ := unix.Poll([]unix.PollFd{{Fd: int32(report), Events: unix.POLLIN}}, int(pollInterval.Milliseconds()))
		switch {
		case ready > 0:
			return readReport(report)
		case p.isStopped() || time.Now().After(late):
			p.abort()
			return &fault.Error{Kind: fault.Unavailable, Op: "run command",
				Why:  "something in the container stops new processes before they begin",
				Hint: "end the jobs that are running, or the environment with hako env down"}
		}
	}
}

// readReport reads the error of the child. The end of the pipe means success.
func readReport(report int) error {
	var errno syscall.Errno
	word := unsafe.Slice((*byte)(unsafe.Pointer(&errno)), unsafe.Sizeof(errno))
	for {
		n, err := unix.Read(report, word)
		switch {
		case err == unix.EINTR:
		case err != nil:
			return err
		case n == len(word):
			return errno
		default:
			return nil
		}
	}
}

func (p *Process) isStopped() bool {
	var info unix.Siginfo
	err := unix.Waitid(unix.P_PID, p.Pid, &info, unix.WSTOPPED|unix.WNOHANG|unix.WNOWAIT, nil)
	return err == nil && info.Signo != 0
}

// abort kills the child alone: it may not have a group of its own yet.
func (p *Process) abort() {
	p.n.mu.Lock() // the PID cannot be reused while it is locked
	defer p.n.mu.Unlock()
	if p.n.known[p.Pid] == p {
		_ = unix.Kill(p.Pid, unix.SIGKILL)
	}
}
