package worker

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"strings"
	"sync"
	"time"

	"hako/gate"
	"hako/quota"
	"hako/run"
	"hako/run/fault"
)

// A Handle is a sandbox in a worker. It is a [run.Runner] behind the gate inside of the worker.
type Handle struct {
	Info json.RawMessage // Sandbox.Info

	id       uint64
	pool     *Pool
	caller   string
	options  OpenOptions
	services Services

	mu      sync.Mutex // guards the fields below
	process *process
	closed  bool
}

// OpenOptions describe a sandbox.
type OpenOptions struct {
	Spec any

	// Limit is the time limit of requests without a timeout. Zero means that only the worker enforces one. Stop is
	// how much longer a request may take to stop before the worker is ended; zero means 0.9 s.
	Limit, Stop time.Duration

	// Reopen makes the sandbox again after its worker was lost: it keeps nothing important in memory.
	Reopen bool

	// Clean redacts a question before it is shown; may be nil.
	Clean func(gate.Question) gate.Question
}

func (h *Handle) clean(q gate.Question) gate.Question {
	if h.options.Clean == nil {
		return q
	}
	return h.options.Clean(q)
}

// Run implements [run.Runner]. It refuses requests with Check or Redirect, which cannot be called from another
// process.
func (h *Handle) Run(ctx context.Context, req *run.Request) (run.Result, error) {
	if req.Check != nil || req.Redirect != nil {
		return run.Result{Exit: notRun}, &fault.Error{Kind: fault.Invalid, Op: "run script",
			Why: "a worker cannot check its commands for somebody else"}
	}
	p, err := h.ready(ctx)
	if err != nil {
		return run.Result{Exit: notRun}, err
	}
	own := *req
	if own.ID == "" {
		own.ID = strings.ToLower(rand.Text())[:12]
	}
	return h.runOn(ctx, p, &own)
}

// ready returns the worker of the sandbox, or a new one if the sandbox may be reopened.
func (h *Handle) ready(ctx context.Context) (*process, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return nil, errNoBox
	}
	select {
	case <-h.process.gone:
	default:
		return h.process, nil
	}
	if !h.options.Reopen {
		return nil, &fault.Error{Kind: fault.NotFound, Op: "use sandbox", Why: "its worker process was ended earlier",
			Hint: lostHint, Err: h.process.failure()}
	}
	p, err := h.pool.take(ctx, h.caller)
	if err != nil {
		return nil, err
	}
	defer h.pool.opened(p)
	if err := p.openBox(ctx, h, nil); err != nil {
		return nil, err
	}
	h.process = p
	return p, nil
}

// failure returns why the worker is gone.
func (p *process) failure() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.why
}

func (h *Handle) runOn(ctx context.Context, p *process, req *run.Request) (run.Result, error) {
	id, replies, err := p.register()
	if err != nil {
		return run.Result{Exit: notRun}, err
	}
	r := &running{box: h, request: req, window: make(chan struct{}, 1)}
	p.mu.Lock()
	p.running[id] = r
	p.mu.Unlock()
	ended := make(chan struct{})
	defer func() {
		close(ended)
		p.mu.Lock()
		delete(p.running, id)
		p.mu.Unlock()
	}()
	if err := p.sendJSON(runBox, id, h.message(p, req)); err != nil {
		p.end(diagnose("", err))
	} else if req.Stdin != nil {
		go p.pump(id, r, ended)
	}
	f, ok := h.wait(ctx, p, id, r, replies)
	var done doneMessage
	err = p.result(f, ok, &done)
	if !ok {
		return run.Result{Exit: notRun}, h.withReopenHint(err)
	}
	p.setHeld(done.Held)
	pending := scriptUsage(done.Pending)
	if cerr := h.services.Budget.Charge(pending); err == nil && cerr != nil && pending != (quota.Usage{}) {
		err = cerr
	}
	return done.Result, err
}

// withReopenHint corrects the hint if the sandbox is reopened.
func (h *Handle) withReopenHint(err error) error {
	e, ok := err.(*fault.Error)
	if !ok || !h.options.Reopen {
		return err
	}
	own := *e
	own.Hint = "do less at once; the next command starts the sandbox again, in its root and without its variables"
	return &own
}

// message encodes a request.
func (h *Handle) message(p *process, req *run.Request) runMessage {
	m := runMessage{
		Box: h.id, Request: *req, Stdin: req.Stdin != nil, Stdout: req.Stdout != nil, Stderr: req.Stderr != nil,
		Touched: req.Touched != nil, Others: h.pool.heldByOthers(p),
	}
	m.Deadline, _ = h.services.Budget.Deadline()
	return m
}

// wait waits for the reply to a request. A request that does not stop in time loses its worker.
func (h *Handle) wait(ctx context.Context, p *process, id uint64, r *running, replies <-chan frame) (frame, bool) {
	began := time.Now()
	look := time.NewTicker(100 * time.Millisecond)
	defer look.Stop()
	most := h.limit(r.request)
	var cancelled time.Time
	stop := ctx.Done()
	for {
		select {
		case f, ok := <-replies:
			return f, ok
		case <-stop:
			stop, cancelled = nil, time.Now()
			_ = p.send(cancel, id, nil)
		case <-look.C:
		}
		switch {
		case !cancelled.IsZero() && time.Since(cancelled) > h.stopTime():
			p.end(lostError(context.Cause(ctx)))
		case p.silent(began):
			p.end(lostError(&fault.Error{Kind: fault.Timeout, Op: "run script", Why: "its worker process does not answer"}))
		case most > 0 && r.overdue(began, most):
			p.end(lostError(&fault.Error{Kind: fault.Timeout, Op: "stop script", Why: "it went over its time limit of " +
				(most - h.stopTime()).String()}))
		}
	}
}

// limit returns the time after which a request must have ended; zero means none.
func (h *Handle) limit(req *run.Request) time.Duration {
	limit := h.options.Limit
	if req.Timeout > 0 {
		limit = max(limit, req.Timeout)
	}
	if limit == 0 {
		return 0
	}
	return limit + h.stopTime()
}

func (h *Handle) stopTime() time.Duration {
	if h.options.Stop > 0 {
		return h.options.Stop
	}
	return defaultStop
}

const defaultStop = 900 * time.Millisecond

// setHeld stores what the worker holds now.
func (p *process) setHeld(held Held) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.held = held
}

// More opens another sandbox over the same files.
func (h *Handle) More(ctx context.Context, w OpenOptions) (*Handle, error) {
	p, err := h.ready(ctx)
	if err != nil {
		return nil, err
	}
	more := &Handle{id: h.pool.next.Add(1), pool: h.pool, caller: h.caller, options: w, services: h.services, process: p}
	return more, p.openBox(ctx, more, h)
}

// openBox lets the worker make a sandbox.
func (p *process) openBox(ctx context.Context, h, beside *Handle) error {
	spec, err := json.Marshal(h.options.Spec)
	if err != nil {
		return err
	}
	m := openMessage{Box: h.id, Spec: spec, Asks: h.services.Ask != nil}
	if beside != nil {
		m.Beside = beside.id
	}
	p.mu.Lock()
	p.boxes[h.id], p.log = h, h.services.Log
	p.mu.Unlock()
	// If the caller gives up meanwhile, it still has to close the sandbox afterwards.
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), startTime)
	defer stop()
	if err := p.call(ctx, openBox, m, &h.Info); err != nil {
		p.forgetBox(h.id)
		return err
	}
	return nil
}

// forgetBox unregisters a sandbox. A worker without sandboxes ends.
func (p *process) forgetBox(id uint64) {
	p.mu.Lock()
	delete(p.boxes, id)
	empty := len(p.boxes) == 0
	p.mu.Unlock()
	if empty {
		p.pool.retire(p)
	}
}

// call makes a call to the worker.
func (p *process) call(ctx context.Context, k kind, m, v any) error {
	return p.peer.call(ctx, k, m, v, func(uint64) {})
}

// closeTime is the timeout for closing a sandbox before its worker is ended.
const closeTime = 10 * time.Second

// Close closes the sandbox.
func (h *Handle) Close() {
	h.mu.Lock()
	p, closed := h.process, h.closed
	h.closed = true
	h.mu.Unlock()
	if closed {
		return
	}
	ctx, stop := context.WithTimeout(context.Background(), closeTime)
	defer stop()
	var held Held
	if err := p.call(ctx, closeBox, boxMessage{h.id}, &held); err != nil {
		p.end(lostError(err))
	} else {
		p.setHeld(held)
	}
	p.forgetBox(h.id)
}
