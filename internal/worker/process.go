package worker

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"hako/audit"
	"hako/gate"
	"hako/quota"
	"hako/run"
	"hako/run/fault"
)

// A process is the server's end of the link to a worker.
type process struct {
	peer
	pool      *Pool
	child     child
	caller    string // owner of its sandboxes; guarded by the pool
	opening   int    // sandboxes about to be opened; guarded by the pool
	gone      chan struct{}
	lastFrame atomic.Int64 // Unix time of its last frame, in nanoseconds

	mu        sync.Mutex // guards the fields below
	boxes     map[uint64]*Handle
	running   map[uint64]*running
	questions map[uint64]context.CancelFunc
	open      map[string]string // actors of recorded requests that have not ended, by ID
	log       audit.Log         // of its sandboxes, which share it
	held      Held
	why       error // why it was ended
}

// A child is a started worker: a process, or a goroutine where that is not possible.
type child interface {
	kill()
	wait() (said string, err error) // how it ended, and its standard error
	resident() int64                // bytes of private memory
}

// running is a request in progress.
type running struct {
	box     *Handle
	request *run.Request
	window  chan struct{} // signals that input was read

	mu        sync.Mutex // guards the fields below
	sentAhead int64
	paused    int
	since     time.Time
	waited    time.Duration // for a person
}

// listen handles the frames of the worker until it ends.
func (p *process) listen() {
	in := bufio.NewReaderSize(p.stream, 64<<10)
	for {
		f, err := receive(in)
		if err != nil {
			break
		}
		p.lastFrame.Store(time.Now().UnixNano())
		p.handleFrame(f)
	}
	p.child.kill()
	said, err := p.child.wait()
	p.finish(said, err)
}

// maxSilence is how long a worker may send nothing while a request runs. It sends a frame ten times a second.
const maxSilence = 5 * time.Second

// silent reports whether nothing was received from the worker for that long.
func (p *process) silent(began time.Time) bool {
	return time.Since(began) > maxSilence && time.Now().UnixNano()-p.lastFrame.Load() > int64(maxSilence)
}

// finish records the end of requests whose worker is gone, then ends the calls.
func (p *process) finish(said string, err error) {
	p.mu.Lock()
	why := p.why
	if why == nil {
		why = diagnose(said, err)
	}
	p.why = why
	open, asking := p.open, p.questions
	p.open, p.questions = nil, nil
	p.held = Held{}
	log := p.log
	p.mu.Unlock()
	for _, stop := range asking {
		stop()
	}
	for id, actor := range open {
		_ = log.Append(audit.Event{What: audit.Ended, ID: id, Actor: actor, Exit: notRun, Error: why.Error(),
			Kind: fault.KindOf(why).String()})
	}
	p.pool.remove(p)
	_ = p.stream.Close()
	close(p.gone) // before the calls return
	p.fail(why)
}

// end kills the worker.
func (p *process) end(why error) {
	p.mu.Lock()
	if p.why == nil {
		p.why = why
	}
	p.mu.Unlock()
	p.child.kill()
}

// diagnose explains the unexpected end of a worker. The crash output of a Go program has addresses and source lines,
// which are not shown.
func diagnose(said string, err error) error {
	e := &fault.Error{Kind: fault.Exhausted, Op: "run script", Hint: lostHint}
	switch {
	case containsAny(said, "out of memory", "cannot allocate memory", "failed to create new OS thread", "pthread_create failed",
		"failed to allocate"):
		e.Why = "its worker process went over its memory limit and ended"
	case containsAny(said, "stack overflow", "stack exceeds"):
		e.Why = "its worker process went over its stack limit and ended"
	case err == nil:
		e.Kind, e.Why = fault.Unavailable, "its worker process was stopped"
	default:
		e.Kind, e.Why = fault.Other, "its worker process ended unexpectedly"
		e.Err = err
	}
	return e
}

func containsAny(text string, any ...string) bool {
	return slices.ContainsFunc(any, func(words string) bool { return strings.Contains(text, words) })
}

const lostHint = "the sandbox and its files in memory are gone: make a new one, and do less at once"

// handleFrame handles a frame.
func (p *process) handleFrame(f frame) {
	switch f.kind {
	case reply:
		p.deliver(f)
	case output, errout:
		p.forwardOutput(f)
	case touched:
		p.forwardTouched(f)
	case consumed:
		p.addCredit(f)
	case logEvent:
		_ = p.respond(f.id, nil, p.record(f.body))
	case charge:
		_ = p.respond(f.id, nil, p.charge(f.body))
	case ask:
		p.ask(f)
	case cancel:
		p.stopAsking(f.id)
	case dying:
		var m dyingMessage
		if json.Unmarshal(f.body, &m) == nil {
			p.end(lostError(m.Error.decode()))
		}
	}
}

// lostError adds that the sandbox is gone with its worker.
func lostError(err error) error {
	return &fault.Error{Kind: fault.KindOf(err), Op: "run script",
		Why: "it did not stop when it was told to, and its worker process was ended", Hint: lostHint, Err: err}
}

func (p *process) runningAt(id uint64) *running {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.running[id]
}

// forwardOutput forwards output. A writer that fails ends its request.
func (p *process) forwardOutput(f frame) {
	r := p.runningAt(f.id)
	if r == nil {
		return
	}
	to := r.request.Stdout
	if f.kind == errout {
		to = r.request.Stderr
	}
	if to == nil {
		return
	}
	if _, err := to.Write(f.body); err != nil {
		_ = p.send(cancel, f.id, nil)
	}
}

func (p *process) forwardTouched(f frame) {
	var e run.Effect
	if r := p.runningAt(f.id); r != nil && r.request.Touched != nil && json.Unmarshal(f.body, &e) == nil {
		r.request.Touched(e)
	}
}

func (p *process) addCredit(f frame) {
	var n int64
	if r := p.runningAt(f.id); r != nil && json.Unmarshal(f.body, &n) == nil {
		r.consumed(n)
	}
}

func (p *process) box(box uint64) *Handle {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.boxes[box]
}

// record appends an event, and keeps track of open requests.
func (p *process) record(body []byte) error {
	var m eventMessage
	if err := json.Unmarshal(body, &m); err != nil {
		return err
	}
	h := p.box(m.Box)
	if h == nil {
		return errNoBox
	}
	m.Event.Marked = true
	if err := h.services.Log.Append(m.Event); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.open == nil: // the worker is gone
	case m.Event.What == audit.Asked:
		p.open[m.Event.ID] = m.Event.Actor
	case m.Event.What == audit.Ended:
		delete(p.open, m.Event.ID)
	}
	return nil
}

func (p *process) charge(body []byte) error {
	var m chargeMessage
	if err := json.Unmarshal(body, &m); err != nil {
		return err
	}
	h := p.box(m.Box)
	if h == nil {
		return errNoBox
	}
	return h.services.Budget.Charge(scriptUsage(m.Usage))
}

// scriptUsage is the part of a usage that scripts have. A worker has no model, so it cannot charge tokens.
func scriptUsage(u quota.Usage) quota.Usage {
	return quota.Usage{Read: u.Read, Written: u.Written, Scripts: u.Scripts}
}

// ask puts a question to a person. That time is not charged to the script.
func (p *process) ask(f frame) {
	var m askMessage
	err := json.Unmarshal(f.body, &m)
	h := p.box(m.Box)
	if err != nil || h == nil || h.services.Ask == nil {
		_ = p.respond(f.id, gate.No, errNoBox)
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	if !m.Deadline.IsZero() {
		ctx, stop = context.WithDeadline(context.Background(), m.Deadline)
	}
	p.mu.Lock()
	if p.questions != nil {
		p.questions[f.id] = stop
	}
	p.mu.Unlock()
	resume := p.pause(m.Box)
	go func() {
		answer, err := h.services.Ask(ctx, h.clean(m.Question))
		resume()
		p.stopAsking(f.id)
		stop()
		_ = p.respond(f.id, answer, err)
	}()
}

func (p *process) stopAsking(id uint64) {
	p.mu.Lock()
	stop := p.questions[id]
	delete(p.questions, id)
	p.mu.Unlock()
	if stop != nil {
		stop()
	}
}

// pause stops the clocks of the requests of a sandbox.
func (p *process) pause(box uint64) (resume func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var paused []*running
	for _, r := range p.running {
		if r.box.id == box {
			r.pause()
			paused = append(paused, r)
		}
	}
	return func() {
		for _, r := range paused {
			r.resume()
		}
	}
}

func (r *running) pause() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.paused++; r.paused == 1 {
		r.since = time.Now()
	}
}

func (r *running) resume() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.paused--; r.paused == 0 {
		r.waited += time.Since(r.since)
	}
}

// overdue reports whether a request has used more than the given time.
func (r *running) overdue(began time.Time, most time.Duration) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.paused == 0 && time.Since(began)-r.waited > most
}

// inputWindow is how far input is sent ahead.
const inputWindow = 1 << 20

// pump sends the standard input of a request.
func (p *process) pump(id uint64, r *running, ended <-chan struct{}) {
	buf := make([]byte, 32<<10)
	for {
		n, err := r.request.Stdin.Read(buf)
		if n > 0 {
			if !r.waitWindow(int64(n), ended) || p.send(input, id, buf[:n]) != nil {
				return
			}
		}
		if err == io.EOF {
			_ = p.send(input, id, nil)
			return
		}
		if err != nil { // do not pass a truncated input for a complete one
			_ = p.send(cancel, id, nil)
			return
		}
	}
}

// waitWindow waits until n more bytes may be sent.
func (r *running) waitWindow(n int64, ended <-chan struct{}) bool {
	for {
		r.mu.Lock()
		if r.sentAhead < inputWindow {
			r.sentAhead += n
			r.mu.Unlock()
			return true
		}
		r.mu.Unlock()
		select {
		case <-r.window:
		case <-ended:
			return false
		}
	}
}

func (r *running) consumed(n int64) {
	r.mu.Lock()
	r.sentAhead -= n
	r.mu.Unlock()
	select {
	case r.window <- struct{}{}:
	default:
	}
}
