// Package run defines the [Request] to run a script, its [Result], and the [Runner]
// interface that every runner implements: the closed shell, the host runner, the
// container runner, and the gate before them.
package run

import (
	"context"
	"io"
	"time"

	"mvdan.cc/sh/v3/syntax"
)

// A Request is one script to run.
type Request struct {
	ID     string // unique; correlates the audit events of a request; "agent/2" is a child of "agent"
	Actor  string // who requests it: "user", "agent:coder", "mcp:claude"
	Reason string // why, in the actor's words; shown to the approver
	Script string // shell source; for an opaque runner the gate replaces it by the printed tree

	// Program is Script parsed by policy.ParseScript; Script may be empty then.
	// Nil means that the gate parses Script. The gate judges this tree and passes
	// it to the runner, so that the text is parsed only once.
	Program *syntax.File `json:"-"`

	Dir     string        // working directory; empty means that of the session
	Env     []string      // NAME=value pairs added to the session's environment
	Args    []string      // positional parameters $1, $2…
	Name    string        // $0; empty means File, or hako
	File    string        // where the script comes from, for $0 and BASH_SOURCE; empty means from no file
	Timeout time.Duration // zero means the runner's own limit

	Stdin          io.Reader `json:"-"` // nil means empty
	Stdout, Stderr io.Writer `json:"-"` // nil means discard

	// Confirm requires the approval of a person for the whole script, whatever the
	// policy says. The gate enforces it.
	Confirm bool

	// Check is called with the working directory and the expanded words of every
	// command just before it runs. A non-nil error stops the script and becomes
	// Run's error. The gate sets it; a Runner that never calls it is [Opaque].
	Check func(ctx context.Context, dir string, argv []string) error `json:"-"`

	// Redirect is called in the same way for every file that a redirection is
	// about to open: op is the operator (">", "<", "&>"), file its expanded word.
	// It is not called for what opens no file (2>&1, here-documents). Nil means
	// that redirections are not checked.
	Redirect func(ctx context.Context, dir, op, file string) error `json:"-"`

	// Touched is called when a file is closed or removed, or its opening is
	// refused. Nil means that effects are not reported.
	Touched func(Effect) `json:"-"`
}

// An Effect is an access of a script to a file or the network.
type Effect struct {
	What  string `json:"what"` // read, written, removed, network; refused is not in results
	Path  string `json:"path"`
	Bytes int64  `json:"bytes"`
}

// A Result is the outcome of a finished script. A non-zero Exit is not an error.
type Result struct {
	Exit     int
	TimedOut bool
	Bytes    int64 // written to Stdout and Stderr together
	Duration time.Duration
	Dir      string         // working directory of the session
	Effects  []Effect       // one for each path and kind, in order of first touch
	Commands map[string]int // how often each command ran
	Stages   []Stage        // failed stages of pipelines that went on; the first few
}

// A Stage is a command of a pipeline.
type Stage struct {
	Name   string // its first word
	Status int
}

// Passing is implemented by a stream of a [Request] that may be the input of
// another request. What passes such a stream is charged when it leaves the last one.
type Passing interface{ Passing() bool }

// A Runner executes requests. Its error means that the script was refused or
// stopped, or that the runner failed.
type Runner interface {
	Run(ctx context.Context, req *Request) (Result, error)
}

// Opaque is implemented by a [Runner] that passes the script to another shell and
// so never calls Check or Redirect. For such a runner the gate refuses scripts
// whose commands are only known at run time.
type Opaque interface{ Opaque() }
