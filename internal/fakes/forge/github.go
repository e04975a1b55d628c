package forge

import (
	"cmp"
	"net/http"
	"strings"
	"time"
)

const pageQuery = "page per_page "

// githubRoutes are the parts of GitHub's REST API that are implemented.
var githubRoutes = []route{
	{"GET /user", "", "", githubUser},
	{"GET /app", "", "", githubApp},
	{"POST /app/installations/{installation}/access_tokens", "", "repositories repository_ids permissions", githubToken},
	{"GET /installation/repositories", pageQuery, "", githubInstalled},
	{"GET /issues", pageQuery + "after filter state labels sort direction", "", githubAllIssues},
	{"GET /repos/{owner}/{repo}", "", "", onRepo("read", githubRepo)},
	{"GET /repos/{owner}/{repo}/issues", pageQuery + "after state labels assignee sort direction since", "",
		onRepo("read", githubIssues)},
	{"GET /repos/{owner}/{repo}/issues/{number}", "", "", onItem("read", githubIssue)},
	{"GET /repos/{owner}/{repo}/issues/{number}/events", pageQuery, "", onItem("read", githubEvents)},
	{"GET /repos/{owner}/{repo}/issues/{number}/labels", pageQuery, "", onItem("read", githubLabels)},
	{"POST /repos/{owner}/{repo}/issues/{number}/labels", "", "[]", onItem("triage", githubAddLabels)},
	{"DELETE /repos/{owner}/{repo}/issues/{number}/labels/{label}", "", "", onItem("triage", githubRemoveLabel)},
	{"GET /repos/{owner}/{repo}/issues/{number}/comments", pageQuery + "since", "", onItem("read", githubComments)},
	{"POST /repos/{owner}/{repo}/issues/{number}/comments", "", "body*", onItem("read", githubComment)},
	{"PATCH /repos/{owner}/{repo}/issues/comments/{comment}", "", "body*", githubEdit},
	{"GET /repos/{owner}/{repo}/collaborators/{user}/permission", "", "", onRepo("write", githubPermission)},
	{"GET /repos/{owner}/{repo}/pulls", pageQuery + "state head sort direction", "", onRepo("read", githubPulls)},
	{"POST /repos/{owner}/{repo}/pulls", "", "title* head* base* body draft", onRepo("write", githubOpen)},
	{"GET /repos/{owner}/{repo}/pulls/{number}", "", "", onItem("read", githubPull)},
	{"GET /repos/{owner}/{repo}/pulls/{number}/comments", pageQuery + "since", "", onItem("read", githubReviewComments)},
	{"GET /repos/{owner}/{repo}/pulls/{number}/reviews", pageQuery, "", onItem("read", githubReviews)},
}

func (c *call) githubPerson(login string) map[string]any {
	kind := "User"
	if strings.HasSuffix(login, "[bot]") {
		kind = "Bot"
	}
	return map[string]any{"login": login, "id": c.userID(login), "type": kind, "html_url": c.base() + "/" + login,
		"site_admin": false}
}

func githubLabelList(i *Item) []any {
	all := []any{}
	for n, name := range i.Labels {
		all = append(all, map[string]any{"id": n + 1, "name": name, "color": "ededed", "default": false, "description": nil})
	}
	return all
}

func (c *call) githubRepo(r *repo) map[string]any {
	owner, name, _ := strings.Cut(r.path, "/")
	page := c.base() + "/" + r.path
	return map[string]any{"id": r.id, "name": name, "full_name": r.path, "owner": c.githubPerson(owner),
		"private": r.private, "html_url": page, "clone_url": page + ".git", "default_branch": r.main, "archived": false,
		"url": c.base() + "/api/v3/repos/" + r.path, "fork": false}
}

func (c *call) githubItem(r *repo, i *Item) map[string]any {
	state, assignees := "open", []any{}
	if i.Closed || i.Merged {
		state = "closed"
	}
	for _, login := range i.Assignees {
		assignees = append(assignees, c.githubPerson(login))
	}
	api := c.base() + "/api/v3/repos/" + r.path
	out := map[string]any{"id": i.id, "number": i.Number, "state": state, "title": i.Title, "body": i.Body,
		"user": c.githubPerson(i.Author), "labels": githubLabelList(i), "assignees": assignees,
		"comments": len(i.Comments), "created_at": when(i.Created), "updated_at": when(i.Updated),
		"html_url": c.base() + "/" + r.path + "/issues/" + itoa(i.Number), "repository_url": api,
		"url": api + "/issues/" + itoa(i.Number), "author_association": "NONE", "locked": false}
	if i.Kind == Pull {
		page := c.base() + "/" + r.path + "/pull/" + itoa(i.Number)
		out["html_url"], out["draft"] = page, i.Draft
		out["pull_request"] = map[string]any{"url": api + "/pulls/" + itoa(i.Number), "html_url": page,
			"merged_at": i.mergedAt()}
	}
	return out
}

func (c *call) githubPull(r *repo, i *Item) map[string]any {
	out := c.githubItem(r, i)
	delete(out, "pull_request")
	delete(out, "repository_url")
	branch := func(r *repo, name string) map[string]any {
		if r == nil { // a fork that is gone
			return map[string]any{"ref": name, "sha": "", "repo": nil}
		}
		owner, _, _ := strings.Cut(r.path, "/")
		return map[string]any{"label": owner + ":" + name, "ref": name, "sha": c.shaOf(r, name), "repo": c.githubRepo(r)}
	}
	out["base"], out["head"] = branch(r, i.Target), branch(c.source(r, i), i.Branch)
	out["merged"], out["merged_at"] = i.Merged, i.mergedAt()
	return out
}

// mergedAt is null unless the item was merged.
func (i *Item) mergedAt() any {
	if !i.Merged {
		return nil
	}
	return when(i.Updated)
}

func when(t time.Time) string { return t.UTC().Format(time.RFC3339) }

func githubUser(c *call) {
	if strings.HasSuffix(c.login, "[bot]") {
		c.refuse(http.StatusForbidden, "Resource not accessible by integration")
		return
	}
	c.json(http.StatusOK, c.githubPerson(c.login))
}

func githubRepo(c *call, r *repo) { c.json(http.StatusOK, c.githubRepo(r)) }

func githubAllIssues(c *call) {
	if c.granted {
		c.refuse(http.StatusForbidden, "Resource not accessible by integration")
		return
	}
	if c.query().Get("filter") != "all" {
		c.violate("GET /issues: only filter=all is implemented")
	}
	c.cursors = true
	member := func(r *repo, _ *Item) bool { _, ok := r.members[c.login]; return ok }
	c.list(c.sortedRepos(), member, func(r *repo, i *Item) map[string]any {
		shown := c.githubItem(r, i)
		shown["repository"] = c.githubRepo(r)
		return shown
	})
}

func githubIssues(c *call, r *repo) {
	c.cursors = true
	c.list([]*repo{r}, func(*repo, *Item) bool { return true }, c.githubItem)
}

func githubIssue(c *call, r *repo, i *Item) { c.json(http.StatusOK, c.githubItem(r, i)) }

func githubLabels(c *call, _ *repo, i *Item) { c.json(http.StatusOK, githubLabelList(i)) }

func githubAddLabels(c *call, _ *repo, i *Item) {
	for _, name := range c.listed {
		if text, ok := name.(string); !ok || text == "" || len([]rune(text)) > 50 {
			c.refuse(http.StatusUnprocessableEntity, "Validation Failed")
			return
		}
	}
	c.relabel(i, func() {
		for _, name := range c.listed {
			i.label(name.(string))
		}
	})
	c.json(http.StatusOK, githubLabelList(i))
}

func githubRemoveLabel(c *call, _ *repo, i *Item) {
	label := c.r.PathValue("label")
	if !i.hasLabels(label) {
		c.refuse(http.StatusNotFound, "Label does not exist")
		return
	}
	c.relabel(i, func() { i.unlabel(label) })
	c.json(http.StatusOK, githubLabelList(i))
}

func githubEvents(c *call, _ *repo, i *Item) {
	paged(c, i.labelEvents, func(e labelEvent) any {
		event := "labeled"
		if e.removed {
			event = "unlabeled"
		}
		return map[string]any{"id": e.id, "event": event, "actor": c.githubPerson(e.user), "created_at": when(e.at),
			"label": map[string]any{"name": e.label, "color": "ededed"}}
	})
}

func githubPermission(c *call, r *repo) {
	login := c.r.PathValue("user")
	if c.users[login] == nil {
		c.refuse(http.StatusNotFound, login+" is not a user")
		return
	}
	right := cmp.Or(r.members[login], "read")
	if right == "read" && !r.can(login, "read") {
		right = "none"
	}
	old := map[string]string{"triage": "read", "maintain": "write"} // the field has four values only
	c.json(http.StatusOK, map[string]any{"permission": cmp.Or(old[right], right), "role_name": right,
		"user": c.githubPerson(login)})
}

func githubPull(c *call, r *repo, i *Item) {
	if i.Kind != Pull {
		c.refuse(http.StatusNotFound, "Not Found")
		return
	}
	c.json(http.StatusOK, c.githubPull(r, i))
}

// githubPulls applies the filter owner:branch, which GitHub ignores if it is not of
// that form.
func githubPulls(c *call, r *repo) {
	owner, branch, given := strings.Cut(c.query().Get("head"), ":")
	fits := func(r *repo, i *Item) bool {
		return i.Kind == Pull && (!given || branch == i.Branch && strings.HasPrefix(cmp.Or(i.From, r.path), owner+"/"))
	}
	c.list([]*repo{r}, fits, c.githubPull)
}

func githubOpen(c *call, r *repo) {
	head, base := c.text("head"), c.text("base")
	draft, _ := c.fields["draft"].(bool)
	if why := c.cannotOpen(r, head, base, draft); why != "" {
		c.json(http.StatusUnprocessableEntity, map[string]any{"message": "Validation Failed",
			"errors": []any{map[string]any{"resource": "PullRequest", "code": "custom", "message": why}}})
		return
	}
	i := c.add(r, Item{Kind: Pull, Title: c.text("title"), Body: c.text("body"), Author: c.login, Branch: head,
		Target: base, Draft: draft})
	c.json(http.StatusCreated, c.githubPull(r, i))
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
	case r.openPull(head, base) != nil:
		return "A pull request already exists for " + owner + ":" + head + "."
	}
	return ""
}
