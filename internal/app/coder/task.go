// Package coder carries out the tasks of the coding agent: an issue or a pull request
// is planned, worked on in a workspace, verified, delivered and reported.
//
// It has the task with its states, the plan that a model writes, and the [Coordinator],
// which goes from phase to phase. Containers, forges and queues are behind the
// interfaces [Workspaces], [Commenter], [Publisher] and [Journal].
//
// What was done is recorded before the next step begins: whoever takes a task over
// continues from there, and nothing that others can see is done twice.
package coder

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"hako/run/fault"
)

// A State is the state of a task.
type State string

// The states.
const (
	Pending    State = "pending"    // it waits for a worker
	Processing State = "processing" // a worker has it
	Done       State = "done"
	Failed     State = "failed"
	Paused     State = "paused"  // a person paused it; it can continue
	Stopped    State = "stopped" // a person stopped it
)

// moves are the states that may follow each. A task that is done, failed or stopped
// stays so: another attempt is another task, which inherits what this one learned.
var moves = map[State][]State{
	Pending:    {Processing, Failed, Paused, Stopped}, // failed: it could not even begin
	Processing: {Done, Failed, Paused, Stopped},
	Paused:     {Pending, Stopped},
}

// Move returns the new state, or an error if it may not follow.
func (s State) Move(to State) (State, error) {
	if slices.Contains(moves[s], to) {
		return to, nil
	}
	e := &fault.Error{Kind: fault.Invalid, Op: "move task", Subject: string(s) + " to " + string(to),
		Why: "a task that is " + string(s) + " can only become " + joinStates(moves[s])}
	if s.Final() {
		e.Why, e.Hint = "the task has ended as "+string(s), "begin another for the same issue"
	}
	return s, e
}

// Final reports whether a task in this state has ended for good.
func (s State) Final() bool { return s == Done || s == Failed || s == Stopped }

func joinStates(list []State) (text string) {
	for i, s := range list {
		if i > 0 {
			text += ", "
		}
		text += string(s)
	}
	return text
}

// A Kind is what a task came from.
type Kind string

// The kinds.
const (
	Issue Kind = "issue"
	Pull  Kind = "pull" // a pull or merge request
)

// A Task is an issue or pull request to be worked on.
type Task struct {
	ID       string `json:"id"`
	Provider string `json:"provider,omitempty"` // github, gitlab
	Repo     string `json:"repo"`
	Number   int    `json:"number"`
	Kind     Kind   `json:"kind"`
	URL      string `json:"url,omitempty"`
	Title    string `json:"title"`
	Body     string `json:"body,omitempty"`

	Author  string `json:"author"`
	Trusted bool   `json:"trusted,omitempty"` // the author may give instructions; otherwise the text is data
	User    string `json:"user,omitempty"`    // whose account is charged; empty means the author's

	CloneURL string `json:"clone_url,omitempty"`
	Branch   string `json:"branch,omitempty"` // to push to
	Target   string `json:"target,omitempty"` // to be merged into
	// Start is a full reference to begin from; empty means the branch of a pull
	// request, or the target.
	Start string `json:"start,omitempty"`
	// Fork means that the branch of the pull request cannot be pushed to: the result is
	// proposed in a pull request of its own.
	Fork bool `json:"fork,omitempty"`
	// Head is the commit of such a pull request when the task was taken; empty means
	// unknown, or none.
	Head string `json:"head,omitempty"`

	Assigned bool      `json:"assigned,omitempty"` // to hako, when it was picked up; unassigning stops it
	Created  time.Time `json:"created,omitzero"`   // when it was picked up
}

// Thread identifies the issue or pull request; later tasks on it have the same.
func (t Task) Thread() string {
	return fmt.Sprintf("%s/%s/%s/%d", t.Provider, t.Repo, t.Kind, t.Number)
}

// user is whom the task is for.
func (t Task) user() string { return cmp.Or(t.User, t.Author) }

// payer identifies the account of the user: the same name is another person on another
// forge.
func (t Task) payer() string {
	if t.Provider == "" {
		return t.user()
	}
	return t.Provider + "/" + t.user()
}
