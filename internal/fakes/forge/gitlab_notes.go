package forge

import (
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

func (c *call) gitlabNote(i *Item, m Comment) map[string]any {
	out := map[string]any{"id": m.ID, "body": m.Body, "author": c.gitlabPerson(m.Author), "system": m.System,
		"internal": m.Internal, "confidential": m.Internal, "created_at": when(m.Created), "updated_at": when(m.Updated),
		"noteable_iid": i.Number, "noteable_type": gitlabTypes[i.Kind], "type": nil}
	if m.Path != "" {
		out["type"], out["position"] = "DiffNote", map[string]any{"new_path": m.Path, "new_line": m.Line,
			"position_type": "text"}
	}
	return out
}

func gitlabNotes(c *call, _ *repo, i *Item) {
	all := slices.Clone(i.Comments)
	slices.SortStableFunc(all, func(a, b Comment) int {
		if c.query().Get("order_by") == "updated_at" {
			return a.Updated.Compare(b.Updated)
		}
		return a.Created.Compare(b.Created)
	})
	if c.query().Get("sort") != "asc" {
		slices.Reverse(all)
	}
	paged(c, all, func(m Comment) any { return c.gitlabNote(i, m) })
}

func gitlabNote(c *call, _ *repo, i *Item) {
	if c.quickAction(i, c.text("body")) {
		c.json(http.StatusAccepted, map[string]any{"commands_changes": map[string]any{},
			"summary": []string{"Commands applied"}})
		return
	}
	m := c.comment(i, Comment{Author: c.login, Body: c.text("body")})
	c.json(http.StatusCreated, c.gitlabNote(i, *m))
}

// quickActions are lines that GitLab carries out instead of showing them.
var quickActions = regexp.MustCompile(`(?m)^\s*/(close|merge|label|assign|approve|unlabel)\b`)

// quickAction carries out the quick action in a note, which no text of hako should
// contain. It reports whether the note is nothing else.
func (c *call) quickAction(i *Item, body string) bool {
	action := quickActions.FindStringSubmatch(body)
	if action == nil {
		return false
	}
	c.violate("a note has the quick action /%s", action[1])
	i.Closed = i.Closed || action[1] == "close"
	return strings.TrimSpace(body) == "/"+action[1]
}

func gitlabEditNote(c *call, r *repo, i *Item) {
	id, _ := strconv.Atoi(c.r.PathValue("note"))
	m := i.findComment(id)
	switch {
	case m == nil:
		c.refuse(http.StatusNotFound, "404 Note Not Found")
	case m.Author == c.login || c.may(r, "maintain"):
		c.quickAction(i, c.text("body"))
		c.json(http.StatusOK, c.gitlabNote(i, *c.edit(m)))
	}
}

func gitlabOpen(c *call, r *repo) {
	from, to := c.text("source_branch"), c.text("target_branch")
	open := r.openPull(from, to)
	switch {
	case from == to:
		c.json(http.StatusUnprocessableEntity,
			map[string]any{"message": []string{"You can't use same project/branch for source and target"}})
	case r.git != "" && !c.hasBranch(r, from):
		c.json(http.StatusBadRequest, map[string]any{"message": map[string]any{"source_branch": []string{"does not exist"}}})
	case r.git != "" && !c.hasBranch(r, to):
		c.json(http.StatusBadRequest, map[string]any{"message": map[string]any{"target_branch": []string{"does not exist"}}})
	case open != nil:
		c.json(http.StatusConflict, map[string]any{"message": []string{
			"Another open merge request already exists for this source branch: !" + itoa(open.Number)}})
	default:
		i := c.add(r, Item{Kind: Pull, Title: c.text("title"), Body: c.text("description"), Author: c.login, Branch: from,
			Target: to})
		c.quickAction(i, i.Body)
		c.json(http.StatusCreated, c.gitlabItem(r, i))
	}
}
