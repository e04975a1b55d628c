// Scale measures what hako itself takes when it works on many issues, and writes
// bench/SCALE.md. Run it with "make bench-scale"; it needs neither Docker nor a model
// nor the network.
//
// The producer, the queue, the workers, the coordinator, the forge client and the audit
// log are real. GitHub is a fake in a process of its own; the model and the containers
// only take time. The report says what is not included.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"time"
)

// parts are the child processes, by the first argument.
var parts = map[string]func(words string) error{"forge": runForge, "nats": runNATS, "crew": runAgent,
	"queue": runQueue}

func main() {
	if len(os.Args) == 3 && parts[os.Args[1]] != nil {
		signal.Ignore(os.Interrupt) // the parent ends it
		if err := parts[os.Args[1]](os.Args[2]); err != nil {
			fmt.Fprintf(os.Stderr, "bench: %s: %v\n", os.Args[1], err)
			os.Exit(1)
		}
		return
	}
	if err := measure(); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// options are the flags.
type options struct {
	short   bool
	out     string
	profile string
	only    string
	runs    int
	calm    float64
}

func measure() error {
	var o options
	flag.BoolVar(&o.short, "short", false,
		"a look in a minute, with times a twentieth as long; writes nothing unless -out says so")
	flag.StringVar(&o.out, "out", "", "where to write; bench/SCALE.md without -short and -only")
	flag.StringVar(&o.profile, "profile", "", "a `DIR` for profiles of hako and the NATS servers")
	flag.StringVar(&o.only, "only", "", "measure only this: turns, queue, poll or day")
	flag.IntVar(&o.runs, "runs", 3, "how often what is short is measured")
	flag.Float64Var(&o.calm, "calm", 2,
		"the load of the machine below which a step begins, if it comes to that within five minutes")
	flag.Parse()
	if o.out == "" && !o.short && o.only == "" {
		o.out = filepath.Join("..", "SCALE.md")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	b := &bench{ctx: ctx, options: o, machine: currentMachine(), loads: map[string]string{}}
	if err := b.all(); err != nil {
		return err
	}
	text := b.render()
	fmt.Print(text)
	if o.out == "" {
		return nil
	}
	return os.WriteFile(o.out, []byte(text), 0o644)
}

// A bench is what the measurements share.
type bench struct {
	options
	ctx     context.Context
	machine machine
	loads   map[string]string // of the machine when each step began

	turns []turnsResult
	queue []queueResult
	polls []poll
	day   *dayResult
}

func (b *bench) all() error {
	for _, step := range []struct {
		name string
		do   func(dir string) error
	}{{"day", b.measureDay}, {"poll", b.measurePolls}, {"queue", b.measureQueue}, {"turns", b.measureTurns}} {
		if b.only != "" && b.only != step.name {
			continue
		}
		if err := b.waitForCalm(); err != nil {
			return err
		}
		b.loads[step.name] = load()
		fmt.Fprintf(os.Stderr, "%s: %s (load %s)\n", time.Now().Format(time.TimeOnly), step.name, load())
		if err := within(step.do); err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
	}
	return nil
}

// waitForCalm waits until the machine is idle, for a limited time.
func (b *bench) waitForCalm() error {
	for deadline := time.Now().Add(5 * time.Minute); !b.short && busy() > b.calm && time.Now().Before(deadline); {
		if err := b.sleep(5 * time.Second); err != nil {
			return err
		}
	}
	return nil
}

// within gives a step a temporary directory.
func within(do func(dir string) error) error {
	dir, err := os.MkdirTemp("", "hs")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	return do(dir)
}

// sleep waits, until the program is interrupted.
func (b *bench) sleep(d time.Duration) error {
	select {
	case <-b.ctx.Done():
		return errors.New("interrupted")
	case <-time.After(d):
		return nil
	}
}

// A setting is the queue of a measurement: the embedded server, or a cluster.
type setting struct {
	name     string
	nodes    int // of the cluster; zero means the embedded server
	replicas int
}

var settings = []setting{{"embedded", 0, 1}, {"three servers, replicas 3", 3, 3}}

// servers starts the cluster of a setting; nil means that there is none.
func (s setting) servers(dir, profiles string) (*cluster, error) {
	if s.nodes == 0 {
		return nil, nil
	}
	return newCluster(filepath.Join(dir, "nats"), profiles, s.nodes)
}

func (c *cluster) address() string {
	if c == nil {
		return ""
	}
	return c.url
}

// A queueResult is the throughput of a queue.
type queueResult struct {
	setting
	tasks int
	queueReport
}

// measureQueue measures the throughput of a queue.
func (b *bench) measureQueue(dir string) error {
	for i, s := range settings {
		tasks := []int{30_000, 5_000}[i]
		if b.short {
			tasks /= 10
		}
		servers, err := s.servers(filepath.Join(dir, fmt.Sprint(i)), b.profile)
		if err != nil {
			return err
		}
		r := queueResult{setting: s, tasks: tasks}
		c, err := start("queue", queueSettings{Dir: filepath.Join(dir, fmt.Sprint("q", i)), URL: servers.address(),
			Replicas: s.replicas, Tasks: tasks, Rounds: b.runs}, &struct{}{})
		if err == nil {
			err = c.end(&r.queueReport)
		}
		if servers != nil {
			_, e := servers.end()
			err = errors.Join(err, e)
		}
		if err != nil {
			return err
		}
		b.queue = append(b.queue, r)
	}
	return nil
}

// measurePolls has a producer find ten thousand issues, several times in a row.
func (b *bench) measurePolls(dir string) error {
	var f forgeAddress
	played, err := start("forge", struct{}{}, &f)
	if err != nil {
		return err
	}
	many := 10_000
	if b.short {
		many = 1000
	}
	if _, err := ask[int](f.Control, fmt.Sprint("/add?n=", many)); err != nil {
		played.kill()
		return err
	}
	var r agentReport
	c, err := start("crew", agentSettings{Forge: f, Dir: dir, Polls: 3}, &struct{}{})
	if err == nil {
		err = c.end(&r)
	}
	b.polls = r.Polls
	var wrong []string
	return errors.Join(err, played.end(&wrong), checkViolations(wrong))
}

// checkViolations reports requests that GitHub would have refused.
func checkViolations(wrong []string) error {
	if len(wrong) > 0 {
		return fmt.Errorf("the forge was asked wrongly: %q", wrong[:min(len(wrong), 3)])
	}
	return nil
}

// A turnsResult has the times between turns.
type turnsResult struct {
	setting
	tasks int
	runs  [][]gap
}

// measureTurns works on few issues at a time, so that latency is measured and not
// waiting.
func (b *bench) measureTurns(dir string) error {
	tasks := 40
	if b.short {
		tasks = 8
	}
	for i, s := range settings {
		r := turnsResult{setting: s, tasks: tasks}
		for n := range b.runs {
			gaps, err := b.fewTurns(filepath.Join(dir, fmt.Sprintf("%d-%d", i, n)), s, tasks)
			if err != nil {
				return err
			}
			r.runs = append(r.runs, gaps)
		}
		b.turns = append(b.turns, r)
	}
	return nil
}

// fastPace is the pace where only the time between turns matters.
var fastPace = pace{Model: 100 * time.Millisecond, Command: 5 * time.Millisecond, Prepare: 20 * time.Millisecond,
	Keep: 5 * time.Millisecond}

func (b *bench) fewTurns(dir string, s setting, tasks int) ([]gap, error) {
	w, err := b.newSimulation(dir, s)
	if err != nil {
		return nil, err
	}
	defer w.kill()
	if err := w.startAgent("hako", agentSettings{Every: 5 * time.Second, Parallel: 2, Pace: fastPace}); err != nil {
		return nil, err
	}
	if _, err := ask[int](w.forge.Control, fmt.Sprint("/add?n=", tasks)); err != nil {
		return nil, err
	}
	if err := w.wait(tasks, 5*time.Minute); err != nil {
		return nil, err
	}
	if err := w.end(); err != nil {
		return nil, err
	}
	return w.reports["hako"].Gaps, w.allDone(tasks)
}
