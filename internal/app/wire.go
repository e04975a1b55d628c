// Package app is what hako does, without flags and without printing: it turns
// settings into parts, and its types are the commands of hako as values and events.
//
// Parts are put together in wire.go and nowhere else: every runner gets its gate there.
package app

import (
	"context"
	"errors"
	"os"
	"path"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"hako/agent"
	"hako/agent/tool"
	"hako/agent/tool/gated"
	"hako/audit"
	"hako/container"
	"hako/gate"
	"hako/host"
	"hako/internal/app/llmcmd/descriptors"
	"hako/internal/config"
	"hako/internal/redact"
	"hako/internal/worker"
	"hako/policy"
	"hako/quota"
	"hako/run"
	"hako/run/fault"
	"hako/shell"
	"hako/shell/command"
	"hako/shell/vfs"
)

// A ShellOptions is a virtual shell to be put together.
type ShellOptions struct {
	Inputs, Outputs []string
	Roots, Writable []string
	protect         []string // names in writable that cannot be changed; nil means the default
	Strict          bool
	Seed            uint64
	Clock           string

	Dir    string                    // where it starts; empty means the first granted tree, or /box
	Only   func(shell.Set) shell.Set // which commands there are; nil means all builtins
	Limits func() quota.ScriptLimits // nil means those of the profile
	Budget quota.Limits              // what everything together may use; zero means no limit
	texts  map[string][]byte         // files that are only in memory, by name
	Ask    func(context.Context, gate.Question) (gate.Answer, error)
	Hint   func(error) string // words hints in scripts; nil means for readers that have no flags
}

// App is what a process keeps open for all it does: the record, the budget,
// what must not be shown, and the workers.
type App struct {
	Log        *audit.File
	Meter      *quota.Budget
	Secrets    *redact.Set
	AskTimeout time.Duration // of a question to a person
	ID         string        // begins the ids of what models do, on record
	Workers    *worker.Pool  // where others' scripts are judged and run; nil means in this process
}

func (b *App) Close() { _ = b.Log.Close() }

// A Shell is a virtual shell behind its gate.
type Shell struct {
	*App
	Runner  run.Runner // the gate; nobody gets at what is behind it
	Session *shell.Session
	Gauge   *quota.Limiter
	Policy  *policy.Policy
	Granted []string // names of the granted files, for $1, $2…
}

// Open puts a virtual shell together and the gate before it.
func (o *ShellOptions) Open(conf *config.Config) (*Shell, error) {
	limits := conf.Limits(o.limits())
	// The collector works harder as the heap nears what a session may hold.
	debug.SetMemoryLimit(limits.Memory + limits.Memory/4)
	debug.SetGCPercent(300)
	if err := CheckGrants(conf, slices.Concat(o.Writable, o.Outputs)...); err != nil {
		return nil, err
	}
	o.protect = ProtectedFiles(conf, o.Writable...)
	b := &Shell{Gauge: quota.NewLimiter(limits), Granted: slices.Concat(o.Inputs, o.Outputs)}
	var err error
	if b.Session, err = o.shell(b.Gauge); err != nil {
		return nil, err
	}
	if b.Policy, err = LoadPolicy(conf, "virtual"); err != nil {
		return nil, err
	}
	if b.App, err = Open(conf); err != nil {
		return nil, err
	}
	if err := o.budgetFor(conf, b.App); err != nil {
		b.Close()
		return nil, err
	}
	b.Runner = b.gateParts().gate(b.Policy, b.Session, "", o.Ask, b.Gauge.Pause)
	return b, nil
}

func (o *ShellOptions) limits() quota.ScriptLimits {
	switch {
	case o.Limits != nil:
		return o.Limits()
	case o.Strict:
		return quota.Strict()
	}
	return quota.Lenient()
}

// shell makes the session with its tree.
func (o *ShellOptions) shell(gauge *quota.Limiter) (*shell.Session, error) {
	now, err := clock(o.Clock)
	if err != nil {
		return nil, err
	}
	tree := vfs.New(vfs.Options{Limiter: gauge, Strict: o.Strict, Now: now, Seed: o.Seed, Protect: o.protect})
	if err := o.grant(tree); err != nil {
		return nil, err
	}
	set := command.All()
	if o.Only != nil {
		set = o.Only(set)
	}
	return shell.New(shell.Options{
		Hint: o.Hint,
		FS:   tree, Commands: set, Limiter: gauge, Dir: o.Dir, Now: now, Seed: o.Seed, Parse: policy.ParseScript,
	}), nil
}

// budgetFor sets what everything together may use.
func (o *ShellOptions) budgetFor(conf *config.Config, b *App) (err error) {
	budget := conf.Budget(quota.Unlimited())
	if o.Budget.Calls != 0 {
		if budget, err = ModelBudget(conf, o.Budget); err != nil {
			return err
		}
	}
	b.Meter = quota.New(budget)
	return nil
}

// ModelBudget is what a model may use: base, what the settings say, and what is
// left of the total of all runs.
func ModelBudget(conf *config.Config, base quota.Limits) (quota.Limits, error) {
	base.Weights = Weights(conf)
	return quota.UsageFile{Path: conf.StateFile("usage.json")}.Within(conf.TotalTokens(), conf.Budget(base))
}

// Worker returns what runs one script beside others over the same files, behind
// a gate of its own.
func (b *Shell) Worker(files *vfs.FS, dir string, meter *quota.Budget, set shell.Set) descriptors.Worker {
	b.Gauge.Reset() // what one script went over is not the fault of the next
	gauge := b.Gauge.Fork()
	session := shell.New(shell.Options{
		FS: files.View(), Commands: set, Limiter: gauge, Dir: dir, Now: b.Session.Now, Seed: b.Session.Seed, Parse: policy.ParseScript,
	})
	return descriptors.Worker{
		Runner: gate.New(session, gate.Options{Policy: b.Policy, Budget: meter, Log: b.Log, Pause: gauge.Pause, Secrets: b.Secrets}),
		Pause:  gauge.Pause, Close: session.Close,
		Check: func(ctx context.Context, script string) error { return b.Precheck(ctx, dir, script) },
	}
}

// gateParts are what the gates of a process have in common.
type gateParts struct {
	log      audit.Log
	meter    gate.Budget
	patience time.Duration // of a question to a person
	secrets  *redact.Set
}

func (b *App) gateParts() gateParts { return gateParts{b.Log, b.Meter, b.AskTimeout, b.Secrets} }

// gate is one before a runner that begins in dir.
func (g gateParts) gate(judge gate.Policy, next run.Runner, dir string, ask Asker, pause func() func()) *gate.Gate {
	return gate.New(next, gate.Options{
		Policy: judge, Budget: g.meter, Log: g.log, Dir: dir, Ask: ask, AskTimeout: g.patience, Pause: pause, Secrets: g.secrets,
	})
}

// A gatedShell is a virtual shell of its own behind a gate of its own.
type gatedShell struct {
	run.Runner
	gauge *quota.Limiter
	close func()
	// beside makes one more over the same files, for a job that runs at the same
	// time and may take long.
	another func(g gateParts, ask Asker) gatedShell
}

// shell makes a virtual room.
func (g gateParts) shell(o *ShellOptions, gauge *quota.Limiter, judge *policy.Policy, ask Asker) (gatedShell, error) {
	session, err := o.shell(gauge)
	if err != nil {
		return gatedShell{}, err
	}
	return gatedShell{
		Runner: g.gate(judge, session, o.Dir, ask, gauge.Pause), gauge: gauge, close: session.Close,
		another: func(g gateParts, ask Asker) gatedShell {
			gauge := gauge.Fork()
			more := session.Options
			more.FS, more.Limiter, more.Dir = session.FS.View(), gauge, o.Dir
			session := shell.New(more)
			return gatedShell{Runner: g.gate(judge, jobRunner{session, gauge}, o.Dir, ask, gauge.Pause), gauge: gauge, close: session.Close}
		},
	}, nil
}

// HostRunner returns what runs programs of this machine for an actor, behind a gate
// of its own: several may work at the same time. They are given up by close. A
// server has them in a worker.
func (b *App) HostRunner(ctx context.Context, o host.Options, judge *policy.Policy, ask Asker) (HostRunner, error) {
	if b.Workers != nil {
		return b.workerHostRunner(ctx, o, ask)
	}
	return b.gateParts().hostRunner(ctx, o, judge, ask)
}

func (g gateParts) hostRunner(ctx context.Context, o host.Options, judge *policy.Policy, ask Asker) (HostRunner, error) {
	if o.Limiter == nil {
		o.Limiter = quota.NewLimiter(host.ShellLimits())
	}
	runner, err := host.New(ctx, o)
	if err != nil {
		return HostRunner{}, err
	}
	return HostRunner{Runner: g.gate(judge, runner, o.Root, ask, o.Limiter.Pause), Close: runner.Close, status: runner.Status}, nil
}

// Manager is where containers lie: everything that runs in one passes a gate of its
// task first, and what is not on record is not done.
func (b *App) Manager(o container.Options, judge *policy.Policy, ask Asker) (*container.Manager, error) {
	return b.ManagerAsking(o, judge, func(string) Asker { return ask })
}

// ManagerAsking is a dock in which each task has its own person to ask.
func (b *App) ManagerAsking(o container.Options, judge *policy.Policy, ask func(task string) Asker) (*container.Manager, error) {
	o.Gate = func(task string, r run.Runner) run.Runner {
		return b.gateParts().gate(b.judge("container", judge), r, container.Project, ask(task), nil)
	}
	o.Record = b.RecordTask
	return container.New(o)
}

// GatedTools puts the gate before tools that reach beyond this machine.
func (b *App) GatedTools(tools []gated.Tool, judge *policy.Policy, ask Asker, task string) ([]tool.Tool, error) {
	counter, err := gated.NewCounter(tools)
	if err != nil {
		return nil, err
	}
	g := b.gateParts().gate(judge, counter, "", ask, nil)
	return gated.Gated(tools, g, func() string { return task + "/" + agent.NewID() }, "agent:"+task), nil
}

// RecordTask puts on record what is done for a task without a script, and how it ends.
func (b *App) RecordTask(task, what string) (done func(error), err error) {
	return b.Record("task:"+task, what)
}

func (b *App) Record(actor, what string) (done func(error), err error) {
	e := audit.Event{What: audit.Asked, ID: agent.NewID(), Actor: actor, Script: what}
	began := time.Now()
	return func(err error) {
		end := audit.Event{What: audit.Ended, ID: e.ID, Actor: e.Actor, Micros: time.Since(began).Microseconds()}
		if err != nil {
			end.Exit, end.Error, end.Kind = 1, err.Error(), fault.KindOf(err).String()
		}
		_ = b.Log.Append(end) // it is done; that it was asked is on record
	}, b.Log.Append(e)
}

// Open opens the record alone, for what needs no box.
func Open(conf *config.Config) (*App, error) {
	b := &App{Secrets: SecretsOf(conf), AskTimeout: config.ApprovalTimeout.Of(conf).V, ID: agent.NewID()}
	var err error
	b.Log, err = audit.Open(config.AuditPath.Of(conf).V, audit.Options{Secrets: b.Secrets})
	return b, err
}

// SecretsOf gathers what must never be shown: keys of the environment and of
// the settings.
func SecretsOf(conf *config.Config) *redact.Set {
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
func (o *ShellOptions) grant(tree *vfs.FS) error {
	for _, g := range []struct {
		names []string
		write bool
	}{{o.Roots, false}, {o.Writable, true}} {
		for _, name := range g.names {
			if err := o.mount(tree, name, g.write); err != nil {
				return err
			}
		}
	}
	if o.Dir == "" {
		o.Dir = "/box"
	}
	for _, g := range []struct {
		names []string
		write bool
	}{{o.Inputs, false}, {o.Outputs, true}} {
		for _, name := range g.names {
			if err := tree.Inject(Within(o.Dir, name), name, g.write); err != nil {
				return err
			}
		}
	}
	for name, text := range o.texts {
		at := Within(o.Dir, name)
		if err := errors.Join(tree.MkdirAll(path.Dir(at), 0o755), tree.WriteFile(at, text, 0o444)); err != nil {
			return err
		}
	}
	return nil
}

// mount grants a tree under its own path; the shell starts in the first.
func (o *ShellOptions) mount(tree *vfs.FS, name string, write bool) error {
	abs, err := filepath.Abs(name)
	if err != nil {
		return err
	}
	at := filepath.ToSlash(abs)
	if o.Dir == "" {
		o.Dir = at
	}
	return tree.Mount(at, abs, write)
}

// clock returns the clock of a session: the real one, or one that stands still.
func clock(text string) (func() time.Time, error) {
	if text == "" {
		return time.Now, nil
	}
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return nil, &fault.Error{Kind: fault.Invalid, Op: "set clock", Subject: text, Why: "it is not a time", Hint: "write it as 2006-01-02T15:04:05Z"}
	}
	return func() time.Time { return t }, nil
}
