package app

import (
	"context"
	"path/filepath"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"hako/internal/setup"
	"hako/policy"
	"hako/run"
	"hako/run/fault"
)

// rootedRunner is a place for programs that begins nowhere outside of its root. Those
// who run something say where in their request, and not in a command that is
// judged.
type rootedRunner struct {
	run.Runner
	root  string
	judge *policy.Policy
	dir   string // where the next command begins
}

// Run implements [run.Runner].
func (r *rootedRunner) Run(ctx context.Context, req *run.Request) (run.Result, error) {
	if req.Dir != "" && r.outside(req.Dir) {
		if err := r.enter(ctx, req); err != nil {
			return run.Result{Exit: 126}, err
		}
	}
	res, err := r.Runner.Run(ctx, req)
	if res.Dir != "" {
		r.dir = res.Dir
	}
	return res, err
}

// outside reports whether a directory is neither below the root nor, as one that
// mktemp made, open to commands.
func (r *rootedRunner) outside(dir string) bool {
	at := dir
	if !filepath.IsAbs(at) {
		at = filepath.Join(r.dir, at)
	}
	// The shell takes .. off the text, whatever a link before it leads to.
	below, err := filepath.Rel(r.root, setup.Resolve(filepath.Clean(at)))
	return (err != nil || !filepath.IsLocal(below)) && r.judge.CallAt(r.dir, []string{"cd", dir}).Effect != policy.Allow
}

// enter has the gate judge a command that goes there, so that it is on record.
func (r *rootedRunner) enter(ctx context.Context, req *run.Request) error {
	outside := &fault.Error{Kind: fault.Denied, Op: "denied", Subject: "working_directory " + strings.ToValidUTF8(req.Dir,
		"\uFFFD"), Why: req.Dir + " is outside of the root", Hint: "use a path inside " + r.root}
	word, err := syntax.Quote(req.Dir, syntax.LangBash)
	if err != nil {
		return outside
	}
	id := req.ID
	if id != "" {
		id += "/directory"
	}
	_, err = r.Runner.Run(ctx, &run.Request{ID: id, Actor: req.Actor, Reason: "working_directory",
		Script: "(cd -- " + word + ")"})
	if fault.KindOf(err) == fault.Denied {
		return outside
	}
	return err
}
