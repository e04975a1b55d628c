package jobs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"hako/run"
	"hako/run/fault"
)

// A job is a request in the background.
type job struct {
	handle run.JobHandle
	req    run.Request
	ctx    context.Context
	cancel context.CancelFunc
	ended  chan struct{} // closed at the end, when status is final

	log *outputFile // its output, in the order in which it was printed

	mu     sync.Mutex // guards the fields below
	killed bool       // to be killed
	status run.Job
}

// work runs a job to its end.
func (d *List) work(j *job) {
	res, err := d.run(j)
	d.mu.Lock()
	j.finish(res, err, d.opts.Now())
	old := d.dropOldest()
	d.mu.Unlock()
	for _, j := range old {
		j.log.drop()
	}
}

// run runs the request of a job with its own runner. A panic must not end other jobs.
func (d *List) run(j *job) (res run.Result, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &fault.Error{Op: "run job", Subject: string(j.handle), Why: fmt.Sprint("the runner broke: ", p),
				Hint: "this is a mistake in hako; please report it"}
		}
	}()
	runner, putAway, err := d.opts.New(j.ctx)
	if err != nil {
		return run.Result{}, err
	}
	if putAway != nil {
		defer putAway()
	}
	// Each stream has its own writer, so that one cannot hide a secret in the other.
	stdout, stderr := &output{to: d.opts.Clean(j.log)}, &output{to: d.opts.Clean(j.log)}
	defer stderr.close()
	defer stdout.close()
	req := j.req
	req.Stdout, req.Stderr = stdout, stderr
	return runner.Run(j.ctx, &req)
}

// finish sets the final status.
func (j *job) finish(res run.Result, err error, now time.Time) {
	j.cancel()
	j.mu.Lock()
	defer j.mu.Unlock()
	s := &j.status
	s.State, s.Exit, s.Ended = j.outcome(res, err), res.Exit, now
	if err != nil {
		s.Why, s.Hint = err.Error(), fault.Hint(err)
	}
	if s.Exit == 0 {
		s.Exit = exits[s.State]
	}
	j.req = run.Request{} // release its memory
	close(j.ended)
}

// exits are the exit statuses of jobs without one of their own, as in shells.
var exits = map[run.JobState]int{run.JobFailed: 1, run.JobKilled: 137, run.JobTimedOut: 124, run.JobDenied: 126}

// outcome returns the final state. If the job was killed, the error of the runner does not matter.
func (j *job) outcome(res run.Result, err error) run.JobState {
	switch {
	case err == nil && res.Exit == 0 && !res.TimedOut:
		return run.JobDone
	case j.killed:
		return run.JobKilled
	case res.TimedOut, fault.KindOf(err) == fault.Timeout, errors.Is(err, context.DeadlineExceeded):
		return run.JobTimedOut
	case fault.KindOf(err) == fault.Denied:
		return run.JobDenied
	}
	return run.JobFailed
}

// kill asks the job to end.
func (j *job) kill() {
	j.mu.Lock()
	j.killed = true
	j.mu.Unlock()
	j.cancel()
}

func (j *job) hasEnded() bool {
	select {
	case <-j.ended:
		return true
	default:
		return false
	}
}

// wait waits for the end of the job and returns its status.
func (j *job) wait(ctx context.Context, op string) (run.Job, error) {
	select {
	case <-j.ended:
		return j.report(), nil
	case <-ctx.Done():
	}
	return j.report(), &fault.Error{Kind: fault.Timeout, Op: op, Subject: string(j.handle), Why: "it is still running",
		Hint: "ask for its status later, or kill it"}
}

func (j *job) report() run.Job {
	j.mu.Lock()
	s := j.status
	j.mu.Unlock()
	s.Bytes, s.Dropped, s.DropWhy = j.log.count()
	return s
}

// A output is the output of a job, for concurrent writers. It discards what is written after the end of the job.
type output struct {
	mu sync.Mutex
	to io.WriteCloser // nil after the end
}

// Write never fails: the job continues even if its output cannot be kept.
func (s *output) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.to != nil {
		_, _ = s.to.Write(p)
	}
	return len(p), nil
}

func (s *output) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = s.to.Close()
	s.to = nil
}

// nopCloser is the default of [Options.Clean].
type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }
