// Package source says what the doors for people show and take: the interfaces
// behind the HTTP API and the console pages, and the plain values that pass
// through them.
//
// Nothing is carried out here, and nothing is drawn. The one rule to keep: every
// method that changes something is told who wants it, so that it can be put on
// record with its actor.
package source

import (
	"context"
	"encoding/json"
	"time"

	"hako/gate"
)

// Sources are all there is to show. A nil one means that this door does not have
// it: its pages say so, its routes answer 404 with a reason.
type Sources struct {
	Live      Live
	Approvals Approvals
	Secretary Secretary
	Todos     Todos
	Tasks     Tasks
	Boxes     Boxes
	Budget    Budget
	Record    Record
	Policy    Policy
}

// An Actor is who is logged in.
type Actor struct {
	Name string `json:"name"`
	Role Role   `json:"role"`
}

// A Role is what somebody may do.
type Role string

// The roles.
const (
	Reader   Role = "reader"   // looks
	Operator Role = "operator" // also approves, stops, talks
	Client   Role = "client"   // a program that uses MCP, and nothing else: it must not approve what it asks for
)

// Live is what happens now: every event of the record as it is written.
type Live interface {
	// Watch returns events after a number, until ctx ends: from the newest few
	// on if it is zero, or one that the record has not reached, which is of an
	// earlier record. A reader that is too slow misses some: the numbers show it.
	Watch(ctx context.Context, after int64) (<-chan Event, error)
}

// An Event is one of the record.
type Event struct {
	Seq    int64     `json:"seq"`
	Time   time.Time `json:"time"`
	ID     string    `json:"id,omitempty"`
	Actor  string    `json:"actor,omitempty"`
	What   string    `json:"what"`             // asked, allowed, denied, started, ended, opened, closed, approved, model…
	Text   string    `json:"text,omitempty"`   // the command, path or model it is about
	Effect string    `json:"effect,omitempty"` // allow, ask, deny
	Rule   string    `json:"rule,omitempty"`
	Reason string    `json:"reason,omitempty"`
	Exit   *int      `json:"exit,omitempty"`
	Error  string    `json:"error,omitempty"`
	Micros int64     `json:"duration_us,omitempty"`
	Bytes  int64     `json:"bytes,omitempty"`
	Tokens int64     `json:"tokens,omitempty"`
	Cost   float64   `json:"cost_usd,omitempty"`
}

// Approvals are questions that wait for a person.
type Approvals interface {
	Pending(ctx context.Context) ([]Question, error)
	// Answer decides one. One that is not there any more is fault.NotFound, one
	// that was answered already fault.Invalid.
	Answer(ctx context.Context, who Actor, id string, a gate.Answer) error
	// Changed sends something whenever the list has changed, until ctx ends.
	Changed(ctx context.Context) <-chan struct{}
}

// A Question is an open question of a gate.
type Question struct {
	ID string `json:"id"` // of the question; that in gate.Question is of the request, and not shown
	gate.Question
	Session string    `json:"session,omitempty"` // the conversation in which it is asked; empty means none
	Asked   time.Time `json:"asked"`
	Ends    time.Time `json:"ends"` // silence until then is a no
}

// Secretary is the conversation.
type Secretary interface {
	// Chat says something in a session, tells what happens, and returns when
	// she has answered. Several sessions may go on at the same time, one turn at
	// a time in each. When ctx ends it returns and tells nothing more; the turn
	// goes on.
	Chat(ctx context.Context, who Actor, session, text string, tell func(Turn)) error
	// Stop ends the turn of a session. Where none goes on there is nothing to do;
	// a session that does not exist is fault.NotFound.
	Stop(ctx context.Context, who Actor, session string) error
	Sessions(ctx context.Context) ([]Session, error)
	Messages(ctx context.Context, session string, newest int) ([]Message, error)
	// Speaks tells whether she speaks aloud.
	Speaks(ctx context.Context) (bool, error)
	// Voice lets her speak aloud or not, and returns whether she does now.
	Voice(ctx context.Context, on bool) (bool, error)
}

// A Turn is something that happens while she answers.
type Turn struct {
	Type   string          `json:"type"` // text, again, action, result, todo, warning, done
	Text   string          `json:"text,omitempty"`
	Action json.RawMessage `json:"action,omitempty"`
	Result *Outcome        `json:"result,omitempty"`
}

// An Outcome is what came of a command.
type Outcome struct {
	Command  string  `json:"command"`
	Reason   string  `json:"reason,omitempty"` // why she wanted it
	Exit     int     `json:"exit_code"`
	Stdout   string  `json:"stdout"`
	Stderr   string  `json:"stderr"`
	Redacted int     `json:"redacted"`         // places of both streams that have a mark instead of a secret
	Dir      string  `json:"cwd,omitempty"`    // where the next one begins; empty means not known
	Seconds  float64 `json:"seconds"`          // that it ran, without those a person took to approve it; zero means not known
	Denied   string  `json:"denied,omitempty"` // why it was not run
}

// A Session is a conversation.
type Session struct {
	ID      string    `json:"id"`
	Title   string    `json:"title"`
	Updated time.Time `json:"updated"`
	Busy    bool      `json:"busy"` // she is answering
}

// A Message is one of a conversation.
type Message struct {
	Role string    `json:"role"` // user, assistant, system
	Text string    `json:"text"`
	Time time.Time `json:"time"`

	Results []Outcome `json:"results,omitempty"` // of commands, if that is what Text tells
}

// Todos is the list of what is to be done.
type Todos interface {
	List(ctx context.Context) ([]Todo, error)
	// Do carries out an action: add, update, complete or delete, and returns the
	// one it was about. For update t is all that the to-do is to be, with what
	// stays as it is; an empty field empties it.
	Do(ctx context.Context, who Actor, action string, t Todo) (Todo, error)
}

// A Todo is one of them.
type Todo struct {
	ID       int64  `json:"id"`
	Title    string `json:"title"`
	Note     string `json:"note,omitempty"`
	Status   string `json:"status"`   // open, done
	Priority string `json:"priority"` // low, normal, high
	Due      string `json:"due,omitempty"`
	Overdue  bool   `json:"overdue,omitempty"`

	Created time.Time `json:"created,omitzero"` // zero means not known, here and below
	Updated time.Time `json:"updated,omitzero"`
}

// Tasks are those of the coding agent.
type Tasks interface {
	List(ctx context.Context) ([]Task, error)
	Get(ctx context.Context, id string) (Task, error)
	Order(ctx context.Context, who Actor, id, order string) error // pause, resume, stop
	// Watch tells what happens to a task, or to all if id is empty, until ctx
	// ends. A reader that is too slow misses some.
	Watch(ctx context.Context, id string) (<-chan Step, error)
}

// A Task is one of them.
type Task struct {
	ID       string    `json:"id"` // github/owner/project/issue/12
	Name     string    `json:"name"`
	Title    string    `json:"title"`
	URL      string    `json:"url,omitempty"`
	State    string    `json:"state"`
	Phase    string    `json:"phase,omitempty"`
	Worker   string    `json:"worker,omitempty"`
	Plan     []string  `json:"plan,omitempty"`
	Goal     string    `json:"goal,omitempty"`
	Why      string    `json:"why,omitempty"`
	Summary  string    `json:"summary,omitempty"`
	Proposal string    `json:"proposal,omitempty"`
	Tokens   int64     `json:"tokens"`
	Cost     float64   `json:"cost_usd"`
	Changed  time.Time `json:"changed"`
}

// A Step is something that happens to a task.
type Step struct {
	Task  string    `json:"task"`
	Time  time.Time `json:"time"`
	Type  string    `json:"type"` // phase, call, result, note, heard, ignored, state
	Phase string    `json:"phase,omitempty"`
	Name  string    `json:"name,omitempty"`
	Text  string    `json:"text,omitempty"`
	OK    *bool     `json:"ok,omitempty"`
}

// Boxes are the sandboxes and containers there are.
type Boxes interface {
	List(ctx context.Context) ([]Box, error)
	Get(ctx context.Context, id string) (Box, error)
	Destroy(ctx context.Context, who Actor, id string) error
	// Output reads what a job of a box printed, from an offset; one less than
	// zero counts from the end.
	Output(ctx context.Context, id, job string, offset int64, most int) (text string, next int64, err error)
}

// A Box is one of them.
type Box struct {
	ID          string    `json:"id"`
	Kind        string    `json:"kind"` // virtual, host, container
	Environment string    `json:"environment,omitempty"`
	State       string    `json:"state"`
	Owner       string    `json:"owner,omitempty"`
	Network     string    `json:"network,omitempty"`
	Created     time.Time `json:"created"`
	Usage       *Usage    `json:"usage,omitempty"` // nil means not known
	Jobs        []Job     `json:"jobs,omitempty"`
}

// Usage is what a box uses, and may use.
type Usage struct {
	CPUSeconds  float64 `json:"cpu_seconds"`
	Memory      int64   `json:"memory_bytes"`
	MemoryLimit int64   `json:"memory_limit_bytes"`
	Disk        int64   `json:"disk_bytes"`
	DiskLimit   int64   `json:"disk_limit_bytes"`
	Processes   int     `json:"processes"`
}

// A Job is a command in the background.
type Job struct {
	ID      string    `json:"id"`
	Command string    `json:"command"`
	State   string    `json:"state"`
	Exit    *int      `json:"exit_code,omitempty"`
	Started time.Time `json:"started"`
}

// Budget is what models were used for.
type Budget interface {
	Days(ctx context.Context, newest int) ([]Day, error) // oldest first
	Left(ctx context.Context) (Left, error)
}

// A Day is what was used on one.
type Day struct {
	Day    string       `json:"day"` // 2006-01-02
	Models []ModelUsage `json:"models"`
}

// ModelUsage is what one model was used for.
type ModelUsage struct {
	Model  string  `json:"model"`
	Calls  int64   `json:"calls"`
	Input  int64   `json:"input_tokens"`
	Cached int64   `json:"cached_tokens"`
	Output int64   `json:"output_tokens"`
	Tokens int64   `json:"weighted_tokens"`
	Cost   float64 `json:"cost_usd"`
}

// Left is what may still be used; less than zero means as much as one likes.
type Left struct {
	Tokens int64 `json:"tokens"`
	Total  int64 `json:"total"`
}

// Record is the audit log.
type Record interface {
	Search(ctx context.Context, q Query) ([]Event, error) // newest first
	Stats(ctx context.Context, since time.Time) (Stats, error)
	Verify(ctx context.Context) (Chain, error)
}

// A Query says which events are wanted. Empty fields ask nothing.
type Query struct {
	Text    string    `json:"text,omitempty"`
	Actor   string    `json:"actor,omitempty"`
	What    string    `json:"what,omitempty"`
	Command string    `json:"command,omitempty"`
	Since   time.Time `json:"since,omitzero"`
	Until   time.Time `json:"until,omitzero"`
	Before  int64     `json:"before,omitempty"` // events with smaller numbers
	Most    int       `json:"most,omitempty"`   // zero means 100
}

// Stats are figures of the record.
type Stats struct {
	Requests int64     `json:"requests"`
	Failed   int64     `json:"failed"`
	Denied   int64     `json:"denied"`
	P50      int64     `json:"p50_us"`
	P95      int64     `json:"p95_us"`
	Commands []Counted `json:"commands"`
	Denials  []Counted `json:"denials"`
	Actors   []Counted `json:"actors"`
	Days     []Counted `json:"days"` // oldest first
}

// A Counted is a name with how often, and how often it failed.
type Counted struct {
	Name   string `json:"name"`
	Count  int64  `json:"count"`
	Failed int64  `json:"failed,omitempty"`
}

// A Chain is how the chain of hashes is.
type Chain struct {
	Whole  bool   `json:"whole"`
	Events int64  `json:"events"`
	Why    string `json:"why,omitempty"` // it is not
}

// Policy is the rules.
type Policy interface {
	Rules(ctx context.Context, profile string) ([]Rule, error)
	Check(ctx context.Context, profile, command string) ([]Verdict, error)
}

// A Rule is one of them.
type Rule struct {
	Effect string `json:"effect"`
	Words  string `json:"words"`
	Reason string `json:"reason,omitempty"`
	Where  string `json:"where"`
}

// A Verdict is what the rules say of a command.
type Verdict struct {
	Command string `json:"command"`
	Effect  string `json:"effect"`
	Why     string `json:"why,omitempty"`
	Rule    string `json:"rule,omitempty"`
	Hint    string `json:"hint,omitempty"`
}
