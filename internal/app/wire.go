// Package app implements the commands of hako without flags and output: it turns settings into parts, and
// reports values and events.
//
// Parts are put together in wire.go: every runner gets its gate there.
package app

import (
	"context"
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
	"hako/internal/setup"
	"hako/internal/worker"
	"hako/policy"
	"hako/quota"
	"hako/run"
	"hako/run/fault"
	"hako/shell"
	"hako/shell/vfs"
)

// App is the state that a process shares: the record, the budget, the secrets and the workers.
type App struct {
	Log        *audit.File
	Budget     *quota.Budget
	Secrets    *redact.Set
	AskTimeout time.Duration // of a question to a person
	ID         string        // prefix of the IDs of model requests in the record
	Workers    *worker.Pool  // judge and run scripts of others; nil means this process
}

func (b *App) Close() { _ = b.Log.Close() }

// A Shell is a virtual shell behind a gate.
type Shell struct {
	*App
	Runner  run.Runner // the gate
	Session *shell.Session
	Limiter *quota.Limiter
	Policy  *policy.Policy
	Granted []string // names of the granted files, for $1, $2…
}

// OpenShell assembles a virtual shell and its gate.
func OpenShell(o *setup.ShellOptions, conf *config.Config) (*Shell, error) {
	if o.Budget.Calls != 0 {
		var err error
		if o.Budget, err = ModelBudget(conf, o.Budget); err != nil {
			return nil, err
		}
	}
	s, err := o.Open(conf)
	if err != nil {
		return nil, err
	}
	return &Shell{
		App: &App{Log: s.Log, Budget: s.Budget, Secrets: s.Secrets, AskTimeout: config.ApprovalTimeout.Of(conf).V,
			ID: agent.NewID()},
		Runner: s.Runner, Session: s.Session, Limiter: s.Limiter, Policy: s.Policy, Granted: s.Granted,
	}, nil
}

// ModelBudget returns the limits for a model: base, the settings, and the rest of the total budget.
func ModelBudget(conf *config.Config, base quota.Limits) (quota.Limits, error) {
	base.Weights = Weights(conf)
	return quota.UsageFile{Path: conf.StateFile("usage.json")}.Within(conf.TotalTokens(), conf.Budget(base))
}

// Worker returns a runner for one script concurrent with others over the same files, behind its own gate.
func (b *Shell) Worker(files *vfs.FS, dir string, meter *quota.Budget, set shell.Set) descriptors.Worker {
	b.Limiter.Reset() // an earlier script may have exceeded a limit
	limiter := b.Limiter.Fork()
	session := shell.New(shell.Options{
		FS: files.View(), Commands: set, Limiter: limiter, Dir: dir, Now: b.Session.Now, Seed: b.Session.Seed,
		Parse: policy.ParseScript,
	})
	return descriptors.Worker{
		Runner: gate.New(session, gate.Options{Policy: b.Policy, Budget: meter, Log: b.Log, Pause: limiter.Pause,
			Secrets: b.Secrets}),
		Pause: limiter.Pause, Close: session.Close,
		Check: func(ctx context.Context, script string) error { return b.Precheck(ctx, dir, script) },
	}
}

// gateParts are shared by the gates of a process.
type gateParts struct {
	log        audit.Log
	budget     gate.Budget
	askTimeout time.Duration // of a question to a person
	secrets    *redact.Set
}

func (b *App) gateParts() gateParts { return gateParts{b.Log, b.Budget, b.AskTimeout, b.Secrets} }

// gate returns a gate before a runner that starts in dir.
func (g gateParts) gate(judge gate.Policy, next run.Runner, dir string, ask Asker, pause func() func()) *gate.Gate {
	return gate.New(next, gate.Options{
		Policy: judge, Budget: g.budget, Log: g.log, Dir: dir, Ask: ask, AskTimeout: g.askTimeout, Pause: pause,
		Secrets: g.secrets,
	})
}

// A gatedShell is a virtual shell behind its own gate.
type gatedShell struct {
	run.Runner
	limiter *quota.Limiter
	close   func()
	// another returns one more shell over the same files, for a job.
	another func(g gateParts, ask Asker) gatedShell
}

func (g gateParts) newShell(o *setup.ShellOptions, limiter *quota.Limiter, judge *policy.Policy, ask Asker) (gatedShell,
	error) {
	session, err := o.NewSession(limiter)
	if err != nil {
		return gatedShell{}, err
	}
	return gatedShell{
		Runner: g.gate(judge, session, o.Dir, ask, limiter.Pause), limiter: limiter, close: session.Close,
		another: func(g gateParts, ask Asker) gatedShell {
			limiter := limiter.Fork()
			more := session.Options
			more.FS, more.Limiter, more.Dir = session.FS.View(), limiter, o.Dir
			session := shell.New(more)
			return gatedShell{Runner: g.gate(judge, jobRunner{session, limiter}, o.Dir, ask, limiter.Pause), limiter: limiter,
				close: session.Close}
		},
	}, nil
}

// HostRunner returns a runner for programs of the host, behind its own gate. A server runs it in a worker.
func (b *App) HostRunner(ctx context.Context, o host.Options, judge *policy.Policy, ask Asker) (HostRunner, error) {
	if b.Workers != nil {
		return b.workerHostRunner(ctx, o, ask)
	}
	return b.gateParts().hostRunner(ctx, o, judge, ask)
}

func (g gateParts) hostRunner(ctx context.Context, o host.Options, judge *policy.Policy, ask Asker) (HostRunner,
	error) {
	if o.Limiter == nil {
		o.Limiter = quota.NewLimiter(host.ShellLimits())
	}
	runner, err := host.New(ctx, o)
	if err != nil {
		return HostRunner{}, err
	}
	return HostRunner{Runner: g.gate(judge, runner, o.Root, ask, o.Limiter.Pause), Close: runner.Close,
		status: runner.Status}, nil
}

// Manager returns a container manager. Every command in a container passes the gate of its task.
func (b *App) Manager(o container.Options, judge *policy.Policy, ask Asker) (*container.Manager, error) {
	return b.ManagerAsking(o, judge, func(string) Asker { return ask })
}

// ManagerAsking is Manager with one Asker for each task.
func (b *App) ManagerAsking(o container.Options, judge *policy.Policy, ask func(task string) Asker) (*container.Manager,
	error) {
	o.Gate = func(task string, r run.Runner) run.Runner {
		return b.gateParts().gate(b.judge("container", judge), r, container.Project, ask(task), nil)
	}
	o.Record = b.RecordTask
	return container.New(o)
}

// GatedTools puts a gate before tools that reach beyond this machine.
func (b *App) GatedTools(tools []gated.Tool, judge *policy.Policy, ask Asker, task string) ([]tool.Tool, error) {
	counter, err := gated.NewRunner(tools)
	if err != nil {
		return nil, err
	}
	g := b.gateParts().gate(judge, counter, "", ask, nil)
	return gated.Gated(tools, g, func() string { return task + "/" + agent.NewID() }, "agent:"+task), nil
}

// RecordTask records an action for a task without a script; done records its outcome.
func (b *App) RecordTask(task, what string) (done func(error), err error) {
	return b.Record("task:"+task, what)
}

// Record records an action; done records its outcome.
func (b *App) Record(actor, what string) (done func(error), err error) {
	e := audit.Event{What: audit.Asked, ID: agent.NewID(), Actor: actor, Script: what}
	began := time.Now()
	return func(err error) {
		end := audit.Event{What: audit.Ended, ID: e.ID, Actor: e.Actor, Micros: time.Since(began).Microseconds()}
		if err != nil {
			end.Exit, end.Error, end.Kind = 1, err.Error(), fault.KindOf(err).String()
		}
		_ = b.Log.Append(end)
	}, b.Log.Append(e)
}

// Open opens the record.
func Open(conf *config.Config) (*App, error) {
	b := &App{Secrets: setup.Secrets(conf), AskTimeout: config.ApprovalTimeout.Of(conf).V, ID: agent.NewID()}
	var err error
	b.Log, err = audit.Open(config.AuditPath.Of(conf).V, audit.Options{Secrets: b.Secrets})
	return b, err
}
