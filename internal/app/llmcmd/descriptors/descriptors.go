// Package descriptors gives a model seven tools over file descriptors: read, write, open, spawn, close, exit and
// help. A [Table] holds the descriptors of one session and the scripts that run between them.
//
// A call that would wait for the model itself returns and says what the model has to do. There is no shell and no
// policy here: [Options.Spawn] provides gated runners, and files come from the granted file system. Bytes between
// descriptors never pass through the model, and no stream is held in memory as a whole.
package descriptors

import (
	"context"
	"errors"
	"io"
	"maps"
	"strconv"
	"strings"
	"sync"
	"time"

	"hako/agent/tool"
	"hako/internal/redact"
	"hako/run"
	"hako/run/fault"
	"hako/shell/vfs"
)

// An Input is a stream of a session. If Reader is an [io.Closer], it is closed when it is no longer needed.
type Input struct {
	Name   string    // as the user wrote it
	Reader io.Reader // nil means empty
	Size   int64     // in bytes; negative means unknown
}

// An Output is an output of a session.
type Output struct {
	Name   string    // of the file behind it; empty means none
	Writer io.Writer // nil means discard; it is never closed here
}

// A Worker runs one script concurrently with others.
type Worker struct {
	Runner run.Runner             // behind a gate
	Pause  func() (resume func()) // stops the clock of the script while it waits; nil means that it runs on
	// Check returns why a script cannot run: its syntax or the policy. Nil means no check before it runs.
	Check func(ctx context.Context, script string) error
	Close func() // called when the script has ended; may be nil
}

// Options configure a session.
type Options struct {
	Files *vfs.FS // for open; nil means none
	Dir   string  // base of relative names; empty means /box

	Stdin          Input   // descriptor 0
	Stdout, Stderr Output  // 1 and 2
	Inputs         []Input // from 3

	// Spawn makes a worker for one script. The context ends with the session. Nil means that no script can run.
	Spawn func(ctx context.Context) (Worker, error)

	Actor   string      // of requests, for the record
	ID      string      // prefix of request IDs; empty means that the gate chooses them
	Secrets *redact.Set // redacted before the model sees them; nil means only those recognized by their form

	// Refused is called when a file cannot be opened; may be nil. Mode is r, w or a.
	Refused func(path, mode string, err error)

	// MustWrite makes exit refuse code 0 until something was written to standard output or a script was
	// connected to it: otherwise an empty file would replace the one behind it.
	MustWrite bool

	// Topics are additional topics of help, by key.
	Topics map[string]func() string

	Limits Limits
}

// Limits bound a session on the model's side. The runner of a script has its own limits.
type Limits struct {
	ScriptBytes int           // of one script; zero means 8 KB
	ReadBytes   int           // default of a read; zero means 4096, the maximum
	NestedBytes int64         // that the model itself may read in all, and write in all; zero means no limit
	MaxRunning  int           // concurrent scripts; zero means 32
	MaxOpen     int           // open descriptors; zero means 1024
	Wait        time.Duration // of a script for others; zero means five minutes
	Finish      time.Duration // for scripts at the end that the output does not depend on; zero means five seconds
}

func (l Limits) withDefaults() Limits {
	set(&l.ScriptBytes, 8<<10)
	set(&l.ReadBytes, maxCount)
	set(&l.MaxRunning, 32)
	set(&l.MaxOpen, 1024)
	set(&l.Wait, 5*time.Minute)
	set(&l.Finish, 5*time.Second)
	return l
}

func set[T int | time.Duration](field *T, value T) {
	if *field <= 0 {
		*field = value
	}
}

// A Table is a session: its descriptors and its scripts. It is safe for concurrent use.
type Table struct {
	opts   Options
	ctx    context.Context // ends with the session
	cancel context.CancelCauseFunc
	work   sync.WaitGroup // running scripts
	sinks  [2]*sink       // behind 1 and 2

	mu         sync.Mutex // guards the fields below; never held while waiting
	table      map[int]*descriptor
	closedWhy  map[int]string // why a number is no longer open
	input      int            // next number for an input
	dynamic    int            // next number for anything else
	scripts    []*script      // the pid is the index plus one
	running    int
	calls      int           // in progress
	onlyExit   chan struct{} // closed when only exit is in progress; nil unless it waits
	exit       *exitInput    // nil until exit was called
	outputSeen bool          // the model wrote to standard output, or connected a script to it
	refused    error         // of the script that was to write the output, until something else does
	err        error         // the first error of the output
	exhausted  error         // a script exhausted the budget
	stats      Stats
}

// Stats are the counters of a session.
type Stats struct {
	Calls   map[string]int64 `json:"calls"`         // by tool
	Errors  int64            `json:"errors"`        // calls that failed
	Read    int64            `json:"bytes_read"`    // by the model
	Written int64            `json:"bytes_written"` // by the model
}

// New opens a session. It must be closed.
func New(ctx context.Context, o Options) *Table {
	o.Limits = o.Limits.withDefaults()
	if o.Dir == "" {
		o.Dir = "/box"
	}
	d := &Table{opts: o, table: map[int]*descriptor{}, closedWhy: map[int]string{}, input: firstInput,
		dynamic: firstDynamic}
	d.ctx, d.cancel = context.WithCancelCause(ctx)
	d.stats.Calls = map[string]int64{}
	d.addInitial()
	return d
}

// addInitial makes the initial descriptors.
func (d *Table) addInitial() {
	d.put(0, &descriptor{name: "stdin", details: inputDetails(d.opts.Stdin), in: d.inlet(d.opts.Stdin)})
	d.sinks = [2]*sink{newSink(d.opts.Stdout.Writer), newSink(d.opts.Stderr.Writer)}
	d.put(1, &descriptor{name: "stdout", details: outputDetails(d.opts.Stdout), out: writeSide{sink: d.sinks[0]}})
	d.put(2, &descriptor{name: "stderr", details: outputDetails(d.opts.Stderr), out: writeSide{sink: d.sinks[1]}})
	for i, in := range d.opts.Inputs {
		des := &descriptor{name: quoteControl(in.Name), details: "(input file #" + strconv.Itoa(i+1) + ") " + inputDetails(in),
			in: d.inlet(in)}
		if d.input < firstDynamic {
			d.put(d.input, des)
			d.input++
		} else {
			d.add(des)
		}
	}
}

// Tools returns the seven tools.
func (d *Table) Tools() []tool.Tool {
	return []tool.Tool{
		newTool(d, "read", readText, d.read),
		newTool(d, "write", writeText, d.write),
		newTool(d, "open", openText, d.open),
		newTool(d, "spawn", spawnText, d.spawn),
		newTool(d, "close", closeText, d.close),
		newTool(d, "exit", exitText, d.exitTool),
		newTool(d, "help", helpText, d.help),
	}
}

// Exited returns the arguments of exit; false means that it was not called.
func (d *Table) Exited() (code int, message string, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.exit == nil {
		return 0, "", false
	}
	return d.exit.Code, d.exit.Message, true
}

// Delivered reports whether the model wrote to the output, if only nothing, or connected a script to it.
func (d *Table) Delivered() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.outputSeen
}

// Err returns the first error of the output: it could not be written, or a script that wrote it was stopped.
func (d *Table) Err() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.err
}

func (d *Table) fail(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.err == nil {
		d.err = err
	}
}

// Stats returns the counters so far.
func (d *Table) Stats() Stats {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := d.stats
	s.Calls = maps.Clone(d.stats.Calls)
	return s
}

var errEnded = errors.New("the session has ended")

// Close cancels the scripts and waits for them. It returns [Table.Err]. Only an input reader that blocks and
// cannot be closed may outlive it.
func (d *Table) Close() error {
	d.mu.Lock()
	d.cancel(errEnded) // under the lock: countIn checks it
	d.mu.Unlock()
	for _, des := range d.openDescriptors() {
		_ = d.closeDescriptor(des, false)
	}
	d.work.Wait()
	d.copyUnreadStderr()
	return d.Err()
}

// fdFault is the error of an invalid use of a descriptor. op may name the parameter after a space.
func fdFault(op string, fd int, why, hint string) *fault.Error {
	op, by, ok := strings.Cut(op, " ")
	if !ok {
		by = "fd"
	}
	return &fault.Error{Kind: fault.Invalid, Op: op, Subject: by + " " + strconv.Itoa(fd), Why: why, Hint: hint}
}
