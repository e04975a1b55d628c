// Package mcpserver is hako as a server of the Model Context Protocol: any client gets
// sandboxes, and may run commands, read and write files and start jobs in them.
//
// Inside are the tools, who owns which sandbox, questions that go to the person
// behind a client, and the two ways in: standard streams and HTTP. Deliberately
// not inside are runners and rules: whoever opens the door brings a [Maker], and
// all that a [Sandbox] does passes a gate of its own. The rule to keep: a sandbox
// answers to the caller it was made for, and to nobody else; another caller does
// not even learn that it is there.
package mcpserver

import (
	"context"
	"crypto/rand"
	"net/http"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"hako/agent/tool"
	"hako/gate"
	"hako/internal/app/records"
	"hako/internal/app/sandboxes"
	"hako/internal/redact"
	"hako/run"
)

// A Kind says what carries out the commands of a sandbox.
type Kind string

// The kinds.
const (
	Virtual   Kind = "virtual"
	Host      Kind = "host"
	Container Kind = "container"
)

// SandboxOptions is what a caller wants made.
type SandboxOptions struct {
	Kind        Kind   // empty means virtual
	Environment string // of a container: python, node…; empty means the maker's choice
	Repository  string // to be cloned into a container; empty means none
	Branch      string // of Repository; empty means its own choice
	Network     string // what may be reached; empty means the maker's choice
	Root        string // directory of this machine, for host; empty means the maker's choice

	// Ask puts a question of the gate to the person behind the caller. It is
	// never nil.
	Ask func(context.Context, gate.Question) (gate.Answer, error)
	// Tell says how making goes on. It is never nil.
	Tell func(text string)
}

// A CallerFunc tells who sends a request over HTTP; empty means nobody who may.
type CallerFunc = func(*http.Request) string

// A Maker makes sandboxes. Caller is who wants it, for the record. A maker that
// cannot make a kind says so with an error.
type Maker interface {
	Make(ctx context.Context, caller string, w SandboxOptions) (Sandbox, error)
}

// A Sandbox is a sandbox behind its gate. Run returns soon after its context ends,
// and is not called again before it did. Close is called once, after Run.
type Sandbox interface {
	run.Runner
	Close(ctx context.Context) error
}

// An Editor is a [Sandbox] with a text editor: it takes a call as its caller wrote it
// and returns what the caller is to read. Req has ID and actor of the call, for
// operation is run and put on record for it; more ids are made of it with a slash.
type Editor interface {
	Edit(ctx context.Context, req *run.Request, call []byte) (text string, err error)
}

// Jobs is a [Sandbox] that runs scripts in the background. Its methods may be called
// while Run is under way.
type Jobs interface {
	// StartJob returns what names the job from now on.
	StartJob(ctx context.Context, req *run.Request) (id string, err error)
	// JobOutput returns what it printed, at most size bytes from start on.
	JobOutput(ctx context.Context, id string, start, size int64) (run.Job, run.JobPage, error)
	// KillJob ends a job; one that has ended stays as it is.
	KillJob(ctx context.Context, id string) (run.Job, error)
}

// BusyReporter is [Jobs] that report whether one of them runs: such a sandbox does not
// expire. If it cannot be found out, the answer is true.
type BusyReporter interface {
	Working(ctx context.Context) bool
}

// A JobLister is [Jobs] that people can look at.
type JobLister interface{ ListJobs() []sandboxes.Job }

// InContainer is a [Sandbox] that is a container, known elsewhere by the name of a task.
type InContainer interface{ Task() string }

// Describer is a [Sandbox] that says more about itself.
type Describer interface{ Info() Info }

// Info is what a caller is told about a sandbox. Empty fields are left out.
type Info struct {
	Directory   string `json:"directory,omitempty"`
	Environment string `json:"environment,omitempty"`
	Repository  string `json:"repository,omitempty"`
	Branch      string `json:"branch,omitempty"`
	Network     string `json:"network,omitempty"`
	Note        string `json:"note,omitempty"`
}

// A Judge tells what the rules say of a command.
type Judge interface {
	Check(ctx context.Context, profile, command string) ([]records.Verdict, error)
}

// Options say what a [Services] is made of. Without a Maker there are no sandboxes.
type Options struct {
	Name, Version string // of the server; empty means hako, and no version
	Instructions  string // for the model behind the client; empty means the usual ones

	Maker   Maker
	Kinds   []Kind         // that Maker can make; nil means all
	Default SandboxOptions // what is made for a caller who runs a command and has no sandbox; zero means virtual
	Egress  bool           // commands may reach the network; clients are told

	Tools  []tool.Tool // offered as they are: web_search, web_fetch; they pass their gate by themselves
	Policy Judge       // for policy_check; nil means that it is not offered

	// Record puts on record what is about to be done with one of Tools; with an
	// error it is not done. Done takes down what came of it. Nil means that
	// nobody keeps a record.
	Record func(deed Operation) (done func(error), err error)

	// Elicit is the most that the client of a caller over HTTP may answer to
	// questions about its own commands: who holds a token may be the program
	// that asks. With [gate.No] its questions go to Ask. Nil means that for all
	// of them. The client at the standard streams is that of who started us, and
	// may answer everything.
	Elicit func(caller string) gate.Answer

	// Ask is for callers whose client cannot put questions to a person, or may
	// not answer them. Nil means that nobody is there, and what would be asked is
	// denied.
	Ask func(context.Context, gate.Question) (gate.Answer, error)

	// Reaches tells whether Ask finds somebody just now. Nil means always.
	Reaches func() bool

	// Caller tells who sends a request over HTTP; empty means nobody who may.
	// Nil means that whoever gets through to the handler is one and the same.
	Caller CallerFunc

	// Removed is asked with the token of a caller, and returns what tells later
	// whether that was removed: the sandboxes of the caller are closed then.
	// Returning nil means that it never is, as does a nil Removed.
	Removed func(token string) func() bool

	Secrets *redact.Set // values that are taken out of all output; nil means only what looks like one
	Limits  Limits
}

// Limits bound what callers may use. Zero means the usual one.
type Limits struct {
	PerCaller   int           // sandboxes of one caller; usually 100
	Connections int           // to [Server.Listen]; usually 1024
	Total       int           // sandboxes in all; usually 1000
	Sessions    int           // sessions over HTTP of clients before 2026-07-28; usually 1000
	Idle        time.Duration // after which an unused sandbox is closed; usually 30 minutes
	Turn        time.Duration // how long a command waits for the one before it; usually 30 s
	Parked      time.Duration // how long a command waits for its caller to bring an answer; usually 10 minutes
	Grace       time.Duration // how long commands may go on whose client closed its standard stream; usually 2 s
	Line        int           // bytes of a message over standard streams; usually 16 MB
	Close       time.Duration // how long closing a sandbox may take; usually 30 s
	Log         int           // bytes of one output that are kept; usually 1 MB
	Logs        int           // outputs that a sandbox keeps; usually 8
	LogTotal    int64         // bytes of output kept in all; usually 64 MB
	Command     int           // bytes of a command; usually 1 MB
	File        int           // bytes of a file to be written; usually 2 MB
}

func (l Limits) filled() Limits {
	fill(&l.PerCaller, 100)
	fill(&l.Connections, 1024)
	fill(&l.Total, 1000)
	fill(&l.Sessions, 1000)
	fill(&l.Idle, 30*time.Minute)
	fill(&l.Turn, 30*time.Second)
	fill(&l.Parked, 10*time.Minute)
	fill(&l.Grace, 2*time.Second)
	fill(&l.Line, sdk.DefaultMaxLineLength)
	fill(&l.Close, 30*time.Second)
	fill(&l.Log, 1<<20)
	fill(&l.Logs, 8)
	fill(&l.LogTotal, 64<<20)
	fill(&l.Command, 1<<20)
	fill(&l.File, 2<<20)
	return l
}

func fill[N int | int64 | time.Duration](n *N, usual N) {
	if *n <= 0 {
		*n = usual
	}
}

// A Services lets MCP clients in. It is safe for concurrent use.
type Server struct {
	opts   Options
	limits Limits
	key    []byte // signs ids and states; dies with the door
	tools  []*toolSpec
	shelf  outputStore     // outputs that are kept
	ctx    context.Context // ends with the door
	stop   context.CancelFunc
	first  sync.Map // by caller, the *sync.Mutex of who makes the sandbox nobody named

	removed sync.Map // by caller, the func() bool that tells whether its token was removed; nil if it never is

	mu     sync.Mutex // guards what follows
	closed bool
	boxes  map[string]*managedSandbox
	owned  map[string]int   // sandboxes by caller, with those being made
	making sync.WaitGroup   // sandboxes that are being made, or looked through
	posts  sync.WaitGroup   // requests over HTTP that are being answered
	calls  map[string]*call // under way, by the id of their request
	parked map[string]*call // of these, those whose caller is fetching an answer
	sweep  *time.Timer
	patrol *time.Timer                   // looks for removed tokens; nil until the first caller comes
	lines  map[*sdk.ServerSession]*stdin // over standard streams
	web    *sdk.Server                   // for HTTP; nil until there is a handler
}

// New makes a door. Nothing comes in before [Server.Stdio] or [Server.Handler].
func New(o Options) *Server {
	if o.Name == "" {
		o.Name = "hako"
	}
	if o.Instructions == "" {
		o.Instructions = instructions
	}
	if o.Kinds == nil {
		o.Kinds = []Kind{Virtual, Host, Container}
	}
	d := &Server{
		opts: o, limits: o.Limits.filled(), key: make([]byte, 32),
		boxes: map[string]*managedSandbox{}, owned: map[string]int{}, calls: map[string]*call{}, parked: map[string]*call{},
		lines: map[*sdk.ServerSession]*stdin{},
	}
	rand.Read(d.key)
	d.ctx, d.stop = context.WithCancel(context.Background())
	d.shelf.limit = d.limits.LogTotal
	d.tools = d.offers()
	d.mu.Lock() // expire waits until sweep is set
	defer d.mu.Unlock()
	d.sweep = time.AfterFunc(d.pace(), d.expire)
	return d
}

const instructions = `Sandboxes for running commands safely. sandbox_create makes one and returns its sandbox_id, which the tools that work in it take; ` +
	`execute runs a command in it, a page of output at a time. What the policy refuses comes back with the reason and what to do instead: ` +
	`the same command will be refused again. Sandboxes that are not used are closed.`

// Close ends all calls and sessions and closes all sandboxes. Nothing comes in
// afterwards.
func (d *Server) Close(ctx context.Context) error {
	d.mu.Lock()
	d.closed = true
	d.sweep.Stop()
	if d.patrol != nil {
		d.patrol.Stop()
	}
	d.mu.Unlock()
	err := d.closeBoxes(ctx, func(*managedSandbox) bool { return true }, errStopped)
	d.stop()
	d.making.Wait() // what was made meanwhile is closed by who made it
	d.lastAnswers()
	d.hangUp()
	return err
}

// lastAnswers waits until those whose calls were ended have been told so; a
// client that does not read is not waited for.
func (d *Server) lastAnswers() {
	told := make(chan struct{})
	go func() {
		d.posts.Wait()
		close(told)
	}()
	select {
	case <-told:
	case <-time.After(farewell):
	}
}

// farewell is how long answers may take once the server stops.
const farewell = 3 * time.Second

// hangUp ends all sessions. Their calls have ended.
func (d *Server) hangUp() {
	d.mu.Lock()
	lines, web := d.lines, d.web
	d.lines = map[*sdk.ServerSession]*stdin{}
	d.mu.Unlock()
	for s, in := range lines {
		in.settle(farewell) // once a session closes it answers nothing any more
		_ = s.Close()
	}
	if web != nil {
		for s := range web.Sessions() {
			_ = s.Close()
		}
	}
}
