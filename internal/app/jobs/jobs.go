// Package jobs runs requests in the background and keeps their status and output by handle.
//
// Each job gets its own gated runner. Nothing here outlives the process. Every job reaches a final state, whatever
// happens to its runner, its output or its caller.
package jobs

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"hako/internal/ownerfile"
	"hako/internal/text"
	"hako/run"
	"hako/run/fault"
)

// Options configure a [List]. Only New is required.
type Options struct {
	// New makes the runner of one job, and a function that closes it, which may be nil. Its context ends with the
	// job.
	New func(ctx context.Context) (runner run.Runner, putAway func(), err error)

	Spool      string // parent of the private directory for outputs; empty means that for temporary files
	Limit      int64  // bytes kept of each output; zero means 64 MB
	MaxRunning int    // concurrent jobs; zero means 8
	Keep       int    // ended jobs that are remembered, latest first; zero means 50

	// Clean wraps the output of a job, to redact secrets. The result is closed at the end of the job. Nil means
	// that output is kept unchanged.
	Clean func(io.Writer) io.WriteCloser

	Lists string           // hint about an unknown handle; empty means "list the jobs to see which there are"
	Now   func() time.Time // nil means time.Now
}

func (o Options) withDefaults() Options {
	o.Limit = cmp.Or(o.Limit, 64<<20)
	o.MaxRunning = cmp.Or(o.MaxRunning, 8)
	o.Keep = cmp.Or(o.Keep, 50)
	o.Lists = cmp.Or(o.Lists, "list the jobs to see which there are")
	if o.Clean == nil {
		o.Clean = func(w io.Writer) io.WriteCloser { return nopCloser{w} }
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}

// A List is a list of background jobs. It is safe for concurrent use.
type List struct {
	opts    Options
	dir     *ownerfile.Dir
	create  func() (file, error) // makes an empty file for an output
	ctx     context.Context      // ends with the list
	cancel  context.CancelFunc
	working sync.WaitGroup

	mu     sync.Mutex // guards the fields below
	jobs   []*job     // in the order of their start
	closed bool
}

// Open makes a list and the directory for its outputs.
func Open(o Options) (*List, error) {
	if o.New == nil {
		return nil, &fault.Error{Op: "open jobs", Why: "there is nothing that makes runners"}
	}
	o = o.withDefaults()
	dir, err := ownerfile.MakeDir(o.Spool, "hako-jobs-")
	if err != nil {
		return nil, &fault.Error{Kind: fault.Unavailable, Op: "open jobs", Subject: o.Spool,
			Why: "no directory for outputs can be made there", Err: fault.Reason(err),
			Hint: "name one that can be written"}
	}
	d := &List{opts: o, dir: dir}
	d.create = d.createFile
	d.ctx, d.cancel = context.WithCancel(context.Background())
	return d, nil
}

// startWait is how long Start waits for a job that ends at once, so that its caller can report the outcome.
const startWait = 50 * time.Millisecond

// Start runs a request in the background. The job outlives ctx, but not the list. A denied request is a job that has
// ended, see [List.Status].
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
	wait := time.NewTimer(startWait)
	defer wait.Stop()
	select {
	case <-j.ended:
	case <-wait.C:
	case <-ctx.Done():
	}
	return j.handle, nil
}

// admit starts a job if there is room for it.
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

// running returns the handles of running jobs. The caller holds mu.
func (d *List) running() (handles []string) {
	for _, j := range d.jobs {
		if !j.hasEnded() {
			handles = append(handles, string(j.handle))
		}
	}
	return handles
}

// newJob makes a job. The caller holds mu.
func (d *List) newJob(req run.Request) *job {
	j := &job{handle: d.newHandle(), req: req, ended: make(chan struct{})}
	if j.req.ID == "" {
		j.req.ID = string(j.handle) // so that it can be found in the record
	}
	j.log = &outputFile{create: d.create, limit: d.opts.Limit}
	j.ctx, j.cancel = context.WithCancel(d.ctx)
	j.status = run.Job{Handle: j.handle, Command: req.Script, Reason: req.Reason, Actor: req.Actor, State: run.JobRunning,
		Began: d.opts.Now()}
	return j
}

// newHandle returns a new handle with 40 random bits.
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

func (d *List) find(h run.JobHandle) (*job, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, j := range d.jobs {
		if j.handle == h {
			return j, nil
		}
	}
	return nil, d.unknownJob(h)
}

func (d *List) unknownJob(h run.JobHandle) error {
	return &fault.Error{Kind: fault.NotFound, Op: "find job", Subject: fmt.Sprintf("%q", shorten(string(h))),
		Why: "there is no such job, or it ended long ago", Hint: d.opts.Lists}
}

// shorten shortens a text for a message.
func shorten(s string) string { return text.Shorten(s, 40) }

// Status returns the status of a job.
func (d *List) Status(h run.JobHandle) (run.Job, error) {
	j, err := d.find(h)
	if err != nil {
		return run.Job{}, err
	}
	return j.report(), nil
}

// All returns the status of all jobs, in the order of their start.
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

// Wait waits until a job has ended. If ctx ends first, it returns the current status with an error.
func (d *List) Wait(ctx context.Context, h run.JobHandle) (run.Job, error) {
	j, err := d.find(h)
	if err != nil {
		return run.Job{}, err
	}
	return j.wait(ctx, "wait for job")
}

// Kill stops a job and waits until it has ended. One that has ended stays unchanged.
func (d *List) Kill(ctx context.Context, h run.JobHandle) (run.Job, error) {
	j, err := d.find(h)
	if err != nil {
		return run.Job{}, err
	}
	j.kill()
	return j.wait(ctx, "kill job")
}

// dropOldest removes the oldest ended jobs from the list if there are too many. The caller holds mu.
func (d *List) dropOldest() (old []*job) {
	for _, j := range d.jobs {
		if j.hasEnded() {
			old = append(old, j)
		}
	}
	slices.SortStableFunc(old, func(a, b *job) int { return a.status.Ended.Compare(b.status.Ended) })
	old = old[:max(len(old)-d.opts.Keep, 0)]
	d.jobs = slices.DeleteFunc(d.jobs, func(j *job) bool { return slices.Contains(old, j) })
	return old
}

// Close kills all jobs, waits for them, and removes their output. It is idempotent.
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
		j.log.drop()
	}
	if err := d.dir.Remove(); err != nil {
		return &fault.Error{Op: "close jobs", Subject: d.dir.Path, Why: "outputs cannot be removed", Err: fault.Reason(err),
			Hint: "remove the directory by hand"}
	}
	return nil
}
