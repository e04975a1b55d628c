package forge

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"hako/run/fault"
)

// A providerAPI makes the API calls of one provider. Arguments were validated and
// outgoing text was sanitized; what it returns is neither.
type providerAPI interface {
	currentUser(ctx context.Context) (string, error)
	list(ctx context.Context, q Query, limit int) ([]Issue, error)
	get(ctx context.Context, ref Ref) (Issue, error)
	comments(ctx context.Context, ref Ref, since time.Time) ([]Comment, error)
	createComment(ctx context.Context, ref Ref, body string) (Comment, error)
	updateComment(ctx context.Context, ref Ref, id int64, body string) (Comment, error)
	// changeLabels returns the labels that were to be removed and are still there.
	changeLabels(ctx context.Context, ref Ref, add, remove []string) (remaining []string, err error)
	labelEvents(ctx context.Context, ref Ref) ([]labelEvent, error)
	mayWrite(ctx context.Context, repo, user string) (bool, error)
	repository(ctx context.Context, repo string) (Repository, error)
	pullRequests(ctx context.Context, repo, branch string) ([]Issue, error)
	openPullRequest(ctx context.Context, d Draft) (Issue, error)
}

// A labelEvent says that a user set a label.
type labelEvent struct {
	id          int64 // increases
	label, user string
	at          time.Time
}

// A client implements [Forge] over the API of a provider.
type client struct {
	provider  string
	transport *transport
	api       providerAPI
	text      outgoing
	botName   string // from the configuration; empty means unknown

	mu      sync.Mutex
	account string // of the token; empty until asked
}

func (c *client) Close() { c.transport.Close() }

// Token implements [Tokens].
func (c *client) Token(ctx context.Context) (string, error) {
	token, err := c.transport.credential.token(ctx)
	return token, c.transport.wrapError("get a token of", c.provider, err)
}

// CurrentUser asks the forge rather than the configuration: with a wrong name there,
// hako would answer its own comments. Some tokens are not allowed to ask.
func (c *client) CurrentUser(ctx context.Context) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.account != "" {
		return c.account, nil
	}
	name, err := c.api.currentUser(ctx)
	if err == nil && name == "" {
		err = errMalformed
	}
	err = c.transport.identityError(err)
	if fault.KindOf(err) == fault.Denied && statusOf(err) == http.StatusForbidden && c.botName != "" {
		name, err = c.botName, nil
	}
	if err != nil {
		return "", err
	}
	c.account = clean(name)
	return c.account, nil
}

func (c *client) List(ctx context.Context, q Query) ([]Issue, error) {
	if err := q.check(c.provider); err != nil {
		return nil, err
	}
	limit := cmp.Or(q.Limit, maxList)
	all, err := c.api.list(ctx, q, limit)
	if err != nil {
		return nil, c.transport.wrapError("list tasks of", cmp.Or(q.Repo, c.provider), err)
	}
	all = c.matching(all, q)
	return all[:min(len(all), limit)], nil
}

// matching drops issues that do not match, and those that occur twice because the
// pages moved while they were read.
func (c *client) matching(all []Issue, q Query) (list []Issue) {
	seen := map[Ref]bool{}
	for _, i := range all {
		i = c.sanitized(i)
		if i.malformed() || seen[i.Ref()] || i.Closed || q.Label != "" && !i.HasLabel(q.Label) ||
			q.Assignee != "" && !i.AssignedTo(q.Assignee) {
			continue
		}
		seen[i.Ref()] = true
		list = append(list, i)
	}
	return list
}

func (c *client) Get(ctx context.Context, ref Ref) (Issue, error) {
	if err := checkRef(c.provider, ref); err != nil {
		return Issue{}, err
	}
	i, err := c.api.get(ctx, ref)
	return c.issue(i, "read task", ref.String(), err)
}

// issue sanitizes and checks the issue of a response.
func (c *client) issue(i Issue, op, subject string, err error) (Issue, error) {
	if i = c.sanitized(i); err == nil && i.malformed() {
		err = errMalformed
	}
	if err != nil {
		return Issue{}, c.transport.wrapError(op, subject, err)
	}
	return i, nil
}

func (c *client) sanitized(i Issue) Issue {
	i.Provider, i.Title, i.Body = c.provider, clean(i.Title), cleanText(i.Body)
	i.Author, i.Labels, i.Assignees = clean(i.Author), cleanAll(i.Labels), cleanAll(i.Assignees)
	i.URL, i.CloneURL = clean(i.URL), clean(i.CloneURL)
	i.Branch, i.Target, i.Head = safeBranch(i.Branch), safeBranch(i.Target), safeCommit(i.Head)
	if checkRepo(c.provider, i.Repo) != nil {
		i.Repo = ""
	}
	return i
}

func (c *client) Comments(ctx context.Context, ref Ref, since time.Time) ([]Comment, error) {
	if err := checkRef(c.provider, ref); err != nil {
		return nil, err
	}
	account, err := c.CurrentUser(ctx)
	if err != nil {
		return nil, err
	}
	all, err := c.api.comments(ctx, ref, since)
	if err != nil {
		return nil, c.transport.wrapError("read comments of", ref.String(), err)
	}
	for i := range all {
		all[i] = all[i].received(account)
	}
	slices.SortStableFunc(all, func(a, b Comment) int { return a.Created.Compare(b.Created) })
	return all, nil
}

func (c *client) AddComment(ctx context.Context, ref Ref, mark Mark, text string) (Comment, error) {
	return c.writeComment("comment on", ref, mark, text, func(body string) (Comment, error) {
		return c.api.createComment(ctx, ref, body)
	})
}

func (c *client) EditComment(ctx context.Context, ref Ref, id string, mark Mark, text string) (Comment, error) {
	number, err := strconv.ParseInt(id, 10, 64)
	if err != nil || number <= 0 {
		return Comment{}, invalid("edit comment", id, "it cannot be edited", "edit only what AddComment returned")
	}
	return c.writeComment("edit comment of", ref, mark, text, func(body string) (Comment, error) {
		return c.api.updateComment(ctx, ref, number, body)
	})
}

func (c *client) writeComment(op string, ref Ref, mark Mark, text string, write func(body string) (Comment, error)) (
	Comment, error) {
	if err := checkRef(c.provider, ref); err != nil {
		return Comment{}, err
	}
	body, err := c.text.comment(mark, text)
	if err != nil {
		return Comment{}, err
	}
	made, err := write(body)
	if err == nil && made.ID == "0" {
		err = errMalformed
	}
	if err != nil {
		return Comment{}, c.transport.wrapError(op, ref.String(), err)
	}
	return made.received(made.Author), nil
}

// ChangeLabels checks that labels are really gone: a task would be started again
// and again for a ready label that remains.
func (c *client) ChangeLabels(ctx context.Context, ref Ref, add, remove []string) error {
	if err := checkRef(c.provider, ref); err != nil {
		return err
	}
	for _, label := range slices.Concat(add, remove) {
		if err := checkLabel(label); err != nil {
			return err
		}
	}
	remaining, err := c.api.changeLabels(ctx, ref, add, remove)
	if err == nil && len(remaining) > 0 {
		return &fault.Error{Kind: fault.Unavailable, Op: "remove label of", Subject: ref.String(),
			Why: "“" + clean(remaining[0]) + "” is still there", Hint: "check whether the account may change labels there"}
	}
	return c.transport.wrapError("label", ref.String(), err)
}

func (c *client) LabeledBy(ctx context.Context, ref Ref, label string) (user string, at time.Time, err error) {
	if err := checkRef(c.provider, ref); err != nil {
		return "", time.Time{}, err
	}
	events, err := c.api.labelEvents(ctx, ref)
	var last labelEvent
	for _, e := range events {
		if strings.EqualFold(clean(e.label), label) && e.id > last.id {
			last = e
		}
	}
	return clean(last.user), last.at, c.transport.wrapError("read label events of", ref.String(), err)
}

func (c *client) MayWrite(ctx context.Context, repo, user string) (bool, error) {
	if err := checkRepo(c.provider, repo); err != nil || !validUser(user) {
		return false, err
	}
	may, err := c.api.mayWrite(ctx, repo, user)
	return may && err == nil, c.transport.wrapError("read permissions of", user, err)
}

func (c *client) Repository(ctx context.Context, repo string) (Repository, error) {
	if err := checkRepo(c.provider, repo); err != nil {
		return Repository{}, err
	}
	r, err := c.api.repository(ctx, repo)
	if err == nil && (r.Path == "" || r.CloneURL == "") {
		err = errMalformed
	}
	if err != nil {
		return Repository{}, c.transport.wrapError("read repository", repo, err)
	}
	r.Path, r.Default, r.CloneURL = clean(r.Path), safeBranch(r.Default), clean(r.CloneURL)
	return r, nil
}

// PullRequests does not rely on the forge's filter: GitHub returns everything if
// it does not understand it.
func (c *client) PullRequests(ctx context.Context, repo, branch string) ([]Issue, error) {
	op := "find " + pullRequestName(c.provider) + " of"
	if err := cmp.Or(checkRepo(c.provider, repo), checkBranch(op, branch)); err != nil {
		return nil, err
	}
	found, err := c.api.pullRequests(ctx, repo, branch)
	if err != nil {
		return nil, c.transport.wrapError(op, repo+" "+branch, err)
	}
	var open, closed []Issue
	for _, i := range found {
		switch i = c.sanitized(i); {
		case i.Branch != branch || i.Fork:
		case i.Closed:
			closed = append(closed, i)
		default:
			open = append(open, i)
		}
	}
	return append(open, closed...), nil
}

func pullRequestName(provider string) string {
	if provider == GitLab {
		return "merge request"
	}
	return "pull request"
}

func (c *client) OpenPullRequest(ctx context.Context, d Draft) (Issue, error) {
	if err := d.check(c.provider); err != nil {
		return Issue{}, err
	}
	d.Title, d.Body = c.text.pullRequest(d)
	i, err := c.api.openPullRequest(ctx, d)
	i, err = c.issue(i, "open "+pullRequestName(c.provider)+" of", d.Repo+" "+d.Branch, err)
	return i, withExists(err)
}

// Limits of a list.
const (
	maxPages = 100
	perPage  = 100
	maxList  = maxPages * perPage
)

// pages reads a paged list until there is no next page or the limit is reached.
// Entries that are null are dropped: no forge sends them, but a client would crash.
func pages[T any](limit int, fetch func(page int) (list []*T, next int, err error)) ([]*T, error) {
	all, _, err := somePages(limit, fetch)
	return all, err
}

// allPages is pages for lists that are useless unless they are complete: others
// could hide the entry that counts behind theirs.
func allPages[T any](fetch func(page int) (list []*T, next int, err error)) ([]*T, error) {
	all, more, err := somePages(maxList+1, fetch)
	if err == nil && more {
		err = errMalformed
	}
	return all, err
}

func somePages[T any](limit int, fetch func(page int) (list []*T, next int, err error)) (all []*T, more bool,
	err error) {
	page := 1
	for range maxPages {
		list, next, err := fetch(page)
		if err != nil {
			return nil, false, err
		}
		all = append(all, slices.DeleteFunc(list, func(one *T) bool { return one == nil })...)
		if len(all) >= limit {
			return all[:limit], true, nil
		}
		if page = next; page == 0 {
			return all, false, nil
		}
	}
	return all, true, nil
}

// converted converts the entries of a list, without those that are null.
func converted[T, U any](list []*T, convert func(*T) U) []U {
	out := make([]U, 0, len(list))
	for _, one := range list {
		if one != nil {
			out = append(out, convert(one))
		}
	}
	return out
}
