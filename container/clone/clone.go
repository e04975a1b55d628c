// Package clone brings a repository into a container, and what became of it back to the server, without bringing
// along the token that it takes.
//
// Git runs twice: outside, where it fetches into a cache with the token in a header that only this one process knows,
// and inside, where it checks out what was sent in as a pack. [Store.Save] goes the other way: a pack comes out, is
// looked through, and is pushed from outside. [Keyring] knows which token belongs to which server, for both and for
// the proxy that lends it to git inside. Deliberately not here: containers, the proxy itself, issues and merge
// requests.
//
// The one rule to keep: a token goes into the environment of a git that we started outside, and nowhere else: no
// argument, no file, no message.
package clone

import (
	"cmp"
	"context"
	"errors"
	"net/url"
	"time"

	"hako/container/guest"
	"hako/run/fault"
)

// A Source is what to clone.
type Source struct {
	// URL is the address of the repository: https://github.com/group/project.git.
	URL string `json:"url"`
	// Branch is what is checked out; empty means the default branch of the repository.
	Branch string `json:"branch,omitempty"`
	// Start is the full reference to check out, as refs/pull/7/head; empty means that of Branch. With one, Branch is
	// only what it is called inside, and the server need not have it.
	Start string `json:"start,omitempty"`
	// Commit is the commit to check out, by its hash; empty means the tip of Start or Branch. One that [Store.Save]
	// made of changes that nobody had committed is undone: its changes are there, and it is not.
	Commit string `json:"commit,omitempty"`
	// Target is a branch to fetch besides, so that one can be compared with it; empty means none. There is then
	// enough history for most comparisons, see Depth.
	Target string `json:"target,omitempty"`
	// Full fetches the whole history of the branches; false means that Depth counts.
	Full bool `json:"full,omitempty"`
	// Depth is how many commits of each branch are fetched; zero means 1, or 50
	// where there is a Target. Of a Commit it is 2 at least: its parent is needed.
	Depth int `json:"depth,omitempty"`
}

// A Checkout is what came of it.
type Checkout struct {
	Commit   string   // that HEAD is at
	Key      string   // of the [Save] that made this commit; empty means that none did
	Branch   string   // that it was on
	Default  string   // the default branch of the repository; empty if it has none
	URL      string   // of the repository, as the container knows it
	Cached   bool     // nothing had to be fetched
	Bytes    int64    // of the pack that was sent into the container
	Warnings []string // what somebody should know about it
}

// A Store clones repositories, and remembers them. Its fields are not changed
// once it is in use; it is safe for concurrent use, also by several processes.
type Store struct {
	// Dir is where fetched objects are kept; it is made if need be. It is required.
	Dir string
	// Keys are the credentials; nil means none.
	Keys *Keyring
	// Git is the program; empty means git from the PATH.
	Git string
	// CAFile is a file of authorities (PEM) that servers may be vouched for by,
	// besides those of the system; empty means none.
	CAFile string
	// InsecureTLS does not check servers: whoever is in between gets the token.
	// Every checkout says so. False means that they are checked.
	InsecureTLS bool
	// PlainHTTP permits http:// for every server. False means only for the one whose API address begins that way.
	PlainHTTP bool
	// Environ is an environment of which the settings for a proxy are taken,
	// and nothing else: HTTPS_PROXY and its like. Nil means no proxy.
	Environ []string

	MaxBytes int64         // of one repository, packed or checked out; zero means 2 GB
	MaxTotal int64         // of all repositories together; zero means 10 GB; what was not used for longest goes first, what is in use never
	MaxFiles int           // of one checkout; zero means 200 000
	Timeout  time.Duration // for all of a clone; zero means 300 s
}

const (
	defaultBytes   = 2 << 30
	defaultTotal   = 10 << 30
	defaultFiles   = 200_000
	defaultTimeout = 300 * time.Second
)

// Clone brings a repository into the directory dir of the container, which must be empty if it is there. It tells how
// far it is in short lines of plain text; progress may be nil.
func (s *Store) Clone(ctx context.Context, src Source, g guest.Executor, dir string, progress func(string)) (Checkout, error) {
	var done Checkout
	err := s.ask(ctx, src, progress, func(ctx context.Context, j *cloneJob, at remoteRefs) error {
		return j.retryStale(func() (err error) {
			done, err = j.transferTo(ctx, at, g, dir)
			return err
		})
	})
	return done, err
}

// ask asks the server for a source, and calls do with the result, within the time for a clone.
func (s *Store) ask(ctx context.Context, src Source, progress func(string),
	do func(context.Context, *cloneJob, remoteRefs) error) error {
	if err := s.Check(src); err != nil {
		return err
	}
	return s.inTime(ctx, opClone, src, progress, func(ctx context.Context, j *cloneJob) error {
		if err := j.git.checkVersion(ctx); err != nil {
			return err
		}
		at, err := j.listRemote(ctx)
		if err != nil {
			return err
		}
		return do(ctx, j, at)
	})
}

// inTime makes a job and calls do with it, which must end within the time for a clone. Progress may be nil.
func (s *Store) inTime(ctx context.Context, op string, src Source, progress func(string),
	do func(context.Context, *cloneJob) error) error {
	if progress == nil {
		progress = func(string) {}
	}
	timeout := cmp.Or(s.Timeout, defaultTimeout)
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, errOverdue)
	defer cancel()
	j, err := s.newJob(op, src, progress)
	if err != nil {
		return err
	}
	err = do(ctx, j)
	if err != nil && (errors.Is(err, errOverdue) || errors.Is(context.Cause(ctx), errOverdue)) {
		err = &fault.Error{Kind: fault.Timeout, Op: op, Subject: j.subject, Why: "it took longer than " + timeout.String(),
			Hint: "raise the time for a clone, or check the connection to the server"}
	}
	return err
}

// What is being done, for messages.
const (
	opClone = "clone"
	opSave  = "save"
)

var errOverdue = errors.New("the time for the clone ran out")

// Check refuses a source that could not, or must not, be cloned by this store.
func (s *Store) Check(src Source) error {
	u, err := check(src)
	if err != nil {
		return err
	}
	if u.Scheme == "http" && s.Keys.withheld(u) {
		return invalidSource(u.Redacted(), "http is not encrypted, and the repository is not listed in "+s.Keys.setting,
			"use https, or have the user list it there")
	}
	if u.Scheme == "http" && s.Keys.find(u) == nil && !s.PlainHTTP {
		return invalidSource(u.Redacted(), "http is not encrypted",
			"use https; for a server of your own that has none, set GITLAB_API_URL to its address, beginning with http://, and GITLAB_PERSONAL_ACCESS_TOKEN")
	}
	return nil
}

// Check refuses a source that makes no sense, or that would make git do
// something other than fetch a branch from a web server.
func Check(src Source) error {
	_, err := check(src)
	return err
}

func check(src Source) (*url.URL, error) {
	u, err := parseURL(src.URL)
	if err != nil {
		return nil, err
	}
	for _, branch := range []string{src.Branch, src.Target} {
		if branch == "" {
			continue
		}
		if err := checkBranch(branch); err != nil {
			return nil, err
		}
	}
	if err := checkStart(src); err != nil {
		return nil, err
	}
	if src.Depth < 0 {
		return nil, invalidSource(u.Redacted(), "its depth is below zero", "leave it out for one commit, or ask for all of them")
	}
	return u, nil
}
