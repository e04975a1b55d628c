package sandbox

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"os/signal"
	"runtime"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// Main must be called first by every program that builds sandboxes, with its name. In the helper process it never
// returns.
func Main(called string) {
	if called != name {
		return
	}
	// The first thread stays unrestricted: a program that tries to signal or trace the helper reaches this thread,
	// which is outside of its domain.
	runtime.LockOSThread()
	ended := make(chan error)
	go func() {
		// Children inherit the restrictions of this thread. The other threads run only this package.
		runtime.LockOSThread()
		g := &helper{socket: 3, names: map[int64]int{}, ids: map[int]int64{}}
		ended <- g.serve()
	}()
	if err := <-ended; err != nil && err != io.EOF {
		fmt.Fprintf(os.Stderr, "%s: this is a part of hako that is not for use by hand: %v\n", name, err)
		os.Exit(2)
	}
	os.Exit(0)
}

// helper is the state of the helper process.
type helper struct {
	socket int
	order  setup
	scoped bool // signals of the restricted thread reach only the sandbox

	writing sync.Mutex

	mu    sync.Mutex // guards what follows
	names map[int64]int
	ids   map[int]int64
}

// serve restricts the process and serves requests until the socket is closed.
func (g *helper) serve() error {
	// No program may inherit open files of hako's parent.
	if err := unix.CloseRange(uint(g.socket), math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return err
	}
	f, _, err := g.receive()
	if err != nil {
		return err
	}
	if f.op != opPlan || len(f.words) != 1 {
		return errFrame
	}
	if err := json.Unmarshal([]byte(f.words[0]), &g.order); err != nil {
		return err
	}
	parent := os.Getppid()
	before := unix.Kill(parent, 0)
	report, err := g.order.restrictSelf()
	if err != nil {
		g.send(frame{op: opBroken, words: []string{"sandbox", err.Error()}})
		return nil
	}
	g.scoped = !g.order.Namespaces && g.order.ABI >= 6 && signalsAreScoped(before, parent)
	text, err := json.Marshal(report)
	if err != nil {
		return err
	}
	children := make(chan os.Signal, 1)
	signal.Notify(children, unix.SIGCHLD)
	go g.reap(children)
	return g.open(frame{op: opReady, words: []string{string(text)}})
}

// open reports that the sandbox is ready, sends the root and the temporary directory as programs see them, and serves
// requests.
func (g *helper) open(ready frame) error {
	temp := g.order.Temp
	if g.order.Namespaces {
		temp = "/tmp"
	}
	var dirs []int
	defer func() { closeAll(dirs) }()
	for _, path := range []string{g.order.Root, temp} {
		fd, err := unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			g.send(frame{op: opBroken, words: []string{"sandbox", path + ": " + err.Error()}})
			return nil
		}
		dirs = append(dirs, fd)
	}
	g.send(ready, dirs...)
	return g.work()
}

func (g *helper) work() error {
	for {
		f, files, err := g.receive()
		if err != nil {
			g.sweep()
			return err
		}
		switch f.op {
		case opStart:
			g.start(f, files)
		case opKill:
			g.kill(f.id)
		case opSweep:
			g.sweep()
			g.send(frame{op: opSwept})
		}
	}
}

// onUnrestrictedThread runs f on a thread without restrictions.
func (g *helper) onUnrestrictedThread(f func()) {
	done := make(chan struct{})
	go func() { f(); close(done) }()
	<-done
}

// start starts a program. No other function does.
func (g *helper) start(f frame, files []int) {
	defer closeAll(files)
	if len(files) != 3 || f.n < 1 || int64(len(f.words)) < 2+f.n {
		g.send(frame{op: opFailed, id: f.id, n: int64(unix.EINVAL)})
		return
	}
	argv, env := f.words[2:2+f.n], f.words[2+f.n:]
	g.mu.Lock() // before the reaper can see the child
	pid, err := syscall.ForkExec(f.words[0], argv, &syscall.ProcAttr{
		Dir: f.words[1], Env: env, Files: []uintptr{uintptr(files[0]), uintptr(files[1]), uintptr(files[2])},
		Sys: &syscall.SysProcAttr{Setsid: true},
	})
	if err == nil {
		g.names[f.id], g.ids[pid] = pid, f.id
	}
	g.mu.Unlock()
	if err != nil {
		no, ok := err.(syscall.Errno)
		if !ok {
			no = unix.EINVAL
		}
		g.send(frame{op: opFailed, id: f.id, n: int64(no)})
		return
	}
	g.send(frame{op: opStarted, id: f.id, n: int64(pid)})
	g.collect() // it may have ended before it was registered
}

func closeAll(fds []int) {
	for _, fd := range fds {
		unix.Close(fd)
	}
}

// reap reaps children, including adopted orphans.
func (g *helper) reap(children <-chan os.Signal) {
	for range children {
		g.collect()
	}
}

func (g *helper) collect() {
	g.mu.Lock()
	var ended []frame
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, syscall.WNOHANG, nil)
		if err == syscall.EINTR {
			continue
		}
		if pid <= 0 || err != nil {
			break
		}
		if id, ours := g.ids[pid]; ours {
			delete(g.ids, pid)
			delete(g.names, id)
			ended = append(ended, frame{op: opExited, id: id, n: int64(status)})
		}
	}
	g.mu.Unlock()
	for _, f := range ended {
		g.send(f)
	}
}

// kill kills a program with its group.
func (g *helper) kill(id int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if pid, ok := g.names[id]; ok {
		_ = unix.Kill(-pid, unix.SIGKILL)
		_ = unix.Kill(pid, unix.SIGKILL)
	}
}

// send writes a message, with files attached to its first byte.
func (g *helper) send(f frame, files ...int) {
	g.writing.Lock()
	defer g.writing.Unlock()
	var rights []byte
	if len(files) > 0 {
		rights = unix.UnixRights(files...)
	}
	for b := f.encode(); len(b) > 0; {
		n, err := unix.SendmsgN(g.socket, b, rights, nil, unix.MSG_NOSIGNAL)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return // the socket is closed; receive fails too
		}
		b, rights = b[n:], nil
	}
}

// receive reads a message and its files.
func (g *helper) receive() (frame, []int, error) {
	r := &rightsReader{receive: func(p, oob []byte) (n, oobn int, err error) {
		n, oobn, _, _, err = unix.Recvmsg(g.socket, p, oob, unix.MSG_CMSG_CLOEXEC)
		return n, oobn, err
	}}
	f, err := readFrame(r)
	if err != nil {
		closeAll(r.files)
		return f, nil, err
	}
	return f, r.files, nil
}

// A rightsReader reads a socket and collects attached files.
type rightsReader struct {
	receive func(p, oob []byte) (n, oobn int, err error)
	files   []int
}

func (r *rightsReader) Read(p []byte) (int, error) {
	oob := make([]byte, unix.CmsgSpace(4*4))
	for {
		n, oobn, err := r.receive(p, oob)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return 0, err
		}
		r.keep(oob[:oobn])
		if n == 0 {
			return 0, io.EOF
		}
		return n, nil
	}
}

func (r *rightsReader) keep(oob []byte) {
	messages, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return
	}
	for i := range messages {
		if fds, err := unix.ParseUnixRights(&messages[i]); err == nil {
			r.files = append(r.files, fds...)
		}
	}
}
