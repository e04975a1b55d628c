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

// A job is one request in the background.
type job struct {
	handle run.JobHandle
	req    run.Request
	ctx    context.Context
	cancel context.CancelFunc
	ended  chan struct{} // closed at the end, when status does not change any more

	log    *spool // what it prints, in the order it was printed
	errors *spool // what it prints to standard error, once more

	mu     sync.Mutex // guards what follows
	asked  bool       // to be killed
	status run.Job
}

// work runs a job to its end.
func (d *List) work(j *job) {
	res, err := d.run(j)
	d.mu.Lock()
	j.finish(res, err, d.opts.Now())
	old := d.forget()
	d.mu.Unlock()
	for _, j := range old {
		j.drop()
	}
}

// run runs the request of a job with a runner of its own. One that breaks must
// not take the jobs beside it along, nor leave this one running for ever.
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
	stderr := &stream{to: d.opts.Clean(io.MultiWriter(j.log, j.errors))}
	defer stderr.close()
	stdout := &stream{to: d.opts.Clean(j.log)}
	defer stdout.close()
	req := j.req
	req.Stdout, req.Stderr = stdout, stderr
	return runner.Run(j.ctx, &req)
}

// finish writes down what came of the job.
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
	j.req = run.Request{} // and what it holds on to
	close(j.ended)
}

// exits are the statuses of jobs that have none of their own, as shells have them.
var exits = map[run.JobState]int{run.JobFailed: 1, run.JobKilled: 137, run.JobTimedOut: 124, run.JobDenied: 126}

// outcome names how the job ended. Somebody who stopped it is the reason for
// whatever the runner says about it.
func (j *job) outcome(res run.Result, err error) run.JobState {
	switch {
	case err == nil && res.Exit == 0 && !res.TimedOut:
		return run.JobDone
	case j.asked:
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
	j.asked = true
	j.mu.Unlock()
	j.cancel()
}

func (j *job) over() bool {
	select {
	case <-j.ended:
		return true
	default:
		return false
	}
}

// wait returns the last status of the job.
func (j *job) wait(ctx context.Context, op string) (run.Job, error) {
	select {
	case <-j.ended:
		return j.report(), nil
	case <-ctx.Done():
	}
	return j.report(), &fault.Error{Kind: fault.Timeout, Op: op, Subject: string(j.handle), Why: "it is still running",
		Hint: "ask for its status later, or kill it"}
}

// report is the status as it is now.
func (j *job) report() run.Job {
	j.mu.Lock()
	s := j.status
	j.mu.Unlock()
	s.Bytes, s.Dropped, s.DropWhy = j.log.count()
	return s
}

// drop gives up what the job printed.
func (j *job) drop() {
	j.log.drop()
	j.errors.drop()
}

// A stream is one of the two outputs of a job, for any number of writers. What
// is written after the end of the job goes nowhere.
type stream struct {
	mu sync.Mutex
	to io.WriteCloser // nil after the end
}

// Write implements [io.Writer]. It never fails: what cannot be kept is counted,
// and the job goes on.
func (s *stream) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.to != nil {
		_, _ = s.to.Write(p) // a spool takes everything
	}
	return len(p), nil
}

func (s *stream) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = s.to.Close()
	s.to = nil
}

// verbatim passes everything on.
type verbatim struct{ io.Writer }

// Close implements [io.Closer].
func (verbatim) Close() error { return nil }
