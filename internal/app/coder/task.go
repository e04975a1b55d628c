// Package coder carries out tasks of a coding agent: an issue or a pull request
// is planned, worked on in a place of its own, verified, and reported.
//
// Inside are the task with its states, the plan that a model writes, and the
// coordinator that goes from phase to phase. Containers, forges and queues are
// not: they are the interfaces [Workspaces], [Commenter], [Publisher] and [Journal]. The one
// rule to keep: what was done is on record before the next thing is begun, so
// that whoever takes a task over goes on from there, and nothing that others can
// see is done twice.
package coder

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"hako/run/fault"
)

// A State is where a task stands.
type State string

// The states.
const (
	Pending    State = "pending"    // it waits for a worker
	Processing State = "processing" // a worker has it
	Done       State = "done"
	Failed     State = "failed"
	Paused     State = "paused"  // a person put it aside; it can go on
	Stopped    State = "stopped" // a person called it off
)

// moves are the states that may follow each. What is done, failed or stopped
// stays so: another try is another task, which inherits what this one learned.
var moves = map[State][]State{
	Pending:    {Processing, Failed, Paused, Stopped}, // failed: nobody could even begin
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

// A Task is what a person wants to have done.
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
	Trusted bool   `json:"trusted,omitempty"` // the author may instruct; otherwise the text is data
	User    string `json:"user,omitempty"`    // whose account it is on; empty means the author's

	CloneURL string `json:"clone_url,omitempty"`
	Branch   string `json:"branch,omitempty"` // that is pushed to
	Target   string `json:"target,omitempty"` // that it is to be merged into
	Start    string `json:"start,omitempty"`  // a full reference to begin from; empty means the branch of a pull request, or the target
	Fork     bool   `json:"fork,omitempty"`   // the pull request comes from elsewhere: what is done is proposed in one of its own
	Head     string `json:"head,omitempty"`   // commit of a pull request from elsewhere, as it was when it was taken; empty means not known, or none

	Assigned bool      `json:"assigned,omitempty"` // to hako, when it was picked up; no longer being so stops it
	Created  time.Time `json:"created,omitzero"`   // when it was picked up
}

// Thread names the issue or pull request; later tasks on it have the same.
func (t Task) Thread() string {
	return fmt.Sprintf("%s/%s/%s/%d", t.Provider, t.Repo, t.Kind, t.Number)
}

// user is who the task is for.
func (t Task) user() string { return cmp.Or(t.User, t.Author) }

// payer names the account of the user: the same name is somebody else on another
// forge.
func (t Task) payer() string {
	if t.Provider == "" {
		return t.user()
	}
	return t.Provider + "/" + t.user()
}
