package forge

import (
	"net/http"
	"slices"
	"strings"
)

const gitlabList = pageQuery + "state labels order_by sort "

// gitlabRoutes are the parts of GitLab's REST API that are implemented. The path of a
// project is one segment of the URL, its slashes escaped. {kind} is issues or
// merge_requests.
var gitlabRoutes = []route{
	{"GET /user", "", "", gitlabUser},
	{"GET /issues", gitlabList + "scope assignee_username", "", gitlabAll(Issue)},
	{"GET /merge_requests", gitlabList + "scope", "", gitlabAll(Pull)},
	{"GET /projects/{id}", "", "", onRepo("read", gitlabProject)},
	{"GET /projects/{id}/members/all", pageQuery + "query", "", onRepo("read", gitlabMembers)},
	{"GET /projects/{id}/issues", gitlabList + "assignee_username", "", onRepo("read", gitlabItems(Issue))},
	{"GET /projects/{id}/merge_requests", gitlabList + "source_branch", "", onRepo("read", gitlabItems(Pull))},
	{"POST /projects/{id}/merge_requests", "", "title* source_branch* target_branch* description",
		onRepo("write", gitlabOpen)},
	{"GET /projects/{id}/{kind}/{number}", "", "", onItem("read", gitlabGet)},
	{"PUT /projects/{id}/{kind}/{number}", "", "labels add_labels remove_labels", onItem("triage", gitlabUpdate)},
	{"GET /projects/{id}/{kind}/{number}/resource_label_events", pageQuery, "", onItem("read", gitlabEvents)},
	{"GET /projects/{id}/{kind}/{number}/notes", pageQuery + "order_by sort", "", onItem("read", gitlabNotes)},
	{"POST /projects/{id}/{kind}/{number}/notes", "", "body*", onItem("read", gitlabNote)},
	{"PUT /projects/{id}/{kind}/{number}/notes/{note}", "", "body*", onItem("read", gitlabEditNote)},
}

func (c *call) gitlabPerson(login string) map[string]any {
	return map[string]any{"id": c.userID(login), "username": login, "name": strings.ToUpper(login), "state": "active",
		"web_url": c.base() + "/" + login}
}

// gitlabTypes are the kinds as GitLab spells them in fields.
var gitlabTypes = map[string]string{Issue: "Issue", Pull: "MergeRequest"}

func (c *call) gitlabItem(r *repo, i *Item) map[string]any {
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
		assignees = append(assignees, c.gitlabPerson(login))
	}
	number := itoa(i.Number)
	out := map[string]any{"id": i.id, "iid": i.Number, "project_id": r.id, "state": state, "title": i.Title,
		"description": i.Body, "author": c.gitlabPerson(i.Author), "labels": append([]string{}, i.Labels...),
		"assignees": assignees, "created_at": when(i.Created), "updated_at": when(i.Updated),
		"user_notes_count": len(i.Comments), "web_url": c.base() + "/" + r.path + "/-/" + part + "/" + number,
		"references": map[string]any{"short": sign + number, "relative": sign + number, "full": r.path + sign + number}}
	if i.Kind != Pull {
		out["confidential"] = i.Confidential
		return out
	}
	from := c.source(r, i)
	out["source_branch"], out["target_branch"], out["target_project_id"] = i.Branch, i.Target, r.id
	out["sha"], out["draft"], out["source_project_id"] = c.shaOf(from, i.Branch), strings.HasPrefix(i.Title, "Draft:"), nil
	if from != nil {
		out["source_project_id"] = from.id
	}
	return out
}

func gitlabUser(c *call) { c.json(http.StatusOK, c.gitlabPerson(c.login)) }

func gitlabProject(c *call, r *repo) {
	visibility := "public"
	if r.private {
		visibility = "private"
	}
	page := c.base() + "/" + r.path
	c.json(http.StatusOK, map[string]any{"id": r.id, "path_with_namespace": r.path, "default_branch": r.main,
		"http_url_to_repo": page + ".git", "web_url": page, "visibility": visibility, "archived": false})
}

// gitlabMembers finds members by a part of the name, as GitLab does: "bot" finds
// "robot" too.
func gitlabMembers(c *call, r *repo) {
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
		out := c.gitlabPerson(login)
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

// gitlabAll lists the items of every repository that the account may read, public ones
// included.
func gitlabAll(kind string) func(*call) {
	return func(c *call) {
		if c.query().Get("scope") != "all" { // else only what the account created
			c.violate("GET %s: only scope=all is implemented", c.r.URL.Path)
		}
		fits := func(r *repo, i *Item) bool { return r.can(c.login, "read") && i.Kind == kind }
		c.list(c.sortedRepos(), fits, c.gitlabItem)
	}
}

func gitlabItems(kind string) func(*call, *repo) {
	return func(c *call, r *repo) {
		branch := c.query().Get("source_branch")
		fits := func(_ *repo, i *Item) bool { return i.Kind == kind && (branch == "" || branch == i.Branch) }
		c.list([]*repo{r}, fits, c.gitlabItem)
	}
}

func gitlabGet(c *call, r *repo, i *Item) { c.json(http.StatusOK, c.gitlabItem(r, i)) }

func gitlabUpdate(c *call, r *repo, i *Item) {
	if len(c.fields) == 0 {
		c.refuse(http.StatusBadRequest,
			"labels, add_labels, remove_labels are missing, at least one parameter must be provided")
		return
	}
	before := slices.Clone(i.Labels)
	if _, given := c.fields["labels"]; given {
		i.Labels = nil
	}
	c.eachLabel("labels", i.label)
	c.eachLabel("add_labels", i.label)
	c.eachLabel("remove_labels", i.unlabel)
	if !slices.Equal(before, i.Labels) {
		c.comment(i, Comment{Author: c.login, Body: "changed labels", System: true})
		c.recordLabels(i, before, c.login)
	}
	c.json(http.StatusOK, c.gitlabItem(r, i))
}

func (c *call) eachLabel(field string, do func(string)) {
	for name := range strings.SplitSeq(c.text(field), ",") {
		if name != "" {
			do(name)
		}
	}
}

func gitlabEvents(c *call, _ *repo, i *Item) {
	paged(c, i.labelEvents, func(e labelEvent) any {
		action := "add"
		if e.removed {
			action = "remove"
		}
		return map[string]any{"id": e.id, "action": action, "user": c.gitlabPerson(e.user), "created_at": when(e.at),
			"resource_id": i.id, "resource_type": gitlabTypes[i.Kind],
			"label": map[string]any{"id": 1, "name": e.label, "color": "#ededed"}}
	})
}
