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

// A rootedRunner refuses working directories outside of its root. The directory is part of the request, not
// of the judged script.
type rootedRunner struct {
	run.Runner
	root  string
	judge *policy.Policy
	dir   string // current directory
}

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

// outside reports whether a directory is not below the root, and the policy does not allow cd to it (it does
// for directories that mktemp made).
func (r *rootedRunner) outside(dir string) bool {
	at := dir
	if !filepath.IsAbs(at) {
		at = filepath.Join(r.dir, at)
	}
	// The shell removes .. textually, even after a symbolic link.
	below, err := filepath.Rel(r.root, setup.Resolve(filepath.Clean(at)))
	return (err != nil || !filepath.IsLocal(below)) && r.judge.CallAt(r.dir, []string{"cd", dir}).Effect != policy.Allow
}

// enter lets the gate judge a command that changes to the directory, so that the denial is recorded.
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
