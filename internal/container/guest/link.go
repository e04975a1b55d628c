package guest

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"syscall"
	"time"

	"hako/internal/container/guest/nursery"
	"hako/internal/fault"
)

// greetTime is how long a stranger may be silent.
const greetTime = 10 * time.Second

// maxCalls is how many calls of one connection are answered at the same time.
const maxCalls = 64

// A link is one connection as the guest sees it.
type link struct {
	s       *server
	conn    net.Conn
	in      *scanner
	ctx     context.Context // ends with the connection
	cancel  context.CancelFunc
	working sync.WaitGroup

	writing sync.Mutex
	buf     []byte // of the frame that is being written

	mu    sync.Mutex // guards what follows
	runs  map[uint64]*running
	calls map[uint64]context.CancelFunc
}

// running is a command in the foreground.
type running struct {
	id    uint64
	order order
	out   *window
	errs  *window
	stdin *inbox // nil if there is none

	mu      sync.Mutex // guards what follows
	process *nursery.Process
	stopped bool
	stop    chan struct{} // closed when nobody wants it any more
}

func newLink(s *server, conn net.Conn) *link {
	k := &link{s: s, conn: conn, in: newScanner(conn), runs: map[uint64]*running{}, calls: map[uint64]context.CancelFunc{}}
	k.ctx, k.cancel = context.WithCancel(context.Background())
	return k
}

// serve does what the client asks for until it is gone. What it does not
// understand ends the connection and nothing else.
func (k *link) serve() {
	err := k.greet()
	for err == nil {
		var f frame
		if f, err = k.in.next(maxFrame); err == nil {
			err = k.handle(f)
		}
	}
	if why := reproach(err); why != nil {
		_ = k.conn.SetWriteDeadline(time.Now().Add(greetTime)) // it may not be listening either
		k.send(errorFrame(0, why))
	}
	k.close()
}

// reproach says what the client did wrong, if it did.
func reproach(err error) error {
	var f *fault.Error
	switch {
	case errors.Is(err, errFrame), errors.Is(err, errTooLong):
		return &fault.Error{Kind: fault.Invalid, Op: "read message", Why: err.Error(), Hint: "the connection is closed; connect again"}
	case errors.As(err, &f):
		return f
	}
	return nil // it is gone, or so silent that it may as well be
}

func (k *link) greet() error {
	_ = k.conn.SetReadDeadline(time.Now().Add(greetTime))
	k.send(Hello{Version: Version, Can: k.s.abilities()}.frame())
	f, err := k.in.next(maxGreeting)
	if err != nil {
		return err
	}
	_ = k.conn.SetReadDeadline(time.Time{})
	_, err = greeted(f)
	return err
}

// close ends what only this client wanted.
func (k *link) close() {
	k.cancel()
	k.conn.Close()
	k.mu.Lock()
	for _, r := range k.runs {
		r.abandon()
		r.out.close()
		r.errs.close()
	}
	k.mu.Unlock()
	k.working.Wait()
}

func (k *link) send(f frame) {
	k.writing.Lock()
	defer k.writing.Unlock()
	k.buf = f.appendTo(k.buf[:0])
	if _, err := k.conn.Write(k.buf); err != nil {
		k.conn.Close() // the reader notices
	}
	if cap(k.buf) > keptBuffer {
		k.buf = nil
	}
}

// handle does what a frame says. An error means that the client cannot be
// understood.
func (k *link) handle(f frame) error {
	switch f.op {
	case opExec:
		return k.exec(f)
	case opCall:
		return k.call(f)
	case opCancel:
		k.giveUp(f.id)
		return nil
	case opStdin, opStdinEnd, opStdoutTaken, opStderrTaken, opSignal:
		if r := k.find(f.id); r != nil { // or it has just ended
			return r.handle(f)
		}
		return nil
	}
	return errFrame
}

func (k *link) find(id uint64) *running {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.runs[id]
}

// giveUp ends what the client does not want any more.
func (k *link) giveUp(id uint64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if r := k.runs[id]; r != nil {
		r.abandon()
	}
	if cancel := k.calls[id]; cancel != nil {
		cancel()
	}
}

func (r *running) handle(f frame) error {
	ok := true
	switch f.op {
	case opStdin, opStdinEnd:
		ok = r.stdin != nil && r.stdin.put(f)
	case opStdoutTaken:
		ok = f.n <= outputWindow && r.out.give(int(f.n))
	case opStderrTaken:
		ok = f.n <= outputWindow && r.errs.give(int(f.n))
	case opSignal:
		ok = signalAllowed(f.n)
		if ok {
			r.signal(int(f.n))
		}
	}
	if !ok {
		return errFrame
	}
	return nil
}

func signalAllowed(n uint64) bool {
	switch syscall.Signal(n) {
	case syscall.SIGINT, syscall.SIGTERM, syscall.SIGKILL:
		return true
	}
	return false
}

func (r *running) signal(number int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.process == nil:
	case number == int(syscall.SIGKILL):
		go r.process.End(0) // also what has left the group
	default:
		r.process.Signal(number)
	}
}

// abandon ends the command.
func (r *running) abandon() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.stopped {
		r.stopped = true
		close(r.stop)
	}
}

// exec starts a command in the foreground.
func (k *link) exec(f frame) error {
	o, err := readOrder(f.words, f.n)
	if errors.Is(err, errFrame) {
		return err
	}
	r := &running{id: f.id, order: o, out: newWindow(outputWindow), errs: newWindow(outputWindow), stop: make(chan struct{})}
	if o.Stdin {
		r.stdin = newInbox(stdinWindow)
	}
	if err == nil {
		err = k.s.admit()
	}
	if err != nil {
		k.send(errorFrame(f.id, err))
		return nil
	}
	if !k.register(r) {
		k.s.release()
		return errFrame
	}
	k.working.Go(func() { k.run(r) })
	return nil
}

// register makes a command known. It refuses one whose id is in use.
func (k *link) register(r *running) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.taken(r.id) {
		return false
	}
	k.runs[r.id] = r
	return true
}

// taken tells whether an id is in use, or none. The link is locked.
func (k *link) taken(id uint64) bool {
	return id == 0 || k.runs[id] != nil || k.calls[id] != nil
}

// run runs a command to its end.
func (k *link) run(r *running) {
	last := k.conclude(r)
	k.mu.Lock()
	delete(k.runs, r.id)
	k.mu.Unlock()
	k.s.release()
	k.send(last)
}

// conclude runs a command and returns what to say at the end.
func (k *link) conclude(r *running) frame {
	p, err := k.s.site.launch(r.order)
	if err != nil {
		return k.notRun(r, err)
	}
	r.mu.Lock()
	r.process = p
	r.mu.Unlock()
	k.send(frame{op: opStarted, id: r.id, n: uint64(p.Pid)})
	if r.stdin != nil {
		k.working.Go(func() { k.feed(r, p) })
	}
	timedOut := supervise(p, r.order.Timeout, r.stop, k.tap(r, opStdout, p.Stdout, r.out), k.tap(r, opStderr, p.Stderr, r.errs))
	if r.stdin != nil {
		r.stdin.close(io.EOF)
		p.Stdin.Close()
	}
	end := p.Ending()
	return exited(r.id, ending{Exit: end.Exit, Signal: end.Signal, TimedOut: timedOut, Duration: end.After})
}

func exited(id uint64, e ending) frame {
	return frame{op: opExited, id: id, words: [][]byte{asJSON(e)}}
}

// notRun says why a command did not start: as shells do where they would.
func (k *link) notRun(r *running, err error) frame {
	var like *notRun
	if !errors.As(err, &like) {
		return errorFrame(r.id, err)
	}
	k.send(frame{op: opStderr, id: r.id, words: [][]byte{[]byte(like.text + "\n")}})
	return exited(r.id, ending{Exit: like.status})
}
