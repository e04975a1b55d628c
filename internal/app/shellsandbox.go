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

// A shellSandbox is a virtual shell, or a place for programs of this machine. Its
// editor and its jobs work through runners with a gate, as its commands do.
type shellSandbox struct {
	run.Runner
	end     func()
	info    mcpserver.Info
	editor  *remoteedit.Editor
	options jobs.Options

	mu   sync.Mutex // guards desk
	jobs *jobs.List // nil before the first job: most sandboxes have none
}

// newShellSandbox makes one. More makes a runner for each job.
func (m *Sandboxes) newShellSandbox(r run.Runner, end func(), more func(context.Context) (run.Runner, func(), error),
	info mcpserver.Info) *shellSandbox {
	return &shellSandbox{Runner: r, end: end, info: info, editor: &remoteedit.Editor{Runner: r}, options: jobs.Options{
		New:   more,
		Clean: func(w io.Writer) io.WriteCloser { return redact.NewLiveWriter(w, m.Secrets) },
		Lists: "job_start returned it; only the last jobs that ended are kept",
	}}
}

// Close implements [mcpserver.Sandbox].
func (b *shellSandbox) Close(context.Context) error {
	var err error
	if desk := b.opened(); desk != nil {
		err = desk.Close()
	}
	err = errors.Join(err, b.editor.Close())
	b.end()
	return err
}

// Info implements [mcpserver.Describer].
func (b *shellSandbox) Info() mcpserver.Info { return b.info }

// Edit implements [mcpserver.Editor].
func (b *shellSandbox) Edit(ctx context.Context, req *run.Request, call []byte) (string, error) {
	return b.editor.Edit(ctx, req, call)
}

// opened is the desk, if there is one.
func (b *shellSandbox) opened() *jobs.List {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.jobs
}

// open opens the desk when the first job is wanted.
func (b *shellSandbox) open() (desk *jobs.List, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.jobs == nil {
		b.jobs, err = jobs.Open(b.options)
	}
	return b.jobs, err
}

// StartJob implements [mcpserver.Jobs]. What is refused at once is told at once.
func (b *shellSandbox) StartJob(ctx context.Context, req *run.Request) (string, error) {
	desk, err := b.open()
	if err != nil {
		return "", err
	}
	own := *req
	own.Timeout = jobTime
	own.ID = "" // the job's own: questions are not for the call that started it, which is soon over
	h, err := desk.Start(ctx, own)
	if err != nil {
		return "", err
	}
	if st, err := desk.Status(h); err == nil && st.State == run.JobDenied {
		return "", &fault.Error{Kind: fault.Denied, Op: "start job", Subject: st.Command, Why: st.Why, Hint: st.Hint}
	}
	return string(h), nil
}

// jobTime is how long a job may take; a command has less, since somebody waits.
const jobTime = time.Hour

// A jobRunner is a virtual shell with the time of a job.
type jobRunner struct {
	run.Runner
	limiter *quota.Limiter
}

// Run implements [run.Runner]. The clock can be put forward once it runs: when
// the first command is about to begin.
func (l jobRunner) Run(ctx context.Context, req *run.Request) (run.Result, error) {
	own := *req
	var once sync.Once
	own.Check = func(ctx context.Context, dir string, argv []string) error {
		once.Do(func() { l.limiter.Extend(jobTime) })
		return req.Check(ctx, dir, argv)
	}
	return l.Runner.Run(ctx, &own)
}

// JobOutput implements [mcpserver.Jobs].
func (b *shellSandbox) JobOutput(_ context.Context, id string, start, size int64) (j run.Job, p run.JobPage,
	err error) {
	list, err := b.open()
	if err != nil {
		return j, p, err
	}
	// The status is read before the page: what comes later is read next time.
	if j, err = list.Status(run.JobHandle(id)); err != nil {
		return j, p, err
	}
	p, err = list.Output(run.JobHandle(id), jobs.Both, start, size)
	return j, p, err
}

// KillJob implements [mcpserver.Jobs].
func (b *shellSandbox) KillJob(ctx context.Context, id string) (run.Job, error) {
	list, err := b.open()
	if err != nil {
		return run.Job{}, err
	}
	return list.Kill(ctx, run.JobHandle(id))
}

// BusyReporter implements [mcpserver.BusyReporter].
func (b *shellSandbox) Working(context.Context) bool {
	desk := b.opened()
	return desk != nil && desk.Busy()
}

// ListJobs implements [mcpserver.JobLister].
func (b *shellSandbox) ListJobs() (list []sandboxes.Job) {
	desk := b.opened()
	if desk == nil {
		return nil
	}
	for _, j := range desk.All() {
		list = append(list, sandboxes.JobOf(j))
	}
	return list
}
