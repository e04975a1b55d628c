package coder

import (
	"context"
	"encoding/json"
	"errors"

	"hako/quota"
)

// A Commenter is where people are told and heard: the comments of a forge.
//
// An error of the kind [fault.NotFound] means that the issue is gone.
type Commenter interface {
	// Say writes the comment of a task that has a key, or writes it anew if
	// there is one already. It returns what names the comment.
	WriteComment(ctx context.Context, t Task, key, text string) (ref string, err error)
	// Hear returns the comments after the one with an id, oldest first; all
	// of them if the id is empty.
	Comments(ctx context.Context, t Task, after string) ([]Comment, error)
}

// A Comment is what somebody wrote.
type Comment struct {
	ID     string
	Author string
	Text   string // lines that begin with > are quoted: they are others' words
	On     string // file and line that a remark is about, which others named; empty means none
	// Authorised means that the author may write to the repository. Only such
	// a person can instruct.
	Authorised bool
	Own        bool // it is hako's
}

// A Publisher shows how a task stands and takes what came of it. Both methods can be
// called again without doing anything twice.
type Publisher interface {
	SetState(ctx context.Context, t Task, s State) error
	// Propose opens a draft of a pull or merge request for the branch of the
	// task, or finds the one that is there, and returns its address.
	OpenPullRequest(ctx context.Context, t Task, p Proposal) (url string, err error)
}

// A Proposal is a pull or merge request to be. It closes the issue of its task,
// which the board sees to.
type Proposal struct {
	Title string
	Text  string
}

// Workspaces make the place in which a task is worked on, and take it away.
type Workspaces interface {
	// Prepare makes a new place with the project in it, as it was kept at a
	// commit, or as the task has it where that is empty. What there was of
	// the task before is taken away first, and if it fails nothing is left.
	Prepare(ctx context.Context, t Task, environment, kept string) (Workspace, error)
	// Cleanup takes away what there is. Nothing there is no error.
	Cleanup(ctx context.Context, task string) error
}

// A Workspace is a container with the project in it.
type Workspace interface {
	Execute(ctx context.Context, command, dir string) (Outcome, error)
	Edit(ctx context.Context, call json.RawMessage) (json.RawMessage, error)
}

// A Committer is a [Workspace] that can keep the state of the project outside of itself.
type Committer interface {
	// Keep commits what was changed and puts it where [Workspaces] find it again
	// by the commit. A final one goes to the branch of the task, others where
	// nobody is bothered by them. Without any change, ever, it returns nothing.
	Commit(ctx context.Context, message string, final bool) (commit string, err error)
}

// A RefFinder is [Workspaces] that can say where the work in progress of a task is kept.
type RefFinder interface {
	SavedRef(t Task) (ref string)
}

// A Warner place tells what it noticed while it was made.
type Warner interface {
	Warnings() []string
}

// An Outcome is what came of a command, as models read it.
type Outcome struct {
	ExitCode int    `json:"exit_code"` // -1 after a timeout
	Stdout   string `json:"stdout"`
	Stderr   string `json:"stderr"`
	Duration int64  `json:"duration_ms"`
	Log      string `json:"log,omitempty"` // names the whole output if a part was cut
}

// A Journal keeps the record of one task. An error that is [ErrLost] means that
// another worker has the task now.
type Journal interface {
	Save(ctx context.Context, r Record) error
	// Once has something done that others can see, and returns what it came
	// to, now or when it was done before. The function is told whether it may
	// have been done before without a word about how it ended.
	Once(ctx context.Context, key string, do func(ctx context.Context, again bool) (ref string, err error)) (ref string,
		err error)
}

// ErrLost means that the task belongs to another worker. Nothing may be done
// for it any more.
var ErrLost = errors.New("another worker has the task")

// An Archive keeps what later tasks on the same issue inherit.
type Archive interface {
	Keep(ctx context.Context, t Task, r Record) error
	Past(ctx context.Context, t Task) ([]Past, error) // oldest first, without the task itself
}

// A Past is what a task leaves to the next on the same issue.
type Past struct {
	Task      string `json:"task"`
	State     State  `json:"state"`
	Objective string `json:"objective,omitempty"`
	Summary   string `json:"summary,omitempty"`
	Why       string `json:"why,omitempty"`
	Commit    string `json:"commit,omitempty"`
	Proposal  string `json:"proposal,omitempty"`
}

// Accounts add up what people use.
type Accounts interface {
	// Charge sets what a task has cost a user so far, and returns what all
	// tasks of the user have cost in this month.
	Charge(ctx context.Context, user, task string, s Spent) (month Spent, err error)
}

// Spent is what models were used for.
type Spent struct {
	quota.Usage
	Cost     float64 `json:"cost_usd,omitempty"`
	Unpriced bool    `json:"unpriced,omitempty"` // some of it has no known price
}

// Add returns the sum of two.
func (s Spent) Add(o Spent) Spent {
	return Spent{s.Usage.Add(o.Usage), s.Cost + o.Cost, s.Unpriced || o.Unpriced}
}

// An Order is what a person wants of a task that runs.
type Order string

// The orders. It is also an error, so that it can be the cause of a context's
// end where a running command is not to be waited for.
const (
	Continue Order = ""
	Pause    Order = "pause"
	Stop     Order = "stop"
)

// Error implements error.
func (o Order) Error() string { return "a person said " + string(o) }
