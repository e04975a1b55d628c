package guest

import (
	"io"
	"time"

	"hako/container/guest/wire"
)

// A Command is what to run. Either Argv or Script says what; Argv goes first.
type Command struct {
	Argv   []string // a program and its arguments, without any shell
	Script string   // for the container's own shell: bash if there is one, else sh
	Args   []string // positional parameters of Script

	Dir     string        // where; relative to the guest's directory; empty means that one
	Env     []string      // NAME=value, added to what the container has
	Timeout time.Duration // after which the command and all that came of it is ended; zero means never

	Stdin          io.Reader // nil means empty
	Stdout, Stderr io.Writer // nil means discard
}

// A Result is what came of a command.
type Result struct {
	// Exit is the status of the command, or 128 and the number of the signal that ended it: 127 for one that was not
	// found, 126 for one that could not be started, -1 for one whose time ran out.
	Exit     int
	Signal   int // the signal that ended it, or zero
	TimedOut bool
	Note     string // what to say about a command that did not end by itself
	Duration time.Duration
	Bytes    int64 // of both streams, as they were passed on

	OutOfMemory bool // the system killed it, or a process of it, because the container's memory was used up
	DiskFull    bool // it was ended, or its last program could not write, because the workspace holds more than it may
}

// CommandRequest is the command as it travels.
func (c Command) Request() wire.CommandRequest {
	o := wire.CommandRequest{Details: wire.Details{Stdin: c.Stdin != nil, Timeout: c.Timeout},
		Dir: c.Dir, Words: c.Argv, Env: c.Env}
	if len(c.Argv) == 0 {
		o.IsScript, o.Script, o.Words = true, c.Script, c.Args
	}
	return o
}
