package main

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"hako/agent"
	"hako/agent/tool"
	"hako/agent/tool/gated"
	"hako/audit"
	"hako/container"
	"hako/gate"
	"hako/host"
	"hako/internal/app/llmcmd"
	"hako/internal/config"
	"hako/internal/redact"
	"hako/internal/websearch"
	"hako/internal/worker"
	"hako/policy"
	"hako/quota"
	"hako/run"
	"hako/run/fault"
	"hako/shell"
	"hako/shell/command"
	"hako/shell/vfs"
)

// commands is the list of subcommands.
var commands = []struct {
	name string
	make func(streams) *cobra.Command
}{
	{"run", newRun},
	{"chat", newChat},
	{"web", newWeb},
	{"models", newModels},
	{"sh", newSh},
	{"exec", newExec},
	{"host", newHost},
	{"env", newEnv},
	{"agent", newAgent},
	{"mcp", newMCP},
	{"serve", newServe},
	{"secretary", newSecretary},
	{"todo", newTodo},
	{"policy", newPolicy},
	{"audit", newAudit},
	{"quota", newQuota},
	{"config", newConfig},
	{"doctor", newDoctor},
	{"cmd", newCmd},
	{"demo", newDemo},
	{"version", newVersion},
	{"man", newMan},
}

// models is the list of providers, by what stands before the colon in --model.
var models = []provider{
	{"openai", "a model of OpenAI, or of another server at OPENAI_BASE_URL", openaiModel},
	{"responses", "the same, by the Responses API", responsesModel},
	{"chat", "the same, by the Chat Completions API (llama.cpp, vLLM, LM Studio, OpenRouter)", chatModel},
	{"ollama", "a local model of Ollama", ollamaModel},
	{"builtin", "rules without any network: simple questions about files", builtinModel},
	{"script", "replays the turns that --record wrote to a file", scriptModel},
}

// toolNames are the tools there are, in the order in which they are offered.
var toolNames = []string{"execute", "list_allowed_files", "web_search", "web_fetch", "cli_help"}

// allTools makes the tools that can work here.
func (j *job) allTools(e *tool.Executor, cmd *cobra.Command) ([]tool.Tool, error) {
	tools := []tool.Tool{e.Tool(), tool.ListFiles(j.filesNow)}
	var err error
	if j.engine, j.engName, err = searchEngine(j.conf); err == nil {
		tools = append(tools, tool.WebSearch(j.engine))
	} else if slices.Contains(j.tools, "web_search") || j.force == "web_search" || j.autoSearch {
		return nil, err
	}
	pages := &websearch.Reader{Fetcher: j.fetcher(j.conf), Fetched: j.box.fetched("model")}
	return append(tools, tool.WebFetch(pages), tool.CLIHelp(helpOf(j.show.s.wholeOf(cmd)))), nil
}

// common are the flags that every command with a box has.
type common struct {
	llmcmd   bool // the settings of llmcmd count too
	config   string
	noConfig bool
	audit    string
	rules    string
	limits   []string
}

func (o *common) register(f *pflag.FlagSet) {
	f.StringVar(&o.config, "config", "", "read the settings from `FILE`")
	o.registerRest(f)
}

// registerRest is for commands that have a --config of their own.
func (o *common) registerRest(f *pflag.FlagSet) {
	f.BoolVar(&o.noConfig, "no-config", false, "read no settings file")
	f.StringVar(&o.audit, "audit", "", "write the record to `FILE`")
	f.StringVar(&o.rules, "rules", "", "add the rules of `FILE`")
	f.StringArrayVar(&o.limits, "limit", nil, "set a limit, `NAME=VALUE`: "+strings.Join(quota.ScriptLimitNames, ", "))
}

// load reads the settings and takes in the flags.
func (o *common) load() (*config.Config, error) {
	c, err := config.Load(config.Source{File: o.config, NoFile: o.noConfig, Llmcmd: o.llmcmd})
	if err != nil {
		return nil, err
	}
	for _, pair := range o.limits {
		name, value, ok := strings.Cut(pair, "=")
		if !ok {
			return nil, &fault.Error{Kind: fault.Invalid, Op: "set limit", Subject: pair, Why: "it has no value", Hint: "write it as --limit time=30s"}
		}
		var scratch quota.ScriptLimits
		if err := scratch.Set(name, value); err != nil {
			return nil, err
		}
		if err := c.Set("limits."+name, "--limit", value); err != nil {
			return nil, err
		}
	}
	for _, f := range []struct{ key, flag, value string }{{"audit.path", "--audit", o.audit}, {"policy.rules", "--rules", o.rules}} {
		if f.value != "" {
			if err := c.Set(f.key, f.flag, f.value); err != nil {
				return nil, err
			}
		}
	}
	return c, nil
}

// A box is a virtual shell to be put together.
type box struct {
	common
	inputs, outputs []string
	roots, writable []string
	protect         []string // names in writable that cannot be changed; nil means the default
	strict          bool
	seed            uint64
	clock           string

	dir    string                    // where it starts; empty means the first granted tree, or /box
	only   func(shell.Set) shell.Set // which commands there are; nil means all builtins
	base   func() quota.ScriptLimits // nil means those of the profile
	budget quota.Limits              // what everything together may use; zero means no limit
	texts  map[string][]byte         // files that are only in memory, by name
	ask    func(context.Context, gate.Question) (gate.Answer, error)
	hint   func(error) string // words hints in scripts; nil means for readers that have no flags
}

func (o *box) register(cmd *cobra.Command) {
	f := cmd.Flags()
	o.common.register(f)
	f.StringArrayVarP(&o.inputs, "input", "i", nil, "grant the real `FILE` for reading")
	f.StringArrayVarP(&o.outputs, "output", "o", nil, "grant the real `FILE` for reading and writing")
	f.StringArrayVar(&o.roots, "root", nil, "grant the real `DIR` for reading, and start in it")
	f.StringArrayVar(&o.writable, "rw", nil, "grant the real `DIR` for reading and writing")
	f.BoolVar(&o.strict, "strict", false, "apply the profile for models: text files only, up to file_size")
	f.Uint64Var(&o.seed, "seed", 0, "make chance repeatable; each `N` gives another")
	f.StringVar(&o.clock, "clock", "", "fix the clock at `TIME` (2006-01-02T15:04:05Z)")
}

// opened is a box that was put together.
type opened struct {
	runner   run.Runner // the gate; nobody gets at what is behind it
	session  *shell.Session
	gauge    *quota.Limiter
	meter    *quota.Budget
	log      *audit.File
	secrets  *redact.Set
	judge    *policy.Policy
	patience time.Duration // of a question to a person
	id       string        // begins the ids of what models do, on record
	granted  []string      // names of the granted files, for $1, $2…
	workers  *worker.Pool  // where others' scripts are judged and run; nil means in this process
}

func (b *opened) close() { _ = b.log.Close() }

// open puts a virtual shell together and the gate before it.
func (o *box) open() (*opened, error) {
	conf, err := o.load()
	if err != nil {
		return nil, err
	}
	return o.openWith(conf)
}

func (o *box) openWith(conf *config.Config) (*opened, error) {
	limits := conf.Limits(o.limitsOf())
	// The collector works harder as the heap nears what a session may hold.
	debug.SetMemoryLimit(limits.Memory + limits.Memory/4)
	debug.SetGCPercent(300)
	if err := apart(conf, slices.Concat(o.writable, o.outputs)...); err != nil {
		return nil, err
	}
	o.protect = protectedIn(conf, o.writable...)
	b := &opened{gauge: quota.NewLimiter(limits), id: agent.NewID()}
	if err := o.shell(b); err != nil {
		return nil, err
	}
	if err := o.guard(conf, b); err != nil {
		return nil, err
	}
	return b, nil
}

func (o *box) limitsOf() quota.ScriptLimits {
	switch {
	case o.base != nil:
		return o.base()
	case o.strict:
		return quota.Strict()
	}
	return quota.Lenient()
}

// shell makes the session with its tree.
func (o *box) shell(b *opened) error {
	now, err := clock(o.clock)
	if err != nil {
		return err
	}
	tree := vfs.New(vfs.Options{Limiter: b.gauge, Strict: o.strict, Now: now, Seed: o.seed, Protect: o.protect})
	if err := o.grant(tree, b); err != nil {
		return err
	}
	set := command.All()
	if o.only != nil {
		set = o.only(set)
	}
	b.session = shell.NewSession(shell.Options{
		Hint: o.hint,
		FS:   tree, Commands: set, Limiter: b.gauge, Dir: o.dir, Now: now, Seed: o.seed, Parse: policy.ParseScript,
	})
	return nil
}

// guard puts the gate before the session.
func (o *box) guard(conf *config.Config, b *opened) error {
	var err error
	if b.judge, err = loadPolicy(conf, "virtual"); err != nil {
		return err
	}
	b.secrets = secretsOf(conf)
	b.log, err = audit.Open(config.AuditPath.Of(conf).V, audit.Options{Secrets: b.secrets})
	if err != nil {
		return err
	}
	budget := quota.Unlimited()
	if o.budget.Calls != 0 {
		if budget, err = modelBudget(conf, o.budget); err != nil {
			b.close()
			return err
		}
	} else {
		budget = conf.Budget(budget)
	}
	b.meter = quota.New(budget)
	b.runner = gate.New(b.session, gate.Options{
		Policy: b.judge, Budget: b.meter, Log: b.log,
		Ask: o.ask, AskTimeout: config.ApprovalTimeout.Of(conf).V, Pause: b.gauge.Pause, Secrets: b.secrets,
	})
	return nil
}

// modelBudget is what a model may use: base, what the settings say, and what is
// left of the total of all runs.
func modelBudget(conf *config.Config, base quota.Limits) (quota.Limits, error) {
	base.Weights = weights(conf)
	return quota.UsageFile{Path: conf.StateFile("usage.json")}.Within(conf.TotalTokens(), conf.Budget(base))
}

// worker returns what runs one script beside others over the same files, behind
// a gate of its own.
func (b *opened) worker(files *vfs.FS, dir string, meter *quota.Budget, set shell.Set) llmcmd.Worker {
	b.gauge.Reset() // what one script went over is not the fault of the next
	gauge := b.gauge.Fork()
	session := shell.NewSession(shell.Options{
		FS: files.View(), Commands: set, Limiter: gauge, Dir: dir, Now: b.session.Now, Seed: b.session.Seed, Parse: policy.ParseScript,
	})
	return llmcmd.Worker{
		Runner: gate.New(session, gate.Options{Policy: b.judge, Budget: meter, Log: b.log, Pause: gauge.Pause, Secrets: b.secrets}),
		Pause:  gauge.Pause, Close: session.Close,
		Check: func(ctx context.Context, script string) error { return b.foresee(ctx, dir, script) },
	}
}

// gateParts are what the gates of a process have in common.
type gateParts struct {
	log      audit.Log
	meter    gate.Budget
	patience time.Duration // of a question to a person
	secrets  *redact.Set
}

func (b *opened) gateParts() gateParts { return gateParts{b.log, b.meter, b.patience, b.secrets} }

// gate is one before a runner that begins in dir.
func (g gateParts) gate(judge gate.Policy, next run.Runner, dir string, ask asker, pause func() func()) *gate.Gate {
	return gate.New(next, gate.Options{
		Policy: judge, Budget: g.meter, Log: g.log, Dir: dir, Ask: ask, AskTimeout: g.patience, Pause: pause, Secrets: g.secrets,
	})
}

// A virtualRoom is a virtual shell of its own behind a gate of its own.
type virtualRoom struct {
	run.Runner
	gauge *quota.Limiter
	close func()
	// beside makes one more over the same files, for a job that runs at the same
	// time and may take long.
	beside func(g gateParts, ask asker) virtualRoom
}

// room makes a virtual room.
func (g gateParts) room(o *box, gauge *quota.Limiter, judge *policy.Policy, ask asker) (virtualRoom, error) {
	own := &opened{gauge: gauge}
	if err := o.shell(own); err != nil {
		return virtualRoom{}, err
	}
	return virtualRoom{
		Runner: g.gate(judge, own.session, o.dir, ask, gauge.Pause), gauge: gauge, close: own.session.Close,
		beside: func(g gateParts, ask asker) virtualRoom {
			gauge := own.gauge.Fork()
			more := own.session.Options
			more.FS, more.Limiter, more.Dir = own.session.FS.View(), gauge, o.dir
			session := shell.NewSession(more)
			return virtualRoom{Runner: g.gate(judge, longRun{session, gauge}, o.dir, ask, gauge.Pause), gauge: gauge, close: session.Close}
		},
	}, nil
}

// hands returns what runs programs of this machine for an actor, behind a gate
// of its own: several may work at the same time. They are given up by close. A
// server has them in a worker.
func (b *opened) hands(ctx context.Context, o host.Options, judge *policy.Policy, ask asker) (hands, error) {
	if b.workers != nil {
		return b.workerHands(ctx, o, ask)
	}
	return b.gateParts().hands(ctx, o, judge, ask)
}

func (g gateParts) hands(ctx context.Context, o host.Options, judge *policy.Policy, ask asker) (hands, error) {
	if o.Limiter == nil {
		o.Limiter = quota.NewLimiter(host.ShellLimits())
	}
	runner, err := host.New(ctx, o)
	if err != nil {
		return hands{}, err
	}
	return hands{Runner: g.gate(judge, runner, o.Root, ask, o.Limiter.Pause), close: runner.Close, status: runner.Status}, nil
}

// dock is where containers lie: everything that runs in one passes a gate of its
// task first, and what is not on record is not done.
func (b *opened) dock(o container.Options, judge *policy.Policy, ask asker) (*container.Manager, error) {
	return b.dockAsking(o, judge, func(string) asker { return ask })
}

// dockAsking is a dock in which each task has its own person to ask.
func (b *opened) dockAsking(o container.Options, judge *policy.Policy, ask func(task string) asker) (*container.Manager, error) {
	o.Gate = func(task string, r run.Runner) run.Runner {
		return b.gateParts().gate(b.judgeOf("container", judge), r, container.Project, ask(task), nil)
	}
	o.Record = b.deed
	return container.New(o)
}

// outside puts the gate before tools that reach beyond this machine.
func (b *opened) outside(tools []gated.Tool, judge *policy.Policy, ask asker, task string) ([]tool.Tool, error) {
	counter, err := gated.NewCounter(tools)
	if err != nil {
		return nil, err
	}
	g := b.gateParts().gate(judge, counter, "", ask, nil)
	return gated.Gated(tools, g, func() string { return task + "/" + agent.NewID() }, "agent:"+task), nil
}

// deed puts on record what is done for a task without a script, and how it ends.
func (b *opened) deed(task, what string) (done func(error), err error) {
	return b.deedBy("task:"+task, what)
}

func (b *opened) deedBy(actor, what string) (done func(error), err error) {
	e := audit.Event{What: audit.Asked, ID: agent.NewID(), Actor: actor, Script: what}
	began := time.Now()
	return func(err error) {
		end := audit.Event{What: audit.Ended, ID: e.ID, Actor: e.Actor, Micros: time.Since(began).Microseconds()}
		if err != nil {
			end.Exit, end.Error, end.Kind = 1, err.Error(), fault.KindOf(err).String()
		}
		_ = b.log.Append(end) // it is done; that it was asked is on record
	}, b.log.Append(e)
}

// recorder opens the record alone, for what needs no box.
func recorder(conf *config.Config) (*opened, error) {
	b := &opened{secrets: secretsOf(conf)}
	var err error
	b.log, err = audit.Open(config.AuditPath.Of(conf).V, audit.Options{Secrets: b.secrets})
	return b, err
}

// secretsOf gathers what must never be shown: keys of the environment and of
// the settings.
func secretsOf(conf *config.Config) *redact.Set {
	set := knownSecrets(os.Environ())
	set.Add(conf.Secrets()...)
	return set
}

// knownSecrets gathers the user's own keys from the environment: whatever they
// look like, they are not to be shown or written down.
func knownSecrets(environ []string) *redact.Set {
	var set redact.Set
	for _, pair := range environ {
		name, value, _ := strings.Cut(pair, "=")
		name = strings.ToUpper(name)
		for _, end := range []string{"_KEY", "_TOKEN", "_SECRET", "PASSWORD", "_PASS", "_CREDENTIALS"} {
			if strings.HasSuffix(name, end) && len(value) >= 8 {
				set.Add(value)
			}
		}
	}
	return &set
}

// grant makes real files visible in the tree.
func (o *box) grant(tree *vfs.FS, b *opened) error {
	for _, g := range []struct {
		names []string
		write bool
	}{{o.roots, false}, {o.writable, true}} {
		for _, name := range g.names {
			if err := o.mount(tree, name, g.write); err != nil {
				return err
			}
		}
	}
	if o.dir == "" {
		o.dir = "/box"
	}
	for _, g := range []struct {
		names []string
		write bool
	}{{o.inputs, false}, {o.outputs, true}} {
		for _, name := range g.names {
			if err := tree.Inject(within(o.dir, name), name, g.write); err != nil {
				return err
			}
			b.granted = append(b.granted, name)
		}
	}
	for name, text := range o.texts {
		at := within(o.dir, name)
		if err := errors.Join(tree.MkdirAll(path.Dir(at), 0o755), tree.WriteFile(at, text, 0o444)); err != nil {
			return err
		}
	}
	return nil
}

// mount grants a tree under its own path; the shell starts in the first.
func (o *box) mount(tree *vfs.FS, name string, write bool) error {
	abs, err := filepath.Abs(name)
	if err != nil {
		return err
	}
	at := filepath.ToSlash(abs)
	if o.dir == "" {
		o.dir = at
	}
	return tree.Mount(at, abs, write)
}

// within returns where a name, as it was given, leads from dir.
func within(dir, name string) string {
	if !filepath.IsAbs(name) {
		name = filepath.Join(filepath.FromSlash(dir), name)
	}
	return filepath.ToSlash(filepath.Clean(name))
}

// loadPolicy returns the policy of a profile with what the user added.
func loadPolicy(conf *config.Config, profile string) (*policy.Policy, error) {
	if v := config.PolicyProfile.Of(conf).V; profile == "" {
		profile = v
	}
	root, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	root = resolve(root) // the shell may have come here through a link
	home, _ := os.UserHomeDir()
	allowed := policy.AllowedCommands{
		UseDefault: config.AllowedUseDefault.Of(conf).V, Additional: config.AllowedAdditional.Of(conf).V,
		Exclude: config.AllowedExclude.Of(conf).V, CustomList: config.AllowedCustom.Of(conf).V,
	}
	p, err := allowed.Compile(profile, policy.Options{Root: root, Dir: root, Home: home, Resolve: resolve})
	if err != nil {
		return nil, err
	}
	for _, more := range []struct {
		path string
		read func(string, *os.File) (*policy.Policy, error)
	}{
		{config.PolicyWhitelist.Of(conf).V, readWhitelist},
		{config.PolicyRules.Of(conf).V, readPolicy},
	} {
		if p, err = addRules(p, more.path, more.read); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// resolve follows the links in a path as far as it exists, and a last one that
// leads to nothing: whoever writes there makes what it leads to.
func resolve(path string) string { return resolveLinks(path, 40) }

func resolveLinks(path string, hops int) string {
	if real, err := filepath.EvalSymlinks(path); err == nil || hops == 0 {
		return cmp.Or(real, path)
	}
	dir := filepath.Dir(path)
	if dir == path {
		return path
	}
	dir = resolveLinks(dir, hops-1)
	target, err := os.Readlink(filepath.Join(dir, filepath.Base(path)))
	switch {
	case err != nil:
		return filepath.Join(dir, filepath.Base(path))
	case filepath.IsAbs(target):
		return resolveLinks(target, hops-1)
	}
	return resolveLinks(filepath.Join(dir, target), hops-1)
}

func addRules(p *policy.Policy, path string, read func(string, *os.File) (*policy.Policy, error)) (*policy.Policy, error) {
	if path == "" {
		return p, nil
	}
	more, err := readRules(path, read)
	if err != nil {
		return nil, err
	}
	return p.With(more), nil
}

// readRules reads a file of rules that nobody else can change.
func readRules(path string, read func(string, *os.File) (*policy.Policy, error)) (*policy.Policy, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, &fault.Error{Kind: fault.NotFound, Op: "read policy", Subject: path, Err: reasonOf(err), Hint: "name a file of rules; docs/policy.md says how they are written"}
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && runtime.GOOS != "windows" && info.Mode().Perm()&0o022 != 0 {
		return nil, &fault.Error{Kind: fault.Invalid, Op: "read policy", Subject: path, Why: "others could change it", Hint: "chmod go-w " + path}
	}
	return read(filepath.Base(path), f)
}

func readWhitelist(name string, f *os.File) (*policy.Policy, error) { return policy.Whitelist(name, f) }
func readPolicy(name string, f *os.File) (*policy.Policy, error)    { return policy.Parse(name, f) }
