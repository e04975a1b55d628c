// Package forge speaks with GitHub and GitLab: which tasks wait there, what
// people say about them, and what is to be said back.
//
// Inside are the two providers behind one interface, over their official
// clients; the one transport that both use, with its retries, rate limits and
// conditional requests; and helpers that may be called twice and act once. Not
// inside is what a task means: states, plans and queues are the business of
// work, git that of the containers.
//
// The rule to keep: what comes from a forge was written by strangers, so every
// text is bounded and freed of invisible characters on its way in; what goes
// out is redacted, and can neither carry a marker nor give an order. The token
// is added to requests to the one address it belongs to, and is in no error.
package forge

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Forge is a place where people keep repositories, issues and pull requests.
// Its methods may be called at the same time. Errors are *fault.Error:
// NotFound is also what a token may not see.
type Forge interface {
	// Self is the account whose token is used.
	Self(ctx context.Context) (string, error)

	// List returns open tasks, the oldest first, as far as one request for a
	// hundred of them tells: the branches of GitHub's pull requests need Get.
	List(ctx context.Context, q Query) ([]Task, error)
	Get(ctx context.Context, ref Ref) (Task, error)

	// Comments returns what was said or changed at that time or later, in
	// order. The zero time means everything.
	Comments(ctx context.Context, ref Ref, since time.Time) ([]Comment, error)
	// Comment says something, and Edit changes what was said. Better call
	// [CommentWriter.Say].
	Comment(ctx context.Context, ref Ref, mark Mark, text string) (Comment, error)
	Edit(ctx context.Context, ref Ref, id string, mark Mark, text string) (Comment, error)

	// Relabel adds and removes labels and leaves the others alone. A label
	// that is there already, or is gone already, is no error.
	Relabel(ctx context.Context, ref Ref, add, remove []string) error
	SetLabels(ctx context.Context, ref Ref, labels []string) error

	// WhoLabelled returns who set a label last, and when. Nobody and the zero
	// time mean that the forge has no such event: a label that an issue was
	// made with may have none.
	WhoLabelled(ctx context.Context, ref Ref, label string) (by string, at time.Time, err error)

	// MayWrite reports whether somebody may push to a repository. Nobody and
	// strangers may not.
	MayWrite(ctx context.Context, repo, user string) (bool, error)

	Repository(ctx context.Context, repo string) (Repository, error)

	// Pulls returns the pull requests from a branch of the repository itself,
	// open ones first, newest first.
	Pulls(ctx context.Context, repo, branch string) ([]Task, error)
	// Open makes a draft. Better call [OpenOnce].
	Open(ctx context.Context, p Pull) (Task, error)

	// Close gives up connections that are not in use; later calls open others.
	Close()
}

// The providers.
const (
	GitHub = "github"
	GitLab = "gitlab"
)

// A Kind tells issues from pull requests; GitLab numbers them separately.
type Kind string

// The kinds. A merge request is a pull request here.
const (
	Issue       Kind = "issue"
	PullRequest Kind = "pull"
)

// A Ref names a task within a forge.
type Ref struct {
	Repo   string // owner/name, or group/subgroup/name
	Kind   Kind   // empty means an issue
	Number int
}

// String is the reference as people write it: owner/name#1, or !1 for a pull
// request.
func (r Ref) String() string {
	sign := "#"
	if r.Kind == PullRequest {
		sign = "!"
	}
	return clean(r.Repo) + sign + strconv.Itoa(r.Number)
}

// A Task is an issue or a pull request as it was when asked for.
type Task struct {
	Provider  string
	Repo      string
	Kind      Kind
	Number    int
	Title     string // one line
	Body      string
	Author    string
	Labels    []string
	Assignees []string
	URL       string // for people
	CloneURL  string // of the repository, without credentials
	Branch    string // of a pull request: where the changes are; empty if not known, or if its name is none that git would take
	Target    string // of a pull request: where they shall go
	Fork      bool   // of a pull request: the branch is in another repository
	Head      string // of a pull request: the commit its branch is at; empty if not known, as in a list of GitHub's
	Draft     bool
	Closed    bool // or merged
	Merged    bool
	Updated   time.Time

	Confidential bool // only members of the project see it; GitLab's issues
}

// Ref names the task.
func (t Task) Ref() Ref { return Ref{t.Repo, t.Kind, t.Number} }

// senseless reports whether an answer was no task at all.
func (t Task) senseless() bool { return t.Repo == "" || t.Number <= 0 }

// Labelled reports whether a task has a label; forges don't mind the case.
func (t Task) Labelled(label string) bool { return hasFold(t.Labels, label) }

// Assigned reports whether somebody is in charge of a task.
func (t Task) Assigned(user string) bool { return hasFold(t.Assignees, user) }

func hasFold(list []string, word string) bool {
	return slices.ContainsFunc(list, func(s string) bool { return strings.EqualFold(s, word) })
}

// A Query says which open tasks are wanted.
type Query struct {
	Repo     string // empty means every repository the token's account takes part in, and with GitLab every public one
	Label    string // empty means with or without any
	Assignee string // empty means anybody or nobody
	Most     int    // how many at most, the oldest; zero means 10 000
}

// A Comment is something said about a task.
type Comment struct {
	ID      string // unique within a task
	Author  string
	Mine    bool   // by the account whose token is used
	Mark    Mark   // zero if it has none, or is not mine
	Body    string // without the marker
	On      string // file:line that a review comment is about; empty for the others
	URL     string
	Created time.Time
	Updated time.Time

	Internal bool // only members of the project see it; GitLab's notes
}

// A Repository is what one must know to clone it and to ask for a pull.
type Repository struct {
	Path     string // as the forge spells it now
	Default  string // branch
	CloneURL string
	Private  bool
	Archived bool
}

// A Pull is a pull request to be opened as a draft.
type Pull struct {
	Repo   string
	Branch string // in the same repository; must be there
	Target string
	Title  string
	Body   string
	Closes int // the issue of the repository that is closed when it is merged; zero means none
}

// Labels are the names of the labels by which people and hako tell each other
// where a task stands. An empty one means its default.
type Labels struct {
	Ready      string // "coding agent"
	Processing string // "coding agent processing"
	Done       string // "coding agent done"
	Failed     string // "coding agent failed"
	Paused     string // "coding agent paused"
	Stopped    string // "coding agent stopped"
}

// Filled returns the labels with their defaults.
func (l Labels) Filled() Labels {
	usual := func(name, suffix string) string {
		if name != "" {
			return name
		}
		return strings.TrimSpace("coding agent " + suffix)
	}
	return Labels{usual(l.Ready, ""), usual(l.Processing, "processing"), usual(l.Done, "done"),
		usual(l.Failed, "failed"), usual(l.Paused, "paused"), usual(l.Stopped, "stopped")}
}

// All lists the names.
func (l Labels) All() []string {
	l = l.Filled()
	return []string{l.Ready, l.Processing, l.Done, l.Failed, l.Paused, l.Stopped}
}
