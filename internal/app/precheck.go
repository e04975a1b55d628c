package app

import (
	"context"
	"errors"
	"slices"

	"hako/gate"
	"hako/policy"
	"hako/quota"
	"hako/run"
)

// Precheck says what would keep a script of llmcmd from running at all: its
// grammar or the rules. What it refuses is put on record as the gate does it; the
// gate has its say again when the script runs.
func (b *Shell) Precheck(ctx context.Context, dir, script string) error {
	file, err := policy.ParseScript(script)
	if err == nil && !slices.ContainsFunc(b.Policy.At(dir).Program(file), mayRefuse) {
		return nil
	}
	g := gate.New(passRunner{}, gate.Options{Policy: b.Policy, Budget: quota.New(quota.Unlimited()), Log: b.Log,
		Secrets: b.Secrets})
	_, err = g.Run(ctx, &run.Request{Actor: "llmcmd", Script: script})
	if errors.Is(err, errPassed) {
		return nil
	}
	return err
}

// mayRefuse reports whether a verdict may be a refusal: nobody is there to be
// asked.
func mayRefuse(v policy.Verdict) bool { return v.Effect != policy.Allow }

// passRunner is a runner that runs nothing.
type passRunner struct{}

var errPassed = errors.New("the script may run")

// Run implements [run.Runner].
func (passRunner) Run(context.Context, *run.Request) (run.Result, error) {
	return run.Result{}, errPassed
}
