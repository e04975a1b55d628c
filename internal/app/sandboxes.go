package app

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"time"

	"hako/agent/tool"
	"hako/audit"
	"hako/container"
	"hako/gate"
	"hako/internal/app/asksocket"
	"hako/internal/app/mcpserver"
	"hako/internal/config"
	"hako/internal/setup"
	"hako/internal/web/auth"
	"hako/internal/websearch"
	"hako/internal/worker"
	"hako/quota"
	"hako/run"
	"hako/run/fault"
)

// containersAllowed returns an error if containers are switched off explicitly. The default does not forbid
// them: whoever starts an agent wants it to work.
func containersAllowed(conf *config.Config) error {
	if e := config.ContainerEnabled.Of(conf); !e.V && e.From != "default" {
		return &fault.Error{Kind: fault.Denied, Op: "work in containers", Why: "command_executor.enabled is false (" +
			e.From + ")", Hint: "set it to true, or do without containers; the agent works in nothing else"}
	}
	return nil
}

// askSocketDir returns the directory of the socket of hako serve.
func askSocketDir(conf *config.Config) string { return conf.StateFile("hatch") }

// Elicitation returns the most that clients with a token of hako serve may answer to questions about their own
// commands: nothing, unless the settings allow it, and never for a whole session.
func Elicitation(conf *config.Config) func(caller string) gate.Answer {
	most := gate.No
	if config.ApprovalElicitation.Of(conf).V {
		most = gate.Once
	}
	return func(string) gate.Answer { return most }
}

// AskPage sends questions to the web page of hako serve if the client cannot ask or may not answer.
func AskPage(o *mcpserver.Options, conf *config.Config) {
	page := asksocket.Client{Dir: askSocketDir(conf)}
	o.Ask, o.Reaches = page.Ask, page.Reachable
}

// Options returns the options of an MCP server with these sandboxes.
func (m *Sandboxes) Options(version string) mcpserver.Options {
	return mcpserver.Options{Version: version, Maker: m, Tools: m.webTools(), Record: m.record,
		Removed: tokenRemoved(TokenStore(m.conf)), Policy: rulesOf(m.conf, m.Workers), Secrets: m.Secrets,
		Egress: networkSetting(m.conf) != "none"}
}

// CloseMCP closes all sandboxes. Leftovers are removed by the next process.
func CloseMCP(ctx context.Context, door *mcpserver.Server) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	_ = door.Close(ctx)
}

// NewSandboxes opens the record and loads the policy.
func NewSandboxes(conf *config.Config, o Grants) (*Sandboxes, error) {
	// A call makes much garbage and keeps little. Collecting it half as often makes the slowest of many
	// concurrent calls twice as fast (see docs/mcp.md).
	debug.SetGCPercent(400)
	debug.SetMemoryLimit(192 << 20)
	if err := cmp.Or(checkRootDir(conf), o.check(), setup.CheckGrants(conf, o.Writable...)); err != nil {
		return nil, err
	}
	b, err := Open(conf)
	if err != nil {
		return nil, err
	}
	b.Budget = quota.New(conf.Budget(quota.Unlimited()))
	m := &Sandboxes{App: b, conf: conf, grants: o, asks: make(map[string]Asker),
		memory: memoryPool{limits: conf.Limits(quota.Lenient())}}
	if _, err = setup.LoadPolicy(conf, "virtual"); err == nil { // report mistakes in the rules now
		m.Workers, err = StartWorkers(conf, m.memory.heldFor)
	}
	if err != nil {
		b.Close()
		return nil, err
	}
	m.memory.workers, m.closeWorkers = m.Workers, m.Workers.Close
	return m, nil
}

// webTools returns the configured tools for the web.
func (m *Sandboxes) webTools() []tool.Tool {
	pages := &websearch.Reader{Fetcher: &websearch.Fetcher{Prefixes: config.WebPrefixes.Of(m.conf).V},
		Fetched: m.recordFetched}
	tools := []tool.Tool{tool.WebFetch(pages)}
	if engine, _, err := SearchEngine(m.conf); err == nil {
		tools = append(tools, tool.WebSearch(engine))
	}
	return tools
}

// A Sandboxes is a [mcpserver.Maker].
type Sandboxes struct {
	*App
	conf         *config.Config
	grants       Grants
	memory       memoryPool
	closeWorkers func() // ends the workers

	sweeping sync.WaitGroup

	mu      sync.Mutex
	manager *container.Manager // nil until the first container
	asks    map[string]Asker   // by task
}

func (m *Sandboxes) Close() {
	m.sweeping.Wait()
	if m.manager != nil {
		m.manager.Close()
	}
	m.closeWorkers()
	m.App.Close()
}

// Grants are directories that virtual sandboxes see.
type Grants struct{ Readable, Writable []string }

// check checks that the directories exist.
func (o Grants) check() error {
	for _, g := range []struct {
		flag  string
		names []string
	}{{"--read", o.Readable}, {"--write", o.Writable}} {
		for _, name := range g.names {
			if err := checkDirectory("grant", name, g.flag, g.flag); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkDirectory returns an error if name is not a directory. The hint names a setting, or a flag.
func checkDirectory(op, name, setting, flag string) error {
	e := &fault.Error{Op: op, Subject: name, Hint: "name a directory with " + setting,
		FlagHint: "name a directory with " + flag}
	switch info, err := os.Stat(name); {
	case err != nil:
		e.Kind, e.Err = fault.NotFound, fault.Reason(err)
	case !info.IsDir():
		e.Kind, e.Why = fault.Invalid, "it is no directory"
	default:
		return nil
	}
	return e
}

// Make implements [mcpserver.Maker]. In the record a sandbox is a request that ends when it is closed.
func (m *Sandboxes) Make(ctx context.Context, caller string, w mcpserver.SandboxOptions) (mcpserver.Sandbox, error) {
	done, err := m.Record(caller, strings.TrimSpace("sandbox_create "+string(w.Kind)+" "+w.Environment+" "+w.Repository))
	if err != nil {
		return nil, err
	}
	box, err := m.make(ctx, caller, w, func() { done(nil) })
	if err != nil {
		done(err)
	}
	return box, err
}

func (m *Sandboxes) make(ctx context.Context, caller string, w mcpserver.SandboxOptions, closed func()) (
	mcpserver.Sandbox, error) {
	switch w.Kind {
	case mcpserver.Host:
		return m.hostSandbox(ctx, caller, w, closed)
	case mcpserver.Container:
		return m.containerSandbox(ctx, w, closed)
	case mcpserver.Virtual, "":
		return m.virtualSandbox(ctx, caller, w, closed)
	}
	return nil, &fault.Error{Kind: fault.Invalid, Op: "make sandbox", Subject: string(w.Kind),
		Why: "there is no such kind", Hint: "use virtual, host or container"}
}

func (m *Sandboxes) virtualSandbox(ctx context.Context, caller string, w mcpserver.SandboxOptions, closed func()) (
	mcpserver.Sandbox, error) {
	share, err := m.memory.open(caller)
	if err != nil {
		return nil, err
	}
	spec := SandboxSpec{Readable: m.grants.Readable, Writable: m.grants.Writable}
	r, err := m.remoteSandbox(ctx, caller, m.openOptions(spec, 0, 0), w.Ask)
	var inside sandboxInfo
	if err == nil {
		err = json.Unmarshal(r.Info, &inside)
	}
	if err != nil {
		m.memory.release(share)
		return nil, err
	}
	info := mcpserver.Info{Directory: inside.Directory, Network: "none",
		Note: "every command is built in; files are in memory but for those that were granted"}
	return m.remoteShell(r, share, m.openOptions(spec, 0, 0), info, closed), nil
}

func (m *Sandboxes) hostSandbox(ctx context.Context, caller string, w mcpserver.SandboxOptions, closed func()) (
	mcpserver.Sandbox, error) {
	options, err := hostOptions(m.conf)
	if err != nil {
		return nil, err
	}
	options.Network = options.Network && w.Network != string(container.None)
	if w.Root != "" && setup.Resolve(w.Root) != options.Root {
		return nil, &fault.Error{Kind: fault.Denied, Op: "make sandbox", Subject: w.Root, Why: "programs work in " +
			options.Root + " and nowhere else", Hint: "leave root out: the directory was chosen when the server was started"}
	}
	share, err := m.memory.open(caller)
	if err != nil {
		return nil, err
	}
	spec := SandboxSpec{Host: true, Rooted: true, Offline: w.Network == string(container.None)}
	r, err := m.remoteSandbox(ctx, caller, m.openOptions(spec, options.Timeout, hostStopTime), w.Ask)
	if err != nil {
		m.memory.release(share)
		return nil, err
	}
	return m.remoteShell(r, share, m.openOptions(spec, jobTime, hostStopTime), mcpserver.Info{Directory: options.Root},
		closed), nil
}

// remoteShell returns a sandbox in a worker, with an editor and jobs; each job gets its own runner.
func (m *Sandboxes) remoteShell(r remoteSandbox, share *memoryShare, job worker.OpenOptions, info mcpserver.Info,
	closed func()) *shellSandbox {
	more := func(ctx context.Context) (run.Runner, func(), error) {
		h, err := r.More(ctx, job)
		return pooledRunner{remoteSandbox{h, m.Secrets}, share}, h.Close, redactError(err, m.Secrets)
	}
	b := m.newShellSandbox(pooledRunner{r, share}, then(then(r.Close, func() { m.memory.release(share) }), closed), more,
		info)
	b.editor.Hold = share.hold
	return b
}

// then calls two functions in order.
func then(first, second func()) func() {
	return func() {
		first()
		second()
	}
}

// Manager opens the container manager on first use.
func (m *Sandboxes) Manager() (*container.Manager, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.manager != nil {
		return m.manager, nil
	}
	options, err := ContainerOptions(m.conf)
	if err != nil {
		return nil, err
	}
	judge, err := containerPolicy(m.conf)
	if err != nil {
		return nil, err
	}
	options.Clones.Keys.OnSecret(m.Secrets.Add)
	if options.Clones.Keys, err = options.Clones.Keys.Limit(string(config.MCPRepositories),
		config.MCPRepositories.Of(m.conf).V); err != nil {
		return nil, err
	}
	options.Enabled, options.Detached, options.Push = true, false, false // a client never pushes with the user's token
	options.Allowed = func() container.Allowed { return allowedCommands(judge) }
	options.ServeEgress = startProxy(m.conf)
	m.manager, err = m.ManagerAsking(options, judge, m.asker)
	return m.manager, err
}

// SweepLater removes containers of killed processes in the background, if any container was ever made.
func (m *Sandboxes) SweepLater(ctx context.Context) {
	if left, _ := os.ReadDir(filepath.Join(m.conf.StateFile("env"), "boxes")); len(left) == 0 {
		return
	}
	m.sweeping.Go(func() {
		if d, err := m.Manager(); err == nil {
			_, _ = d.CleanupStale(ctx) // the next process tries again
		}
	})
}

// asker returns who is asked about the commands of a task.
func (m *Sandboxes) asker(task string) Asker {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.asks[task]
}

func (m *Sandboxes) containerSandbox(ctx context.Context, w mcpserver.SandboxOptions, closed func()) (mcpserver.Sandbox,
	error) {
	if err := containersAllowed(m.conf); err != nil {
		return nil, err
	}
	d, err := m.Manager()
	if err != nil {
		return nil, err
	}
	network := container.Network(w.Network)
	if network != "" && !d.Network.Covers(network) {
		return nil, &fault.Error{Kind: fault.Denied, Op: "make sandbox", Subject: "network " + strconv.Quote(w.Network),
			Why: "the settings allow " + string(d.Network) + " at most", Hint: "leave network out, or set it to none"}
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
	info, err := d.Prepare(ctx, container.Task{ID: task, Repository: w.Repository, Branch: w.Branch, Network: network},
		environment)
	if err != nil {
		m.removeAsker(task)
		return nil, err
	}
	return &containerSandbox{Runner: d.Runner(task), manager: d, task: task,
		left: then(func() { m.removeAsker(task) }, closed),
		info: mcpserver.Info{
			Directory: container.Project, Environment: info.Environment, Repository: info.Repository, Branch: info.Branch,
			Network: string(info.Network), Note: strings.Join(info.Warnings, "\n"),
		}}, nil
}

func (m *Sandboxes) removeAsker(task string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.asks, task)
}

// A containerSandbox is a [mcpserver.Sandbox] in a container.
type containerSandbox struct {
	run.Runner
	manager *container.Manager
	task    string
	left    func()
	info    mcpserver.Info
}

func (b *containerSandbox) Info() mcpserver.Info { return b.info }

func (b *containerSandbox) Task() string { return b.task }

func (b *containerSandbox) Close(ctx context.Context) error {
	defer b.left()
	return b.manager.Cleanup(ctx, b.task)
}

// Edit implements [mcpserver.Editor].
func (b *containerSandbox) Edit(ctx context.Context, _ *run.Request, call []byte) (string, error) {
	answer, err := b.manager.Edit(ctx, b.task, json.RawMessage(call))
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

// StartJob implements [mcpserver.Jobs].
func (b *containerSandbox) StartJob(ctx context.Context, req *run.Request) (string, error) {
	var handle strings.Builder
	own := *req
	own.Stdout = &handle
	_, err := b.manager.Background(b.task).Run(ctx, &own)
	return strings.TrimSpace(handle.String()), err
}

// JobOutput implements [mcpserver.Jobs].
func (b *containerSandbox) JobOutput(ctx context.Context, id string, start, size int64) (j run.Job, p run.JobPage,
	err error) {
	desk, err := b.manager.Jobs(ctx, b.task)
	if err != nil {
		return j, p, err
	}
	if j, err = desk.Job(ctx, run.JobHandle(id)); err != nil {
		return j, p, err
	}
	p, err = desk.Output(ctx, run.JobHandle(id), start, int(size))
	return j, p, err
}

// askJobs is the timeout of [containerSandbox.Working].
const askJobs = 5 * time.Second

// Working implements [mcpserver.BusyReporter].
func (b *containerSandbox) Working(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, askJobs)
	defer cancel()
	return b.manager.Busy(ctx, b.task)
}

// KillJob implements [mcpserver.Jobs].
func (b *containerSandbox) KillJob(ctx context.Context, id string) (run.Job, error) {
	desk, err := b.manager.Jobs(ctx, b.task)
	if err != nil {
		return run.Job{}, err
	}
	return desk.Kill(ctx, run.JobHandle(id))
}

// record records a call of a tool without a gate, and its outcome.
func (m *Sandboxes) record(deed mcpserver.Operation) (done func(error), err error) {
	began := time.Now()
	return func(err error) {
		end := audit.Event{What: audit.Ended, ID: deed.ID, Actor: deed.Actor, Micros: time.Since(began).Microseconds()}
		if err != nil {
			end.Exit, end.Error, end.Kind = 1, err.Error(), fault.KindOf(err).String()
		}
		if fault.KindOf(err) == fault.Denied {
			_ = m.Log.Append(audit.Event{What: audit.Denied, ID: deed.ID, Actor: deed.Actor, Script: deed.What, Effect: "deny",
				Reason: err.Error(), Kind: end.Kind})
		}
		_ = m.Log.Append(end)
	}, m.Log.Append(audit.Event{What: audit.Asked, ID: deed.ID, Actor: deed.Actor, Script: deed.What})
}

// recordFetched records which page was fetched for which client.
func (m *Sandboxes) recordFetched(ctx context.Context, url string, bytes int64) {
	deed := mcpserver.OperationOf(ctx)
	_ = m.Log.Append(audit.Event{What: audit.Opened, ID: deed.ID, Actor: deed.Actor, Mode: "network", Path: url,
		Bytes: bytes})
}

// tokenRemoved reports whether a token of the store was removed. Other tokens last as long as the server. An
// unreadable store removes nothing: the sandboxes would be lost.
func tokenRemoved(store *auth.Store) func(token string) func() bool {
	return func(token string) func() bool {
		_, key, ok, err := store.Verify(token)
		if err != nil || !ok {
			return nil
		}
		return func() bool {
			_, ok, err := store.Holder(key)
			return err == nil && !ok
		}
	}
}

// TokenStore returns the store of tokens.
func TokenStore(conf *config.Config) *auth.Store {
	return &auth.Store{Path: conf.StateFile("tokens.json")}
}
