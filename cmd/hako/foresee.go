package main

import (
	"context"
	"errors"
	"slices"

	"hako/gate"
	"hako/policy"
	"hako/quota"
	"hako/run"
)

// foresee says what would keep a script of llmcmd from running at all: its
// grammar or the rules. What it refuses is put on record as the gate does it; the
// gate has its say again when the script runs.
func (b *opened) foresee(ctx context.Context, dir, script string) error {
	file, err := policy.ParseScript(script)
	if err == nil && !slices.ContainsFunc(b.judge.ProgramAt(dir, file), refuses) {
		return nil
	}
	g := gate.New(nobody{}, gate.Options{Policy: b.judge, Budget: quota.New(quota.Unlimited()), Log: b.log, Secrets: b.secrets})
	_, err = g.Run(ctx, &run.Request{Actor: "llmcmd", Script: script})
	if errors.Is(err, errPassed) {
		return nil
	}
	return err
}

// refuses reports whether a verdict may be a refusal: nobody is there to be
// asked.
func refuses(v policy.Verdict) bool { return v.Effect != policy.Allow }

// nobody is a runner that runs nothing.
type nobody struct{}

var errPassed = errors.New("the script may run")

// Run implements [run.Runner].
func (nobody) Run(context.Context, *run.Request) (run.Result, error) { return run.Result{}, errPassed }
