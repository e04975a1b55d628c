package guest

import (
	"cmp"
	"context"
	"time"

	"hako/run"
	"hako/run/fault"
)

// An Executor runs a command to its end; [*Client] is one.
type Executor interface {
	Exec(ctx context.Context, cmd Command) (Result, error)
}

// A Runner passes scripts to the shell of a container. Only files persist between requests.
type Runner struct {
	Client  Executor
	Timeout time.Duration // for requests without one; zero means 30 minutes
}

var (
	_ run.Runner = Runner{}
	_ run.Opaque = Runner{}
)

// Opaque implements [run.Opaque]: the shell in the container does not call back.
func (Runner) Opaque() {}

// Run implements [run.Runner].
func (r Runner) Run(ctx context.Context, req *run.Request) (run.Result, error) {
	limit := cmp.Or(req.Timeout, cmp.Or(r.Timeout, 30*time.Minute))
	res, err := r.Client.Exec(ctx, Command{Script: req.Script, Args: req.Args, Dir: req.Dir, Env: req.Env, Timeout: limit,
		Stdin: req.Stdin, Stdout: req.Stdout, Stderr: req.Stderr})
	if res.TimedOut && err == nil {
		res.Exit = 124 // as other runners
		err = &fault.Error{Kind: fault.Timeout, Op: "run script", Why: "it took longer than " + limit.String(),
			Hint: "give it more time, or run it as a job"}
	}
	if err == nil && (res.DiskFull || res.OutOfMemory && res.Exit != 0) {
		err = &fault.Error{Kind: fault.Exhausted, Op: "run script", Why: res.Note,
			Hint: "do less at a time, or have the limit raised"}
	}
	return run.Result{Exit: res.Exit, TimedOut: res.TimedOut, Bytes: res.Bytes, Duration: res.Duration, Dir: req.Dir}, err
}
