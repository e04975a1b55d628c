package forge

import (
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

func (c *call) labNote(i *Item, m Comment) map[string]any {
	out := map[string]any{"id": m.ID, "body": m.Body, "author": c.labPerson(m.Author), "system": m.System,
		"internal": m.Internal, "confidential": m.Internal, "created_at": when(m.Created), "updated_at": when(m.Updated),
		"noteable_iid": i.Number, "noteable_type": map[string]string{Issue: "Issue", Pull: "MergeRequest"}[i.Kind],
		"type": nil}
	if m.Path != "" {
		out["type"], out["position"] = "DiffNote", map[string]any{"new_path": m.Path, "new_line": m.Line,
			"position_type": "text"}
	}
	return out
}

func labNotes(kind string) func(*call) {
	return func(c *call) {
		_, i := labItem(c, kind)
		if i == nil {
			return
		}
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
		paged(c, all, func(m Comment) any { return c.labNote(i, m) })
	}
}

func labNote(kind string) func(*call) {
	return func(c *call) {
		_, i := labItem(c, kind)
		if i == nil {
			return
		}
		if c.obeyed(i, c.text("body")) {
			c.json(http.StatusAccepted, map[string]any{"commands_changes": map[string]any{},
				"summary": []string{"Commands applied"}})
			return
		}
		m := c.say(i, Comment{Author: c.login, Body: c.text("body")})
		c.json(http.StatusCreated, c.labNote(i, *m))
	}
}

// quick are lines that GitLab carries out instead of showing them.
var quick = regexp.MustCompile(`(?m)^\s*/(close|merge|label|assign|approve|unlabel)\b`)

// obeyed carries out the orders in a note, which nothing of ours should have.
func (c *call) obeyed(i *Item, body string) bool {
	order := quick.FindStringSubmatch(body)
	if order == nil {
		return false
	}
	c.violate("a note gives the order /%s", order[1])
	i.Closed = i.Closed || order[1] == "close"
	return strings.TrimSpace(body) == "/"+order[1]
}

func labEditNote(kind string) func(*call) {
	return func(c *call) {
		r, i := labItem(c, kind)
		if i == nil {
			return
		}
		id, _ := strconv.Atoi(c.r.PathValue("note"))
		m := i.comment(id)
		if m == nil {
			c.refuse(http.StatusNotFound, "404 Note Not Found")
			return
		}
		if m.Author != c.login && !labMay(c, r, "maintain") {
			return
		}
		c.obeyed(i, c.text("body"))
		m.Body, m.Updated = c.text("body"), c.tick()
		c.json(http.StatusOK, c.labNote(i, *m))
	}
}

func labOpen(c *call) {
	r := labRepo(c)
	if r == nil || !labMay(c, r, "write") {
		return
	}
	from, to := c.text("source_branch"), c.text("target_branch")
	switch {
	case from == to:
		c.json(http.StatusUnprocessableEntity,
			map[string]any{"message": []string{"You can't use same project/branch for source and target"}})
		return
	case r.git != "" && !c.hasBranch(r, from):
		c.json(http.StatusBadRequest, map[string]any{"message": map[string]any{"source_branch": []string{"does not exist"}}})
		return
	case r.git != "" && !c.hasBranch(r, to):
		c.json(http.StatusBadRequest, map[string]any{"message": map[string]any{"target_branch": []string{"does not exist"}}})
		return
	}
	for _, i := range r.items {
		if i.Kind == Pull && !i.Closed && !i.Merged && i.Branch == from && i.Target == to && i.From == "" {
			c.json(http.StatusConflict,
				map[string]any{"message": []string{"Another open merge request already exists for this source branch: !" +
					itoa(i.Number)}})
			return
		}
	}
	i := c.add(r, Item{Kind: Pull, Title: c.text("title"), Body: c.text("description"), Author: c.login, Branch: from,
		Target: to})
	c.obeyed(i, i.Body)
	c.json(http.StatusCreated, c.labItem(r, i))
}
