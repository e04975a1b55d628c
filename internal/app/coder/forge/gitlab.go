package forge

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	gitlab "gitlab.com/gitlab-org/api/client-go/v2"
)

// gitlabAPI is the API of a GitLab server.
type gitlabAPI struct{ client *gitlab.Client }

func newGitLabAPI(base *url.URL, t *transport) (*gitlabAPI, error) {
	client, err := gitlab.NewAuthSourceClient(passive{}, gitlab.WithBaseURL(base.String()),
		gitlab.WithHTTPClient(t.httpClient()), gitlab.WithUserAgent("hako"), gitlab.WithoutRetries(),
		gitlab.WithCustomLimiter(passive{}))
	return &gitlabAPI{client}, t.wrapError("configure", GitLab, err)
}

// passive keeps the official client from adding the token and from limiting
// requests: the transport does both. The client requires some header.
type passive struct{}

func (passive) Wait(context.Context) error                 { return nil }
func (passive) Init(context.Context, *gitlab.Client) error { return nil }
func (passive) Header(context.Context) (key, value string, err error) {
	return "Accept", "application/json", nil
}

// call makes a request by its path: issues and merge requests have the same
// subresources, for which the official client has separate methods and types.
func (g *gitlabAPI) call(ctx context.Context, method, path string, options, into any) (*gitlab.Response, error) {
	req, err := g.client.NewRequest(method, path, options, []gitlab.RequestOptionFunc{gitlab.WithContext(ctx)})
	if err != nil {
		return nil, err
	}
	return g.client.Do(req, into)
}

// gitlabQuery has the parameters of all lists.
type gitlabQuery struct {
	gitlab.ListOptions
	State        string `url:"state,omitempty"`
	Scope        string `url:"scope,omitempty"`
	Labels       string `url:"labels,omitempty"`
	Assignee     string `url:"assignee_username,omitempty"`
	SourceBranch string `url:"source_branch,omitempty"`
	Query        string `url:"query,omitempty"`
}

func gitlabPage[T any](ctx context.Context, g *gitlabAPI, path string, q gitlabQuery) func(int) ([]*T, int, error) {
	return func(page int) (list []*T, next int, err error) {
		q.Page, q.PerPage = int64(page), perPage
		res, err := g.call(ctx, http.MethodGet, path, q, &list)
		if err != nil {
			return nil, 0, err
		}
		return list, int(res.NextPage), nil
	}
}

func projectPath(repo string) string { return "projects/" + gitlab.PathEscape(repo) }

func itemPath(ref Ref) string {
	part := "issues"
	if ref.Kind == KindPullRequest {
		part = "merge_requests"
	}
	return fmt.Sprintf("%s/%s/%d", projectPath(ref.Repo), part, ref.Number)
}

type gitlabUser struct{ Username string }

func (g *gitlabAPI) currentUser(ctx context.Context) (string, error) {
	var user gitlabUser
	_, err := g.call(ctx, http.MethodGet, "user", nil, &user)
	return user.Username, err
}

func (g *gitlabAPI) list(ctx context.Context, q Query, limit int) ([]Issue, error) {
	query := gitlabQuery{State: "opened", Labels: q.Label,
		ListOptions: gitlab.ListOptions{OrderBy: "created_at", Sort: "asc"}}
	base := ""
	if q.Repo == "" {
		query.Scope = "all"
	} else {
		base = projectPath(q.Repo) + "/"
	}
	pulls, err := pages(limit, gitlabPage[gitlabItem](ctx, g, base+"merge_requests", query))
	if err != nil {
		return nil, err
	}
	query.Assignee = q.Assignee // merge requests have no parameter for the name: the client filters
	issues, err := pages(limit, gitlabPage[gitlabItem](ctx, g, base+"issues", query))
	return converted(append(issues, pulls...), (*gitlabItem).issue), err
}

// A gitlabItem is an issue or a merge request.
type gitlabItem struct {
	IID                int
	Title, Description string
	State              string
	Author             gitlabUser
	Labels             []string
	Assignees          []gitlabUser
	WebURL             string                 `json:"web_url"`
	References         gitlab.IssueReferences // with the path of the project
	UpdatedAt          time.Time              `json:"updated_at"`
	Confidential       bool                   // of an issue
	SourceBranch       string                 `json:"source_branch"` // of a merge request, like what follows
	TargetBranch       string                 `json:"target_branch"`
	SourceProject      int                    `json:"source_project_id"`
	TargetProject      int                    `json:"target_project_id"`
	SHA                string
	Draft              bool
}

func (i *gitlabItem) issue() Issue {
	out := Issue{Kind: KindIssue, Number: i.IID, Title: i.Title, Body: i.Description, Author: i.Author.Username,
		Labels: i.Labels, URL: i.WebURL, CloneURL: cloneURL(i.WebURL, "/-/"), Draft: i.Draft,
		Closed: i.State == "closed" || i.State == "merged", Merged: i.State == "merged", Updated: i.UpdatedAt,
		Confidential: i.Confidential}
	for _, u := range i.Assignees {
		out.Assignees = append(out.Assignees, u.Username)
	}
	repo, _, pull := strings.Cut(i.References.Full, "!")
	if pull {
		out.Kind, out.Branch, out.Target, out.Head = KindPullRequest, i.SourceBranch, i.TargetBranch, i.SHA
		out.Fork = i.SourceProject != i.TargetProject
	}
	out.Repo, _, _ = strings.Cut(repo, "#")
	return out
}

func (g *gitlabAPI) get(ctx context.Context, ref Ref) (Issue, error) {
	var item gitlabItem
	_, err := g.call(ctx, http.MethodGet, itemPath(ref), nil, &item)
	return item.issue(), err
}

// comments asks for the latest first and stops at those that are too old: GitLab has
// no parameter for a time.
func (g *gitlabAPI) comments(ctx context.Context, ref Ref, since time.Time) ([]Comment, error) {
	fetch := gitlabPage[gitlabNote](ctx, g, itemPath(ref)+"/notes",
		gitlabQuery{ListOptions: gitlab.ListOptions{OrderBy: "updated_at", Sort: "desc"}})
	notes, err := pages(maxList, func(page int) ([]*gitlabNote, int, error) {
		list, next, err := fetch(page)
		if n := len(list); n > 0 && list[n-1] != nil && list[n-1].UpdatedAt.Before(since) {
			next = 0
		}
		return list, next, err
	})
	notes = slices.DeleteFunc(notes, func(n *gitlabNote) bool { return n.System || n.UpdatedAt.Before(since) })
	return converted(notes, (*gitlabNote).comment), err
}

type gitlabNote struct {
	ID           int64
	Body         string
	Author       gitlabUser
	System       bool
	Internal     bool
	Confidential bool      // what Internal is called before GitLab 15
	CreatedAt    time.Time `json:"created_at"`
	UpdatedAt    time.Time `json:"updated_at"`
	Position     *gitlab.NotePosition
}

func (n *gitlabNote) comment() Comment {
	c := Comment{ID: strconv.FormatInt(n.ID, 10), Author: n.Author.Username, Body: n.Body, Created: n.CreatedAt,
		Updated: n.UpdatedAt, Internal: n.Internal || n.Confidential}
	if p := n.Position; p != nil {
		c.On = fmt.Sprintf("%s:%d", p.NewPath, p.NewLine)
	}
	return c
}

func (g *gitlabAPI) createComment(ctx context.Context, ref Ref, body string) (Comment, error) {
	return g.writeNote(ctx, http.MethodPost, itemPath(ref)+"/notes", body)
}

func (g *gitlabAPI) updateComment(ctx context.Context, ref Ref, id int64, body string) (Comment, error) {
	return g.writeNote(ctx, http.MethodPut, fmt.Sprintf("%s/notes/%d", itemPath(ref), id), body)
}

func (g *gitlabAPI) writeNote(ctx context.Context, method, path, body string) (Comment, error) {
	var n gitlabNote
	_, err := g.call(ctx, method, path, map[string]string{"body": body}, &n)
	return n.comment(), err
}

func (g *gitlabAPI) changeLabels(ctx context.Context, ref Ref, add, remove []string) (remaining []string, err error) {
	change := map[string]string{}
	for name, labels := range map[string][]string{"add_labels": add, "remove_labels": remove} {
		if len(labels) > 0 {
			change[name] = strings.Join(labels, ",")
		}
	}
	var item gitlabItem
	_, err = g.call(ctx, http.MethodPut, itemPath(ref), change, &item)
	if err == nil && item.issue().malformed() {
		err = errMalformed
	}
	for _, label := range remove {
		if slices.Contains(cleanAll(item.Labels), label) && !slices.Contains(add, label) {
			remaining = append(remaining, label)
		}
	}
	return remaining, err
}

type gitlabEvent struct {
	ID        int64
	Action    string
	User      gitlabUser
	Label     struct{ Name string }
	CreatedAt time.Time `json:"created_at"`
}

func (g *gitlabAPI) labelEvents(ctx context.Context, ref Ref) ([]labelEvent, error) {
	list, err := allPages(gitlabPage[gitlabEvent](ctx, g, itemPath(ref)+"/resource_label_events", gitlabQuery{}))
	list = slices.DeleteFunc(list, func(e *gitlabEvent) bool { return e.Action != "add" })
	return converted(list, func(e *gitlabEvent) labelEvent {
		return labelEvent{e.ID, e.Label.Name, e.User.Username, e.CreatedAt}
	}), err
}

// mayWrite looks for the exact name: GitLab's search also finds similar ones.
func (g *gitlabAPI) mayWrite(ctx context.Context, repo, user string) (bool, error) {
	members, err := pages(maxList, gitlabPage[gitlab.ProjectMember](ctx, g, projectPath(repo)+"/members/all",
		gitlabQuery{Query: user}))
	return slices.ContainsFunc(members, func(m *gitlab.ProjectMember) bool {
		expired := m.ExpiresAt != nil && !time.Now().Before(time.Time(*m.ExpiresAt)) // at the beginning of that day
		return strings.EqualFold(m.Username, user) && m.State == "active" &&
			m.AccessLevel >= gitlab.DeveloperPermissions && !expired
	}), err
}

func (g *gitlabAPI) repository(ctx context.Context, repo string) (Repository, error) {
	var p gitlab.Project
	_, err := g.call(ctx, http.MethodGet, projectPath(repo), nil, &p)
	return Repository{p.PathWithNamespace, p.DefaultBranch, p.HTTPURLToRepo, p.Visibility != gitlab.PublicVisibility,
		p.Archived}, err
}

func (g *gitlabAPI) pullRequests(ctx context.Context, repo, branch string) ([]Issue, error) {
	list, _, err := gitlabPage[gitlabItem](ctx, g, projectPath(repo)+"/merge_requests", gitlabQuery{State: "all",
		SourceBranch: branch, ListOptions: gitlab.ListOptions{OrderBy: "created_at", Sort: "desc"}})(1)
	return converted(list, (*gitlabItem).issue), err
}

// openPullRequest marks a draft by its title, as GitLab does.
func (g *gitlabAPI) openPullRequest(ctx context.Context, d Draft) (Issue, error) {
	if !strings.HasPrefix(d.Title, "Draft:") {
		d.Title = "Draft: " + d.Title
	}
	var made gitlabItem
	_, err := g.call(ctx, http.MethodPost, projectPath(d.Repo)+"/merge_requests", map[string]string{"title": d.Title,
		"description": d.Body, "source_branch": d.Branch, "target_branch": d.Target}, &made)
	return made.issue(), err
}
