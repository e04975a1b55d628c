package forge

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

const pageQuery = "page per_page "

// githubRoutes are the parts of GitHub's REST interface that are played.
var githubRoutes = []route{
	{"GET /user", "", "", hubUser},
	{"GET /app", "", "", hubApp},
	{"POST /app/installations/{installation}/access_tokens", "", "repositories repository_ids permissions", hubToken},
	{"GET /installation/repositories", pageQuery, "", hubInstalled},
	{"GET /issues", pageQuery + "after filter state labels sort direction", "", hubAllIssues},
	{"GET /repos/{owner}/{repo}", "", "", hubRepo},
	{"GET /repos/{owner}/{repo}/issues", pageQuery + "after state labels assignee sort direction since", "", hubIssues},
	{"GET /repos/{owner}/{repo}/issues/{number}", "", "", hubIssue},
	{"GET /repos/{owner}/{repo}/issues/{number}/events", pageQuery, "", hubEvents},
	{"GET /repos/{owner}/{repo}/issues/{number}/labels", pageQuery, "", hubLabels},
	{"POST /repos/{owner}/{repo}/issues/{number}/labels", "", "[]", hubAddLabels},
	{"PUT /repos/{owner}/{repo}/issues/{number}/labels", "", "[]", hubSetLabels},
	{"DELETE /repos/{owner}/{repo}/issues/{number}/labels/{label}", "", "", hubRemoveLabel},
	{"GET /repos/{owner}/{repo}/issues/{number}/comments", pageQuery + "since", "", hubComments},
	{"POST /repos/{owner}/{repo}/issues/{number}/comments", "", "body*", hubComment},
	{"PATCH /repos/{owner}/{repo}/issues/comments/{id}", "", "body*", hubEdit},
	{"GET /repos/{owner}/{repo}/collaborators/{user}/permission", "", "", hubPermission},
	{"GET /repos/{owner}/{repo}/pulls", pageQuery + "state head sort direction", "", hubPulls},
	{"POST /repos/{owner}/{repo}/pulls", "", "title* head* base* body draft", hubOpen},
	{"GET /repos/{owner}/{repo}/pulls/{number}", "", "", hubPull},
	{"GET /repos/{owner}/{repo}/pulls/{number}/comments", pageQuery + "since", "", hubRemarks},
	{"GET /repos/{owner}/{repo}/pulls/{number}/reviews", pageQuery, "", hubReviews},
}

// hubRepoOf finds the repository of a call. What one may not read is not there.
func hubRepoOf(c *call) *repo {
	r := c.repos[c.r.PathValue("owner")+"/"+c.r.PathValue("repo")]
	if r == nil || !r.can(c.login, "read") {
		c.refuse(http.StatusNotFound, "Not Found")
		return nil
	}
	return r
}

// hubItem finds an item of a call. An issue that was deleted says so.
func hubItem(c *call) (*repo, *Item) {
	r := hubRepoOf(c)
	if r == nil {
		return nil, nil
	}
	number, _ := strconv.Atoi(c.r.PathValue("number"))
	item := r.number(number)
	switch {
	case item != nil:
	case r.gone[key{Issue, number}]:
		c.refuse(http.StatusGone, "This issue was deleted")
	default:
		c.refuse(http.StatusNotFound, "Not Found")
	}
	return r, item
}

// hubMay refuses who has not a right.
func hubMay(c *call, r *repo, right string) bool {
	if r.can(c.login, right) {
		return true
	}
	c.refuse(http.StatusForbidden, "Resource not accessible by personal access token")
	return false
}

func (c *call) person(login string) map[string]any {
	kind := "User"
	if strings.HasSuffix(login, "[bot]") {
		kind = "Bot"
	}
	id := 0
	if u := c.users[login]; u != nil {
		id = u.id
	}
	return map[string]any{"login": login, "id": id, "type": kind, "html_url": c.base() + "/" + login, "site_admin": false}
}

func (c *call) people(logins []string) []any {
	all := []any{}
	for _, login := range logins {
		all = append(all, c.person(login))
	}
	return all
}

func (c *call) hubLabels(names []string) []any {
	all := []any{}
	for n, name := range names {
		all = append(all, map[string]any{"id": n + 1, "name": name, "color": "ededed", "default": false, "description": nil})
	}
	return all
}

func (c *call) hubRepo(r *repo) map[string]any {
	owner, name, _ := strings.Cut(r.path, "/")
	page := c.base() + "/" + r.path
	return map[string]any{"id": r.id, "name": name, "full_name": r.path, "owner": c.person(owner), "private": r.private,
		"html_url": page, "clone_url": page + ".git",
		"default_branch": r.main, "archived": false, "url": c.base() + "/api/v3/repos/" + r.path, "fork": false}
}

func (c *call) hubItem(r *repo, i *Item) map[string]any {
	page, state := c.base()+"/"+r.path+"/issues/"+itoa(i.Number), "open"
	if i.Closed || i.Merged {
		state = "closed"
	}
	api := c.base() + "/api/v3/repos/" + r.path
	out := map[string]any{"id": i.id, "number": i.Number, "state": state, "title": i.Title, "body": i.Body,
		"user": c.person(i.Author), "labels": c.hubLabels(i.Labels),
		"assignees": c.people(i.Assignees), "comments": len(i.Comments), "created_at": when(i.Created),
		"updated_at": when(i.Updated), "html_url": page,
		"repository_url": api, "url": api + "/issues/" + itoa(i.Number), "author_association": "NONE", "locked": false}
	if i.Kind == Pull {
		page = c.base() + "/" + r.path + "/pull/" + itoa(i.Number)
		out["html_url"], out["draft"] = page, i.Draft
		links := map[string]any{"url": api + "/pulls/" + itoa(i.Number), "html_url": page, "merged_at": nil}
		if i.Merged {
			links["merged_at"] = when(i.Updated)
		}
		out["pull_request"] = links
	}
	return out
}

func (c *call) hubPull(r *repo, i *Item) map[string]any {
	out := c.hubItem(r, i)
	delete(out, "pull_request")
	delete(out, "repository_url")
	owner, _, _ := strings.Cut(r.path, "/")
	out["base"] = map[string]any{"label": owner + ":" + i.Target, "ref": i.Target, "sha": c.shaOf(r, i.Target),
		"repo": c.hubRepo(r)}
	from := r
	if i.From != "" {
		from = c.repos[i.From]
	}
	head := map[string]any{"ref": i.Branch, "sha": c.shaOf(from, i.Branch), "repo": nil} // a fork that is gone is null
	if from != nil {
		owner, _, _ := strings.Cut(from.path, "/")
		head["repo"], head["label"] = c.hubRepo(from), owner+":"+i.Branch
	}
	out["head"], out["merged"], out["merged_at"] = head, i.Merged, nil
	if i.Merged {
		out["merged_at"] = when(i.Updated)
	}
	return out
}

func when(t time.Time) string { return t.UTC().Format(time.RFC3339) }

func hubUser(c *call) {
	if strings.HasSuffix(c.login, "[bot]") {
		c.refuse(http.StatusForbidden, "Resource not accessible by integration")
		return
	}
	c.json(http.StatusOK, c.person(c.login))
}

func hubRepo(c *call) {
	if r := hubRepoOf(c); r != nil {
		c.json(http.StatusOK, c.hubRepo(r))
	}
}

// hubFits applies the parameters of a list.
func hubFits(c *call, i *Item) bool {
	q := c.query()
	open := !i.Closed && !i.Merged
	state := q.Get("state")
	if state != "all" && open != (state != "closed") || !i.hasLabels(q.Get("labels")) {
		return false
	}
	if want := q.Get("assignee"); want != "" &&
		!slices.ContainsFunc(i.Assignees, func(a string) bool { return strings.EqualFold(a, want) }) {
		return false
	}
	return true
}

type placed struct {
	r *repo
	i *Item
}

func hubAllIssues(c *call) {
	if c.granted {
		c.refuse(http.StatusForbidden, "Resource not accessible by integration")
		return
	}
	if c.query().Get("filter") != "all" {
		c.violate("GET /issues: only filter=all is played")
	}
	var all []placed
	for _, r := range c.sortedRepos() {
		if _, member := r.members[c.login]; !member {
			continue
		}
		for _, i := range r.items {
			if hubFits(c, i) {
				all = append(all, placed{r, i})
			}
		}
	}
	c.cursors = true
	hubSorted(c, all, func(p placed) any {
		shown := c.hubItem(p.r, p.i)
		shown["repository"] = c.hubRepo(p.r)
		return shown
	})
}

func hubIssues(c *call) {
	r := hubRepoOf(c)
	if r == nil {
		return
	}
	var all []placed
	for _, i := range r.items {
		if hubFits(c, i) {
			all = append(all, placed{r, i})
		}
	}
	c.cursors = true
	hubSorted(c, all, func(p placed) any { return c.hubItem(p.r, p.i) })
}

// hubSorted puts the latest first unless asked otherwise.
func hubSorted(c *call, all []placed, show func(placed) any) {
	slices.SortStableFunc(all, func(a, b placed) int { return a.i.Created.Compare(b.i.Created) })
	if c.query().Get("direction") != "asc" {
		slices.Reverse(all)
	}
	paged(c, all, show)
}

func hubIssue(c *call) {
	if r, i := hubItem(c); i != nil {
		c.json(http.StatusOK, c.hubItem(r, i))
	}
}

func hubLabels(c *call) {
	if _, i := hubItem(c); i != nil {
		c.json(http.StatusOK, c.hubLabels(i.Labels))
	}
}

func hubAddLabels(c *call) { hubChangeLabels(c, false) }
func hubSetLabels(c *call) { hubChangeLabels(c, true) }

func hubChangeLabels(c *call, anew bool) {
	r, i := hubItem(c)
	if i == nil || !hubMay(c, r, "triage") {
		return
	}
	before := slices.Clone(i.Labels)
	if anew {
		i.Labels = nil
	}
	for _, name := range c.list {
		text, ok := name.(string)
		if !ok || text == "" || len([]rune(text)) > 50 {
			c.refuse(http.StatusUnprocessableEntity, "Validation Failed")
			return
		}
		i.label(text)
	}
	i.Updated = c.tick()
	c.noted(i, before, c.login)
	c.json(http.StatusOK, c.hubLabels(i.Labels))
}

func hubRemoveLabel(c *call) {
	r, i := hubItem(c)
	if i == nil || !hubMay(c, r, "triage") {
		return
	}
	before := slices.Clone(i.Labels)
	if !i.unlabel(c.r.PathValue("label")) {
		c.refuse(http.StatusNotFound, "Label does not exist")
		return
	}
	i.Updated = c.tick()
	c.noted(i, before, c.login)
	c.json(http.StatusOK, c.hubLabels(i.Labels))
}

func hubPermission(c *call) {
	r := hubRepoOf(c)
	if r == nil || !hubMay(c, r, "write") {
		return
	}
	login := c.r.PathValue("user")
	if c.users[login] == nil {
		c.refuse(http.StatusNotFound, login+" is not a user")
		return
	}
	right := r.members[login]
	if right == "" {
		right = "read"
	}
	if right == "read" && !r.can(login, "read") {
		right = "none"
	}
	old := map[string]string{"triage": "read", "maintain": "write"} // the field knows four words only
	permission := right
	if known, ok := old[right]; ok {
		permission = known
	}
	c.json(http.StatusOK, map[string]any{"permission": permission, "role_name": right, "user": c.person(login)})
}
