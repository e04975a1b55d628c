// Package procgroup starts programs, reaps children, and can end a program with all its descendants, including
// daemons.
//
// Every program gets a session of its own and a mark that its descendants inherit: a supplementary group if possible,
// which they cannot drop, or else a variable in the environment, which they can.
//
// The rule to keep: the process must not start programs by other means, because a [Group] reaps every child.
package procgroup

import (
	"os"
	"os/signal"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"hako/run/fault"
)

// Options configure how programs are started.
type Options struct {
	UID int // user ID of programs; zero means our own
	GID int // group ID; zero means the user ID
}

// A Program is a program to start. It inherits three files and nothing else.
type Program struct {
	Path  string   // contains a slash
	Argv  []string // including the name
	Env   []string
	Dir   string
	Stdin bool // false means that its standard input is empty
}

// An Ending is the outcome of a program.
type Ending struct {
	Exit   int           // exit status, or 128 plus the signal
	Signal int           // zero means none
	After  time.Duration // how long it ran
}

// Pipes are our ends of the files of a program. The caller closes them.
type Pipes struct {
	Stdin          *os.File // nil if there is none
	Stdout, Stderr *os.File
}

// A Group starts programs. There is one for each process, which it lives as long as. It is safe for concurrent use.
type Group struct {
	cred *syscall.Credential // nil means that programs run as our user, without marks
	null int                 // standard input of programs without input
	wake chan struct{}       // a child was started

	listing sync.Mutex // held while listing all processes

	mu        sync.Mutex // guards what follows, and reaping
	marks     marks
	known     map[int]*Process
	childless bool // there was no child at the last check, and none was started since
	left      endedPrograms
}

// A Process is a started program.
type Process struct {
	Pid int
	Pipes

	n     *Group
	mark  mark
	began time.Time
	done  chan struct{}
	once  sync.Once // for End

	ending Ending // set before done is closed
}

// Open returns the Group of this process.
func Open(o Options) (*Group, error) {
	null := 0
	for null <= 2 { // so that all files of programs are above 2
		var err error
		if null, err = unix.Open(os.DevNull, unix.O_RDONLY|unix.O_CLOEXEC, 0); err != nil {
			return nil, &fault.Error{Op: "open", Subject: os.DevNull, Err: err}
		}
	}
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return nil, &fault.Error{Op: "start guest", Why: "it cannot adopt orphans", Err: err}
	}
	n := &Group{null: null, wake: make(chan struct{}, 1), known: map[int]*Process{}}
	if err := n.choose(o); err != nil {
		return nil, err
	}
	go n.reap()
	return n, nil
}

// choose determines the user of programs and the kind of marks.
func (n *Group) choose(o Options) error {
	root := os.Geteuid() == 0
	if (o.UID != 0 || o.GID != 0) && !root {
		return &fault.Error{Kind: fault.Denied, Op: "run programs as", Subject: strconv.Itoa(o.UID),
			Why:  "only root can change the user",
			Hint: "start the guest as root, or leave the user out"}
	}
	groups := root && syscall.Setgroups(nil) == nil // also drops root's groups
	if groups {
		text, _ := os.ReadFile("/proc/self/gid_map")
		n.marks = newMarks(groupPool(string(text)))
	}
	if o.GID == 0 {
		o.GID = o.UID
	}
	if root {
		n.cred = &syscall.Credential{Uid: uint32(o.UID), Gid: uint32(o.GID), NoSetGroups: !groups}
	}
	return nil
}

// Start starts a program. If the system refuses, the error is a [syscall.Errno]; it also fails if the child is
// stopped before exec.
func (n *Group) Start(p Program) (*Process, error) {
	theirs, ours, err := openPipes(p.Stdin)
	if err != nil {
		return nil, err
	}
	if !p.Stdin {
		theirs[0] = n.null
	}
	c, err := n.startChild(p, theirs, ours)
	closeTheirs(theirs, p.Stdin)
	if err != nil {
		ours.close()
		return nil, err
	}
	return c, nil
}

// startChild forks and waits for exec.
func (n *Group) startChild(p Program, theirs [3]int, ours Pipes) (*Process, error) {
	var report [2]int
	if err := unix.Pipe2(report[:], unix.O_CLOEXEC); err != nil {
		return nil, err
	}
	defer unix.Close(report[0])
	c, err := n.fork(p, theirs, ours, report[1])
	unix.Close(report[1])
	if err != nil {
		return nil, err
	}
	select {
	case n.wake <- struct{}{}:
	default:
	}
	return c, c.awaitExec(report[0])
}

// fork forks and registers the child.
func (n *Group) fork(p Program, theirs [3]int, ours Pipes, report int) (c *Process, err error) {
	n.mu.Lock() // before the reaper can see the child
	defer n.mu.Unlock()
	c = &Process{Pipes: ours, n: n, mark: n.marks.take(), began: time.Now(), done: make(chan struct{})}
	cred, env := n.marked(p, c.mark)
	if n.childless { // nobody can stop it, see forkedChild, and this is faster
		c.Pid, err = syscall.ForkExec(p.Path, p.Argv,
			&syscall.ProcAttr{Dir: p.Dir, Env: env, Sys: &syscall.SysProcAttr{Setsid: true, Credential: cred},
				Files: []uintptr{uintptr(theirs[0]), uintptr(theirs[1]), uintptr(theirs[2])}})
	} else {
		c.Pid, err = forkExec(p, cred, env, theirs, report)
	}
	if err != nil {
		return nil, err
	}
	n.known[c.Pid] = c
	n.childless = false
	return c, nil
}

// marked returns the credentials and the environment of a program with its mark.
func (n *Group) marked(p Program, m mark) (*syscall.Credential, []string) {
	if m.group == 0 {
		return n.cred, append(p.Env[:len(p.Env):len(p.Env)], m.variable)
	}
	marked := *n.cred
	marked.Groups = []uint32{uint32(m.group)}
	return &marked, p.Env
}

// openPipes makes the files of a program. Only our ends are non-blocking.
func openPipes(stdin bool) (theirs [3]int, ours Pipes, err error) {
	var made [][2]int
	for i := range 3 {
		if i == 0 && !stdin {
			made = append(made, [2]int{-1, -1})
			continue
		}
		var p [2]int
		if err = unix.Pipe2(p[:], unix.O_CLOEXEC); err != nil {
			closePipes(made)
			return theirs, ours, err
		}
		made = append(made, p)
	}
	theirs = [3]int{made[0][0], made[1][1], made[2][1]}
	if stdin {
		ours.Stdin = ourEnd(made[0][1])
	}
	ours.Stdout, ours.Stderr = ourEnd(made[1][0]), ourEnd(made[2][0])
	return theirs, ours, nil
}

func ourEnd(fd int) *os.File {
	_ = unix.SetNonblock(fd, true) // otherwise every read would block a thread
	return os.NewFile(uintptr(fd), "pipe")
}

func closePipes(made [][2]int) {
	for _, p := range made {
		unix.Close(p[0])
		unix.Close(p[1])
	}
}

func closeTheirs(fds [3]int, stdin bool) {
	if stdin {
		unix.Close(fds[0])
	}
	unix.Close(fds[1])
	unix.Close(fds[2])
}

func (p Pipes) close() {
	if p.Stdin != nil {
		p.Stdin.Close()
	}
	p.Stdout.Close()
	p.Stderr.Close()
}

// reap reaps children, including adopted orphans. It blocks in waitid, which is faster than signals.
func (n *Group) reap() {
	for {
		switch err := unix.Waitid(unix.P_ALL, 0, nil, unix.WEXITED|unix.WNOWAIT, nil); err {
		case nil:
			n.collect()
		case unix.EINTR:
		default:
			n.awaitChild()
		}
	}
}

// signalDelay is how long to wait for the next program before waiting for signals: commands often follow each other.
const signalDelay = 100 * time.Millisecond

// awaitChild waits until there may be a child. The signal is for orphans of processes that others started in the
// container.
func (n *Group) awaitChild() {
	select {
	case <-n.wake:
		return
	case <-time.After(signalDelay):
	}
	children := make(chan os.Signal, 1)
	signal.Notify(children, unix.SIGCHLD)
	defer signal.Stop(children)
	if !childless() { // it came before Notify
		return
	}
	select {
	case <-n.wake:
	case <-children:
	}
}

// collect reaps every ended process.
func (n *Group) collect() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, syscall.WNOHANG, nil)
		if err == syscall.EINTR {
			continue
		}
		if err == syscall.ECHILD {
			n.childless = true
			n.left.forget()
		}
		if pid <= 0 || err != nil {
			return
		}
		if p, ours := n.known[pid]; ours {
			delete(n.known, pid)
			p.ended(status)
		}
	}
}

func (p *Process) ended(status syscall.WaitStatus) {
	p.ending = Ending{Exit: status.ExitStatus(), After: time.Since(p.began)}
	if status.Signaled() {
		p.ending.Signal = int(status.Signal())
		p.ending.Exit = 128 + p.ending.Signal
	}
	close(p.done)
}

// Done returns a channel that is closed when the program itself has ended. Its descendants may still run.
func (p *Process) Done() <-chan struct{} { return p.done }

// Ending waits for the program and returns its outcome.
func (p *Process) Ending() Ending {
	<-p.done
	return p.ending
}

// Signal sends a signal to the program and its process group, unless it has ended.
func (p *Process) Signal(number int) {
	p.n.mu.Lock() // the PID cannot be reused while it is locked
	defer p.n.mu.Unlock()
	if p.n.known[p.Pid] == p {
		_ = unix.Kill(-p.Pid, unix.Signal(number))
	}
}

// Pending returns the number of bytes in a pipe.
func Pending(f *os.File) int {
	n := 0
	c, err := f.SyscallConn()
	if err == nil {
		_ = c.Control(func(fd uintptr) { n, _ = unix.IoctlGetInt(int(fd), unix.TIOCINQ) })
	}
	return n
}
