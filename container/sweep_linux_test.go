package container

import (
	"errors"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"hako/run"
	"hako/run/fault"
)

// sweeps removes what is stale and compares how many that were.
func sweeps(t *testing.T, d *Manager, want int, when string) {
	t.Helper()
	if n, err := d.CleanupStale(t.Context()); n != want || err != nil {
		t.Errorf("%s: %d were removed, %v", when, n, err)
	}
}

// TestSweepAge counts the age of a container from its last use.
func TestSweepAge(t *testing.T) {
	d, task := newManager(t, func(o *Options) { o.Detached = true }), unique("age")
	prepare(t, d, task)
	used(t, d, task, 48*time.Hour)
	if res, err := d.ExecuteIn(t.Context(), task, &run.Request{Script: "echo used"}); err != nil ||
		res.Stdout != "used\n" {
		t.Fatal(res, err)
	}
	sweeps(t, d, 0, "it was made two days ago, and just used")
	used(t, d, task, 23*time.Hour)
	sweeps(t, d, 0, "not used for 23 hours")
	used(t, d, task, 25*time.Hour)
	sweeps(t, d, 1, "not used for 25 hours")
}

// TestSweepWhileRunning looks for stale containers while something runs in an old
// one: a command, a job, what a command left, an editor of another process.
func TestSweepWhileRunning(t *testing.T) {
	d, task := newManager(t, func(o *Options) { o.Detached = true }), unique("live")
	prepare(t, d, task)
	done := make(chan error, 1)
	go func() {
		res, err := d.ExecuteIn(t.Context(), task,
			&run.Request{Script: "while ! test -e /workspace/tmp/end; do sleep 0.05; done; echo ended"})
		if err == nil && res.Stdout != "ended\n" {
			err = errors.New("it was ended: " + res.Stdout + res.Stderr)
		}
		done <- err
	}()
	wait(t, "the command", func() bool { return d.Busy(t.Context(), task) })
	used(t, d, task, 48*time.Hour)
	sweeps(t, d, 0, "a command runs")

	other := dockAt(t, d.State, func(o *Options) { o.Detached = true }) // as another process has
	sweeps(t, other, 0, "a command of another process runs")
	if res, err := d.ExecuteIn(t.Context(), task, &run.Request{Script: "touch /workspace/tmp/end"}); err != nil ||
		res.ExitCode != 0 {
		t.Fatal(res, err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}

	var handle strings.Builder
	if _, err := d.Background(task).Run(t.Context(), &run.Request{Script: "sleep 600", Stdout: &handle}); err != nil {
		t.Fatal(err)
	}
	used(t, d, task, 48*time.Hour)
	sweeps(t, d, 0, "a job runs")
	desk, err := d.Jobs(t.Context(), task)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := desk.Kill(t.Context(), run.JobHandle(strings.TrimSpace(handle.String()))); err != nil {
		t.Fatal(err)
	}
	used(t, d, task, 48*time.Hour)
	sweeps(t, d, 0, "a job has just ended")

	_, release, err := other.use(t.Context(), task)
	if err != nil {
		t.Fatal(err)
	}
	short := dockAt(t, d.State, func(o *Options) { o.Detached, o.Stale = true, time.Nanosecond })
	sweeps(t, short, 0, "another process uses it")
	release()
	sweeps(t, short, 1, "nobody uses it any more")
}

// TestSweepAgainstUse has commands begin while a container is swept: a command
// runs to its end, or does not begin at all.
func TestSweepAgainstUse(t *testing.T) {
	d := newManager(t, func(o *Options) { o.Detached = true })
	short := dockAt(t, d.State, func(o *Options) { o.Detached, o.Stale = true, time.Nanosecond })
	for range 5 {
		task := unique("race")
		prepare(t, d, task)
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				for {
					res, err := d.ExecuteIn(t.Context(), task, &run.Request{Script: "echo whole"})
					if fault.KindOf(err) == fault.NotFound {
						return
					}
					if err != nil || res.Stdout != "whole\n" {
						t.Errorf("%+v, %v", res, err)
						return
					}
					time.Sleep(rand.N(100 * time.Millisecond)) // now and then nobody uses it
				}
			})
		}
		wait(t, "the end of the container", func() bool {
			n, err := short.CleanupStale(t.Context())
			if err != nil {
				t.Error(err)
			}
			return n == 1
		})
		wg.Wait()
	}
}
