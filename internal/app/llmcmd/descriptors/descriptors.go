// Package descriptors gives a model seven tools over file descriptors: read, write, open,
// spawn, close, exit and help. A [Table] holds the descriptors of one session and
// the scripts that run between them.
//
// Inside are the table of descriptors, the pipes, and the waiting: a call that
// could only go on if the model itself did something else first ends and says
// what that is. There is no shell here and no policy: scripts go to the runners
// that [Options.Spawn] hands out, files come from the tree that was granted.
//
// The one rule to keep: bytes that go from one descriptor to another never pass
// through the model, and no stream is ever held whole.
package descriptors

import (
	"context"
	"errors"
	"io"
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

// An Input is a stream that a session starts with. If Reader is an [io.Closer],
// it is closed when nobody needs it any more.
type Input struct {
	Name   string    // as the user wrote it
	Reader io.Reader // nil means that there is nothing in it
	Size   int64     // in bytes; negative means that nobody knows
	Kind   string    // what it holds; empty means "text"
}

// An Output is where a session leaves what it made.
type Output struct {
	Name   string    // of the file behind it; empty means none
	Writer io.Writer // nil discards; it is never closed here
}

// A Worker runs one spawned script, at the same time as others do.
type Worker struct {
	Runner run.Runner             // behind a gate of its own, or a shared one
	Pause  func() (resume func()) // stops the clock of the script while it waits for others; nil means that it runs on
	// Check says beforehand what would keep a script from running: that it makes
	// no sense, or is not allowed. Nil means that this shows only when it runs.
	Check func(ctx context.Context, script string) error
	Close func() // is called when the script has ended; nil means that nothing is to be done
}

// Options say what a session starts with.
type Options struct {
	Files *vfs.FS // what open may open; nil means nothing
	Dir   string  // where relative names start; empty means /box

	Stdin          Input   // descriptor 0
	Stdout, Stderr Output  // 1 and 2
	Inputs         []Input // from 3

	// Spawn makes a worker for one script. The context ends with the session.
	// Nil means that nothing can be spawned.
	Spawn func(ctx context.Context) (Worker, error)

	Actor   string      // who asks, for the record
	ID      string      // begins the ids of the scripts' requests; empty leaves it to the gate
	Secrets *redact.Set // values that the model never sees; nil means only those known by their spelling

	// Refused is told of files that the model wanted to open and did not get;
	// nil means that nobody is. Mode is r, w or a.
	Refused func(path, mode string, err error)

	// MustWrite has exit refuse code 0 as long as nothing was written to
	// standard output and no script was connected to it: behind it is a file
	// that would be replaced by an empty one.
	MustWrite bool

	// Topics are what help knows besides its own, by key: "quota" for one.
	Topics map[string]func() string

	Limits Limits
}

// Limits bound a session. They count from the model's side: what a script may
// do by itself is the business of its runner.
type Limits struct {
	ScriptBytes int           // of one script; zero means 8 KB
	ReadBytes   int           // that a read returns if it does not say how many; zero means 4096, the most
	NestedBytes int64         // that the model itself may read in all, and write in all; what passes between scripts is not counted; zero means as many as there are
	MaxRunning  int           // scripts at the same time; zero means 32
	MaxOpen     int           // descriptors at the same time; zero means 1024
	Wait        time.Duration // that a script may wait for others at one point; zero means five minutes
	Finish      time.Duration // that scripts get at the end if the output does not depend on them; zero means five seconds
}

func (l Limits) orUsual() Limits {
	set(&l.ScriptBytes, 8<<10)
	set(&l.ReadBytes, maxCount)
	set(&l.MaxRunning, 32)
	set(&l.MaxOpen, 1024)
	set(&l.Wait, 5*time.Minute)
	set(&l.Finish, 5*time.Second)
	return l
}

func set[T int | time.Duration](field *T, usual T) {
	if *field <= 0 {
		*field = usual
	}
}

// A Table is one session: its descriptors and its scripts. It is safe for
// concurrent use.
type Table struct {
	opts   Options
	ctx    context.Context // ends with the session
	cancel context.CancelCauseFunc
	work   sync.WaitGroup // one for each running script
	sinks  [2]*sink       // behind 1 and 2

	mu        sync.Mutex // guards what follows; never held while waiting
	table     map[int]*descriptor
	gone      map[int]string // what became of the numbers that are no longer open
	input     int            // the next number for an input
	dynamic   int            // and for everything else
	scripts   []*script      // all of them; the pid is the index plus one
	running   int
	calls     int           // under way
	alone     chan struct{} // closed when only exit is under way; nil unless it waits
	exit      *exitInput    // nil until exit was called
	delivered bool          // the model wrote to standard output, or connected a script to it
	refused   error         // of the script that was to write the output, until something else does
	err       error         // the first thing that went wrong with the output
	spent     error         // a script found the budget spent
	stats     Stats
}

// Stats count what a session did.
type Stats struct {
	Calls   map[string]int64 `json:"calls"`         // by tool
	Errors  int64            `json:"errors"`        // calls that failed
	Read    int64            `json:"bytes_read"`    // by the model
	Written int64            `json:"bytes_written"` // by the model
}

// New opens a session. It must be closed.
func New(ctx context.Context, o Options) *Table {
	o.Limits = o.Limits.orUsual()
	if o.Dir == "" {
		o.Dir = "/box"
	}
	d := &Table{opts: o, table: map[int]*descriptor{}, gone: map[int]string{}, input: firstInput, dynamic: firstDynamic}
	d.ctx, d.cancel = context.WithCancelCause(ctx)
	d.stats.Calls = map[string]int64{}
	d.furnish()
	return d
}

// furnish makes the descriptors that are there from the start.
func (d *Table) furnish() {
	d.place(0, &descriptor{name: "stdin", facts: facts(d.opts.Stdin), in: d.inlet(d.opts.Stdin)})
	d.sinks = [2]*sink{newSink(d.opts.Stdout.Writer), newSink(d.opts.Stderr.Writer)}
	d.place(1, &descriptor{name: "stdout", facts: target(d.opts.Stdout), out: outlet{sink: d.sinks[0]}})
	d.place(2, &descriptor{name: "stderr", facts: target(d.opts.Stderr), out: outlet{sink: d.sinks[1]}})
	for i, in := range d.opts.Inputs {
		des := &descriptor{name: shown(in.Name), facts: "(input file #" + strconv.Itoa(i+1) + ") " + facts(in),
			in: d.inlet(in)}
		if d.input < firstDynamic {
			d.place(d.input, des)
			d.input++
		} else {
			d.add(des)
		}
	}
}

// Tools returns the seven tools, in the order in which they are offered.
func (d *Table) Tools() []tool.Tool {
	return []tool.Tool{
		offer(d, "read", readText, d.read),
		offer(d, "write", writeText, d.write),
		offer(d, "open", openText, d.open),
		offer(d, "spawn", spawnText, d.spawn),
		offer(d, "close", closeText, d.close),
		offer(d, "exit", exitText, d.leave),
		offer(d, "help", helpText, d.help),
	}
}

// Exited tells what the model gave to exit; false means that it has not called
// it.
func (d *Table) Exited() (code int, message string, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.exit == nil {
		return 0, "", false
	}
	return d.exit.Code, d.exit.Message, true
}

// Delivered tells whether the model has seen to the output: it wrote to it, if
// only nothing, or connected a script to it.
func (d *Table) Delivered() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.delivered
}

// Err returns the first thing that went wrong with the output: it could not be
// written, or a script that was writing it had to be stopped.
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

// Stats returns what was counted so far.
func (d *Table) Stats() Stats {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := d.stats
	s.Calls = make(map[string]int64, len(d.stats.Calls))
	for name, n := range d.stats.Calls {
		s.Calls[name] = n
	}
	return s
}

var errEnded = errors.New("the session has ended")

// Close ends everything: scripts are cancelled and waited for. It returns what
// [Table.Err] does. Only a reader that an input was given with and that neither
// delivers nor can be closed may outlive it.
func (d *Table) Close() error {
	d.mu.Lock()
	d.cancel(errEnded) // under the lock: no script is counted in after it
	d.mu.Unlock()
	for _, des := range d.openOnes() {
		_ = d.drop(des, false) // what could be lost was closed by Finish
	}
	d.work.Wait()
	d.showUnread()
	return d.Err()
}

// fdFault is a call that makes no sense for a descriptor. In op the parameter
// may follow that the descriptor was given by.
func fdFault(op string, fd int, why, hint string) *fault.Error {
	op, by, ok := strings.Cut(op, " ")
	if !ok {
		by = "fd"
	}
	return &fault.Error{Kind: fault.Invalid, Op: op, Subject: by + " " + strconv.Itoa(fd), Why: why, Hint: hint}
}
