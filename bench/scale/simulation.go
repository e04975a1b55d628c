package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"hako/internal/app/coder"
)

// A simulation is a forge, the servers of a queue, and processes of hako.
type simulation struct {
	b            *bench
	dir          string
	setting      setting
	forgeProcess *child
	forge        forgeAddress
	servers      *cluster // nil means that the queue is embedded
	agents       map[string]*child
	reports      map[string]agentReport
	traffic      natsReport
	used         map[string]time.Duration // processor time, after the end
}

func (b *bench) newSimulation(dir string, s setting) (w *simulation, err error) {
	w = &simulation{b: b, dir: dir, setting: s, agents: map[string]*child{}, reports: map[string]agentReport{},
		used: map[string]time.Duration{}}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	if w.forgeProcess, err = start("forge", struct{}{}, &w.forge); err != nil {
		return nil, err
	}
	if w.servers, err = s.servers(dir, b.profile); err != nil {
		w.kill()
	}
	return w, err
}

// startAgent starts a process of hako.
func (w *simulation) startAgent(name string, s agentSettings) error {
	s.Forge, s.Dir, s.URL, s.Replicas = w.forge, filepath.Join(w.dir, name), w.servers.address(), w.setting.replicas
	if w.b.profile != "" {
		s.Profile = filepath.Join(w.b.profile, fmt.Sprintf("%s-%d.pprof", name, time.Now().Unix()))
	}
	c, err := start("crew", s, &struct{}{})
	if err == nil {
		w.agents[name] = c
	}
	return err
}

// over counts the issues whose tasks have ended.
func (w *simulation) over() (int, error) {
	n, err := ask[map[string]int](w.forge.Control, "/ended")
	return n["coding agent done"] + n["coding agent failed"] + n["coding agent stopped"], err
}

// wait waits until a number of tasks have ended.
func (w *simulation) wait(tasks int, most time.Duration) error {
	for deadline := time.Now().Add(most); ; {
		n, err := w.over()
		switch {
		case err != nil:
			return err
		case n >= tasks:
			return w.b.sleep(300 * time.Millisecond) // the queue is updated last
		case time.Now().After(deadline):
			return fmt.Errorf("after %v %d of %d tasks have ended", most, n, tasks)
		}
		if err := w.b.sleep(200 * time.Millisecond); err != nil {
			return err
		}
	}
}

// end ends all processes in order and collects their reports.
func (w *simulation) end() error {
	var all []error
	for name, c := range w.agents {
		var r agentReport
		all = append(all, c.end(&r))
		w.reports[name], w.used[name] = r, c.used()
	}
	if w.servers != nil {
		traffic, err := w.servers.end()
		w.traffic, all = traffic, append(all, err)
		for _, node := range w.servers.nodes {
			w.used["nats"] += node.used()
		}
	}
	var wrong []string
	all = append(all, w.forgeProcess.end(&wrong), checkViolations(wrong))
	w.agents, w.servers, w.forgeProcess = nil, nil, nil
	return errors.Join(all...)
}

// kill kills the processes that are left after an error.
func (w *simulation) kill() {
	for _, c := range w.agents {
		c.kill()
	}
	if w.servers != nil {
		w.servers.kill()
	}
	if w.forgeProcess != nil {
		w.forgeProcess.kill()
	}
}

// allDone checks that all tasks are done, each once.
func (w *simulation) allDone(tasks int) error {
	n := 0
	for _, r := range w.reports {
		for _, e := range r.Endings {
			if e.State != coder.Done {
				return fmt.Errorf("a task ended as %s; failures: %q", e.State, r.Failures)
			}
			n++
		}
		if len(r.Failures) > 0 {
			fmt.Fprintf(os.Stderr, "failures that were mended: %q\n", r.Failures[:min(len(r.Failures), 5)])
		}
	}
	if n != tasks {
		return fmt.Errorf("%d of %d tasks have ended", n, tasks)
	}
	return nil
}
