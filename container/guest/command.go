package guest

import (
	"io"
	"time"

	"hako/container/guest/wire"
)

// A Command is a script to run.
type Command struct {
	Script string   // for the container's own shell: bash if there is one, else sh
	Args   []string // positional parameters of Script

	Dir     string        // working directory, relative to the guest's; empty means that one
	Env     []string      // NAME=value, added to the container's
	Timeout time.Duration // after which the command and its descendants are killed; zero means never

	Stdin          io.Reader // nil means empty
	Stdout, Stderr io.Writer // nil means discard
}

// A Result is the outcome of a command.
type Result struct {
	// Exit is the exit status, or 128 plus the number of the signal that ended it: 127 if it was not found, 126 if it
	// could not be started, -1 after a timeout.
	Exit     int
	Signal   int // the signal that ended it, or zero
	TimedOut bool
	Note     string // why the command ended early; empty means that it did not
	Duration time.Duration
	Bytes    int64 // of both streams

	OutOfMemory bool // the kernel killed it or a descendant because the container's memory was used up
	DiskFull    bool // it was killed, or could not write, because the workspace is full
}

// Request returns the command in the form of the protocol.
func (c Command) Request() wire.CommandRequest {
	return wire.CommandRequest{Details: wire.Details{Stdin: c.Stdin != nil, Timeout: c.Timeout}, Dir: c.Dir,
		Script: c.Script, Args: c.Args, Env: c.Env}
}
