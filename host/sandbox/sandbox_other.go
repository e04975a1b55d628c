//go:build !linux

package sandbox

import (
	"context"
	"os"

	"hako/run/fault"
)

// A Sandbox cannot be built on this system.
type Sandbox struct{ Report Report }

// A Process is a program in a sandbox.
type Process struct{}

// Main does nothing: no helper is ever started here.
func Main(string) {}

// New refuses: there is no sandbox for this system yet.
func New(context.Context, Plan, Level) (*Sandbox, error) {
	return nil, &fault.Error{Kind: fault.Denied, Op: "build sandbox", Why: "programs can only be confined on Linux",
		Hint: "use hako sh, which starts no programs, or run hako in a Linux container"}
}

// Probe returns an empty report.
func Probe(context.Context, Plan) Report {
	return Report{Missing: []string{"programs can only be confined on Linux"}}
}

// Start is never called.
func (*Sandbox) Start(Program) (*Process, error) { return nil, errFrame }

// Root is never called.
func (*Sandbox) Root() (*os.Root, error) { return nil, errFrame }

// Temp is never called.
func (*Sandbox) Temp() (*os.Root, error) { return nil, errFrame }

// Sweep is never called.
func (*Sandbox) Sweep() error { return nil }

// Close is never called.
func (*Sandbox) Close() error { return nil }

// Done is never called.
func (*Process) Done() <-chan struct{} { return nil }

// Status is never called.
func (*Process) Status() (int, error) { return 0, errFrame }

// Kill is never called.
func (*Process) Kill() {}
