// Package gate controls what a [run.Runner] executes. [New] puts a policy, a
// budget and an audit log before a runner: every request is recorded, judged, put
// to a person where a rule says so, and charged, before and while it runs.
//
// A [Gate] is itself a Runner, so callers need not know that there is one. What
// cannot be recorded is not run, and what is not allowed is denied. A gate without
// a policy, a log or a budget denies everything.
package gate

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"hash/maphash"
	"slices"
	"strconv"
	"sync"
	"time"

	"mvdan.cc/sh/v3/syntax"

	"hako/audit"
	"hako/internal/redact"
	"hako/policy"
	"hako/quota"
	"hako/run"
	"hako/run/fault"
)

// A Policy decides what may run. [*policy.Policy] is one.
type Policy interface {
	// ScriptAt judges a script that starts in dir, before anything is expanded.
	// An empty dir is the directory of the policy. Program is the parsed script,
	// nil if it is not parsed yet. Reprinted requests the text of the tree, for a
	// runner that parses the text itself.
	ScriptAt(ctx context.Context, dir, script string, program *syntax.File, reprinted bool) (policy.Judged, error)
	// CallAt judges one command by its expanded words, run in dir. It decides.
	CallAt(dir string, argv []string) policy.Verdict
	// RedirectAt judges in the same way the file that a redirection opens.
	RedirectAt(dir, op, file string) policy.Verdict
}

// A Budget is charged for what scripts use. [*quota.Budget] is one.
type Budget interface {
	// Charge adds usage; the error says that the budget is used up.
	Charge(quota.Usage) error
	// Deadline returns when the time of the budget is up; false means never.
	Deadline() (time.Time, bool)
}

// Options are the parts of a [Gate]. Policy, Log and Budget are required: a gate
// without one of them denies everything.
type Options struct {
	Policy Policy    // nil denies
	Log    audit.Log // nil denies
	Budget Budget    // nil denies

	// Ask puts a question to a person. Nil denies what would be asked. A gate has
	// one open question at a time.
	Ask        func(ctx context.Context, q Question) (Answer, error)
	AskTimeout time.Duration // after which no answer means no; zero means 300 s

	// Pause stops the clock of the runner while a running script waits for an
	// answer. Nil means that the clock goes on.
	Pause func() (resume func())

	Dir string // working directory of the runner at first; empty means unknown

	// Secrets removes secret values from questions and refusals; nil removes none.
	// Passwords and tokens that can be recognized by their spelling are always
	// removed from refusals.
	Secrets audit.Replacer
}

// A Gate is a [run.Runner] that judges, records and charges every request before
// and while the runner behind it executes it. [New] is its constructor; the zero
// Gate denies everything. It is safe for concurrent use if the runner is.
type Gate struct {
	opts    Options
	next    run.Runner
	secrets redact.Filter

	seed   maphash.Seed  // of the hashes that tell commands apart
	name   string        // prefix of the IDs of requests without one
	asking chan struct{} // holds one token while a question is open

	mu      sync.Mutex // guards what follows
	granted map[approvalKey]bool
	dir     string // working directory of next, as far as known
	count   int64
}

// New returns the gate before a runner. It is the only way to make one that lets
// anything through, and nothing else should keep a reference to next.
func New(next run.Runner, opts Options) *Gate {
	var name [4]byte
	rand.Read(name[:])
	return &Gate{
		opts: opts, next: next, secrets: redact.Filter{Values: opts.Secrets}, seed: maphash.MakeSeed(),
		name: hex.EncodeToString(name[:]), asking: make(chan struct{}, 1), granted: make(map[approvalKey]bool), dir: opts.Dir,
	}
}

// Run implements [run.Runner].
func (g *Gate) Run(ctx context.Context, req *run.Request) (run.Result, error) {
	if g.opts.Policy == nil || g.opts.Budget == nil || g.opts.Log == nil || g.next == nil {
		return run.Result{}, &fault.Error{Kind: fault.Denied, Op: "run script",
			Why: "the gate lacks a policy, budget, log or runner"}
	}
	p := g.newRun(req)
	if err := p.append(audit.Event{What: audit.Asked, Script: p.req.Script, Reason: req.Reason}); err != nil {
		return run.Result{}, err // unrecorded means undone
	}
	began := time.Now()
	res, err := p.run(ctx)
	if res.Duration == 0 {
		res.Duration = max(0, time.Since(began)-p.waitedFor())
	}
	if lerr := p.recordEnd(res, err); err == nil {
		err = lerr
	}
	return res, err
}

// newRun starts a request. A tree without source is recorded and shown as printed.
func (g *Gate) newRun(req *run.Request) *gateRun {
	p := &gateRun{gate: g, req: *req}
	if req.Program != nil && req.Script == "" {
		p.req.Script = policy.Source(req.Program)
	}
	if p.req.ID == "" {
		g.mu.Lock()
		g.count++
		p.req.ID = g.name + "-" + strconv.FormatInt(g.count, 10)
		g.mu.Unlock()
	}
	_, p.opaque = g.next.(run.Opaque)
	return p
}

// run judges the script and executes it.
func (p *gateRun) run(ctx context.Context) (run.Result, error) {
	judged, err := p.gate.opts.Policy.ScriptAt(ctx, p.dirAtStart(), p.req.Script, p.req.Program, p.opaque)
	if err != nil {
		return run.Result{}, err
	}
	if judged.Program == nil && !p.opaque {
		return run.Result{}, &fault.Error{Kind: fault.Denied, Op: "run script",
			Why: "it was judged elsewhere, and this runner needs the tree that was judged"}
	}
	if err := p.permit(ctx, judged.Verdicts); err != nil {
		return run.Result{}, err
	}
	if err := p.reprint(ctx, judged); err != nil {
		return run.Result{}, err
	}
	if err := p.gate.opts.Budget.Charge(quota.Usage{Scripts: 1}); err != nil {
		return run.Result{}, err
	}
	if err := p.append(audit.Event{What: audit.Started, Effect: policy.Allow.String()}); err != nil {
		return run.Result{}, err
	}
	p.running = true
	return p.execute(ctx, judged.Program)
}

// reprint replaces the script by the printed tree for an opaque runner: another shell may parse the text
// differently.
func (p *gateRun) reprint(ctx context.Context, judged policy.Judged) error {
	if !p.opaque {
		return nil
	}
	p.req.Script = judged.Text
	return p.enforce(ctx, p.dirAtStart(), judged.Printed)
}

// permit enforces everything that can be decided before anything runs.
func (p *gateRun) permit(ctx context.Context, verdicts []policy.Verdict) error {
	if p.req.Confirm {
		if err := p.confirm(ctx, verdicts); err != nil {
			return err
		}
	}
	moves := slices.ContainsFunc(verdicts, changesDir)
	for _, v := range verdicts {
		if v.Effect == policy.Ask && moves && !p.opaque && p.gate.opts.Ask != nil {
			continue // check asks, and knows where
		}
		if err := p.enforceEarly(ctx, v); err != nil {
			return err
		}
	}
	return nil
}

// changesDir reports whether a command may change the directory of later commands.
func changesDir(v policy.Verdict) bool {
	return slices.ContainsFunc(v.Argv, func(word string) bool { return word == "cd" || word == "pushd" || word == "popd" })
}

// enforceEarly enforces a verdict before anything runs. What depends on the expanded words is left to check. An
// opaque runner, which never calls it, only gets what is allowed for all values of these words.
func (p *gateRun) enforceEarly(ctx context.Context, v policy.Verdict) error {
	if !v.Late {
		return p.enforce(ctx, p.dirAtStart(), v)
	}
	if !p.opaque || v.Effect == policy.Allow && v.Sure {
		return nil
	}
	if v.Effect != policy.Deny || v.Why == "" {
		v.Why = "part of it is only known at run time, and this runner cannot be stopped then"
		v.Hint = "write the words out instead of using variables or substitutions"
	}
	v.Effect = policy.Deny
	return p.enforce(ctx, p.dirAtStart(), v)
}

// execute runs the judged tree with checks and charges in place.
func (p *gateRun) execute(ctx context.Context, file *syntax.File) (run.Result, error) {
	ctx, p.cancel = context.WithCancelCause(ctx)
	defer p.cancel(nil)
	inside, stop := p.limitTime(ctx)
	defer stop()
	req := p.req
	req.Program = file
	req.Check, req.Redirect = p.check, p.redirect
	req.Touched = p.touched
	req.Stdout, req.Stderr = p.chargeStreams(p.req.Stdout, p.req.Stderr)
	before := p.waitedFor()
	res, err := p.gate.next.Run(inside, &req)
	res.Duration = max(0, res.Duration-(p.waitedFor()-before)) // the time of a person is not that of the script
	res.Bytes = p.written.Load()
	p.gate.setDir(res.Dir)
	if cause := p.stopped(); cause != nil {
		err = cause // rather than the cancellation it led to
	} else if inside.Err() != nil && ctx.Err() == nil {
		err = p.gate.opts.Budget.Charge(quota.Usage{}) // which says how much time was used
	}
	return res, err
}

func (p *gateRun) limitTime(ctx context.Context) (context.Context, context.CancelFunc) {
	if end, ok := p.gate.opts.Budget.Deadline(); ok {
		return context.WithDeadline(ctx, end)
	}
	return ctx, func() {}
}

// notRun is the recorded status of a request that was refused or stopped, as in shells.
const notRun = 126

// recordEnd records the outcome of the request.
func (p *gateRun) recordEnd(res run.Result, err error) error {
	if lerr := p.recordCounts(); lerr != nil {
		return lerr
	}
	e := audit.Event{What: audit.Ended, Exit: res.Exit, Micros: res.Duration.Microseconds(), Bytes: res.Bytes,
		Commands: p.counts}
	switch {
	case err != nil:
		e.Error, e.Kind = err.Error(), fault.KindOf(err).String()
		if e.Exit == 0 {
			e.Exit = notRun
		}
	case res.TimedOut:
		e.Kind = fault.Timeout.String()
	}
	return p.append(e)
}
