package app

import (
	"context"
	"encoding/json"
	"time"

	"mvdan.cc/sh/v3/syntax"

	"hako/gate"
	"hako/host"
	"hako/host/sandbox"
	"hako/internal/config"
	"hako/internal/redact"
	"hako/internal/worker"
	"hako/policy"
	"hako/quota"
	"hako/run"
	"hako/run/fault"
)

// StartWorkers starts the pool that judges and runs scripts of others. kept returns what the server itself
// holds for a caller.
func StartWorkers(conf *config.Config, kept func(caller string) int64) (*worker.Pool, error) {
	return worker.New(worker.Options{
		Settings: workerSettings{conf.Public()}, Assemble: NewWorkerParts,
		Memory: conf.Limits(quota.Lenient()).Memory, Kept: kept,
	})
}

// A remoteSandbox is a sandbox in a worker. Errors are redacted here, because a worker does not know the secrets.
type remoteSandbox struct {
	*worker.Handle
	secrets *redact.Set
}

func (b remoteSandbox) Run(ctx context.Context, req *run.Request) (run.Result, error) {
	res, err := b.Handle.Run(ctx, req)
	return res, redactError(err, b.secrets)
}

// redactError redacts the texts of an error.
func redactError(err error, secrets *redact.Set) error {
	e, ok := err.(*fault.Error)
	if !ok {
		return err
	}
	own := *e
	own.Subject, own.Why, own.Hint = secrets.Text(e.Subject), secrets.Text(e.Why), secrets.Text(e.Hint)
	own.Err = redactError(e.Err, secrets)
	return &own
}

// openOptions returns the options of a sandbox in a worker.
func (b *App) openOptions(spec SandboxSpec, limit, stop time.Duration) worker.OpenOptions {
	return worker.OpenOptions{Spec: spec, Limit: limit, Stop: stop, Reopen: spec.Host,
		Clean: func(q gate.Question) gate.Question {
			q.Command, q.Script, q.Dir, q.Reason = b.Secrets.Text(q.Command), b.Secrets.Text(q.Script), b.Secrets.Text(q.Dir),
				b.Secrets.Text(q.Reason)
			q.Argv = b.Secrets.Argv(q.Argv)
			return q
		}}
}

// remoteSandbox opens a sandbox in a worker of a caller.
func (b *App) remoteSandbox(ctx context.Context, caller string, want worker.OpenOptions, ask Asker) (remoteSandbox,
	error) {
	h, err := b.Workers.Open(ctx, caller, want, worker.Services{Log: b.Log, Budget: b.Budget, Ask: ask})
	return remoteSandbox{h, b.Secrets}, redactError(err, b.Secrets)
}

// hostStopTime is how long programs may take to stop after a timeout.
const hostStopTime = 2 * time.Second

// workerHostRunner returns a host runner in a worker.
func (b *App) workerHostRunner(ctx context.Context, o host.Options, ask Asker) (HostRunner, error) {
	r, err := b.remoteSandbox(ctx, "hako:"+b.ID, b.openOptions(SandboxSpec{Host: true}, o.Timeout, hostStopTime), ask)
	if err != nil {
		return HostRunner{}, err
	}
	var report sandbox.Report
	if err := json.Unmarshal(r.Info, &report); err != nil {
		r.Close()
		return HostRunner{}, err
	}
	return HostRunner{Runner: r, Close: r.Close, status: func() sandbox.Report { return report }}, nil
}

// judge returns a policy that judges scripts in a worker, if there are workers.
func (b *App) judge(profile string, local *policy.Policy) gate.Policy {
	if b.Workers == nil {
		return local
	}
	return remoteJudge{local, b.Workers, profile}
}

// A remoteJudge judges scripts in a worker for opaque runners.
type remoteJudge struct {
	*policy.Policy
	pool    *worker.Pool
	profile string
}

// ScriptAt implements [gate.Policy]. The worker parses the script itself.
func (j remoteJudge) ScriptAt(ctx context.Context, dir, script string, _ *syntax.File, reprinted bool) (policy.Judged,
	error) {
	var a judgeResult
	if err := j.pool.Judge(ctx, JudgeRequest{Profile: j.profile, Dir: dir, Script: script, Reprinted: reprinted},
		&a); err != nil {
		return policy.Judged{}, err
	}
	return policy.Judged{Verdicts: a.verdicts(), Text: a.Text, Printed: policy.Verdict(a.Printed)}, nil
}

func (a judgeResult) verdicts() (all []policy.Verdict) {
	for _, v := range a.Verdicts {
		all = append(all, policy.Verdict(v))
	}
	return all
}
