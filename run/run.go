// Package run is the vocabulary of execution: what is asked, what came of it,
// and the one interface behind which every way of executing lives.
//
// It imports nothing of ours, so that everything of ours can import it.
package run

import (
	"context"
	"io"
	"time"

	"mvdan.cc/sh/v3/syntax"
)

// A Request is one script somebody wants executed.
type Request struct {
	ID     string // unique; ties the audit events of one request together; "agent/2" shows its parent
	Actor  string // who asks: "user", "agent:coder", "mcp:claude"
	Reason string // why, in the asker's words; shown to whoever approves
	Script string // shell source, exactly as written; before an opaque runner the gate writes the judged tree anew

	// Program is Script parsed by policy.ParseScript, for a caller that has
	// parsed it already; Script may be empty then. Nil means that the gate
	// parses Script. The gate judges this tree and hands it to the runner:
	// nobody parses the text a second time.
	Program *syntax.File `json:"-"`

	Dir     string        // working directory; empty means where the session stands
	Env     []string      // NAME=value pairs added to the session's environment
	Args    []string      // positional parameters $1, $2…
	Name    string        // $0; empty means File, or hako
	File    string        // where the script comes from, for $0 and BASH_SOURCE; empty means from no file
	Timeout time.Duration // zero means the runner's own limit

	Stdin          io.Reader `json:"-"` // nil means empty
	Stdout, Stderr io.Writer `json:"-"` // nil means discard

	// Confirm says that a person must agree to the whole script before any
	// of it runs, whatever the policy says. The gate sees to it.
	Confirm bool

	// Check is called with the expanded words of every command just before
	// it runs, and with the directory the shell stands in then. A non-nil
	// error stops the script and becomes Run's error. The gate sets it; a
	// Runner that cannot honour it is opaque, see [Opaque].
	Check func(ctx context.Context, dir string, argv []string) error `json:"-"`

	// Redirect is called in the same way for every file that a redirection
	// is about to open: op is the operator (">", "<", "&>"), file its
	// expanded word. What opens no file (2>&1, here-documents) is not asked
	// about. Nil means that nobody is interested.
	Redirect func(ctx context.Context, dir, op, file string) error `json:"-"`

	// Touched is called when a file is closed or removed, or its opening is
	// refused, for the record.
	// Nil means nobody is interested.
	Touched func(Effect) `json:"-"`
}

// An Effect is one thing a script did to the world it was given.
type Effect struct {
	What  string `json:"what"` // read, written, removed, network; refused is not in results
	Path  string `json:"path"`
	Bytes int64  `json:"bytes"`
}

// A Result is what a finished script leaves behind.
// A non-zero Exit is an answer, not an error.
type Result struct {
	Exit     int
	TimedOut bool
	Bytes    int64 // written to Stdout and Stderr together
	Duration time.Duration
	Dir      string         // where the session stands now
	Effects  []Effect       // one for each path and kind, in order of first touch
	Commands map[string]int // how often each command ran
	Stages   []Stage        // of pipelines, that failed though the pipeline went on; the first few
}

// A Stage is a command of a pipeline.
type Stage struct {
	Name   string // its first word
	Status int
}

// Passing is implemented by a stream of a [Request] that may lead to another
// request rather than out: what goes there is written by whoever passes it on in
// the end, and is not charged on the way.
type Passing interface{ Passing() bool }

// A Runner executes requests. Its error means that the script did not run to
// its end: it was refused, cut short, or the runner itself broke.
type Runner interface {
	Run(ctx context.Context, req *Request) (Result, error)
}

// Opaque is implemented by a [Runner] that hands the script to somebody else's
// shell and so never calls Check or Redirect. Before such a runner the gate refuses every
// script whose command names it cannot read off the source.
type Opaque interface{ Opaque() }
