// Package clone brings a repository into a container, and its changes back to the server, while the token stays
// outside.
//
// Git runs twice: outside, where it fetches into a cache with the token in a header that only this one process knows,
// and inside, where it checks out what was sent in as a pack. [Store.Save] goes the other way: a pack comes out, is
// checked, and is pushed from outside. [Keyring] maps servers to tokens, for both and for the egress proxy.
//
// The rule to keep: a token goes into the environment of a git that we started outside, and nowhere else: no
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

// A Source describes what to clone.
type Source struct {
	// URL is the address of the repository: https://github.com/group/project.git.
	URL string `json:"url"`
	// Branch is the branch to check out; empty means the default branch.
	Branch string `json:"branch,omitempty"`
	// Start is the full reference to check out, like refs/pull/7/head; empty means that of Branch. If it is set,
	// Branch is only the name of the local branch, and the server need not have it.
	Start string `json:"start,omitempty"`
	// Commit is the hash of the commit to check out; empty means the tip of Start or Branch. If it is a snapshot of
	// [Store.Save], its changes are restored uncommitted.
	Commit string `json:"commit,omitempty"`
	// Target is another branch to fetch, for comparisons; empty means none. See Depth.
	Target string `json:"target,omitempty"`
	// Full fetches the whole history; false means that Depth applies.
	Full bool `json:"full,omitempty"`
	// Depth is the number of commits to fetch of each branch; zero means 1, or 50 with a Target. With a Commit it is
	// at least 2, because its parent is needed.
	Depth int `json:"depth,omitempty"`
}

// A Checkout is the outcome of a clone.
type Checkout struct {
	Commit   string // HEAD
	Key      string // of the [Save] that made this commit; empty means that none did
	Branch   string // local branch
	Default  string // the default branch of the repository; empty if it has none
	URL      string // of the repository, as the container knows it
	Cached   bool   // nothing was fetched
	Bytes    int64  // of the pack that was sent
	Warnings []string
}

// A Store clones repositories, and caches them. Its fields must not be changed once it is in use. It is safe for
// concurrent use, also by several processes.
type Store struct {
	// Dir is the cache directory; it is created if necessary. It is required.
	Dir string
	// Keys are the credentials; nil means none.
	Keys *Keyring
	// Git is the program; empty means git from PATH.
	Git string
	// CAFile is a PEM file of additional certificate authorities; empty means none.
	CAFile string
	// InsecureTLS does not verify servers: a man in the middle gets the token. Every checkout warns of it.
	InsecureTLS bool
	// PlainHTTP permits http:// for every server. False means only for those whose API address is http://.
	PlainHTTP bool
	// Environ is an environment of which only the proxy variables are used, like HTTPS_PROXY. Nil means no proxy.
	Environ []string

	MaxBytes int64         // of one repository, packed or checked out; zero means 2 GB
	MaxTotal int64         // of all repositories; zero means 10 GB
	MaxFiles int           // of one checkout; zero means 200 000
	Timeout  time.Duration // for all of a clone; zero means 300 s
}

const (
	defaultBytes   = 2 << 30
	defaultTotal   = 10 << 30
	defaultFiles   = 200_000
	defaultTimeout = 300 * time.Second
)

// Clone clones a repository into a directory of the container, which must be empty if it exists. Progress receives
// short lines of plain text; it may be nil.
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

// ask lists the references of a source on the server and calls do with them, within the time for a clone.
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

// inTime creates a job and calls do with it, within the time for a clone. Progress may be nil.
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

// Operations, for messages.
const (
	opClone = "clone"
	opSave  = "save"
)

var errOverdue = errors.New("the time for the clone ran out")

// Check refuses a source that cannot, or must not, be cloned by this store.
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

// Check refuses a source that is invalid, or would make git do anything but fetch from a web server.
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
