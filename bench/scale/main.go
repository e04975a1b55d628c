// Scale measures what hako itself takes when it works on many issues, and writes
// bench/SCALE.md. Run it with "make bench-scale"; it needs neither Docker nor a
// model nor the network.
//
// Real are the producer, the queue, the workers, the coordinator, the clients of
// the forge and the record; played are GitHub, in a process of its own, the model
// and the containers, which only take their time. So what is measured is hako,
// and what is not in it is said in the file.
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

// parts are what this program is when its first word says so.
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

// A bench is what the measures share.
type bench struct {
	options
	ctx     context.Context
	machine machine
	loads   map[string]string // when each step began

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

// waitForCalm waits until others leave the machine alone, but not for ever.
func (b *bench) waitForCalm() error {
	for deadline := time.Now().Add(5 * time.Minute); !b.short && busy() > b.calm && time.Now().Before(deadline); {
		if err := b.sleep(5 * time.Second); err != nil {
			return err
		}
	}
	return nil
}

// within gives a step a directory that is gone afterwards.
func within(do func(dir string) error) error {
	dir, err := os.MkdirTemp("", "hs")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	return do(dir)
}

// sleep waits, unless somebody has enough.
func (b *bench) sleep(d time.Duration) error {
	select {
	case <-b.ctx.Done():
		return errors.New("interrupted")
	case <-time.After(d):
		return nil
	}
}

// A setting is where a measure is taken: the embedded server, or three.
type setting struct {
	name     string
	nodes    int // of the cluster; zero means the embedded server
	replicas int
}

var settings = []setting{{"embedded", 0, 1}, {"three servers, replicas 3", 3, 3}}

// servers starts those of a setting; nil means that there are none.
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

// A queueResult is what went through a queue.
type queueResult struct {
	setting
	tasks int
	queueReport
}

// measureQueue puts tasks through a queue.
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

// measurePolls lets a producer find ten thousand issues, twice in a row, and
// another one after it.
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

// checkViolations complains of requests that GitHub would not have understood.
func checkViolations(wrong []string) error {
	if len(wrong) > 0 {
		return fmt.Errorf("the forge was asked wrongly: %q", wrong[:min(len(wrong), 3)])
	}
	return nil
}

// A turnsResult is what lay between turns.
type turnsResult struct {
	setting
	tasks int
	runs  [][]gap
}

// measureTurns works on issues with few at a time, so that what is measured is
// how long something takes and not how long it waits for others.
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

// fastPace is the pace where only the time between is of interest.
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
