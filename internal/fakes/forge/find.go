package forge

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// findRepo returns the repository of a call, or refuses the call. A repository that
// the account may not read does not exist for it.
func (c *call) findRepo() *repo {
	path := cmp.Or(c.r.PathValue("id"), c.r.PathValue("owner")+"/"+c.r.PathValue("repo"))
	r := c.repos[path]
	for _, one := range c.repos {
		if itoa(one.id) == path { // GitLab accepts numbers too
			r = one
		}
	}
	if r == nil || !r.can(c.login, "read") {
		c.refuse(http.StatusNotFound, pick(c.provider, "Not Found", "404 Project Not Found"))
		return nil
	}
	return r
}

// may refuses the call of an account without a right.
func (c *call) may(r *repo, right string) bool {
	if r.can(c.login, right) {
		return true
	}
	c.refuse(http.StatusForbidden, pick(c.provider, "Resource not accessible by personal access token", "403 Forbidden"))
	return false
}

// findItem returns the item of a call, or refuses the call. At GitHub issues and pull
// requests share their numbers, and an issue that was deleted has a status of its own.
func (c *call) findItem() (*repo, *Item) {
	r := c.findRepo()
	if r == nil {
		return nil, nil
	}
	number, _ := strconv.Atoi(c.r.PathValue("number"))
	item := r.find(c.kind, number)
	if c.kind == "" {
		if item = r.find(Issue, number); item == nil {
			item = r.find(Pull, number)
		}
	}
	switch {
	case item != nil:
	case c.kind == "" && r.gone[key{Issue, number}]:
		c.refuse(http.StatusGone, "This issue was deleted")
	default:
		c.refuse(http.StatusNotFound, pick(c.provider, "Not Found", "404 Not found"))
	}
	return r, item
}

// onRepo makes a handler of a function that needs a right to the repository.
func onRepo(right string, serve func(*call, *repo)) func(*call) {
	return func(c *call) {
		if r := c.findRepo(); r != nil && c.may(r, right) {
			serve(c, r)
		}
	}
}

// onItem makes a handler of a function that needs a right to the item.
func onItem(right string, serve func(*call, *repo, *Item)) func(*call) {
	return func(c *call) {
		if r, i := c.findItem(); i != nil && c.may(r, right) {
			serve(c, r, i)
		}
	}
}

// A placed is an item with its repository.
type placed struct {
	r *repo
	i *Item
}

// list answers with the items of some repositories that fit, the latest first unless
// asked otherwise.
func (c *call) list(repos []*repo, fits func(*repo, *Item) bool, show func(*repo, *Item) map[string]any) {
	var all []placed
	for _, r := range repos {
		for _, i := range r.items {
			if c.fits(i) && fits(r, i) {
				all = append(all, placed{r, i})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b placed) int { return a.i.Created.Compare(b.i.Created) })
	if c.query().Get(pick(c.provider, "direction", "sort")) != "asc" {
		slices.Reverse(all)
	}
	paged(c, all, func(p placed) any { return show(p.r, p.i) })
}

// fits applies the parameters that lists of both providers have. GitHub shows open
// items by default, GitLab all.
func (c *call) fits(i *Item) bool {
	q := c.query()
	state := pick(c.provider, "open", "opened")
	if i.Closed || i.Merged {
		state = "closed"
	}
	want := cmp.Or(q.Get("state"), pick(c.provider, "open", "all"))
	assignee := q.Get(pick(c.provider, "assignee", "assignee_username"))
	return (want == "all" || want == state) && i.hasLabels(q.Get("labels")) && (assignee == "" ||
		slices.ContainsFunc(i.Assignees, func(a string) bool { return strings.EqualFold(a, assignee) }))
}

// openPull returns the open pull request from a branch of the repository to another;
// nil if there is none.
func (r *repo) openPull(branch, target string) *Item {
	for _, i := range r.items {
		if i.Kind == Pull && !i.Closed && !i.Merged && i.Branch == branch && i.Target == target && i.From == "" {
			return i
		}
	}
	return nil
}

// source returns the repository of a pull request's branch; nil if the fork is gone.
func (c *call) source(r *repo, i *Item) *repo {
	if i.From == "" {
		return r
	}
	return c.repos[i.From]
}

// relabel changes the labels of an item and records who did.
func (c *call) relabel(i *Item, change func()) {
	before := slices.Clone(i.Labels)
	change()
	i.Updated = c.tick()
	c.recordLabels(i, before, c.login)
}

// edit changes the text of a comment.
func (c *call) edit(m *Comment) *Comment {
	m.Body, m.Updated = c.text("body"), c.tick()
	return m
}

func (c *call) userID(login string) int {
	if u := c.users[login]; u != nil {
		return u.id
	}
	return 0
}
