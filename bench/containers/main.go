// Containers measures the cost of tasks in containers next to that of Docker itself, in the same run, and writes
// bench/CONTAINERS.md. Run it with "make bench-containers": it needs an engine, the python image and the package
// registry.
package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"hako/container"
	"hako/container/engine"
	"hako/container/guest/server"
	"hako/run"
)

func main() {
	server.Main(os.Args[0], os.Args[1:]) // this program is also the guest
	if err := measure(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

const image = "coding-agent-executor-python:latest"

// A bench is the state that the measurements share.
type bench struct {
	dir     string
	hako    string // the program as users have it
	engine  *engine.Engine
	manager *container.Manager
	rows    []row
}

// A row is one measurement with its limit and a comparison.
type row struct {
	work, measured, limit, beside string
	kept                          bool
}

func measure(ctx context.Context) error {
	b, err := newBench()
	if err != nil {
		return err
	}
	defer os.RemoveAll(b.dir)
	defer b.manager.Close()
	defer b.manager.CleanupAll(ctx)
	if _, err := b.manager.Prepare(ctx, container.Task{ID: "bench"}, "python"); err != nil {
		return err
	}
	for _, step := range []func(context.Context) error{b.execs, b.many, b.memory, b.cold, b.pooled, b.clones, b.packages} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	text := b.render()
	fmt.Print(text)
	return os.WriteFile(filepath.Join("bench", "CONTAINERS.md"), []byte(text), 0o644)
}

func newBench() (*bench, error) {
	dir, err := os.MkdirTemp("", "hb")
	if err != nil {
		return nil, err
	}
	b := &bench{dir: dir, hako: filepath.Join(dir, "hako")}
	build := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", b.hako, "./cmd/hako")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%v: %s", err, out)
	}
	if b.engine, err = engine.Open(""); err != nil {
		return nil, err
	}
	b.manager, err = container.New(container.Options{
		State: filepath.Join(dir, "s"), Engine: b.engine, Binary: b.hako, Warm: map[string]int{"python": 1},
		Record: func(string, string) (func(error), error) { return func(error) {}, nil },
		Gate:   func(_ string, r run.Runner) run.Runner { return r }, // it measures runners and runs only scripts from this file
	})
	return b, err
}

func (b *bench) run(ctx context.Context, task string) error {
	res, err := b.manager.Runner(task).Run(ctx, &run.Request{Script: "true"})
	if err == nil && res.Exit != 0 {
		err = fmt.Errorf("true ended with %d", res.Exit)
	}
	return err
}

// execs measures one command in a ready container.
func (b *bench) execs(ctx context.Context) error {
	info, err := b.manager.ContainerInfo("bench")
	if err != nil {
		return err
	}
	ours := func() error { return b.run(ctx, "bench") }
	api := func() error {
		_, err := b.engine.Exec(ctx, info.ContainerID, engine.Exec{Argv: []string{"true"}, User: "1000:1000"})
		return err
	}
	cli := func() error {
		return exec.CommandContext(ctx, "docker", "exec", "-u", "1000:1000", info.ContainerID, "true").Run()
	}
	times, err := inTurn(10, ours, api, cli)
	if err != nil {
		return err
	}
	more, err := inTurn(500, ours)
	if err != nil {
		return err
	}
	p50, p99 := at(more[0], 50), at(more[0], 99)
	beside := fmt.Sprintf("Docker API exec %s, docker exec %s (medians of 10, in turn with %s of ours)",
		ms(at(times[1], 50)), ms(at(times[2], 50)), ms(at(times[0], 50)))
	b.add("exec `true` in a ready container, p50 of 500", ms(p50), "3 ms", beside, p50 <= 3*time.Millisecond)
	b.add("the same, p99", ms(p99), "10 ms", "", p99 <= 10*time.Millisecond)
	return nil
}

// many measures concurrent commands.
func (b *bench) many(ctx context.Context) error {
	const n, wide = 1000, 8
	work := make(chan struct{}, n)
	for range n {
		work <- struct{}{}
	}
	close(work)
	var wg sync.WaitGroup
	errs := make(chan error, wide)
	began := time.Now()
	for range wide {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for range work {
				if err := b.run(ctx, "bench"); err != nil {
					errs <- err
					return
				}
			}
		}()
	}
	wg.Wait()
	rate := n / time.Since(began).Seconds()
	close(errs)
	b.add("1000 execs, 8 at a time", fmt.Sprintf("%.0f/s", rate), "300/s or more", "", rate >= 300)
	return <-errs
}

// memory measures the guest after these commands.
func (b *bench) memory(ctx context.Context) error {
	time.Sleep(2 * time.Second) // it gives memory back when nothing runs
	info, err := b.manager.ContainerInfo("bench")
	if err != nil {
		return err
	}
	out, err := exec.CommandContext(ctx, "docker", "inspect", "-f", "{{.State.Pid}}", info.ContainerID).Output()
	if err != nil {
		return err
	}
	status, err := os.ReadFile("/proc/" + strings.TrimSpace(string(out)) + "/status")
	if err != nil {
		return err
	}
	var kb int64
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			fmt.Sscan(rest, &kb)
		}
	}
	b.add("memory of the guest, two seconds after them", fmt.Sprintf("%.1f MB", float64(kb)/1024), "15 MB", "", kb > 0 &&
		kb <= 15<<10)
	return nil
}

// cold measures containers without the pool, alternating with Docker's own.
func (b *bench) cold(ctx context.Context) error {
	n := 0
	ours := func() error {
		n++
		task := fmt.Sprintf("cold-%d", n)
		if _, err := b.manager.Prepare(ctx, container.Task{ID: task}, "python"); err != nil {
			return err
		}
		return b.run(ctx, task)
	}
	var made []string
	dockers := func() error {
		id, err := b.engine.Create(ctx, engine.Spec{Image: image, Entrypoint: []string{"sleep", "100"}})
		if err != nil {
			return err
		}
		made = append(made, id)
		return b.engine.Start(ctx, id)
	}
	runs := func() error {
		return exec.CommandContext(ctx, "docker", "run", "--rm", "--network", "none", "--entrypoint", "true", image).Run()
	}
	times, err := inTurn(7, ours, dockers, runs)
	for _, id := range made {
		_ = b.engine.Remove(ctx, id)
	}
	for i := 1; i <= n; i++ {
		_ = b.manager.Cleanup(ctx, fmt.Sprintf("cold-%d", i))
	}
	if err != nil {
		return err
	}
	own, plain, whole := at(times[0], 50), at(times[1], 50), at(times[2], 50)
	b.add("`up` without the pool, to its first command", ms(own), "Docker's create+start + 40 ms",
		fmt.Sprintf("create+start %s, docker run %s (medians of 7, in turn)", ms(plain), ms(whole)),
		own <= plain+40*time.Millisecond)
	return nil
}

// pooled measures containers from the pool.
func (b *bench) pooled(ctx context.Context) error {
	b.manager.KeepWarm(ctx)
	var times []time.Duration
	for i := range 7 {
		if err := b.manager.WaitWarm(ctx); err != nil {
			return err
		}
		time.Sleep(300 * time.Millisecond) // the engine is done with the last one
		task := fmt.Sprintf("warm-%d", i)
		began := time.Now()
		if _, err := b.manager.Prepare(ctx, container.Task{ID: task}, "python"); err != nil {
			return err
		}
		if err := b.run(ctx, task); err != nil {
			return err
		}
		times = append(times, time.Since(began))
		if err := b.manager.Cleanup(ctx, task); err != nil {
			return err
		}
	}
	b.manager.StopWarming()
	slices.Sort(times)
	b.add("`up` from the pool to the first command, median of 7", ms(at(times, 50)), "50 ms", "",
		at(times, 50) <= 50*time.Millisecond)
	return nil
}

func (b *bench) add(work, measured, limit, beside string, kept bool) {
	fmt.Fprintln(os.Stderr, work+": "+measured)
	b.rows = append(b.rows, row{work, measured, limit, beside, kept})
}

func (b *bench) render() string {
	var out strings.Builder
	out.WriteString("# Containers: what a task costs\n\nWritten by `make bench-containers`. Everything was measured in one run on one machine, with the python environment; what stands beside was measured in that run too.\n\n| work | measured | at most | kept | beside |\n|---|---|---|---|---|\n")
	for _, r := range b.rows {
		kept := "yes"
		if !r.kept {
			kept = "**no**"
		}
		fmt.Fprintf(&out, "| %s | %s | %s | %s | %s |\n", r.work, r.measured, r.limit, kept, r.beside)
	}
	return out.String()
}

// inTurn runs functions alternately and returns the sorted durations of each.
func inTurn(rounds int, do ...func() error) ([][]time.Duration, error) {
	times := make([][]time.Duration, len(do))
	for range rounds {
		for i, f := range do {
			began := time.Now()
			if err := f(); err != nil {
				return nil, err
			}
			times[i] = append(times[i], time.Since(began))
		}
	}
	for _, t := range times {
		slices.Sort(t)
	}
	return times, nil
}

func at(sorted []time.Duration, percent int) time.Duration {
	return sorted[min(len(sorted)-1, len(sorted)*percent/100)]
}

func ms(d time.Duration) string {
	if d < 10*time.Millisecond {
		return fmt.Sprintf("%.2f ms", d.Seconds()*1000)
	}
	return fmt.Sprintf("%.0f ms", d.Seconds()*1000)
}
