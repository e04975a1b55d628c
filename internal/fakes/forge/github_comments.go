package forge

import (
	"net/http"
	"strconv"
	"time"
)

func (c *call) githubComment(r *repo, i *Item, m *Comment) map[string]any {
	page := c.base() + "/" + r.path + "/issues/" + itoa(i.Number) + "#issuecomment-" + itoa(m.ID)
	return map[string]any{"id": m.ID, "body": m.Body, "user": c.githubPerson(m.Author), "created_at": when(m.Created),
		"updated_at": when(m.Updated), "html_url": page, "author_association": "NONE"}
}

// githubList answers with the comments of an item that fit, in order. Show adds to a
// comment what only some have.
func (c *call) githubList(r *repo, i *Item, fits func(Comment) bool, show func(Comment, map[string]any)) {
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
	paged(c, all, func(m Comment) any {
		out := c.githubComment(r, i, &m)
		show(m, out)
		return out
	})
}

func githubComments(c *call, r *repo, i *Item) {
	c.githubList(r, i, func(m Comment) bool { return m.Path == "" && !m.Review }, func(Comment, map[string]any) {})
}

func githubReviewComments(c *call, r *repo, i *Item) {
	c.githubList(r, i, func(m Comment) bool { return m.Path != "" }, func(m Comment, out map[string]any) {
		out["path"], out["line"] = m.Path, m.Line
	})
}

func githubReviews(c *call, r *repo, i *Item) {
	c.githubList(r, i, func(m Comment) bool { return m.Review }, func(m Comment, out map[string]any) {
		delete(out, "created_at")
		delete(out, "updated_at")
		out["submitted_at"], out["state"] = when(m.Created), "COMMENTED"
	})
}

// maxBody is what GitHub accepts as a body, in characters.
const maxBody = 65536

func githubComment(c *call, r *repo, i *Item) {
	if len([]rune(c.text("body"))) > maxBody {
		c.refuse(http.StatusUnprocessableEntity, "Validation Failed: body is too long (maximum is 65536 characters)")
		return
	}
	m := c.comment(i, Comment{Author: c.login, Body: c.text("body")})
	c.json(http.StatusCreated, c.githubComment(r, i, m))
}

func githubEdit(c *call) {
	r := c.findRepo()
	if r == nil {
		return
	}
	id, _ := strconv.Atoi(c.r.PathValue("comment"))
	for _, i := range r.items {
		m := i.findComment(id)
		if m == nil {
			continue
		}
		if m.Author == c.login || c.may(r, "write") {
			c.json(http.StatusOK, c.githubComment(r, i, c.edit(m)))
		}
		return
	}
	c.refuse(http.StatusNotFound, "Not Found")
}
