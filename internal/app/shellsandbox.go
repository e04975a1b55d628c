package app

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"hako/internal/app/jobs"
	"hako/internal/app/mcpserver"
	"hako/internal/app/mcpserver/remoteedit"
	"hako/internal/app/sandboxes"
	"hako/internal/redact"
	"hako/quota"
	"hako/run"
	"hako/run/fault"
)

// A shellSandbox is a [mcpserver.Sandbox] over a virtual shell or programs of the host. Editor and jobs use
// gated runners, like its commands.
type shellSandbox struct {
	run.Runner
	end     func()
	info    mcpserver.Info
	editor  *remoteedit.Editor
	options jobs.Options

	mu   sync.Mutex // guards jobs
	jobs *jobs.List // nil before the first job
}

// newShellSandbox returns a sandbox. more makes a runner for each job.
func (m *Sandboxes) newShellSandbox(r run.Runner, end func(), more func(context.Context) (run.Runner, func(), error),
	info mcpserver.Info) *shellSandbox {
	return &shellSandbox{Runner: r, end: end, info: info, editor: &remoteedit.Editor{Runner: r}, options: jobs.Options{
		New:   more,
		Clean: func(w io.Writer) io.WriteCloser { return redact.NewLiveWriter(w, m.Secrets) },
		Lists: "job_start returned it; only the last jobs that ended are kept",
	}}
}

func (b *shellSandbox) Close(context.Context) error {
	var err error
	if jobList := b.opened(); jobList != nil {
		err = jobList.Close()
	}
	err = errors.Join(err, b.editor.Close())
	b.end()
	return err
}

func (b *shellSandbox) Info() mcpserver.Info { return b.info }

func (b *shellSandbox) Edit(ctx context.Context, req *run.Request, call []byte) (string, error) {
	return b.editor.Edit(ctx, req, call)
}

func (b *shellSandbox) opened() *jobs.List {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.jobs
}

// open opens the list of jobs on first use.
func (b *shellSandbox) open() (jobList *jobs.List, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.jobs == nil {
		b.jobs, err = jobs.Open(b.options)
	}
	return b.jobs, err
}

// StartJob implements [mcpserver.Jobs]. A denial is returned at once.
func (b *shellSandbox) StartJob(ctx context.Context, req *run.Request) (string, error) {
	jobList, err := b.open()
	if err != nil {
		return "", err
	}
	own := *req
	own.Timeout = jobTime
	own.ID = "" // let the job have its own: the call that started it ends soon, and its client cannot be asked
	h, err := jobList.Start(ctx, own)
	if err != nil {
		return "", err
	}
	if st, err := jobList.Status(h); err == nil && st.State == run.JobDenied {
		return "", &fault.Error{Kind: fault.Denied, Op: "start job", Subject: st.Command, Why: st.Why, Hint: st.Hint}
	}
	return string(h), nil
}

// jobTime is the timeout of a job.
const jobTime = time.Hour

// A jobRunner runs a virtual shell with the timeout of a job.
type jobRunner struct {
	run.Runner
	limiter *quota.Limiter
}

// Run extends the time limit when the first command is about to run, which is after the limiter started.
func (l jobRunner) Run(ctx context.Context, req *run.Request) (run.Result, error) {
	own := *req
	var once sync.Once
	own.Check = func(ctx context.Context, dir string, argv []string) error {
		once.Do(func() { l.limiter.Extend(jobTime) })
		return req.Check(ctx, dir, argv)
	}
	return l.Runner.Run(ctx, &own)
}

func (b *shellSandbox) JobOutput(_ context.Context, id string, start, size int64) (j run.Job, p run.JobPage,
	err error) {
	list, err := b.open()
	if err != nil {
		return j, p, err
	}
	// The status is read before the page, so that the output of an ended job is complete.
	if j, err = list.Status(run.JobHandle(id)); err != nil {
		return j, p, err
	}
	p, err = list.Output(run.JobHandle(id), start, size)
	return j, p, err
}

func (b *shellSandbox) KillJob(ctx context.Context, id string) (run.Job, error) {
	list, err := b.open()
	if err != nil {
		return run.Job{}, err
	}
	return list.Kill(ctx, run.JobHandle(id))
}

func (b *shellSandbox) Working(context.Context) bool {
	jobList := b.opened()
	return jobList != nil && jobList.Busy()
}

func (b *shellSandbox) ListJobs() (list []sandboxes.Job) {
	jobList := b.opened()
	if jobList == nil {
		return nil
	}
	for _, j := range jobList.All() {
		list = append(list, sandboxes.JobOf(j))
	}
	return list
}
