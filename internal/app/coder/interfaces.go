package coder

import (
	"context"
	"encoding/json"
	"errors"

	"hako/quota"
)

// A Commenter reads and writes the comments of an issue.
//
// An error of the kind [fault.NotFound] means that the issue is gone.
type Commenter interface {
	// WriteComment creates the comment of a task with a key, or replaces its text. It
	// returns a reference to the comment.
	WriteComment(ctx context.Context, t Task, key, text string) (ref string, err error)
	// Comments returns the comments after the one with an ID, oldest first; all of them
	// if the ID is empty.
	Comments(ctx context.Context, t Task, after string) ([]Comment, error)
}

// A Comment is a comment on the issue of a task.
type Comment struct {
	ID     string
	Author string
	Text   string // lines that begin with > are quotations
	On     string // file and line of a review comment, which others named; empty means none
	// Authorised means that the author may write to the repository. Only such people
	// can give instructions.
	Authorised bool
	Own        bool // by hako
}

// A Publisher shows the state of a task and its result. Both methods are idempotent.
type Publisher interface {
	SetState(ctx context.Context, t Task, s State) error
	// OpenPullRequest opens a draft of a pull or merge request for the branch of the
	// task, or finds the existing one, and returns its URL.
	OpenPullRequest(ctx context.Context, t Task, p Proposal) (url string, err error)
}

// A Proposal is the text of a pull or merge request. The publisher adds that it closes
// the issue of its task.
type Proposal struct {
	Title string
	Text  string
}

// Workspaces create and remove the workspace of a task.
type Workspaces interface {
	// Prepare creates a workspace with the project at a saved commit, or as the task
	// has it if that is empty. An existing workspace of the task is removed first, and
	// on an error nothing is left.
	Prepare(ctx context.Context, t Task, environment, kept string) (Workspace, error)
	// Cleanup removes the workspace, if there is one.
	Cleanup(ctx context.Context, task string) error
}

// A Workspace is a container with the project.
type Workspace interface {
	Execute(ctx context.Context, command, dir string) (Outcome, error)
	Edit(ctx context.Context, call json.RawMessage) (json.RawMessage, error)
}

// A Committer is a [Workspace] that can save the state of the project outside of
// itself.
type Committer interface {
	// Commit commits the changes and stores them where [Workspaces] find them by the
	// commit. A final commit goes to the branch of the task, others to a hidden
	// reference. If nothing was ever changed it returns nothing.
	Commit(ctx context.Context, message string, final bool) (commit string, err error)
}

// A RefFinder is [Workspaces] that know where the work in progress of a task is stored.
type RefFinder interface {
	SavedRef(t Task) (ref string)
}

// A Warner is a [Workspace] with warnings about its creation.
type Warner interface {
	Warnings() []string
}

// An Outcome is the outcome of a command, as models read it.
type Outcome struct {
	ExitCode int    `json:"exit_code"` // -1 after a timeout
	Stdout   string `json:"stdout"`
	Stderr   string `json:"stderr"`
	Duration int64  `json:"duration_ms"`
	Log      string `json:"log,omitempty"` // name of the whole output if a part was cut
}

// A Journal stores the record of one task. An error that is [ErrLost] means that
// another worker has the task now.
type Journal interface {
	Save(ctx context.Context, r Record) error
	// Once carries out a side effect and returns its outcome, or the outcome of when it
	// was carried out before. Again means that it was begun before and nobody knows
	// whether it happened.
	Once(ctx context.Context, key string, do func(ctx context.Context, again bool) (ref string, err error)) (ref string,
		err error)
}

// ErrLost means that another worker has the task. Nothing may be done for it any more.
var ErrLost = errors.New("another worker has the task")

// An Archive stores what later tasks on the same issue inherit.
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

// Accounts add up what users spend.
type Accounts interface {
	// Charge sets what a task has cost a user so far, and returns what all tasks of the
	// user have cost this month.
	Charge(ctx context.Context, user, task string, s Spent) (month Spent, err error)
}

// Spent is the usage and cost of models.
type Spent struct {
	quota.Usage
	Cost     float64 `json:"cost_usd,omitempty"`
	Unpriced bool    `json:"unpriced,omitempty"` // some of it has no known price
}

// Add returns the sum.
func (s Spent) Add(o Spent) Spent {
	return Spent{s.Usage.Add(o.Usage), s.Cost + o.Cost, s.Unpriced || o.Unpriced}
}

// An Order is what a person wants of a running task. It is also an error, so that it
// can be the cause of a canceled context.
type Order string

// The orders.
const (
	Continue Order = ""
	Pause    Order = "pause"
	Stop     Order = "stop"
)

// Error implements error.
func (o Order) Error() string { return "a person ordered: " + string(o) }
