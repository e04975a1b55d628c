package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"sync"
	"time"

	"hako/agent"
	"hako/agent/tool"
	"hako/audit"
	"hako/internal/app/coder"
	"hako/internal/app/coder/dispatch"
	"hako/internal/app/coder/forge"
	"hako/internal/app/coder/queue"
	"hako/internal/app/coder/store"
	"hako/llm"
	"hako/quota"
)

// agentSettings configure a process of hako, which picks up issues, works, or both.
type agentSettings struct {
	Forge    forgeAddress
	Dir      string // its state
	URL      string // of the queue; empty means the embedded one
	Replicas int
	Polls    int           // number of polls, after which it does nothing else; zero means no limit
	Every    time.Duration // between polls; zero means no producer
	Parallel int           // concurrent tasks; zero means no worker
	Pace     pace
	Profile  string // a file for a profile; empty means none
}

// An agentReport is what such a process measured.
type agentReport struct {
	Gaps      []gap
	Endings   []ending
	Polls     []poll
	Allocated uint64 // bytes, in all
	Record    int64  // bytes of the audit log
	Contexts  int64  // bytes of other files
	Failures  []string
}

// An ending is how a task ended.
type ending struct {
	At     time.Time
	State  coder.State
	Waited time.Duration // in the queue
	Took   time.Duration
}

// A poll is one poll of the forge.
type poll struct {
	At    time.Time
	Took  time.Duration
	New   int
	Asked requestCounts // only if the process does nothing but poll
}

// An agentProcess is a process of hako with all its real parts.
type agentProcess struct {
	agentSettings
	queue  *queue.Queue
	log    *audit.File
	store  *store.Store
	client *dispatch.ForgeClient
	clocks *clocks

	mu     sync.Mutex
	report agentReport
	waited map[string]time.Duration // by task
}

// runAgent runs a process of hako.
func runAgent(words string) error {
	h := &agentProcess{clocks: newClocks(), waited: map[string]time.Duration{}}
	ended, err := serve(words, &h.agentSettings)
	if err != nil {
		return err
	}
	if err := h.open(); err != nil {
		return err
	}
	defer h.close()
	if err := writeReport(struct{}{}); err != nil {
		return err
	}
	defer profiled(h.Profile)()
	if err := h.work(ended); err != nil {
		return err
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	h.report.Gaps, h.report.Allocated = h.clocks.all(), m.TotalAlloc
	h.report.Record, h.report.Contexts = size(filepath.Join(h.Dir, "audit.jsonl")), size(h.store.Dir)
	return writeReport(h.report)
}

// size returns the size of the files at and below a path.
func size(path string) (n int64) {
	_ = filepath.WalkDir(path, func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil // it was removed meanwhile
		}
		if info, err := d.Info(); err == nil && info.Mode().IsRegular() {
			n += info.Size()
		}
		return nil
	})
	return n
}

// profiled writes a CPU profile, if a file is given.
func profiled(file string) (stop func()) {
	if file == "" {
		return func() {}
	}
	f, err := os.Create(file)
	if err != nil || pprof.StartCPUProfile(f) != nil {
		return func() {}
	}
	return func() { pprof.StopCPUProfile(); f.Close() }
}

func (h *agentProcess) open() (err error) {
	if err := os.MkdirAll(h.Dir, 0o700); err != nil {
		return err
	}
	if h.log, err = audit.Open(filepath.Join(h.Dir, "audit.jsonl"), audit.Options{}); err != nil {
		return err
	}
	h.queue, err = queue.Open(context.Background(), queue.Options{URL: h.URL, Replicas: h.Replicas,
		Dir: filepath.Join(h.Dir, "q"), MaxDeliver: 25, AckWait: 30 * time.Second})
	if err != nil {
		return err
	}
	h.store = accounts(h.queue, h.URL, h.Dir)
	f, err := forge.New(forge.Config{Provider: forge.GitHub, APIURL: h.Forge.API, Token: h.Forge.Token})
	if err != nil {
		return err
	}
	h.client = &dispatch.ForgeClient{Forges: []dispatch.Forge{{Forge: &timedForge{f, h.clocks}, Provider: forge.GitHub,
		Bot: bot, Repos: []string{repository}}}}
	return nil
}

func (h *agentProcess) close() {
	h.client.Forges[0].Close()
	h.queue.Close()
	h.log.Close()
}

// accounts opens the store as hako agent does.
func accounts(q *queue.Queue, url, dir string) *store.Store {
	st := &store.Store{Dir: filepath.Join(dir, "agent")}
	if url != "" {
		st.KeyValue = q.KeyValue("store")
	}
	return st
}

// work runs until the parent ends it.
func (h *agentProcess) work(ended <-chan struct{}) error {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	if h.Polls > 0 {
		err := h.look(ctx)
		<-ended
		return err
	}
	var wg sync.WaitGroup
	if h.Every > 0 {
		p := &dispatch.Producer{ForgeClient: h.client, Queue: h.queue, Every: h.Every, Observe: h.observe}
		wg.Go(func() { _ = p.Run(ctx) }) // ends with its context
	}
	if h.Parallel > 0 {
		w := h.worker()
		wg.Go(func() { _ = w.Run(ctx) })
	}
	<-ended
	stop()
	wg.Wait()
	return nil
}

// look polls some times in a row and measures each.
func (h *agentProcess) look(ctx context.Context) (err error) {
	p := &dispatch.Producer{ForgeClient: h.client, Queue: h.queue}
	for range h.Polls {
		began := time.Now()
		sum, perr := p.Poll(ctx)
		took := time.Since(began)
		asked, aerr := ask[requestCounts](h.Forge.Control, "/tally")
		err = errors.Join(err, perr, aerr)
		h.report.Polls = append(h.report.Polls, poll{began, took, sum.Picked, asked})
	}
	return err
}

func (h *agentProcess) worker() *dispatch.Worker {
	return &dispatch.Worker{Queue: h.queue, ForgeClient: h.client, Parallel: h.Parallel, MaxAttempts: 20,
		Observe: h.observe,
		Coordinator: &coder.Coordinator{
			Workspaces: fakeContainers{h.clocks, h.Pace}, Log: h.log, Archive: h.store, Accounts: h.store, Model: h.model,
			Execute: llm.Tool{Name: execute, Text: "Run a command.",
				Schema: json.RawMessage(`{"type":"object","properties":{"command":{"type":"string"}}}`)},
			Edit: llm.Tool{Name: edit, Text: "Change a file.", Schema: json.RawMessage(`{"type":"object"}`)},
			Tools: func(_ context.Context, t coder.Task) (list []tool.Tool, err error) {
				all, err := h.client.Tools(t, nil)
				for _, one := range all {
					list = append(list, one.Tool)
				}
				return list, err
			},
		}}
}

// model returns the model for a task, with accounting as in hako agent.
func (h *agentProcess) model(t coder.Task, m *quota.Budget) llm.Model {
	own := &scriptedModel{task: t, control: h.Forge.Control, clock: h.clocks.of(t.Number), pace: h.Pace}
	return &llm.Retry{Model: &agent.ChargedModel{Model: own, ID: t.ID, Name: "simulated", Actor: "agent:" + t.ID,
		Budget: m, Log: h.log}}
}

// observe collects what the report needs.
func (h *agentProcess) observe(e dispatch.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := time.Now()
	switch e.Type {
	case "taken":
		h.waited[e.Task] = e.Waited
	case "polled":
		h.report.Polls = append(h.report.Polls, poll{At: now, Took: e.Duration, New: e.New})
	case "ended":
		h.report.Endings = append(h.report.Endings, ending{At: now, State: e.State, Waited: h.waited[e.Task],
			Took: e.Duration})
		delete(h.waited, e.Task)
	}
	if e.Err != nil || e.State == coder.Failed {
		h.report.Failures = append(h.report.Failures, cmp.Or(e.Why, e.Type))
	}
}
