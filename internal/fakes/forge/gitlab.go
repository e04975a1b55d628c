package forge

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
)

const (
	labList = pageQuery + "state labels order_by sort "
	labEdit = "labels add_labels remove_labels"
)

// gitlabRoutes are the parts of GitLab's REST interface that are played. The
// path of a project is one word of the address, its slashes escaped.
var gitlabRoutes = []route{
	{"GET /user", "", "", labUser},
	{"GET /issues", labList + "scope assignee_username", "", labAll(Issue)},
	{"GET /merge_requests", labList + "scope", "", labAll(Pull)},
	{"GET /projects/{id}", "", "", labProject},
	{"GET /projects/{id}/members/all", pageQuery + "query", "", labMembers},
	{"GET /projects/{id}/issues", labList + "assignee_username", "", labItems(Issue)},
	{"GET /projects/{id}/merge_requests", labList + "source_branch", "", labItems(Pull)},
	{"POST /projects/{id}/merge_requests", "", "title* source_branch* target_branch* description", labOpen},
	{"GET /projects/{id}/issues/{number}", "", "", labGet(Issue)},
	{"PUT /projects/{id}/issues/{number}", "", labEdit, labUpdate(Issue)},
	{"GET /projects/{id}/issues/{number}/resource_label_events", pageQuery, "", labEvents(Issue)},
	{"GET /projects/{id}/issues/{number}/notes", pageQuery + "order_by sort", "", labNotes(Issue)},
	{"POST /projects/{id}/issues/{number}/notes", "", "body*", labNote(Issue)},
	{"PUT /projects/{id}/issues/{number}/notes/{note}", "", "body*", labEditNote(Issue)},
	{"GET /projects/{id}/merge_requests/{number}", "", "", labGet(Pull)},
	{"PUT /projects/{id}/merge_requests/{number}", "", labEdit, labUpdate(Pull)},
	{"GET /projects/{id}/merge_requests/{number}/resource_label_events", pageQuery, "", labEvents(Pull)},
	{"GET /projects/{id}/merge_requests/{number}/notes", pageQuery + "order_by sort", "", labNotes(Pull)},
	{"POST /projects/{id}/merge_requests/{number}/notes", "", "body*", labNote(Pull)},
	{"PUT /projects/{id}/merge_requests/{number}/notes/{note}", "", "body*", labEditNote(Pull)},
}

func labRepo(c *call) *repo {
	id := c.r.PathValue("id")
	r := c.repos[id]
	for _, one := range c.repos {
		if itoa(one.id) == id {
			r = one
		}
	}
	if r == nil || !r.can(c.login, "read") {
		c.refuse(http.StatusNotFound, "404 Project Not Found")
		return nil
	}
	return r
}

func labItem(c *call, kind string) (*repo, *Item) {
	r := labRepo(c)
	if r == nil {
		return nil, nil
	}
	number, _ := strconv.Atoi(c.r.PathValue("number"))
	item := r.find(kind, number)
	if item == nil {
		c.refuse(http.StatusNotFound, "404 Not found")
	}
	return r, item
}

func labMay(c *call, r *repo, right string) bool {
	if r.can(c.login, right) {
		return true
	}
	c.refuse(http.StatusForbidden, "403 Forbidden")
	return false
}

func (c *call) labPerson(login string) map[string]any {
	id := 0
	if u := c.users[login]; u != nil {
		id = u.id
	}
	return map[string]any{"id": id, "username": login, "name": strings.ToUpper(login), "state": "active",
		"web_url": c.base() + "/" + login}
}

func (c *call) labItem(r *repo, i *Item) map[string]any {
	state, part, sign := "opened", "issues", "#"
	switch {
	case i.Merged:
		state = "merged"
	case i.Closed:
		state = "closed"
	}
	if i.Kind == Pull {
		part, sign = "merge_requests", "!"
	}
	assignees := []any{}
	for _, login := range i.Assignees {
		assignees = append(assignees, c.labPerson(login))
	}
	number := itoa(i.Number)
	out := map[string]any{"id": i.id, "iid": i.Number, "project_id": r.id, "state": state, "title": i.Title,
		"description": i.Body, "author": c.labPerson(i.Author),
		"labels": append([]string{}, i.Labels...), "assignees": assignees, "created_at": when(i.Created),
		"updated_at": when(i.Updated), "user_notes_count": len(i.Comments),
		"web_url":    c.base() + "/" + r.path + "/-/" + part + "/" + number,
		"references": map[string]any{"short": sign + number, "relative": sign + number, "full": r.path + sign + number}}
	if i.Kind == Pull {
		c.labPull(r, i, out)
		return out
	}
	out["confidential"] = i.Confidential
	return out
}

func (c *call) labPull(r *repo, i *Item, out map[string]any) {
	from := r
	if i.From != "" {
		from = c.repos[i.From]
	}
	out["source_branch"], out["target_branch"], out["target_project_id"], out["sha"] = i.Branch, i.Target, r.id,
		c.shaOf(from, i.Branch)
	out["source_project_id"], out["draft"] = nil, strings.HasPrefix(i.Title, "Draft:")
	if from != nil {
		out["source_project_id"] = from.id
	}
}

func labUser(c *call) { c.json(http.StatusOK, c.labPerson(c.login)) }

func labProject(c *call) {
	r := labRepo(c)
	if r == nil {
		return
	}
	visibility := "public"
	if r.private {
		visibility = "private"
	}
	page := c.base() + "/" + r.path
	c.json(http.StatusOK, map[string]any{"id": r.id, "path_with_namespace": r.path, "default_branch": r.main,
		"http_url_to_repo": page + ".git", "web_url": page, "visibility": visibility, "archived": false})
}

// labMembers finds whoever has the words in the name, as GitLab does: "bot"
// finds "robot" too.
func labMembers(c *call) {
	r := labRepo(c)
	if r == nil {
		return
	}
	var found []string
	for login := range r.members {
		if strings.Contains(strings.ToLower(login), strings.ToLower(c.query().Get("query"))) {
			found = append(found, login)
		}
	}
	slices.Sort(found)
	levels := map[string]int{"read": 20, "triage": 20, "write": 30, "maintain": 40, "admin": 50, "none": 0, "guest": 10,
		"blocked": 30, "expired": 30}
	paged(c, found, func(login string) any {
		out := c.labPerson(login)
		right := r.members[login]
		out["access_level"], out["expires_at"] = levels[right], nil
		if right == "blocked" {
			out["state"] = "blocked"
		}
		if right == "expired" {
			out["expires_at"] = "2020-01-01"
		}
		return out
	})
}

func labFits(c *call, i *Item, kind string) bool {
	q := c.query()
	state := "opened"
	if i.Closed || i.Merged {
		state = "closed"
	}
	if want := q.Get("state"); i.Kind != kind || want != "" && want != "all" && want != state ||
		!i.hasLabels(q.Get("labels")) {
		return false
	}
	if branch := q.Get("source_branch"); branch != "" && branch != i.Branch {
		return false
	}
	want := q.Get("assignee_username")
	return want == "" || slices.ContainsFunc(i.Assignees, func(a string) bool { return strings.EqualFold(a, want) })
}

func labSorted(c *call, all []placed) {
	slices.SortStableFunc(all, func(a, b placed) int { return a.i.Created.Compare(b.i.Created) })
	if c.query().Get("sort") != "asc" {
		slices.Reverse(all)
	}
	paged(c, all, func(p placed) any { return c.labItem(p.r, p.i) })
}

func labAll(kind string) func(*call) {
	return func(c *call) {
		if c.query().Get("scope") != "all" { // else only what one has made oneself
			c.violate("GET %s: only scope=all is played", c.r.URL.Path)
		}
		var all []placed
		for _, r := range c.sortedRepos() { // also what is public, whoever's it is
			for _, i := range r.items {
				if r.can(c.login, "read") && labFits(c, i, kind) {
					all = append(all, placed{r, i})
				}
			}
		}
		labSorted(c, all)
	}
}

func labItems(kind string) func(*call) {
	return func(c *call) {
		r := labRepo(c)
		if r == nil {
			return
		}
		var all []placed
		for _, i := range r.items {
			if labFits(c, i, kind) {
				all = append(all, placed{r, i})
			}
		}
		labSorted(c, all)
	}
}

func labGet(kind string) func(*call) {
	return func(c *call) {
		if r, i := labItem(c, kind); i != nil {
			c.json(http.StatusOK, c.labItem(r, i))
		}
	}
}

func labUpdate(kind string) func(*call) {
	return func(c *call) {
		r, i := labItem(c, kind)
		if i == nil || !labMay(c, r, "triage") {
			return
		}
		if len(c.fields) == 0 {
			c.refuse(http.StatusBadRequest,
				"labels, add_labels, remove_labels are missing, at least one parameter must be provided")
			return
		}
		c.labLabels(r, i)
		c.json(http.StatusOK, c.labItem(r, i))
	}
}

func (c *call) labLabels(r *repo, i *Item) {
	before := slices.Clone(i.Labels)
	if _, given := c.fields["labels"]; given {
		i.Labels = nil
		c.eachLabel("labels", i.label)
	}
	c.eachLabel("add_labels", i.label)
	c.eachLabel("remove_labels", func(name string) { i.unlabel(name) })
	if !slices.Equal(before, i.Labels) {
		c.say(i, Comment{Author: c.login, Body: "changed labels", System: true})
		c.noted(i, before, c.login)
	}
}

func (c *call) eachLabel(field string, do func(string)) {
	for name := range strings.SplitSeq(c.text(field), ",") {
		if name != "" {
			do(name)
		}
	}
}
