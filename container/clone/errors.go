package clone

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"hako/internal/lazyregexp"
	"hako/run/fault"
)

// A movedError is a redirect.
type movedError struct{ error }

// Unwrap implements the method for errors.As.
func (e *movedError) Unwrap() error { return e.error }

var httpStatus = lazyregexp.New(`requested URL returned error: (\d{3})`)

// explain explains an error of git. Its output is sanitized, but written by others: it selects messages only.
func (j *cloneJob) explain(err error) error {
	if err == nil {
		return nil
	}
	if known := j.known(err); known != nil {
		return known
	}
	var f *failure
	if !errors.As(err, &f) {
		return err
	}
	return &fault.Error{Kind: fault.Unavailable, Op: j.op, Subject: j.subject,
		Why: "git could not " + j.verb("fetch it", "push it"), Err: f,
		Hint: "see what git says; git ls-remote " + j.subject + " asks the same server by hand"}
}

// known explains frequent errors; nil means that it is none of them.
func (j *cloneJob) known(err error) error {
	var f *failure
	if !errors.As(err, &f) {
		return nil
	}
	contains := func(any ...string) bool {
		for _, words := range any {
			if strings.Contains(f.text, words) {
				return true
			}
		}
		return false
	}
	status := ""
	if m := httpStatus.Get().FindStringSubmatch(f.text); m != nil {
		status = m[1]
	}
	e := &fault.Error{Op: j.op, Subject: j.subject}
	switch {
	case status == "401" || status == "403" || contains("could not read Username", "could not read Password",
		"Authentication failed"):
		j.explainRefusal(e, cmp.Or(status, "401"))
	case status == "404" || status == "410" || contains("' not found"):
		e.Kind, e.Why, e.Hint = fault.NotFound, "there is no such repository, or it is not shown to us",
			"check the address; "+j.tokenHint()
	case strings.HasPrefix(status, "3"):
		e.Kind, e.Why, e.Hint = fault.Invalid, "the server sends git to another address ("+status+"), which is not followed",
			"use the address where the repository is now"
		return &movedError{e}
	case status == "429" || strings.HasPrefix(status, "5"):
		e.Kind, e.Why, e.Hint = fault.Unavailable, "the server cannot answer now ("+status+")", "try again later"
	case !j.explainNetwork(e, contains):
		return nil
	}
	return e
}

// explainNetwork explains why git cannot reach the server, or does not find a repository there.
func (j *cloneJob) explainNetwork(e *fault.Error, contains func(...string) bool) bool {
	e.Kind = fault.Unavailable
	switch {
	case contains("Could not resolve host", "Could not resolve proxy", "Name or service not known"):
		e.Why, e.Hint = "the name "+j.url.Hostname()+" is unknown, or there is no network",
			"check the address and the network of this machine"
	case contains("Failed to connect", "Connection refused", "Couldn't connect", "Connection timed out",
		"Network is unreachable", "No route to host"):
		e.Why, e.Hint = "cannot connect to "+j.url.Host,
			"check the address and the network of this machine; behind a proxy set HTTPS_PROXY"
	case contains("certificate", "SSL", "TLS", "gnutls"):
		e.Why, e.Hint = "the TLS certificate of "+j.url.Host+" cannot be verified", "name its authority in ca_certificates"
	case contains("dumb http transport", "does not support shallow"):
		e.Kind, e.Why, e.Hint = fault.Invalid, "the server cannot give a part of the history", "ask for a full clone"
	case contains("not valid: is this a git repository", "invalid server response", "not a git repository"):
		e.Kind, e.Why, e.Hint = fault.Invalid, "there is a server, but no git repository", "check the address: "+writeURL
	case contains("fsck error", "in malformed", "error: object "):
		e.Kind, e.Why, e.Hint = fault.Denied,
			"the repository contains malformed git objects, which could be an attack",
			"ask for its last commit only, or have its owner fix it (git fsck names them)"
	case contains("not our ref", "unadvertised object"):
		e.Kind, e.Why, e.Hint = fault.NotFound, "the server has no commit "+j.src.Commit+" any more, or does not give it",
			"begin from a branch"
	case contains("couldn't find remote ref"):
		e.Kind, e.Why, e.Hint = fault.NotFound, "the branch vanished while it was fetched", "name a branch that exists"
	case contains("early EOF", "RPC failed", "unexpected disconnect", "hung up"):
		e.Why, e.Hint = "the connection was lost during the transfer", "try again"
	default:
		return false
	}
	return true
}

func (j *cloneJob) explainRefusal(e *fault.Error, status string) {
	if e.Kind = fault.Denied; j.key == nil {
		e.Why, e.Hint = "the server requires authentication ("+status+")", j.tokenHint()
		return
	}
	e.Why = "the server refused " + j.key.token + " (" + status + ")"
	e.Hint = "see that the token has not run out and may " + j.verb("read", "push to") + " this repository"
}

func (j *cloneJob) verb(fetching, saving string) string {
	if j.op == opSave {
		return saving
	}
	return fetching
}

// tokenHint names the variable for a token for this server.
func (j *cloneJob) tokenHint() string {
	if j.key != nil {
		return "see that " + j.key.token + " may " + j.verb("read", "push to") + " it"
	}
	if j.Keys.withheld(j.url) {
		return "if it is private, the user must list it: " + j.Keys.setting + ": [" + j.url.Host +
			strings.TrimSuffix(j.url.Path, ".git") + "]"
	}
	for _, f := range forges() {
		if j.url.Hostname() == f.host {
			return "if it is private, set " + f.token
		}
	}
	origin := j.url.Scheme + "://" + j.url.Host
	return "if it is private, set GITLAB_API_URL=" + origin +
		"/api/v4 with GITLAB_PERSONAL_ACCESS_TOKEN, or GITHUB_API_URL=" + origin + "/api/v3 with GITHUB_PERSONAL_ACCESS_TOKEN"
}

// interrupted reports whether an error comes from a cancelled context.
func interrupted(ctx context.Context, err error) bool {
	return ctx.Err() != nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}
