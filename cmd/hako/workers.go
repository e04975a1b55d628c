package main

import (
	"context"
	"encoding/json"
	"time"

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

// startWorkers makes the pool in which a server has others' scripts judged and
// run. Kept is what the server itself holds for a client.
func startWorkers(conf *config.Config, kept func(caller string) int64) (*worker.Pool, error) {
	return worker.New(worker.Options{
		Settings: workerSettings{conf.Public()}, Assemble: WorkerParts,
		Memory: conf.Limits(quota.Lenient()).Memory, Kept: kept,
	})
}

// A remoteBox is a box in a worker. What comes back is redacted: the worker does
// not know the secrets.
type remoteBox struct {
	*worker.Handle
	secrets *redact.Set
}

// Run implements [run.Runner].
func (b remoteBox) Run(ctx context.Context, req *run.Request) (run.Result, error) {
	res, err := b.Handle.Run(ctx, req)
	return res, redactError(err, b.secrets)
}

// redactError takes secrets out of the texts of an error.
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

// want completes what is wanted of a box with how its questions are shown.
func (b *opened) want(spec boxSpec, limit, stop time.Duration) worker.Want {
	return worker.Want{Spec: spec, Limit: limit, Stop: stop, Reopen: spec.Host, Clean: func(q gate.Question) gate.Question {
		q.Command, q.Script, q.Dir, q.Reason = b.secrets.Text(q.Command), b.secrets.Text(q.Script), b.secrets.Text(q.Dir), b.secrets.Text(q.Reason)
		q.Argv = b.secrets.Argv(q.Argv)
		return q
	}}
}

// remote opens a box in a worker of a caller.
func (b *opened) remote(ctx context.Context, caller string, want worker.Want, ask asker) (remoteBox, error) {
	h, err := b.workers.Open(ctx, caller, want, worker.Door{Log: b.log, Budget: b.meter, Ask: ask})
	return remoteBox{h, b.secrets}, redactError(err, b.secrets)
}

// hostStop is how long programs may take to end once their time is up.
const hostStop = 2 * time.Second

// workerHands are hands in a worker.
func (b *opened) workerHands(ctx context.Context, o host.Options, ask asker) (hands, error) {
	r, err := b.remote(ctx, "hako:"+b.id, b.want(boxSpec{Host: true}, o.Timeout, hostStop), ask)
	if err != nil {
		return hands{}, err
	}
	var report sandbox.Report
	if err := json.Unmarshal(r.Info, &report); err != nil {
		r.Close()
		return hands{}, err
	}
	return hands{Runner: r, close: r.Close, status: func() sandbox.Report { return report }}, nil
}

// judgeOf has scripts judged in a worker, if there is one. Rules stay as they are
// in local.
func (b *opened) judgeOf(profile string, local *policy.Policy) gate.Policy {
	if b.workers == nil {
		return local
	}
	return remoteJudge{local, b.workers, profile}
}

// A remoteJudge judges scripts for runners that read the text themselves.
type remoteJudge struct {
	*policy.Policy
	pool    *worker.Pool
	profile string
}

// ScriptAt implements [gate.Judge].
func (j remoteJudge) ScriptAt(ctx context.Context, dir, script string, reprinted bool) (policy.Judged, error) {
	var a scriptAnswer
	if err := j.pool.Judge(ctx, scriptQuestion{Profile: j.profile, Dir: dir, Script: script, Reprinted: reprinted}, &a); err != nil {
		return policy.Judged{}, err
	}
	return policy.Judged{Verdicts: a.verdicts(), Text: a.Text, Printed: policy.Verdict(a.Printed)}, nil
}

func (a scriptAnswer) verdicts() (all []policy.Verdict) {
	for _, v := range a.Verdicts {
		all = append(all, policy.Verdict(v))
	}
	return all
}
