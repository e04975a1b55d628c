package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// A dayPlan is the plan of the run that stands for a day of 100 000 tasks.
type dayPlan struct {
	rate     float64 // tasks per second
	warm     time.Duration
	window   time.Duration // that is measured
	workers  int           // processes
	parallel int           // tasks at a time in each
	every    time.Duration // polls
	pace     pace
}

const day = 24 * 60 * 60

// realPace is the pace of a real model and of real containers.
var realPace = pace{Model: 8 * time.Second, Command: 3 * time.Second, Prepare: 10 * time.Second,
	Keep: 500 * time.Millisecond}

func (b *bench) dayPlan() dayPlan {
	p := dayPlan{rate: 100_000. / day, warm: 4 * time.Minute, window: 3 * time.Minute, workers: 5, parallel: 64,
		every: time.Minute, pace: realPace}
	if b.short {
		p.warm, p.window, p.every = p.warm/20, p.window/8, p.every/12
		p.pace = pace{realPace.Model / 20, realPace.Command / 20, realPace.Prepare / 20, realPace.Keep / 20}
	}
	return p
}

// A sample is the state of the simulation at a moment.
type sample struct {
	at        time.Time
	running   int                     // tasks
	processes map[string]processStats // by process
	stored    map[string]int64        // bytes in the queue by stream, one copy
}

// A dayResult is the result of the run.
type dayResult struct {
	dayPlan
	tasks    int // in all
	from, to time.Time
	idle     sample // before the first task
	samples  []sample
	asked    requestCounts // requests of the whole run
	lasted   time.Duration
	traffic  natsReport
	stored   map[string]int64 // bytes in the queue after everything has ended by stream, one copy
	reports  map[string]agentReport
	used     map[string]time.Duration
}

func (b *bench) measureDay(dir string) error {
	w, err := b.newSimulation(dir, settings[1])
	if err != nil {
		return err
	}
	defer w.kill()
	r := &dayResult{dayPlan: b.dayPlan()}
	if err := w.startAgent("producer", agentSettings{Every: r.every}); err != nil {
		return err
	}
	for i := range r.workers {
		if err := w.startAgent(fmt.Sprint("worker-", i+1), agentSettings{Parallel: r.parallel, Pace: r.pace}); err != nil {
			return err
		}
	}
	if err := w.run(r); err != nil {
		return err
	}
	if err := w.end(); err != nil {
		return err
	}
	r.traffic, r.reports, r.used = w.traffic, w.reports, w.used
	b.day = r
	return w.allDone(r.tasks)
}

// run creates issues for as long as the plan says, and waits for the last task.
func (w *simulation) run(r *dayResult) (err error) {
	books, stop, err := connectJetStream(w.servers.url)
	if err != nil {
		return err
	}
	defer stop()
	if err := w.b.sleep(2 * time.Second); err != nil { // after the start
		return err
	}
	r.idle = w.sample(books)
	if _, err := ask[requestCounts](w.forge.Control, "/tally"); err != nil {
		return err
	}
	began := time.Now()
	r.from, r.to = began.Add(r.warm), began.Add(r.warm+r.window)
	if err := w.createIssues(r, books); err != nil {
		return err
	}
	if err := w.wait(r.tasks, r.every+4*r.pace.task()+time.Minute); err != nil {
		return err
	}
	r.lasted = time.Since(began)
	r.stored = w.sample(books).stored
	r.asked, err = ask[requestCounts](w.forge.Control, "/tally")
	return err
}

// createIssues creates issues one by one, at random moments.
func (w *simulation) createIssues(r *dayResult, books jetstream.JetStream) error {
	look := time.NewTicker(max(r.window/50, time.Second))
	defer look.Stop()
	for next := time.Now(); next.Before(r.to); next = next.Add(
		time.Duration(rand.ExpFloat64() / r.rate * float64(time.Second))) {
		for time.Now().Before(next) {
			select {
			case <-w.b.ctx.Done():
				return w.b.ctx.Err()
			case <-time.After(time.Until(next)):
			case <-look.C:
				if s := w.sample(books); s.at.After(r.from) {
					r.samples = append(r.samples, s)
				}
			}
		}
		if _, err := ask[int](w.forge.Control, "/add?n=1"); err != nil {
			return err
		}
		r.tasks++
	}
	return nil
}

// sample reads the state of all processes.
func (w *simulation) sample(books jetstream.JetStream) sample {
	s := sample{at: time.Now(), processes: map[string]processStats{}, stored: map[string]int64{}}
	labels, err := ask[map[string]int](w.forge.Control, "/ended")
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
	}
	s.running = labels["coding agent processing"]
	for name, c := range w.agents {
		s.processes[name] = c.stats()
	}
	for i, node := range w.servers.nodes {
		s.processes[fmt.Sprint("nats-", i+1)] = node.stats()
	}
	for info := range books.ListStreams(w.b.ctx).Info() {
		s.stored[info.Config.Name] = int64(info.State.Bytes)
	}
	return s
}

// connectJetStream connects to the servers, to read their statistics.
func connectJetStream(url string) (jetstream.JetStream, func(), error) {
	nc, err := nats.Connect(url)
	if err != nil {
		return nil, nil, err
	}
	js, err := jetstream.New(nc)
	return js, nc.Close, err
}

// sum adds up a value of the processes whose names have a prefix.
func (s sample) sum(name string, of func(processStats) int64) (n int64) {
	for own, v := range s.processes {
		if strings.HasPrefix(own, name) {
			n += of(v)
		}
	}
	return n
}

// storedInAll is what the queue stores.
func (r *dayResult) storedInAll() (n int64) {
	for _, bytes := range r.stored {
		n += bytes
	}
	return n
}

func cpuTime(v processStats) int64        { return int64(v.cpu) }
func residentMemory(v processStats) int64 { return v.resident }

// cores is the processor time of processes, in cores.
func (r *dayResult) cores(name string) float64 {
	first, last := r.samples[0], r.samples[len(r.samples)-1]
	return float64(last.sum(name, cpuTime)-first.sum(name, cpuTime)) / float64(last.at.Sub(first.at))
}

// mean is the mean of a value in the window.
func (r *dayResult) mean(of func(sample) float64) (m float64) {
	for _, s := range r.samples {
		m += of(s) / float64(len(r.samples))
	}
	return m
}

func (r *dayResult) resident(name string) float64 {
	return r.mean(func(s sample) float64 { return float64(s.sum(name, residentMemory)) })
}

func (r *dayResult) running() float64 {
	return r.mean(func(s sample) float64 { return float64(s.running) })
}

// in reports whether a moment is in the window.
func (r *dayResult) in(t time.Time) bool { return t.After(r.from) && t.Before(r.to) }

// endings returns the waits and durations of the tasks that ended in the window.
func (r *dayResult) endings() (waits, took []time.Duration) {
	for _, one := range r.reports {
		for _, e := range one.Endings {
			if r.in(e.At) {
				waits, took = append(waits, e.Waited), append(took, e.Took)
			}
		}
	}
	return waits, took
}

func (r *dayResult) gaps() (all []gap) {
	for _, one := range r.reports {
		for _, g := range one.Gaps {
			if r.in(g.At) {
				all = append(all, g)
			}
		}
	}
	return all
}

// stalls counts the times between turns of more than a second, and the moments at which
// they ended: many at few moments are caused by the machine and not by hako.
func (r *dayResult) stalls() (gaps, moments int) {
	seen := map[int64]bool{}
	for _, g := range r.gaps() {
		if !g.First && g.Own > time.Second {
			gaps++
			seen[g.At.Unix()] = true
		}
	}
	return gaps, len(seen)
}

// usedBy is the processor time of processes for one task.
func (r *dayResult) usedBy(name string) (d time.Duration) {
	for own, used := range r.used {
		if strings.HasPrefix(own, name) {
			d += used
		}
	}
	return d / time.Duration(r.tasks)
}

// total adds up a value of all processes.
func (r *dayResult) total(of func(agentReport) int64) (n int64) {
	for _, one := range r.reports {
		n += of(one)
	}
	return n
}
