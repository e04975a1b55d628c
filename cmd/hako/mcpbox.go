package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"hako/container"
	"hako/container/guest"
	"hako/internal/app/mcpserver"
	"hako/internal/config"
	"hako/internal/worker"
	"hako/run"
	"hako/run/fault"
)

// An mcpMaker makes sandboxes for MCP clients. It implements [mcp.Maker].
type mcpMaker struct {
	*opened
	conf   *config.Config
	flags  *mcpFlags
	larder larder
	pooled func() // ends the workers, unless they are somebody else's

	sweeping sync.WaitGroup

	mu   sync.Mutex
	pier *container.Manager // nil until the first container
	asks map[string]asker   // by task of a container
}

func (m *mcpMaker) close() {
	m.sweeping.Wait()
	if m.pier != nil {
		m.pier.Close()
	}
	m.pooled()
	m.opened.close()
}

// grantsThere says at the start what would fail at the first sandbox.
func (o *mcpFlags) grantsThere() error {
	for _, g := range []struct {
		flag  string
		names []string
	}{{"--read", o.readable}, {"--write", o.writable}} {
		for _, name := range g.names {
			if err := directoryThere("grant", name, g.flag); err != nil {
				return err
			}
		}
	}
	return nil
}

func directoryThere(op, name, flag string) error {
	info, err := os.Stat(name)
	switch {
	case err != nil:
		return &fault.Error{Kind: fault.NotFound, Op: op, Subject: name, Err: reasonOf(err), Hint: "name a directory with " + flag}
	case !info.IsDir():
		return &fault.Error{Kind: fault.Invalid, Op: op, Subject: name, Why: "it is no directory", Hint: "name a directory with " + flag}
	}
	return nil
}

// Make implements [mcp.Maker]. On record a sandbox is a request that ends when it
// is closed.
func (m *mcpMaker) Make(ctx context.Context, caller string, w mcpserver.Wanted) (mcpserver.Box, error) {
	done, err := m.deedBy(caller, strings.TrimSpace("sandbox_create "+string(w.Kind)+" "+w.Environment+" "+w.Repository))
	if err != nil {
		return nil, err
	}
	box, err := m.make(ctx, caller, w, func() { done(nil) })
	if err != nil {
		done(err)
	}
	return box, err
}

func (m *mcpMaker) make(ctx context.Context, caller string, w mcpserver.Wanted, closed func()) (mcpserver.Box, error) {
	switch w.Kind {
	case mcpserver.Host:
		return m.hostBox(ctx, caller, w, closed)
	case mcpserver.Container:
		return m.containerBox(ctx, w, closed)
	case mcpserver.Virtual, "":
		return m.virtualBox(ctx, caller, w, closed)
	}
	return nil, &fault.Error{Kind: fault.Invalid, Op: "make sandbox", Subject: string(w.Kind), Why: "there is no such kind", Hint: "use virtual, host or container"}
}

func (m *mcpMaker) virtualBox(ctx context.Context, caller string, w mcpserver.Wanted, closed func()) (mcpserver.Box, error) {
	share, err := m.larder.open(caller)
	if err != nil {
		return nil, err
	}
	spec := boxSpec{Readable: m.flags.readable, Writable: m.flags.writable}
	r, err := m.remote(ctx, caller, m.want(spec, 0, 0), w.Ask)
	var inside boxInfo
	if err == nil {
		err = json.Unmarshal(r.Info, &inside)
	}
	if err != nil {
		m.larder.leave(share)
		return nil, err
	}
	info := mcpserver.Info{Directory: inside.Directory, Network: "none", Note: "every command is built in; files are in memory but for those that were granted"}
	return m.remoteShell(r, share, m.want(spec, 0, 0), info, closed), nil
}

func (m *mcpMaker) hostBox(ctx context.Context, caller string, w mcpserver.Wanted, closed func()) (mcpserver.Box, error) {
	options, err := hostOptions(m.conf)
	if err != nil {
		return nil, err
	}
	options.Network = options.Network && w.Network != string(container.None)
	if w.Root != "" && resolve(w.Root) != options.Root {
		return nil, &fault.Error{Kind: fault.Denied, Op: "make sandbox", Subject: w.Root, Why: "programs work in " + options.Root + " and nowhere else", Hint: "leave root out; who started hako mcp chose the directory with --root"}
	}
	share, err := m.larder.open(caller)
	if err != nil {
		return nil, err
	}
	spec := boxSpec{Host: true, Rooted: true, Offline: w.Network == string(container.None)}
	r, err := m.remote(ctx, caller, m.want(spec, options.Timeout, hostStop), w.Ask)
	if err != nil {
		m.larder.leave(share)
		return nil, err
	}
	return m.remoteShell(r, share, m.want(spec, jobTime, hostStop), mcpserver.Info{Directory: options.Root}, closed), nil
}

// remoteShell is a box of a worker with an editor and jobs; each job has a box
// beside it.
func (m *mcpMaker) remoteShell(r remoteBox, share *share, job worker.Want, info mcpserver.Info, closed func()) *shellBox {
	more := func(ctx context.Context) (run.Runner, func(), error) {
		h, err := r.More(ctx, job)
		return sharing{remoteBox{h, m.secrets}, share}, h.Close, redactError(err, m.secrets)
	}
	b := m.shellBox(sharing{r, share}, then(then(r.Close, func() { m.larder.leave(share) }), closed), more, info)
	b.scribe.Hold = share.hold
	return b
}

// then does one thing after the other.
func then(first, second func()) func() {
	return func() {
		first()
		second()
	}
}

// dockFor opens the dock when the first container is wanted.
func (m *mcpMaker) dockFor() (*container.Manager, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.pier != nil {
		return m.pier, nil
	}
	options, err := containerOptions(m.conf)
	if err != nil {
		return nil, err
	}
	judge, err := containerPolicy(m.conf)
	if err != nil {
		return nil, err
	}
	options.Clones.Keys.Hide(m.secrets.Add)
	if options.Clones.Keys, err = options.Clones.Keys.Limit(config.MCPRepositories.Name, config.MCPRepositories.Of(m.conf).V); err != nil {
		return nil, err
	}
	options.Enabled, options.Detached, options.Push = true, false, false // a client never pushes with the user's token
	options.Allowed = func() container.Allowed { return allowedCommands(judge) }
	options.Keep = keepWith(m.conf)
	m.pier, err = m.dockAsking(options, judge, m.asker)
	return m.pier, err
}

// sweepLater removes containers that a process left behind which was killed. It
// does not keep anybody waiting, and where no container was ever made there is
// nothing to look for.
func (m *mcpMaker) sweepLater(ctx context.Context) {
	if left, _ := os.ReadDir(filepath.Join(m.conf.StateFile("env"), "boxes")); len(left) == 0 {
		return
	}
	m.sweeping.Go(func() {
		if d, err := m.dockFor(); err == nil {
			_, _ = d.CleanupStale(ctx) // what cannot be removed now is left to the next
		}
	})
}

// asker is who is asked about what a task wants to run.
func (m *mcpMaker) asker(task string) asker {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.asks[task]
}

func (m *mcpMaker) containerBox(ctx context.Context, w mcpserver.Wanted, closed func()) (mcpserver.Box, error) {
	if err := containersAllowed(m.conf); err != nil {
		return nil, err
	}
	d, err := m.dockFor()
	if err != nil {
		return nil, err
	}
	network := container.Network(w.Network)
	if network != "" && !d.Network.Covers(network) {
		return nil, &fault.Error{Kind: fault.Denied, Op: "make sandbox", Subject: "network " + visible(w.Network), Why: "the settings allow " + string(d.Network) + " at most", Hint: "leave network out, or set it to none"}
	}
	task := "mcp-" + strings.ToLower(rand.Text()[:12])
	m.mu.Lock()
	m.asks[task] = w.Ask
	m.mu.Unlock()
	environment := w.Environment
	if environment == "" {
		environment = d.DefaultEnvironment()
	}
	w.Tell("starting the " + environment + " environment")
	info, err := d.Prepare(ctx, container.Task{ID: task, Repository: w.Repository, Branch: w.Branch, Network: network}, environment)
	if err != nil {
		m.forget(task)
		return nil, err
	}
	return &dockBox{Runner: d.Runner(task), dock: d, task: task, left: then(func() { m.forget(task) }, closed), info: mcpserver.Info{
		Directory: container.Project, Environment: info.Environment, Repository: info.Repository, Branch: info.Branch, Network: string(info.Network), Note: strings.Join(info.Warnings, "\n"),
	}}, nil
}

func (m *mcpMaker) forget(task string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.asks, task)
}

// A dockBox is a container, with an editor and jobs.
type dockBox struct {
	run.Runner
	dock *container.Manager
	task string
	left func()
	info mcpserver.Info
}

// Info implements [mcp.Told].
func (b *dockBox) Info() mcpserver.Info { return b.info }

// Task implements [mcp.Moored].
func (b *dockBox) Task() string { return b.task }

// Close implements [mcp.Box].
func (b *dockBox) Close(ctx context.Context) error {
	defer b.left()
	return b.dock.Cleanup(ctx, b.task)
}

// Edit implements [mcp.Editor].
func (b *dockBox) Edit(ctx context.Context, _ *run.Request, call []byte) (string, error) {
	answer, err := b.dock.Edit(ctx, b.task, json.RawMessage(call))
	if err != nil {
		return "", err
	}
	var said struct {
		Success        bool
		Content, Error string
	}
	if err := json.Unmarshal(answer, &said); err != nil {
		return "", &fault.Error{Op: "edit", Why: "the container answers something else", Err: err}
	}
	if !said.Success {
		return "", &fault.Error{Kind: fault.Invalid, Op: "edit", Why: said.Error}
	}
	return said.Content, nil
}

// StartJob implements [mcp.Jobs].
func (b *dockBox) StartJob(ctx context.Context, req *run.Request) (string, error) {
	var handle strings.Builder
	own := *req
	own.Stdout = &handle
	_, err := b.dock.Background(b.task).Run(ctx, &own)
	return strings.TrimSpace(handle.String()), err
}

// JobOutput implements [mcp.Jobs].
func (b *dockBox) JobOutput(ctx context.Context, id string, start, size int64) (mcpserver.JobPage, error) {
	desk, err := b.dock.Desk(ctx, b.task)
	if err != nil {
		return mcpserver.JobPage{}, err
	}
	j, err := desk.Job(ctx, guest.Handle(id))
	if err != nil {
		return mcpserver.JobPage{}, err
	}
	page, err := desk.Output(ctx, guest.Handle(id), guest.Both, start, int(size))
	if err != nil {
		return mcpserver.JobPage{}, err
	}
	return jobPage(j, page), nil
}

// askJobs is how long a container may take to report its jobs.
const askJobs = 5 * time.Second

// Working implements [mcp.Working].
func (b *dockBox) Working(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, askJobs)
	defer cancel()
	return b.dock.Busy(ctx, b.task)
}

// KillJob implements [mcp.Jobs].
func (b *dockBox) KillJob(ctx context.Context, id string) (mcpserver.JobPage, error) {
	desk, err := b.dock.Desk(ctx, b.task)
	if err != nil {
		return mcpserver.JobPage{}, err
	}
	j, err := desk.Kill(ctx, guest.Handle(id))
	return jobPage(j, guest.Page{Next: j.Bytes, Total: j.Bytes}), err
}

func jobPage(j guest.Job, p guest.Page) mcpserver.JobPage {
	out := mcpserver.JobPage{State: string(j.State), Why: j.Note, Text: p.Data, Next: p.Next, Total: p.Total, More: p.More}
	if !j.Ended.IsZero() {
		out.Exit = &j.Exit
	}
	return out
}
