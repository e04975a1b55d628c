package jobs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"hako/run"
	"hako/run/fault"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A runner is a script written in Go.
type runner func(ctx context.Context, req *run.Request) (run.Result, error)

func (r runner) Run(ctx context.Context, req *run.Request) (run.Result, error) { return r(ctx, req) }

// desk opens a desk whose jobs all do the same.
func desk(t testing.TB, o Options, do runner) *List {
	t.Helper()
	if o.New == nil {
		o.New = func(context.Context) (run.Runner, func(), error) { return do, nil, nil }
	}
	o.Spool = t.TempDir()
	d, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { shut(t, d) })
	return d
}

// shut closes a desk and looks for what it left.
func shut(t testing.TB, d *List) {
	t.Helper()
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	if left, _ := os.ReadDir(d.opts.Spool); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func start(t testing.TB, d *List, script string) run.JobHandle {
	t.Helper()
	h, err := d.Start(t.Context(), run.Request{Actor: "user", Reason: "a test", Script: script})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func wait(t testing.TB, d *List, h run.JobHandle) run.Job {
	t.Helper()
	s, err := d.Wait(context.Background(), h)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// untilKilled is a job that runs until somebody stops it.
func untilKilled(ctx context.Context, _ *run.Request) (run.Result, error) {
	<-ctx.Done()
	return run.Result{Exit: -1}, ctx.Err()
}

func TestHowJobsEnd(t *testing.T) {
	refused := &fault.Error{Kind: fault.Denied, Op: "denied", Subject: "rm -rf /", Why: "it removes everything",
		Hint: "remove files by name"}
	for name, c := range map[string]struct {
		res  run.Result
		err  error
		want run.Job
	}{
		"done":       {run.Result{}, nil, run.Job{State: run.JobDone}},
		"failed":     {run.Result{Exit: 3}, nil, run.Job{State: run.JobFailed, Exit: 3}},
		"broken off": {run.Result{}, errors.New("no more"), run.Job{State: run.JobFailed, Exit: 1, Why: "no more"}},
		"timed out":  {run.Result{Exit: 124, TimedOut: true}, nil, run.Job{State: run.JobTimedOut, Exit: 124}},
		"timed out, said": {run.Result{}, &fault.Error{Kind: fault.Timeout, Op: "run"},
			run.Job{State: run.JobTimedOut, Exit: 124, Why: "run"}},
		"over a deadline": {run.Result{}, context.DeadlineExceeded,
			run.Job{State: run.JobTimedOut, Exit: 124, Why: "context deadline exceeded"}},
		"denied": {run.Result{}, refused,
			run.Job{State: run.JobDenied, Exit: 126, Why: "denied rm -rf /: it removes everything",
				Hint: "remove files by name"}},
	} {
		t.Run(name, func(t *testing.T) {
			at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
			d := desk(t, Options{Now: func() time.Time { return at }}, func(context.Context, *run.Request) (run.Result,
				error) {
				return c.res, c.err
			})
			h := start(t, d, "a script")
			c.want.Handle, c.want.Command, c.want.Reason, c.want.Actor = h, "a script", "a test", "user"
			c.want.Began, c.want.Ended = at, at
			if got := wait(t, d, h); got != c.want {
				t.Errorf("got  %+v\nwant %+v", got, c.want)
			}
		})
	}
}

// What ends at once has ended when Start returns; what takes longer is not
// waited for.
func TestStartWaitsALittle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for takes, want := range map[time.Duration]run.JobState{startWait / 2: run.JobDenied, 10 * startWait: run.JobRunning} {
			d := desk(t, Options{}, func(context.Context, *run.Request) (run.Result, error) {
				time.Sleep(takes)
				return run.Result{}, &fault.Error{Kind: fault.Denied, Op: "denied"}
			})
			began := time.Now()
			h := start(t, d, "x")
			if s, _ := d.Status(h); s.State != want || time.Since(began) != min(takes, startWait) {
				t.Errorf("after %v: %s", time.Since(began), s.State)
			}
			shut(t, d)
		}
	})
}

func TestTheJobOutlivesItsCaller(t *testing.T) {
	finish := make(chan struct{})
	d := desk(t, Options{}, func(ctx context.Context, _ *run.Request) (run.Result, error) {
		select {
		case <-finish:
			return run.Result{}, nil
		case <-ctx.Done():
			return run.Result{}, ctx.Err()
		}
	})
	ctx, cancel := context.WithCancel(t.Context())
	h, err := d.Start(ctx, run.Request{Script: "x"})
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if s, err := d.Wait(ctx, h); fault.KindOf(err) != fault.Timeout || s.State != run.JobRunning {
		t.Errorf("%+v: %v", s, err)
	}
	close(finish)
	if s := wait(t, d, h); s.State != run.JobDone {
		t.Errorf("%+v", s)
	}
	if _, err := d.Start(ctx, run.Request{Script: "x"}); !errors.Is(err, context.Canceled) {
		t.Errorf("for nobody: %v", err)
	}
}

func TestKill(t *testing.T) {
	var back atomic.Bool
	d := desk(t, Options{}, func(ctx context.Context, req *run.Request) (run.Result, error) {
		io.WriteString(req.Stdout, "so far\n")
		<-ctx.Done()
		back.Store(true)
		return run.Result{}, &fault.Error{Kind: fault.Denied, Op: "ask", Err: ctx.Err()} // nobody answered any more
	})
	h := start(t, d, "x")
	s, err := d.Kill(t.Context(), h)
	if err != nil || !back.Load() || s.State != run.JobKilled || s.Exit != 137 || s.Bytes != 7 {
		t.Errorf("%+v: %v", s, err)
	}
	if again, err := d.Kill(t.Context(), h); again != s || err != nil {
		t.Errorf("a second time: %+v: %v", again, err)
	}
	if p, err := d.Output(h, 0, 0); string(p.Data) != "so far\n" || !p.Ended || err != nil {
		t.Errorf("output %+v: %v", p, err)
	}
}

// Who kills a job need not wait for a runner that does not come back.
func TestKillIsWaitedForAsLongAsTheCallerLikes(t *testing.T) {
	finish := make(chan struct{})
	d := desk(t, Options{}, func(context.Context, *run.Request) (run.Result, error) {
		<-finish
		return run.Result{}, nil
	})
	h := start(t, d, "x")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if s, err := d.Kill(ctx, h); fault.KindOf(err) != fault.Timeout || s.State != run.JobRunning {
		t.Errorf("%+v: %v", s, err)
	}
	close(finish)
	if s := wait(t, d, h); s.State != run.JobDone {
		t.Errorf("it did come to its own end: %+v", s)
	}
}

func TestNoMoreThanSoMany(t *testing.T) {
	d := desk(t, Options{MaxRunning: 2}, untilKilled)
	a, b := start(t, d, "a"), start(t, d, "b")
	_, err := d.Start(t.Context(), run.Request{Script: "c"})
	if fault.KindOf(err) != fault.Exhausted || !strings.Contains(fault.Hint(err), string(a)+", "+string(b)) {
		t.Errorf("%v (%s)", err, fault.Hint(err))
	}
	if _, err := d.Kill(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	start(t, d, "c")
}

func TestTheOldestGo(t *testing.T) {
	var now atomic.Int64
	ends := map[string]chan struct{}{"slow": make(chan struct{}), "a": nil, "b": nil, "c": nil}
	d := desk(t, Options{Keep: 2, Now: func() time.Time { return time.Unix(now.Add(1), 0) }},
		func(ctx context.Context, req *run.Request) (run.Result, error) {
			if end := ends[req.Script]; end != nil {
				<-end
			}
			io.WriteString(req.Stdout, req.Script)
			return run.Result{}, nil
		})
	slow := start(t, d, "slow")
	a := start(t, d, "a")
	wait(t, d, a)
	wait(t, d, start(t, d, "b"))
	close(ends["slow"]) // the first to begin, and the third to end
	wait(t, d, slow)
	wait(t, d, start(t, d, "c"))
	var got []string
	for _, s := range d.All() {
		got = append(got, s.Command)
	}
	if fmt.Sprint(got) != "[slow c]" {
		t.Errorf("kept %v", got)
	}
	if _, err := d.Output(a, 0, 0); fault.KindOf(err) != fault.NotFound {
		t.Errorf("output of a: %v", err)
	}
}

func TestUnknownHandle(t *testing.T) {
	d := desk(t, Options{Lists: "hako jobs list"}, untilKilled)
	for _, h := range []run.JobHandle{"", "job-nope", "../../etc/passwd",
		run.JobHandle(strings.Repeat("長", 1000) + "\x1b")} {
		for name, ask := range map[string]func() error{
			"status": func() error { _, err := d.Status(h); return err },
			"output": func() error { _, err := d.Output(h, 0, 0); return err },
			"wait":   func() error { _, err := d.Wait(t.Context(), h); return err },
			"kill":   func() error { _, err := d.Kill(t.Context(), h); return err },
		} {
			err := ask()
			if fault.KindOf(err) != fault.NotFound || fault.Hint(err) != "hako jobs list" || len([]rune(err.Error())) > 150 ||
				strings.Contains(err.Error(), "\x1b") {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

func TestHandlesAreShortAndDiffer(t *testing.T) {
	d := desk(t, Options{}, func(context.Context, *run.Request) (run.Result, error) { return run.Result{}, nil })
	seen := map[run.JobHandle]bool{}
	for range 100 {
		h := start(t, d, "x")
		if seen[h] || !regexp.MustCompile(`^job-[a-z2-7]{8}$`).MatchString(string(h)) {
			t.Fatalf("%q", h)
		}
		seen[h] = true
	}
}

func TestTheRequest(t *testing.T) {
	var got []run.Request
	d := desk(t, Options{}, func(_ context.Context, req *run.Request) (run.Result, error) {
		got = append(got, *req)
		return run.Result{}, nil
	})
	h := start(t, d, "x")
	wait(t, d, h)
	second, _ := d.Start(t.Context(), run.Request{ID: "agent/2", Timeout: time.Hour, Dir: "/d", Script: "y"})
	wait(t, d, second)
	if got[0].ID != string(h) || got[1].ID != "agent/2" || got[1].Timeout != time.Hour || got[1].Dir != "/d" {
		t.Errorf("%+v", got)
	}
	if _, err := d.Start(t.Context(), run.Request{Script: "z", Stderr: io.Discard}); fault.KindOf(err) != fault.Invalid ||
		fault.Hint(err) == "" {
		t.Errorf("with an output of its own: %v", err)
	}
}

// Every job has its own runner, which is put away, whatever came of it, before
// the job is called ended.
func TestRunnersAreMadeAndPutAway(t *testing.T) {
	var made, away atomic.Int32
	d := desk(t, Options{New: func(ctx context.Context) (run.Runner, func(), error) {
		if made.Add(1) == 3 {
			return nil, nil, &fault.Error{Kind: fault.Unavailable, Op: "make runner", Hint: "try again"}
		}
		return runner(func(_ context.Context, req *run.Request) (run.Result, error) {
			if req.Script == "break" {
				panic("something impossible")
			}
			return run.Result{}, nil
		}), func() { away.Add(1) }, nil
	}}, nil)
	if s := wait(t, d, start(t, d, "x")); s.State != run.JobDone || away.Load() != 1 {
		t.Errorf("%+v, %d away", s, away.Load())
	}
	if s := wait(t, d, start(t, d, "break")); s.State != run.JobFailed || away.Load() != 2 ||
		!strings.Contains(s.Why, "something impossible") {
		t.Errorf("%+v, %d away", s, away.Load())
	}
	if s := wait(t, d, start(t, d, "x")); s.State != run.JobFailed || s.Why != "make runner" || s.Hint != "try again" {
		t.Errorf("%+v", s)
	}
}

func TestClose(t *testing.T) {
	d := desk(t, Options{}, func(ctx context.Context, req *run.Request) (run.Result, error) {
		io.WriteString(req.Stdout, "x")
		return untilKilled(ctx, req)
	})
	h := start(t, d, "x")
	ended := make(chan run.Job)
	go func() {
		s, _ := d.Wait(context.Background(), h)
		ended <- s
	}()
	for { // until the other one waits, or has even been told
		if p, err := d.Output(h, 0, 0); err != nil || len(p.Data) > 0 {
			break
		}
		runtime.Gosched()
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if s := <-ended; s.State != run.JobKilled && s.State != "" {
		t.Errorf("%+v", s)
	}
	if len(d.All()) != 0 {
		t.Error("jobs of a closed desk")
	}
	if _, err := d.Start(t.Context(), run.Request{Script: "x"}); fault.KindOf(err) != fault.Unavailable {
		t.Errorf("at a closed desk: %v", err)
	}
	if err := d.Close(); err != nil {
		t.Errorf("a second time: %v", err)
	}
}

func TestOpen(t *testing.T) {
	if _, err := Open(Options{}); err == nil {
		t.Error("without runners")
	}
	file := filepath.Join(t.TempDir(), "file")
	os.WriteFile(file, nil, 0o600)
	make := func(context.Context) (run.Runner, func(), error) { return nil, nil, nil }
	if _, err := Open(Options{New: make, Spool: file}); fault.KindOf(err) != fault.Unavailable || fault.Hint(err) == "" {
		t.Errorf("in a file: %v", err)
	}
	spool := filepath.Join(t.TempDir(), "state", "jobs")
	d, err := Open(Options{New: make, Spool: spool})
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{spool, d.dir.Path} {
		if info, err := os.Stat(dir); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o700 {
			t.Errorf("%s: %v %v", dir, info.Mode(), err)
		}
	}
	shut(t, d)
}

func openFiles() int {
	list, _ := os.ReadDir("/proc/self/fd")
	return len(list)
}

// A thousand jobs, one after the other, leave nothing behind but the last few.
func TestAThousandJobs(t *testing.T) {
	d := desk(t, Options{Keep: 5}, func(_ context.Context, req *run.Request) (run.Result, error) {
		io.WriteString(req.Stdout, strings.Repeat("x", 10_000))
		io.WriteString(req.Stderr, "y")
		return run.Result{}, nil
	})
	files, goroutines := openFiles(), runtime.NumGoroutine()
	for range 1000 {
		if s := wait(t, d, start(t, d, "x")); s.State != run.JobDone || s.Bytes != 10_001 || s.Dropped != 0 {
			t.Fatalf("%+v", s)
		}
	}
	if n := len(d.All()); n != 5 {
		t.Errorf("%d jobs", n)
	}
	if n := openFiles() - files; n > 2*6 {
		t.Errorf("%d more open files", n)
	}
	shut(t, d)
	if n := openFiles() - files; n > 0 {
		t.Errorf("%d more open files after the end", n)
	}
	if n := runtime.NumGoroutine() - goroutines; n > 2 {
		t.Errorf("%d more goroutines", n)
	}
}

// Many at once ask everything, while jobs begin, end and are forgotten.
func TestConcurrentUse(t *testing.T) {
	d := desk(t, Options{MaxRunning: 4, Keep: 3}, func(ctx context.Context, req *run.Request) (run.Result, error) {
		var stages sync.WaitGroup
		for _, w := range []io.Writer{req.Stdout, req.Stderr, req.Stdout} {
			stages.Go(func() { fmt.Fprintln(w, "日本語") })
		}
		stages.Wait()
		return run.Result{}, nil
	})
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 50 {
				h, err := d.Start(t.Context(), run.Request{Script: "x"})
				if err != nil {
					continue // too many at once
				}
				d.Kill(t.Context(), h)
				for _, s := range d.All() {
					d.Output(s.Handle, 0, 0)
					d.Status(s.Handle)
				}
			}
		})
	}
	all.Wait()
	if n := len(d.All()); n != 3 {
		t.Errorf("%d jobs", n)
	}
}

func TestBusy(t *testing.T) {
	d := desk(t, Options{}, untilKilled)
	if d.Busy() {
		t.Error("busy before anything began")
	}
	h := start(t, d, "x")
	if !d.Busy() {
		t.Error("not busy while a job runs")
	}
	if _, err := d.Kill(t.Context(), h); err != nil || d.Busy() {
		t.Errorf("busy after the end: %v", err)
	}
}
