package shell

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"mvdan.cc/sh/v3/syntax"

	"hako/run/fault"
	"hako/shell/stream"
)

// A job is a statement that runs in the background, in a shell process which
// shares nothing with the one that started it but open files.
type job struct {
	owner  *proc // who may wait for it
	pid    int   // what $! is
	number int   // %1
	line   uint  // where it was started
	text   string
	cancel context.CancelCauseFunc
	done   chan struct{} // closed when it has ended
	status int           // once done
	told   bool          // jobs need not list it any more; belongs to the owner
	nested atomic.Bool   // it has started jobs in its turn

	mu     sync.Mutex
	signal int // what ended it, or zero
}

// ended reports whether the job has.
func (j *job) ended() bool {
	select {
	case <-j.done:
		return true
	default:
		return false
	}
}

// errKilled is why a job is cancelled when the script is not.
var errKilled = fmt.Errorf("the job was ended: %w", context.Canceled)

// kill ends a job, as a signal would.
func (j *job) kill(signal int) {
	j.mu.Lock()
	if j.signal == 0 {
		j.signal = signal
	}
	j.mu.Unlock()
	j.cancel(errKilled)
}

// maxJobs is how many may run at the same time.
const maxJobs = 256

// A jobTable is all jobs of one request, whichever subshell started them.
type jobTable struct {
	stop context.CancelCauseFunc // of the whole script

	mu      sync.Mutex
	running map[int]*job
	pids    int
	err     error // why a job stopped the script
	all     sync.WaitGroup
}

// add takes on a job, which the job named by parent starts, and gives it a number.
func (w *jobTable) add(j *job, parent int) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.running) >= maxJobs {
		return &fault.Error{Kind: fault.Exhausted, Op: "run", Subject: "&", Why: fmt.Sprintf("%d jobs are running already",
			maxJobs), Hint: "wait for some of them first"}
	}
	w.pids++
	j.pid = firstPid + w.pids
	w.running[j.pid] = j
	if outer := w.running[parent]; outer != nil {
		outer.nested.Store(true) // its context must last as long as this one
	}
	w.all.Add(1)
	return nil
}

// firstPid is before the number of the first job; 1 is the shell itself.
const firstPid = 1000

// drop is told that a job has ended, and why it would stop the script, if it does.
func (w *jobTable) drop(j *job, err error) {
	w.mu.Lock()
	delete(w.running, j.pid)
	if w.err == nil {
		w.err = err
	}
	w.mu.Unlock()
	if err != nil {
		w.stop(err)
	}
	close(j.done)
	w.all.Done()
}

func (w *jobTable) find(pid int) *job {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.running[pid]
}

// end cancels what still runs and waits for it.
func (w *jobTable) end() error {
	w.mu.Lock()
	left := slices.Collect(maps.Values(w.running))
	w.mu.Unlock()
	for _, j := range left {
		j.kill(sigTerm)
	}
	w.stop(errKilled) // pipes between jobs live as long as the script
	w.all.Wait()
	return w.err
}

// hire prepares for the jobs of a request.
func (p *proc) hire(ctx context.Context) context.Context {
	if !p.ses.Jobs {
		return ctx
	}
	p.jobs, p.lastJob = nil, 0
	p.ses.jobs = &jobTable{running: map[int]*job{}}
	ctx, p.ses.jobs.stop = context.WithCancelCause(ctx)
	return ctx
}

// dismiss ends the jobs of a request. Nothing outlives it.
func (p *proc) dismiss() {
	if !p.ses.Jobs {
		return
	}
	err := p.ses.jobs.end()
	if err != nil && (p.fatal == nil || errors.Is(p.fatal, context.Canceled)) {
		p.fatal = nil
		p.stop(err)
	}
	p.jobs = nil
}

// background starts a statement that ends with &.
func (p *proc) background(st *syntax.Stmt) {
	if !p.ses.Jobs || st.Coprocess || st.Disown {
		p.refuse("&", "background jobs do not exist in this shell",
			"run the commands one after the other, or join them with a pipe")
		return
	}
	if err := p.tooDeep(); err != nil {
		p.stop(err)
		return
	}
	front := *st
	front.Background = false
	j := &job{owner: p, number: p.nextJob(), line: p.line, text: strings.TrimSpace(printNode(&front)),
		done: make(chan struct{})}
	c, err := p.detach()
	c.ctx, j.cancel = context.WithCancelCause(p.ctx)
	if err == nil {
		err = p.ses.jobs.add(j, p.pid)
	}
	if err != nil {
		j.cancel(nil)
		c.drop()
		p.stop(err)
		return
	}
	c.pid, p.lastJob = j.pid, j.pid
	p.remember(j)
	p.status = 0
	go c.work(j, &front)
}

// remember puts a job on the list, from which those that ended long ago go.
func (p *proc) remember(j *job) {
	list := slices.Clip(p.jobs)
	if len(list) >= 2*maxJobs {
		old := slices.DeleteFunc(slices.Clone(list[:maxJobs]), (*job).ended)
		list = append(old, list[maxJobs:]...)
	}
	p.jobs = append(list, j)
}

// work runs a job to its end.
func (c *proc) work(j *job, st *syntax.Stmt) {
	c.live(func() {
		if c.tick() {
			c.foreground(st)
		}
	})
	j.mu.Lock()
	j.status = c.status
	if j.signal != 0 && c.fatal != nil {
		j.status = 128 + j.signal
	}
	j.mu.Unlock()
	err := c.fatal
	if c.ctx.Err() != nil && (errors.Is(err, c.ctx.Err()) || errors.Is(err, context.Cause(c.ctx))) {
		err = nil // it was ended from outside: whoever did that knows why
	}
	if !j.nested.Load() {
		j.cancel(nil)
	}
	c.ses.jobs.drop(j, err)
}

// nextJob returns the number of the next job. As in bash, the numbers of jobs
// that ended are free again on the next line.
func (p *proc) nextJob() int {
	n := 0
	for _, j := range p.listed() {
		if j.line != p.line && j.owner == p && j.ended() {
			j.told = true
			continue
		}
		n = max(n, j.number)
	}
	return n + 1
}

// detach returns a process for a job: as sub, but with a copy of everything it
// sees, because p goes on and changes.
func (p *proc) detach() (*proc, error) {
	c := p.sub(p.ctx)
	c.jobs = nil
	c.funcs, c.shared = maps.Clone(p.funcs), false
	c.outerTraps = maps.Clone(c.outerTraps)
	for i := range c.frames {
		c.frames[i].hidden = cloneAll(c.frames[i].hidden)
	}
	for i, d := range c.fds {
		if d != nil && d.r != nil && (i > 0 || !d.live) {
			d.r.Share()
		}
	}
	// The input of the request belongs to the script, not to what it left behind.
	if d := c.fds.get(0); d != nil && d.live {
		c.fds.set(0, (&desc{r: stream.NewBytes(nil)}).hold())
	}
	var err error
	c.vars, err = p.vars.freeze()
	return c, err
}

func cloneAll(vars map[string]*variable) map[string]*variable {
	out := maps.Clone(vars)
	for name, v := range out {
		if v != nil {
			out[name] = v.clone()
		}
	}
	return out
}

// drop lets go of what a process holds.
func (c *proc) drop() {
	c.fds.drop()
	c.vars.drop()
}

// closing returns what waits until nobody has d open any more: a job may hold
// the output of a command substitution longer than the substitution runs.
func (p *proc) closing(d *desc) (wait func()) {
	if !p.ses.Jobs {
		return func() {}
	}
	closed := make(chan struct{})
	d.close = func() error { close(closed); return nil }
	return func() { <-closed }
}
