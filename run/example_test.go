package run_test

import (
	"context"
	"fmt"
	"os"

	"hako/run"
)

// dry is a runner that only says what it would run.
type dry struct{}

func (dry) Run(_ context.Context, req *run.Request) (run.Result, error) {
	_, err := fmt.Fprintf(req.Stdout, "%s would run: %s\n", req.Actor, req.Script)
	return run.Result{}, err
}

// Whatever executes a script is a Runner.
func Example() {
	var r run.Runner = dry{}
	res, err := r.Run(context.Background(), &run.Request{Actor: "agent", Script: "make test", Stdout: os.Stdout})
	fmt.Println(res.Exit, err)
	// Output:
	// agent would run: make test
	// 0 <nil>
}
