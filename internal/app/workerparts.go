package app

import (
	"context"
	"encoding/json"
	"runtime/debug"
	"sync"
	"time"

	"hako/host"
	"hako/internal/config"
	"hako/internal/setup"
	"hako/internal/worker"
	"hako/policy"
	"hako/quota"
)

// workerSettings are the settings of a worker, without secrets.
type workerSettings struct{ Config []config.Plain }

// A SandboxSpec describes a sandbox in a worker.
type SandboxSpec struct {
	Host               bool // programs of the host; otherwise a virtual shell
	Rooted             bool // requests may set a directory below the root
	Offline            bool // no network, whatever the settings say
	Readable, Writable []string
}

// A sandboxInfo is returned by a worker when it opens a sandbox.
type sandboxInfo struct{ Directory string }

// A JudgeRequest asks a worker to judge a script.
type JudgeRequest struct {
	Profile, Dir, Script string
	Reprinted            bool
	Fresh                bool // reload the rules
}

// A judgeResult is the answer to a JudgeRequest.
type judgeResult struct {
	Verdicts           []plainVerdict
	Text               string
	Printed            plainVerdict
	ReadOnly, Declares bool
}

// A plainVerdict is encoded as JSON with all its fields.
type plainVerdict policy.Verdict

// workerParts implements [worker.Parts].
type workerParts struct {
	conf    *config.Config
	virtual *quota.Limiter // shared by all virtual shells
	host    *quota.Limiter // shared by the shells around programs of the host

	mu           sync.Mutex // guards the fields below
	heldByOthers worker.Held
	limiters     map[*quota.Limiter]bool
	rules        map[string]*policy.Policy
}

// NewWorkerParts assembles the parts of a worker.
func NewWorkerParts(settings json.RawMessage) (worker.Parts, error) {
	var s workerSettings
	if err := json.Unmarshal(settings, &s); err != nil {
		return nil, err
	}
	conf, err := config.Restore(s.Config)
	if err != nil {
		return nil, err
	}
	debug.SetGCPercent(200)
	limits := conf.Limits(quota.Lenient())
	shells := host.ShellLimits()
	shells.Memory = limits.Memory
	return &workerParts{
		conf: conf, virtual: quota.NewLimiter(limits), host: quota.NewLimiter(shells),
		limiters: map[*quota.Limiter]bool{}, rules: map[string]*policy.Policy{},
	}, nil
}

func (w *workerParts) Open(spec json.RawMessage, d worker.Services) (worker.Sandbox, error) {
	var s SandboxSpec
	if err := json.Unmarshal(spec, &s); err != nil {
		return worker.Sandbox{}, err
	}
	if s.Host {
		return w.openHost(s, d)
	}
	return w.openVirtual(s, d)
}

func (w *workerParts) gateParts(d worker.Services) gateParts {
	return gateParts{log: d.Log, budget: d.Budget, askTimeout: config.ApprovalTimeout.Of(w.conf).V}
}

func (w *workerParts) openVirtual(s SandboxSpec, d worker.Services) (worker.Sandbox, error) {
	judge, err := w.policy("virtual", false)
	if err != nil {
		return worker.Sandbox{}, err
	}
	o := setup.ShellOptions{Roots: s.Readable, Writable: s.Writable, Protect: setup.ProtectedFiles(w.conf, s.Writable...)}
	r, err := w.gateParts(d).newShell(&o, w.virtual.Fork(), judge, d.Ask)
	if err != nil {
		return worker.Sandbox{}, err
	}
	made := w.sandboxOf(r)
	made.Info = sandboxInfo{Directory: o.Dir}
	made.More = func(_ json.RawMessage, d worker.Services) (worker.Sandbox, error) {
		return w.sandboxOf(r.another(w.gateParts(d), d.Ask)), nil
	}
	return made, nil
}

func (w *workerParts) sandboxOf(r gatedShell) worker.Sandbox {
	w.watch(r.limiter)
	return worker.Sandbox{Runner: r.Runner, Close: func() {
		r.close()
		w.unwatch(r.limiter)
	}}
}

func (w *workerParts) openHost(s SandboxSpec, d worker.Services) (worker.Sandbox, error) {
	options, err := hostOptions(w.conf)
	if err != nil {
		return worker.Sandbox{}, err
	}
	judge, err := HostPolicy(w.conf, options.Root)
	if err != nil {
		return worker.Sandbox{}, err
	}
	options.Limiter, options.Network = w.host.Fork(), options.Network && !s.Offline
	h, err := w.gateParts(d).hostRunner(context.Background(), options, judge, d.Ask)
	if err != nil {
		return worker.Sandbox{}, err
	}
	made := worker.Sandbox{Runner: h.Runner, Close: h.Close, Info: h.status(),
		More: func(spec json.RawMessage, d worker.Services) (worker.Sandbox, error) { return w.Open(spec, d) }}
	if s.Rooted {
		made.Runner = &rootedRunner{Runner: h.Runner, root: options.Root, judge: judge, dir: options.Root}
	}
	return made, nil
}

func (w *workerParts) watch(g *quota.Limiter) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.limiters[g] = true
}

func (w *workerParts) unwatch(g *quota.Limiter) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.limiters, g)
}

func (w *workerParts) Overdue(grace time.Duration) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for g := range w.limiters {
		if err := g.Err(); err != nil && g.Overdue(grace) {
			return err
		}
	}
	return nil
}

// Held implements [worker.Parts]. It excludes what other workers hold.
func (w *workerParts) Held() worker.Held {
	w.mu.Lock()
	defer w.mu.Unlock()
	o := w.heldByOthers
	return worker.Held{Virtual: w.virtual.Held() - o.Virtual, Host: w.host.Held() - o.Host,
		Files: w.virtual.Files() - o.Files}
}

// Share implements [worker.Parts]. It charges what other workers hold as far as the limits allow: a client
// that exceeds them can still look at files and remove them.
func (w *workerParts) Share(others worker.Held) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	limits := w.virtual.Limits()
	for _, s := range []struct {
		now, want, held, most int64
		charge                func(int64) error
		to                    *int64
	}{
		{w.heldByOthers.Virtual, others.Virtual, w.virtual.Held(), limits.Memory, w.virtual.Hold, &w.heldByOthers.Virtual},
		{w.heldByOthers.Host, others.Host, w.host.Held(), limits.Memory, w.host.Hold, &w.heldByOthers.Host},
		{w.heldByOthers.Files, others.Files, w.virtual.Files(), limits.Files, w.virtual.File, &w.heldByOthers.Files},
	} {
		want := max(0, min(s.want, s.most-(s.held-s.now)))
		if s.charge(want-s.now) == nil {
			*s.to = want
		}
	}
	w.virtual.Reset()
	w.host.Reset()
	return nil
}

// Judge implements [worker.Parts].
func (w *workerParts) Judge(ctx context.Context, spec json.RawMessage) (any, error) {
	var q JudgeRequest
	if err := json.Unmarshal(spec, &q); err != nil {
		return nil, err
	}
	rules, err := w.policy(q.Profile, q.Fresh)
	if err != nil {
		return nil, err
	}
	judged, err := rules.ScriptAt(ctx, q.Dir, q.Script, nil, q.Reprinted)
	if err != nil {
		return nil, err
	}
	a := judgeResult{Text: judged.Text, Printed: plainVerdict(judged.Printed), ReadOnly: rules.ReadOnly(judged.Program),
		Declares: policy.Declares(judged.Program)}
	for _, v := range judged.Verdicts {
		a.Verdicts = append(a.Verdicts, plainVerdict(v))
	}
	return a, nil
}

func (w *workerParts) policy(profile string, fresh bool) (*policy.Policy, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if p := w.rules[profile]; p != nil && !fresh {
		return p, nil
	}
	p, err := profilePolicy(w.conf, profile)
	if err == nil {
		w.rules[profile] = p
	}
	return p, err
}
