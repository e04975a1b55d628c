package forge

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// hubMarks are where the three kinds of comments are shown.
func (c *call) hubMark(r *repo, i *Item, m Comment) map[string]any {
	page := c.base() + "/" + r.path + "/issues/" + itoa(i.Number) + "#issuecomment-" + itoa(m.ID)
	return map[string]any{"id": m.ID, "body": m.Body, "user": c.person(m.Author), "created_at": when(m.Created),
		"updated_at": when(m.Updated), "html_url": page, "author_association": "NONE"}
}

// hubSpoken lists the comments of an item that fit, in order.
func hubSpoken(c *call, i *Item, fits func(Comment) bool) []Comment {
	since, _ := time.Parse(time.RFC3339, c.query().Get("since"))
	if text := c.query().Get("since"); text != "" && since.IsZero() {
		c.violate("since=%s is no time", text)
	}
	var all []Comment
	for _, m := range i.Comments {
		if fits(m) && !m.System && !m.Updated.Before(since) {
			all = append(all, m)
		}
	}
	return all
}

func hubComments(c *call) {
	r, i := hubItem(c)
	if i == nil {
		return
	}
	paged(c, hubSpoken(c, i, func(m Comment) bool { return m.Path == "" && !m.Review }),
		func(m Comment) any { return c.hubMark(r, i, m) })
}

func hubRemarks(c *call) {
	r, i := hubItem(c)
	if i == nil {
		return
	}
	paged(c, hubSpoken(c, i, func(m Comment) bool { return m.Path != "" }), func(m Comment) any {
		out := c.hubMark(r, i, m)
		out["path"], out["line"] = m.Path, m.Line
		return out
	})
}

func hubReviews(c *call) {
	r, i := hubItem(c)
	if i == nil {
		return
	}
	paged(c, hubSpoken(c, i, func(m Comment) bool { return m.Review }), func(m Comment) any {
		out := c.hubMark(r, i, m)
		delete(out, "created_at")
		delete(out, "updated_at")
		out["submitted_at"], out["state"] = when(m.Created), "COMMENTED"
		return out
	})
}

// longest is what GitHub takes as a body, in characters.
const longest = 65536

func hubComment(c *call) {
	r, i := hubItem(c)
	if i == nil {
		return
	}
	if len([]rune(c.text("body"))) > longest {
		c.refuse(http.StatusUnprocessableEntity, "Validation Failed: body is too long (maximum is 65536 characters)")
		return
	}
	m := c.say(i, Comment{Author: c.login, Body: c.text("body")})
	c.json(http.StatusCreated, c.hubMark(r, i, *m))
}

func hubEdit(c *call) {
	r := hubRepoOf(c)
	if r == nil {
		return
	}
	id, _ := strconv.Atoi(c.r.PathValue("id"))
	for _, i := range r.items {
		m := i.comment(id)
		if m == nil {
			continue
		}
		if m.Author != c.login && !hubMay(c, r, "write") {
			return
		}
		m.Body, m.Updated = c.text("body"), c.tick()
		c.json(http.StatusOK, c.hubMark(r, i, *m))
		return
	}
	c.refuse(http.StatusNotFound, "Not Found")
}

func hubPull(c *call) {
	r, i := hubItem(c)
	if i == nil {
		return
	}
	if i.Kind != Pull {
		c.refuse(http.StatusNotFound, "Not Found")
		return
	}
	c.json(http.StatusOK, c.hubPull(r, i))
}

func hubPulls(c *call) {
	r := hubRepoOf(c)
	if r == nil {
		return
	}
	var all []placed
	for _, i := range r.items {
		if i.Kind == Pull && hubFits(c, i) && hubHead(c, r, i) {
			all = append(all, placed{r, i})
		}
	}
	hubSorted(c, all, func(p placed) any { return c.hubPull(p.r, p.i) })
}

// hubHead applies the filter owner:branch, which is ignored if it is not of
// that form.
func hubHead(c *call, r *repo, i *Item) bool {
	owner, branch, ok := strings.Cut(c.query().Get("head"), ":")
	if !ok {
		return true
	}
	from := r.path
	if i.From != "" {
		from = i.From
	}
	return branch == i.Branch && strings.HasPrefix(from, owner+"/")
}

func hubOpen(c *call) {
	r := hubRepoOf(c)
	if r == nil || !hubMay(c, r, "write") {
		return
	}
	head, base := c.text("head"), c.text("base")
	draft, _ := c.fields["draft"].(bool)
	if why := c.cannotOpen(r, head, base, draft); why != "" {
		c.json(http.StatusUnprocessableEntity, map[string]any{"message": "Validation Failed",
			"errors": []any{map[string]any{"resource": "PullRequest", "code": "custom", "message": why}}})
		return
	}
	i := c.add(r, Item{Kind: Pull, Title: c.text("title"), Body: c.text("body"), Author: c.login, Branch: head,
		Target: base, Draft: draft})
	c.json(http.StatusCreated, c.hubPull(r, i))
}

func (c *call) cannotOpen(r *repo, head, base string, draft bool) string {
	owner, _, _ := strings.Cut(r.path, "/")
	switch {
	case draft && r.noDrafts:
		return "Draft pull requests are not supported in this repository."
	case r.git != "" && !c.hasBranch(r, head):
		return "head is invalid"
	case r.git != "" && !c.hasBranch(r, base):
		return "base is invalid"
	case r.git != "" && c.shaOf(r, head) == c.shaOf(r, base):
		return "No commits between " + base + " and " + head
	}
	for _, i := range r.items {
		if i.Kind == Pull && !i.Closed && !i.Merged && i.Branch == head && i.Target == base && i.From == "" {
			return "A pull request already exists for " + owner + ":" + head + "."
		}
	}
	return ""
}
