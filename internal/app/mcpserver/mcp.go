// Package mcpserver is hako as a server of the Model Context Protocol: clients get sandboxes in which they run
// commands, read and write files and start jobs.
//
// It implements the tools, the ownership of sandboxes, questions to the person behind a client, and two transports:
// standard streams and HTTP. A [Maker] provides the sandboxes, and everything in a [Sandbox] passes its gate. A
// sandbox belongs to the caller it was made for; other callers cannot even learn that it exists.
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

// A Kind is the kind of a sandbox.
type Kind string

// The kinds.
const (
	Virtual   Kind = "virtual"
	Host      Kind = "host"
	Container Kind = "container"
)

// SandboxOptions describe a sandbox to be made.
type SandboxOptions struct {
	Kind        Kind   // empty means virtual
	Environment string // of a container: python, node…; empty means the default
	Repository  string // to be cloned into a container; empty means none
	Branch      string // of Repository; empty means its default branch
	Network     string // what may be reached; empty means the default
	Root        string // directory of the host, for host; empty means the default

	// Ask puts a question of the gate to the person behind the caller. It is never nil.
	Ask func(context.Context, gate.Question) (gate.Answer, error)
	// Tell reports progress. It is never nil.
	Tell func(text string)
}

// A CallerFunc identifies the sender of an HTTP request; empty means nobody.
type CallerFunc = func(*http.Request) string

// A Maker makes sandboxes for callers.
type Maker interface {
	Make(ctx context.Context, caller string, w SandboxOptions) (Sandbox, error)
}

// A Sandbox is a sandbox behind its gate. Run returns soon after its context ends, and is not called concurrently.
// Close is called once, after Run.
type Sandbox interface {
	run.Runner
	Close(ctx context.Context) error
}

// A sandboxEditor is a [Sandbox] with a text editor. Edit takes the JSON of a call and returns what the client reads. The
// requests it runs get the actor of req and IDs derived from that of req with a slash.
type sandboxEditor interface {
	Edit(ctx context.Context, req *run.Request, call []byte) (text string, err error)
}

// jobs is a [Sandbox] with background jobs. Its methods may be called while Run is in progress.
type jobs interface {
	// StartJob returns the ID of the job.
	StartJob(ctx context.Context, req *run.Request) (id string, err error)
	// JobOutput returns at most size bytes of its output from start on.
	JobOutput(ctx context.Context, id string, start, size int64) (run.Job, run.JobPage, error)
	// KillJob ends a job; one that has ended stays unchanged.
	KillJob(ctx context.Context, id string) (run.Job, error)
}

// A busyReporter is a [jobs] that reports whether a job runs, or cannot tell: such a sandbox does not expire.
type busyReporter interface {
	Working(ctx context.Context) bool
}

// A jobLister is a [jobs] that lists its jobs for people.
type jobLister interface{ ListJobs() []sandboxes.Job }

// inContainer is a [Sandbox] in the container of a task.
type inContainer interface{ Task() string }

// describer is a [Sandbox] that describes itself.
type describer interface{ Info() Info }

// Info is reported to the caller. Empty fields are omitted.
type Info struct {
	Directory   string `json:"directory,omitempty"`
	Environment string `json:"environment,omitempty"`
	Repository  string `json:"repository,omitempty"`
	Branch      string `json:"branch,omitempty"`
	Network     string `json:"network,omitempty"`
	Note        string `json:"note,omitempty"`
}

// A Judge judges commands by the policy.
type Judge interface {
	Check(ctx context.Context, profile, command string) ([]records.Verdict, error)
}

// Options configure a [Server]. Without a Maker there are no sandboxes.
type Options struct {
	Name, Version string // of the server; empty means hako, and no version
	Instructions  string // for the model behind the client; empty means the default

	Maker   Maker
	Kinds   []Kind         // that Maker supports; nil means all
	Default SandboxOptions // made for a command without a sandbox; zero means virtual
	Egress  bool           // commands may reach the network; a hint for clients

	Tools  []tool.Tool // offered as they are: web_search, web_fetch
	Policy Judge       // for policy_check; nil means that it is not offered

	// Record records a call of one of Tools; an error prevents it. done records the outcome. Nil means no record.
	Record func(deed Operation) (done func(error), err error)

	// Elicit returns the most that the client of an HTTP caller may answer to questions about its own commands: the
	// holder of a token may be the program that asks. With [gate.No], questions go to Ask. Nil means gate.No. The
	// client at the standard streams was started by the same user and may answer everything.
	Elicit func(caller string) gate.Answer

	// Ask is for callers whose client cannot ask a person, or may not answer. Nil means that the command is denied.
	Ask func(context.Context, gate.Question) (gate.Answer, error)

	// Reaches reports whether Ask can reach somebody now. Nil means always.
	Reaches func() bool

	// Caller identifies the sender of an HTTP request; empty means nobody. Nil means that all senders are one caller.
	Caller CallerFunc

	// Removed takes the token of a caller and returns a function that reports whether the token was removed; then
	// the sandboxes of the caller are closed. Nil, also as a result, means never.
	Removed func(token string) func() bool

	Secrets *redact.Set // redacted in all output; nil means only those recognized by their form
	Limits  Limits
}

// Limits bound what callers may use. Zero means the default.
type Limits struct {
	PerCaller   int           // sandboxes of one caller; default 100
	Connections int           // to [Server.Listen]; default 1024
	Total       int           // sandboxes in all; default 1000
	Sessions    int           // HTTP sessions of clients before 2026-07-28; default 1000
	Idle        time.Duration // after which an unused sandbox is closed; default 30 minutes
	Turn        time.Duration // how long a command waits for the one before it; default 30 s
	Parked      time.Duration // how long a command waits for the answer of its caller; default 10 minutes
	Grace       time.Duration // for commands whose client closed its standard stream; default 2 s
	Line        int           // bytes of a message over standard streams; default 16 MB
	Close       time.Duration // for closing a sandbox; default 30 s
	Log         int           // bytes kept of one output; default 1 MB
	Logs        int           // outputs kept of a sandbox; default 8
	LogTotal    int64         // bytes of output kept in all; default 64 MB
	Command     int           // bytes of a command; default 1 MB
	File        int           // bytes of a file to be written; default 2 MB
}

func (l Limits) withDefaults() Limits {
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

func fill[N int | int64 | time.Duration](n *N, value N) {
	if *n <= 0 {
		*n = value
	}
}

// A Server serves MCP clients. It is safe for concurrent use.
type Server struct {
	opts         Options
	limits       Limits
	key          []byte // signs IDs and states; new in each process
	tools        []*toolSpec
	outputs      outputStore     // long outputs
	ctx          context.Context // ends with the server
	stop         context.CancelFunc
	defaultLocks sync.Map // by caller, the *sync.Mutex for making the default sandbox

	removed sync.Map // by caller, the func() bool of Options.Removed; may be nil

	mu            sync.Mutex // guards the fields below
	closed        bool
	boxes         map[string]*managedSandbox
	owned         map[string]int   // sandboxes by caller, including those being made
	pending       sync.WaitGroup   // sandboxes being made or inspected
	posts         sync.WaitGroup   // HTTP requests being answered
	calls         map[string]*call // in progress, by request ID
	parked        map[string]*call // of these, those that wait for an answer of the caller
	idleCheck     *time.Timer
	tokenCheck    *time.Timer                   // looks for removed tokens; nil until the first caller
	stdioSessions map[*sdk.ServerSession]*stdin // over standard streams
	web           *sdk.Server                   // for HTTP; nil until there is a handler
}

// New makes a server. [Server.Stdio] and [Server.Handler] accept clients.
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
		opts: o, limits: o.Limits.withDefaults(), key: make([]byte, 32),
		boxes: map[string]*managedSandbox{}, owned: map[string]int{}, calls: map[string]*call{}, parked: map[string]*call{},
		stdioSessions: map[*sdk.ServerSession]*stdin{},
	}
	rand.Read(d.key)
	d.ctx, d.stop = context.WithCancel(context.Background())
	d.outputs.limit = d.limits.LogTotal
	d.tools = d.allTools()
	d.mu.Lock() // expire needs sweep
	defer d.mu.Unlock()
	d.idleCheck = time.AfterFunc(d.idleInterval(), d.expire)
	return d
}

const instructions = `Sandboxes for running commands safely. sandbox_create makes one and returns its sandbox_id, which the tools that work in it take; ` +
	`execute runs a command in it, a page of output at a time. What the policy refuses comes back with the reason and what to do instead: ` +
	`the same command will be refused again. Sandboxes that are not used are closed.`

// Close ends all calls and sessions and closes all sandboxes.
func (d *Server) Close(ctx context.Context) error {
	d.mu.Lock()
	d.closed = true
	d.idleCheck.Stop()
	if d.tokenCheck != nil {
		d.tokenCheck.Stop()
	}
	d.mu.Unlock()
	err := d.closeBoxes(ctx, func(*managedSandbox) bool { return true }, errStopped)
	d.stop()
	d.pending.Wait() // whoever makes one closes it
	d.waitAnswers()
	d.closeSessions()
	return err
}

// waitAnswers waits until ended calls are answered, but not for clients that do not read.
func (d *Server) waitAnswers() {
	told := make(chan struct{})
	go func() {
		d.posts.Wait()
		close(told)
	}()
	select {
	case <-told:
	case <-time.After(answerTimeout):
	}
}

// answerTimeout bounds the time for the last answers.
const answerTimeout = 3 * time.Second

// closeSessions closes all sessions, whose calls have ended.
func (d *Server) closeSessions() {
	d.mu.Lock()
	lines, web := d.stdioSessions, d.web
	d.stdioSessions = map[*sdk.ServerSession]*stdin{}
	d.mu.Unlock()
	for s, in := range lines {
		in.settle(answerTimeout) // a closed session sends no more answers
		_ = s.Close()
	}
	if web != nil {
		for s := range web.Sessions() {
			_ = s.Close()
		}
	}
}
