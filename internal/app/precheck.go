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

// Precheck returns why a script of llmcmd cannot run: its syntax or the policy. A denial is recorded as the gate
// does; the gate judges the script again when it runs.
func (b *Shell) Precheck(ctx context.Context, dir, script string) error {
	file, err := policy.ParseScript(script)
	if err == nil && !slices.ContainsFunc(b.Policy.At(dir).Program(file), notAllowed) {
		return nil
	}
	g := gate.New(noopRunner{}, gate.Options{Policy: b.Policy, Budget: quota.New(quota.Unlimited()), Log: b.Log,
		Secrets: b.Secrets})
	_, err = g.Run(ctx, &run.Request{Actor: "llmcmd", Script: script})
	if errors.Is(err, errPassed) {
		return nil
	}
	return err
}

// notAllowed reports whether a verdict is not allow: nobody can be asked.
func notAllowed(v policy.Verdict) bool { return v.Effect != policy.Allow }

// noopRunner runs nothing.
type noopRunner struct{}

var errPassed = errors.New("the script may run")

func (noopRunner) Run(context.Context, *run.Request) (run.Result, error) {
	return run.Result{}, errPassed
}
