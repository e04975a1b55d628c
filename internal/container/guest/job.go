package guest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"hako/internal/container/guest/nursery"
	"hako/internal/fault"
)

// A State is how a job is.
type State string

// The states. All but the first are final.
const (
	Running  State = "running"
	Done     State = "done"      // it ended with status 0
	Failed   State = "failed"    // it ended with another status
	Killed   State = "killed"    // somebody stopped it
	TimedOut State = "timed out" // its time ran out
)

// A Handle names a job.
type Handle string

// A Job tells how a command in the background is.
type Job struct {
	Handle  Handle    `json:"handle"`
	Command string    `json:"command"`
	Pid     int       `json:"pid"`
	State   State     `json:"state"`
	Exit    int       `json:"exit_code"` // as in Result; zero while it is running
	Signal  int       `json:"signal,omitempty"`
	Began   time.Time `json:"began"`
	Ended   time.Time `json:"ended,omitzero"`
	Bytes   int64     `json:"bytes"`             // printed so far
	Dropped int64     `json:"dropped,omitempty"` // of these, how many are not kept
	DropWhy string    `json:"dropped_why,omitempty"`
}

// A Tail is the end of what a job printed on one stream.
type Tail struct {
	Data []byte
	Cut  int64 // bytes before Data that are not in it
}

// tailSize is how much of each stream a [Tail] has.
const tailSize = 1 << 20

// A job is one command in the background.
type job struct {
	handle    Handle
	command   string
	process   *nursery.Process
	began     time.Time
	log       *spool        // both streams as they came
	out, errs *spool        // the ends of each
	stop      chan struct{} // closed to end it
	ended     chan struct{} // closed at the end

	mu       sync.Mutex // guards what follows
	asked    bool       // to be killed
	timedOut bool
	at       time.Time // when it ended
}

// A desk keeps the jobs.
type desk struct {
	site  site
	dir   string
	keep  int
	limit int64

	mu   sync.Mutex
	jobs []*job // as they were started
}

// start runs a command in the background; done is called when it has ended.
func (d *desk) start(o order, done func()) (*job, error) {
	p, err := d.site.launch(o)
	if err != nil {
		return nil, err
	}
	j := &job{command: o.text(), process: p, began: time.Now(), stop: make(chan struct{}), ended: make(chan struct{}),
		log: d.spool(d.limit), out: d.spool(tailSize), errs: d.spool(tailSize)}
	d.mu.Lock()
	j.handle = d.newHandle()
	d.jobs = append(d.jobs, j)
	d.mu.Unlock()
	go func() {
		j.watch(o.Timeout)
		d.forget()
		done()
	}()
	return j, nil
}

func (d *desk) spool(limit int64) *spool { return &spool{dir: d.dir, limit: limit} }

// newHandle makes a name that no other job has, nor had: the guest may have been
// started again while somebody still remembers one.
func (d *desk) newHandle() Handle {
	for {
		h := Handle(fmt.Sprintf("job-%08x", rand.Uint32()))
		if !slices.ContainsFunc(d.jobs, func(j *job) bool { return j.handle == h }) {
			return h
		}
	}
}

// text is the command for people to read.
func (o order) text() string {
	if o.IsScript {
		return o.script
	}
	return strings.Join(o.words, " ")
}

// watch runs a job to its end.
func (j *job) watch(timeout time.Duration) {
	both := func(own *spool) func([]byte) {
		return func(p []byte) { j.log.Write(p); own.Write(p) }
	}
	timedOut := supervise(j.process, timeout, j.stop,
		&tap{from: j.process.Stdout, pass: both(j.out)}, &tap{from: j.process.Stderr, pass: both(j.errs)})
	j.mu.Lock()
	j.timedOut, j.at = timedOut, time.Now()
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

// kill asks the job to end.
func (j *job) kill() {
	j.mu.Lock()
	defer j.mu.Unlock()
	if !j.asked && !j.over() {
		j.asked = true
		close(j.stop)
	}
}

// report is how the job is now.
func (j *job) report() Job {
	r := Job{Handle: j.handle, Command: j.command, Pid: j.process.Pid, State: Running, Began: j.began}
	total, kept, why := j.log.count()
	r.Bytes, r.Dropped, r.DropWhy = total, total-kept, why
	if r.Dropped > 0 && why == "" {
		r.DropWhy = fmt.Sprintf("only the last %d bytes are kept", kept)
	}
	if !j.over() {
		return r
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	end := j.process.Ending()
	r.Exit, r.Signal, r.Ended, r.State = end.Exit, end.Signal, j.at, j.outcome(end)
	if r.State == TimedOut {
		r.Exit = -1
	}
	return r
}

// outcome names how the job ended.
func (j *job) outcome(end nursery.Ending) State {
	switch {
	case j.timedOut:
		return TimedOut
	case j.asked:
		return Killed
	case end.Exit == 0:
		return Done
	}
	return Failed
}

// find returns a job by its handle.
func (d *desk) find(h Handle) (*job, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, j := range d.jobs {
		if j.handle == h {
			return j, nil
		}
	}
	return nil, &fault.Error{Kind: fault.NotFound, Op: "find job", Subject: fmt.Sprintf("%.40q", string(h)), Why: "there is none with this handle, or it ended long ago",
		Hint: "list the jobs to see which there are"}
}

func (d *desk) list() []*job {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.jobs)
}

// wait returns when the job has ended.
func (j *job) wait(ctx context.Context) (Job, error) {
	select {
	case <-j.ended:
		return j.report(), nil
	case <-ctx.Done():
		return j.report(), ctx.Err()
	}
}

// forget gives up the oldest jobs that have ended, if there are too many or they
// hold too much.
func (d *desk) forget() {
	d.mu.Lock()
	defer d.mu.Unlock()
	count, bytes := 0, int64(0)
	for i := len(d.jobs) - 1; i >= 0; i-- {
		j := d.jobs[i]
		if !j.over() {
			continue
		}
		_, kept, _ := j.log.count()
		count, bytes = count+1, bytes+kept
		if count > d.keep || count > 1 && bytes > 4*d.limit {
			d.jobs = slices.Delete(d.jobs, i, i+1)
			for _, s := range []*spool{j.log, j.out, j.errs} {
				s.drop()
			}
		}
	}
}

// tail returns the end of a stream, from the beginning of a character on.
func (s *spool) tail() (Tail, error) {
	p, err := s.page(0, tailSize, true)
	return Tail{Data: p.Data, Cut: p.Offset}, err
}
