// Package jobs runs requests in the background: who starts one gets a handle at
// once and asks later how it goes, what it printed, or to have it stopped.
//
// There is no runner in it, and no rule about what may run: each job gets a
// runner of its own from whoever opened the list, and that is a gate. Nothing
// here outlives the process. The rule to keep: every job comes to an end that is
// told, whatever becomes of its runner, its disk or its caller.
package jobs

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"hako/internal/ownerfile"
	"hako/internal/text"
	"hako/run"
	"hako/run/fault"
)

// Options say what a [List] is made of. Only New is required.
type Options struct {
	// New makes the runner of one job, and what puts it away afterwards, which
	// may be nil. Its context ends with the job. Every job has its own, so that
	// none waits for another.
	New func(ctx context.Context) (runner run.Runner, putAway func(), err error)

	Spool      string // where the list makes a private directory for outputs; empty means the system's for temporary files
	Limit      int64  // bytes of output kept of each job; zero means 64 MB
	MaxRunning int    // jobs at the same time; zero means 8
	Keep       int    // jobs that are remembered after their end, the oldest go first; zero means 50

	// Clean stands before the output of a job, to take secrets out of it. What
	// it returns is closed at the end of the job. Nil means that the output is
	// kept as it is.
	Clean func(io.Writer) io.WriteCloser

	Lists string           // what to do about an unknown handle, as a hint; empty means "list the jobs to see which there are"
	Now   func() time.Time // nil means the clock
}

const (
	usualLimit   = 64 << 20
	usualRunning = 8
	usualKeep    = 50
)

func (o Options) filled() Options {
	if o.Limit <= 0 {
		o.Limit = usualLimit
	}
	if o.MaxRunning <= 0 {
		o.MaxRunning = usualRunning
	}
	if o.Keep <= 0 {
		o.Keep = usualKeep
	}
	if o.Clean == nil {
		o.Clean = func(w io.Writer) io.WriteCloser { return verbatim{w} }
	}
	if o.Lists == "" {
		o.Lists = "list the jobs to see which there are"
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}

// A List keeps background jobs. It is safe for concurrent use.
type List struct {
	opts    Options
	dir     *ownerfile.Dir
	create  func() (file, error) // makes an empty file for an output
	ctx     context.Context      // ends with the list
	cancel  context.CancelFunc
	working sync.WaitGroup

	mu     sync.Mutex // guards what follows
	jobs   []*job     // as they were started
	closed bool
}

// Open makes a list and the directory for its outputs.
func Open(o Options) (*List, error) {
	if o.New == nil {
		return nil, &fault.Error{Op: "open jobs", Why: "there is nothing that makes runners"}
	}
	o = o.filled()
	dir, err := ownerfile.MakeDir(o.Spool, "hako-jobs-")
	if err != nil {
		return nil, &fault.Error{Kind: fault.Unavailable, Op: "open jobs", Subject: o.Spool,
			Why: "no directory for outputs can be made there", Err: cause(err),
			Hint: "name one that can be written"}
	}
	d := &List{opts: o, dir: dir}
	d.create = d.createFile
	d.ctx, d.cancel = context.WithCancel(context.Background())
	return d, nil
}

// early is how long Start waits for a job that ends at once: its caller can then
// say so right away instead of having to ask.
const early = 50 * time.Millisecond

// Start runs a request in the background. The job outlives ctx, but not the
// list. A request that is refused is a job that has ended, see [List.Status].
func (d *List) Start(ctx context.Context, req run.Request) (run.JobHandle, error) {
	if err := ctx.Err(); err != nil {
		return "", &fault.Error{Op: "start job", Why: "the caller is gone", Err: err}
	}
	if req.Stdout != nil || req.Stderr != nil {
		return "", &fault.Error{Kind: fault.Invalid, Op: "start job", Why: "its output already goes elsewhere",
			Hint: "leave Stdout and Stderr empty and read the output by handle"}
	}
	j, err := d.admit(req)
	if err != nil {
		return "", err
	}
	wait := time.NewTimer(early)
	defer wait.Stop()
	select {
	case <-j.ended:
	case <-wait.C:
	case <-ctx.Done():
	}
	return j.handle, nil
}

// admit takes a new job in if there is room for it, and has it begin.
func (d *List) admit(req run.Request) (*job, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil, &fault.Error{Kind: fault.Unavailable, Op: "start job", Why: "no more jobs are taken: the session is over"}
	}
	if running := d.running(); len(running) >= d.opts.MaxRunning {
		return nil, &fault.Error{Kind: fault.Exhausted, Op: "start job",
			Why:  fmt.Sprintf("%d jobs are running, and no more may", len(running)),
			Hint: "wait for one of them or kill one: " + strings.Join(running, ", ")}
	}
	j := d.newJob(req)
	d.jobs = append(d.jobs, j)
	d.working.Go(func() { d.work(j) })
	return j, nil
}

// running names the jobs that have not ended. The list is locked.
func (d *List) running() (handles []string) {
	for _, j := range d.jobs {
		if !j.over() {
			handles = append(handles, string(j.handle))
		}
	}
	return handles
}

// newJob makes a job that has not begun. The list is locked.
func (d *List) newJob(req run.Request) *job {
	j := &job{handle: d.newHandle(), req: req, ended: make(chan struct{})}
	if j.req.ID == "" {
		j.req.ID = string(j.handle) // so that the record can be searched for it
	}
	j.log = &spool{create: d.create, limit: d.opts.Limit}
	j.errors = &spool{create: d.create, limit: d.opts.Limit}
	j.ctx, j.cancel = context.WithCancel(d.ctx)
	j.status = run.Job{Handle: j.handle, Command: req.Script, Reason: req.Reason, Actor: req.Actor, State: run.JobRunning,
		Began: d.opts.Now()}
	return j
}

// newHandle makes up a handle of 40 bits that no job has.
func (d *List) newHandle() run.JobHandle {
	for {
		h := run.JobHandle("job-" + strings.ToLower(rand.Text()[:8]))
		if !slices.ContainsFunc(d.jobs, func(j *job) bool { return j.handle == h }) {
			return h
		}
	}
}

// Busy reports whether a job is running.
func (d *List) Busy() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.running()) > 0
}

// find returns a job by its handle.
func (d *List) find(h run.JobHandle) (*job, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, j := range d.jobs {
		if j.handle == h {
			return j, nil
		}
	}
	return nil, d.unknown(h)
}

func (d *List) unknown(h run.JobHandle) error {
	return &fault.Error{Kind: fault.NotFound, Op: "find job", Subject: fmt.Sprintf("%q", brief(string(h))),
		Why: "there is no such job, or it ended long ago", Hint: d.opts.Lists}
}

// brief is the beginning of a text that may be anything.
func brief(s string) string { return text.Shorten(s, 40) }

// Status tells how a job is.
func (d *List) Status(h run.JobHandle) (run.Job, error) {
	j, err := d.find(h)
	if err != nil {
		return run.Job{}, err
	}
	return j.report(), nil
}

// List tells how all jobs are, in the order in which they were started.
func (d *List) All() []run.Job {
	d.mu.Lock()
	jobs := slices.Clone(d.jobs)
	d.mu.Unlock()
	list := make([]run.Job, len(jobs))
	for i, j := range jobs {
		list[i] = j.report()
	}
	return list
}

// Wait waits until a job has ended. If ctx ends first the job goes on, and the
// status that is returned with the error says how it is.
func (d *List) Wait(ctx context.Context, h run.JobHandle) (run.Job, error) {
	j, err := d.find(h)
	if err != nil {
		return run.Job{}, err
	}
	return j.wait(ctx, "wait for job")
}

// Kill stops a job and waits until it has ended. One that has already stays as
// it is.
func (d *List) Kill(ctx context.Context, h run.JobHandle) (run.Job, error) {
	j, err := d.find(h)
	if err != nil {
		return run.Job{}, err
	}
	j.kill()
	return j.wait(ctx, "kill job")
}

// forget takes the oldest of the jobs that have ended out of the list, if there
// are too many. The list is locked.
func (d *List) forget() (old []*job) {
	for _, j := range d.jobs {
		if j.over() {
			old = append(old, j)
		}
	}
	slices.SortStableFunc(old, func(a, b *job) int { return a.status.Ended.Compare(b.status.Ended) })
	old = old[:max(len(old)-d.opts.Keep, 0)]
	d.jobs = slices.DeleteFunc(d.jobs, func(j *job) bool { return slices.Contains(old, j) })
	return old
}

// Close kills all jobs, waits for them, and removes what they printed. Closing
// twice does nothing.
func (d *List) Close() error {
	d.mu.Lock()
	d.closed = true
	jobs := d.jobs
	d.jobs = nil
	d.mu.Unlock()
	for _, j := range jobs {
		j.kill()
	}
	d.cancel()
	d.working.Wait()
	for _, j := range jobs {
		j.drop()
	}
	if err := d.dir.Remove(); err != nil {
		return &fault.Error{Op: "close jobs", Subject: d.dir.Path, Why: "outputs cannot be removed", Err: cause(err),
			Hint: "remove the directory by hand"}
	}
	return nil
}

// cause drops the name that os puts before its reasons.
func cause(err error) error {
	if pe := new(os.PathError); errors.As(err, &pe) {
		return pe.Err
	}
	return err
}
