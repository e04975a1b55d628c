// Package forge is a client of GitHub and GitLab: issues, pull requests,
// comments and labels.
//
// One implementation of [Forge] serves both: it validates arguments, sanitizes
// text in both directions and wraps errors. Below it are an adapter for each
// provider, which makes the API calls, and one HTTP transport with retries, rate
// limits and conditional requests. What a task is (states, plans, queues) is the
// business of package coder; git is that of package container.
//
// Text from a forge was written by strangers: it is bounded, and invisible
// characters are removed. Text to a forge is redacted and can contain neither a
// marker nor a quick action. The token is sent to the configured address only,
// and is in no error.
package forge

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Forge is a GitHub or GitLab server, used with one account. It is safe for
// concurrent use. Errors are *fault.Error; NotFound can also mean that the token
// has no access.
type Forge interface {
	// CurrentUser returns the account of the token.
	CurrentUser(ctx context.Context) (string, error)

	// List returns open issues and pull requests, oldest first. In a list of
	// GitHub's, pull requests have no branches: use Get.
	List(ctx context.Context, q Query) ([]Issue, error)
	Get(ctx context.Context, ref Ref) (Issue, error)

	// Comments returns the comments that were written or changed at a time or
	// later, oldest first. The zero time means all.
	Comments(ctx context.Context, ref Ref, since time.Time) ([]Comment, error)
	// AddComment and EditComment are not idempotent: see [CommentWriter.Write].
	AddComment(ctx context.Context, ref Ref, mark Mark, text string) (Comment, error)
	EditComment(ctx context.Context, ref Ref, id string, mark Mark, text string) (Comment, error)

	// ChangeLabels adds and removes labels, and leaves the others alone. It is
	// idempotent.
	ChangeLabels(ctx context.Context, ref Ref, add, remove []string) error
	// LabeledBy returns who set a label last, and when. Empty and zero mean that
	// the forge has no such event: a label that an issue was created with may
	// have none.
	LabeledBy(ctx context.Context, ref Ref, label string) (user string, at time.Time, err error)

	// MayWrite reports whether a user may push to a repository. An unknown user
	// may not.
	MayWrite(ctx context.Context, repo, user string) (bool, error)

	Repository(ctx context.Context, repo string) (Repository, error)

	// PullRequests returns the pull requests from a branch of the repository
	// itself, open ones first, newest first.
	PullRequests(ctx context.Context, repo, branch string) ([]Issue, error)
	// OpenPullRequest is not idempotent: see [EnsurePullRequest].
	OpenPullRequest(ctx context.Context, d Draft) (Issue, error)

	// Close closes idle connections. The Forge remains usable.
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
	KindIssue       Kind = "issue"
	KindPullRequest Kind = "pull"
)

// A Ref identifies an issue or pull request within a forge.
type Ref struct {
	Repo   string // owner/name, or group/subgroup/name
	Kind   Kind   // empty means an issue
	Number int
}

// String returns owner/name#1 for an issue, owner/name!1 for a pull request.
func (r Ref) String() string {
	sign := "#"
	if r.Kind == KindPullRequest {
		sign = "!"
	}
	return clean(r.Repo) + sign + strconv.Itoa(r.Number)
}

// An Issue is an issue or a pull request.
type Issue struct {
	Provider  string
	Repo      string
	Kind      Kind
	Number    int
	Title     string // one line
	Body      string
	Author    string
	Labels    []string
	Assignees []string
	URL       string // of its web page
	CloneURL  string // of the repository, without credentials
	Closed    bool   // or merged
	Merged    bool
	Updated   time.Time

	Confidential bool // only members of the project see it; GitLab's issues

	// Of a pull request.
	Branch string // with the changes; empty if unknown, or if git does not accept the name
	Target string // to be merged into
	Fork   bool   // the branch is in another repository
	Head   string // commit of the branch; empty if unknown, as in a list of GitHub's
	Draft  bool
}

// Ref returns the reference of the issue.
func (i Issue) Ref() Ref { return Ref{i.Repo, i.Kind, i.Number} }

// malformed reports whether the response described no issue at all.
func (i Issue) malformed() bool { return i.Repo == "" || i.Number <= 0 }

// HasLabel reports whether the issue has a label, ignoring case as forges do.
func (i Issue) HasLabel(label string) bool { return hasFold(i.Labels, label) }

// AssignedTo reports whether the issue is assigned to a user.
func (i Issue) AssignedTo(user string) bool { return hasFold(i.Assignees, user) }

func hasFold(list []string, word string) bool {
	return slices.ContainsFunc(list, func(s string) bool { return strings.EqualFold(s, word) })
}

// A Query selects open issues and pull requests.
type Query struct {
	Repo     string // empty means every repository the account takes part in, and with GitLab every public one
	Label    string // empty means any
	Assignee string // empty means any
	Limit    int    // how many at most, the oldest; zero means 10 000
}

// A Comment is a comment, a review, or a review comment on a line.
type Comment struct {
	ID      string // unique within an issue
	Author  string
	Mine    bool   // by the account of the token
	Mark    Mark   // zero if there is none, or the comment is not mine
	Body    string // without the marker
	On      string // file:line of a review comment; empty for others
	URL     string
	Created time.Time
	Updated time.Time

	Internal bool // only members of the project see it; GitLab's notes
}

// A Repository is what is needed to clone it and to open a pull request.
type Repository struct {
	Path     string // as the forge spells it now
	Default  string // branch
	CloneURL string
	Private  bool
	Archived bool
}

// A Draft is a pull request to be opened as a draft.
type Draft struct {
	Repo   string
	Branch string // in the same repository; must exist
	Target string
	Title  string
	Body   string
	Closes int // the issue of the repository that merging closes; zero means none
}

// Labels are the names of the labels that show the state of a task. An empty name
// means its default.
type Labels struct {
	Ready      string // "coding agent"
	Processing string // "coding agent processing"
	Done       string // "coding agent done"
	Failed     string // "coding agent failed"
	Paused     string // "coding agent paused"
	Stopped    string // "coding agent stopped"
}

// WithDefaults returns the labels with defaults applied.
func (l Labels) WithDefaults() Labels {
	return Labels{Ready: cmp.Or(l.Ready, "coding agent"), Processing: cmp.Or(l.Processing, "coding agent processing"),
		Done: cmp.Or(l.Done, "coding agent done"), Failed: cmp.Or(l.Failed, "coding agent failed"),
		Paused: cmp.Or(l.Paused, "coding agent paused"), Stopped: cmp.Or(l.Stopped, "coding agent stopped")}
}

// All lists the names.
func (l Labels) All() []string {
	l = l.WithDefaults()
	return []string{l.Ready, l.Processing, l.Done, l.Failed, l.Paused, l.Stopped}
}
