package server

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"hako/container/guest/joblog"
	"hako/container/guest/wire"
	"hako/run"
	"hako/run/fault"
)

// A job is a background command.
type job struct {
	handle  run.JobHandle
	command string
	process *runningCommand
	began   time.Time
	log     *joblog.Log   // both streams interleaved
	stop    chan struct{} // closed to end it
	ended   chan struct{} // closed at the end

	mu    sync.Mutex // guards what follows
	asked bool       // it was killed on request
	how   wire.Ending
	at    time.Time // when it ended
}

// A jobTable holds the jobs.
type jobTable struct {
	exec   execContext
	dir    string
	keep   int
	limit  int64
	writes semaphore // limits concurrent writes

	mu   sync.Mutex
	jobs []*job // in the order of their start
}

// start starts a job; done is called when it has ended.
func (d *jobTable) start(o wire.CommandRequest, done func()) (*job, error) {
	p, err := d.exec.launch(o)
	if err != nil {
		return nil, err
	}
	j := &job{command: o.Script, process: p, began: time.Now(), stop: make(chan struct{}), ended: make(chan struct{}),
		log: &joblog.Log{Dir: d.dir, Limit: d.limit}}
	d.mu.Lock()
	j.handle = d.newHandle()
	d.jobs = append(d.jobs, j)
	d.mu.Unlock()
	go func() {
		j.watch(o.Timeout, d)
		d.forget()
		done()
	}()
	return j, nil
}

// newHandle returns a random handle, which is unique even if the guest was restarted.
func (d *jobTable) newHandle() run.JobHandle {
	for {
		h := run.JobHandle(fmt.Sprintf("job-%08x", rand.Uint32()))
		if !slices.ContainsFunc(d.jobs, func(j *job) bool { return j.handle == h }) {
			return h
		}
	}
}

// watch runs a job to its end.
func (j *job) watch(timeout time.Duration, d *jobTable) {
	pass := func(p []byte) {
		defer d.writes.take()()
		j.log.Write(p)
	}
	large := d.exec.large
	timedOut := supervise(j.process.Process, timeout, j.stop,
		&outputPump{from: j.process.Stdout, pass: pass, large: large},
		&outputPump{from: j.process.Stderr, pass: pass, large: large})
	how := j.process.finish(timedOut)
	j.mu.Lock()
	j.how, j.at = how, time.Now()
	j.mu.Unlock()
	close(j.ended)
}

func (j *job) over() bool {
	select {
	case <-j.ended:
		return true
	default:
		return false
	}
}

func (j *job) kill() {
	j.mu.Lock()
	defer j.mu.Unlock()
	if !j.asked && !j.over() {
		j.asked = true
		close(j.stop)
	}
}

// report returns the status of the job.
func (j *job) report() run.Job {
	r := run.Job{Handle: j.handle, Command: j.command, Pid: j.process.Pid, State: run.JobRunning, Began: j.began}
	total, kept, why := j.log.Count()
	r.Bytes, r.Dropped, r.DropWhy = total, total-kept, why
	if r.Dropped > 0 && why == "" {
		r.DropWhy = fmt.Sprintf("only the last %d bytes are kept", kept)
	}
	if !j.over() {
		return r
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	r.Exit, r.Signal, r.Ended, r.State, r.Why = j.how.Exit, j.how.Signal, j.at, j.outcome(), j.how.Note
	if r.State == run.JobTimedOut {
		r.Exit = -1
	}
	return r
}

// outcome returns the final state of the job.
func (j *job) outcome() run.JobState {
	switch {
	case j.how.TimedOut:
		return run.JobTimedOut
	case j.asked || j.how.DiskFull:
		return run.JobKilled
	case j.how.Exit == 0:
		return run.JobDone
	}
	return run.JobFailed
}

func (d *jobTable) find(h run.JobHandle) (*job, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, j := range d.jobs {
		if j.handle == h {
			return j, nil
		}
	}
	return nil, &fault.Error{Kind: fault.NotFound, Op: "find job", Subject: fmt.Sprintf("%.40q", string(h)),
		Why:  "there is none with this handle, or it ended long ago",
		Hint: "list the jobs to see which there are"}
}

func (d *jobTable) list() []*job {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.jobs)
}

func (j *job) wait(ctx context.Context) (run.Job, error) {
	select {
	case <-j.ended:
		return j.report(), nil
	case <-ctx.Done():
		return j.report(), ctx.Err()
	}
}

// forget drops the oldest ended jobs beyond the limits of number and bytes.
func (d *jobTable) forget() {
	d.mu.Lock()
	defer d.mu.Unlock()
	count, bytes := 0, int64(0)
	for i := len(d.jobs) - 1; i >= 0; i-- {
		j := d.jobs[i]
		if !j.over() {
			continue
		}
		_, kept, _ := j.log.Count()
		count, bytes = count+1, bytes+kept
		if count > d.keep || count > 1 && bytes > 4*d.limit {
			d.jobs = slices.Delete(d.jobs, i, i+1)
			j.log.Drop()
		}
	}
}
