package secretary

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"hako/internal/app/jobs"
	"hako/run"
)

// RunInBackground starts the list of background jobs. Each job gets its own runner.
func (c *Conversation) RunInBackground(o jobs.Options) error {
	list, err := jobs.Open(o)
	if err != nil {
		return err
	}
	c.OnClose(func() { _ = list.Close() })
	c.jobs, c.Jobs = list, jobAnswers{list}
	return nil
}

// jobAnswers answers questions about jobs in words.
type jobAnswers struct{ *jobs.List }

func (j jobAnswers) Start(ctx context.Context, req run.Request) (string, error) {
	h, err := j.List.Start(ctx, req)
	return string(h), err
}

func (j jobAnswers) Ask(ctx context.Context, verb, handle string, offset int64) (string, error) {
	h := run.JobHandle(handle)
	switch verb {
	case "list":
		var b strings.Builder
		for _, st := range j.All() {
			b.WriteString(jobLine(st) + "\n")
		}
		return b.String(), nil
	case "kill":
		st, err := j.Kill(ctx, h)
		return jobLine(st), err
	case "output":
		return j.output(h, offset)
	}
	st, err := j.Status(h)
	return jobLine(st), err
}

func (j jobAnswers) output(h run.JobHandle, offset int64) (string, error) {
	page, err := j.Output(h, offset, 0)
	if err != nil {
		return "", err
	}
	s := string(page.Data)
	if s == "" {
		s = "(nothing)"
	}
	if page.More || !page.Ended {
		s += fmt.Sprintf("\n(next: @job output %s %d)", h, page.Next)
	}
	return s, nil
}

func jobLine(st run.Job) string {
	line := fmt.Sprintf("%s %s: %s", st.Handle, st.State, st.Command)
	if took := st.Ended.Sub(st.Began).Round(time.Millisecond); st.State == run.JobDone || st.State == run.JobFailed {
		line += fmt.Sprintf(" (exit %d, after %v)", st.Exit, took)
	} else if st.State != run.JobRunning {
		line += fmt.Sprintf(" (after %v)", took)
	}
	if st.Why != "" && st.State != run.JobKilled {
		line += ": " + st.Why
	}
	return line
}

// A RunnerPool lends runners and reuses them. New makes a runner and the function that closes it.
type RunnerPool struct {
	New func() (run.Runner, func(), error)

	mu   sync.Mutex // guards idle
	idle []pooledRunner
}

type pooledRunner struct {
	run.Runner
	close func()
}

// Lend returns a runner and the function that returns it to the pool. It fits [Secretary.SpareRunner].
func (p *RunnerPool) Lend() (run.Runner, func(), error) {
	r, ok := p.take()
	if !ok {
		var err error
		if r.Runner, r.close, err = p.New(); err != nil {
			return nil, nil, err
		}
	}
	return r.Runner, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.idle = append(p.idle, r)
	}, nil
}

func (p *RunnerPool) take() (r pooledRunner, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.idle) == 0 {
		return r, false
	}
	r = p.idle[len(p.idle)-1]
	p.idle = p.idle[:len(p.idle)-1]
	return r, true
}

// Close closes the idle runners.
func (p *RunnerPool) Close() {
	for r, ok := p.take(); ok; r, ok = p.take() {
		r.close()
	}
}
