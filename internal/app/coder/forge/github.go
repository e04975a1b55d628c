package forge

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/go-github/v92/github"
)

// githubAPI is the API of GitHub, or of a GitHub Enterprise Server. Names are not
// escaped in paths: they were validated.
type githubAPI struct {
	client *github.Client
	app    *appTokens // that the token belongs to; nil means a personal token
}

// newGitHubClient returns the official client over our transport.
func newGitHubClient(base *url.URL, t *transport) (*github.Client, error) {
	address := base.String()
	client, err := github.NewClient(github.WithHTTPClient(t.httpClient()), github.WithURLs(&address, &address),
		github.WithUserAgent("hako"), github.WithDisableRateLimitCheck())
	return client, t.wrapError("configure", GitHub, err)
}

func (g *githubAPI) call(ctx context.Context, method, path string, body, into any) (*github.Response, error) {
	req, err := g.client.NewRequest(ctx, method, path, body)
	if err != nil {
		return nil, err
	}
	return g.client.Do(req, into)
}

// githubPage returns a function that fetches the pages of a list. Long lists need
// the cursor of the page before, which the methods of the official client do not
// pass on.
func githubPage[T any](ctx context.Context, g *githubAPI, path string, query url.Values) func(int) ([]*T, int, error) {
	query = maps.Clone(query)
	query.Set("per_page", strconv.Itoa(perPage))
	return func(page int) (list []*T, next int, err error) {
		query.Set("page", strconv.Itoa(page))
		res, err := g.call(ctx, http.MethodGet, path+"?"+query.Encode(), nil, &list)
		if err != nil {
			return nil, 0, err
		}
		if next = res.NextPage; res.After != "" {
			query.Set("after", res.After)
			next = max(next, page+1)
		}
		return list, next, nil
	}
}

func githubPath(ref Ref, rest string) string {
	return fmt.Sprintf("repos/%s/issues/%d%s", ref.Repo, ref.Number, rest)
}

type githubUser struct{ Login string }

type githubName struct{ Name string }

func (g *githubAPI) currentUser(ctx context.Context) (string, error) {
	if g.app != nil {
		return g.app.currentUser(ctx)
	}
	var user githubUser
	_, err := g.call(ctx, http.MethodGet, "user", nil, &user)
	return user.Login, err
}

// list asks by creation, so that pages stay the same while issues change.
func (g *githubAPI) list(ctx context.Context, q Query, limit int) ([]Issue, error) {
	query := url.Values{"state": {"open"}, "sort": {"created"}, "direction": {"asc"}}
	path := "repos/" + q.Repo + "/issues"
	switch {
	case q.Repo == "" && g.app != nil:
		return g.listInstalled(ctx, q, limit)
	case q.Repo == "": // has no parameter for the assignee: the client filters
		path = "issues"
		query.Set("filter", "all")
	case q.Assignee != "":
		query.Set("assignee", q.Assignee)
	}
	if q.Label != "" {
		query.Set("labels", q.Label)
	}
	all, err := pages(limit, githubPage[githubItem](ctx, g, path, query))
	return converted(all, (*githubItem).issue), err
}

// listInstalled asks repository by repository: an App has no list of all issues.
// Repositories whose issues are disabled, or that were removed from the
// installation meanwhile, have none.
func (g *githubAPI) listInstalled(ctx context.Context, q Query, limit int) (all []Issue, err error) {
	repos, err := pages(maxList, func(page int) ([]*github.Repository, int, error) {
		found, res, err := g.client.Apps.ListRepos(ctx, &github.ListOptions{Page: page, PerPage: perPage})
		if err == nil && found == nil {
			err = errMalformed
		}
		if err != nil {
			return nil, 0, g.app.transport.wrapError("list repositories of", g.app.app.String(), err)
		}
		return found.Repositories, res.NextPage, nil
	})
	for _, r := range repos {
		if q.Repo = r.GetFullName(); r.GetArchived() || checkRepo(GitHub, q.Repo) != nil || len(all) >= limit {
			continue
		}
		list, err := g.list(ctx, q, limit-len(all))
		if err != nil && !notFoundStatus(err) {
			return nil, err
		}
		all = append(all, list...)
	}
	return all, err
}

// A githubItem is an issue or a pull request; GitHub's list of issues has both.
type githubItem struct {
	Number        int
	Title, Body   string
	State         string
	User          githubUser
	Labels        []githubName
	Assignees     []githubUser
	HTMLURL       string `json:"html_url"`
	RepositoryURL string `json:"repository_url"` // of an issue
	Draft         bool
	UpdatedAt     time.Time `json:"updated_at"`

	PullRequest *struct {
		MergedAt *time.Time `json:"merged_at"`
	} `json:"pull_request"` // of a pull request in a list of issues

	Base, Head *githubBranch // of a pull request
	MergedAt   *time.Time    `json:"merged_at"`
}

type githubBranch struct {
	Ref, SHA string
	Repo     *githubRepository // nil if the fork is gone
}

type githubRepository struct {
	FullName      string `json:"full_name"`
	CloneURL      string `json:"clone_url"`
	DefaultBranch string `json:"default_branch"`
	Private       bool
	Archived      bool
}

func (i *githubItem) issue() Issue {
	out := Issue{Kind: KindIssue, Number: i.Number, Title: i.Title, Body: i.Body, Author: i.User.Login,
		URL: i.HTMLURL, CloneURL: cloneURL(i.HTMLURL, "/issues/"), Draft: i.Draft, Closed: i.State == "closed",
		Updated: i.UpdatedAt}
	for _, l := range i.Labels {
		out.Labels = append(out.Labels, l.Name)
	}
	for _, u := range i.Assignees {
		out.Assignees = append(out.Assignees, u.Login)
	}
	if parts := strings.Split(i.RepositoryURL, "/"); len(parts) >= 2 {
		out.Repo = strings.Join(parts[len(parts)-2:], "/")
	}
	if i.PullRequest != nil {
		out.Kind, out.Merged, out.CloneURL = KindPullRequest, i.PullRequest.MergedAt != nil, cloneURL(i.HTMLURL, "/pull/")
	}
	if i.Base != nil && i.Head != nil && i.Base.Repo != nil {
		out.Kind, out.Merged, out.Repo, out.CloneURL = KindPullRequest, i.MergedAt != nil, i.Base.Repo.FullName,
			i.Base.Repo.CloneURL
		out.Branch, out.Target, out.Head = i.Head.Ref, i.Base.Ref, i.Head.SHA
		out.Fork = i.Head.Repo == nil || i.Head.Repo.FullName != out.Repo
	}
	return out
}

func (g *githubAPI) get(ctx context.Context, ref Ref) (Issue, error) {
	var item, pull githubItem
	_, err := g.call(ctx, http.MethodGet, githubPath(ref, ""), nil, &item)
	if err != nil || item.PullRequest == nil {
		return item.issue(), err
	}
	_, err = g.call(ctx, http.MethodGet, fmt.Sprintf("repos/%s/pulls/%d", ref.Repo, ref.Number), nil, &pull)
	return pull.issue(), err
}

// A githubComment is a comment, a review, or a review comment on a line.
type githubComment struct {
	ID          int64
	Body        string
	User        githubUser
	HTMLURL     string    `json:"html_url"`
	CreatedAt   time.Time `json:"created_at"`
	UpdatedAt   time.Time `json:"updated_at"`
	SubmittedAt time.Time `json:"submitted_at"` // of a review, instead of the other two
	Path        string    // of a review comment
	Line        int
}

func (c *githubComment) comment() Comment {
	return Comment{ID: strconv.FormatInt(c.ID, 10), Author: c.User.Login, Body: c.Body, URL: c.HTMLURL,
		Created: c.CreatedAt, Updated: c.UpdatedAt}
}

func (c *githubComment) review() Comment {
	out := c.comment()
	out.ID, out.Created, out.Updated = "review-"+out.ID, c.SubmittedAt, c.SubmittedAt
	return out
}

func (c *githubComment) reviewComment() Comment {
	out := c.comment()
	out.ID, out.On = "remark-"+out.ID, fmt.Sprintf("%s:%d", c.Path, c.Line)
	return out
}

func (g *githubAPI) comments(ctx context.Context, ref Ref, since time.Time) ([]Comment, error) {
	query := url.Values{}
	if !since.IsZero() {
		query.Set("since", since.UTC().Format(time.RFC3339))
	}
	list, err := pages(maxList, githubPage[githubComment](ctx, g, githubPath(ref, "/comments"), query))
	all := converted(list, (*githubComment).comment)
	if err != nil || ref.Kind != KindPullRequest {
		return all, err
	}
	path := fmt.Sprintf("repos/%s/pulls/%d/", ref.Repo, ref.Number)
	list, err = pages(maxList, githubPage[githubComment](ctx, g, path+"comments", query))
	if err != nil {
		return nil, err
	}
	all = append(all, converted(list, (*githubComment).reviewComment)...)
	// Reviews have no parameter for a time, and no text if they only carry comments.
	list, err = pages(maxList, githubPage[githubComment](ctx, g, path+"reviews", url.Values{}))
	list = slices.DeleteFunc(list, func(c *githubComment) bool { return c.Body == "" || c.SubmittedAt.Before(since) })
	return append(all, converted(list, (*githubComment).review)...), err
}

func (g *githubAPI) createComment(ctx context.Context, ref Ref, body string) (Comment, error) {
	var made githubComment
	_, err := g.call(ctx, http.MethodPost, githubPath(ref, "/comments"), map[string]string{"body": body}, &made)
	return made.comment(), err
}

func (g *githubAPI) updateComment(ctx context.Context, ref Ref, id int64, body string) (Comment, error) {
	var made githubComment
	path := fmt.Sprintf("repos/%s/issues/comments/%d", ref.Repo, id)
	_, err := g.call(ctx, http.MethodPatch, path, map[string]string{"body": body}, &made)
	return made.comment(), err
}

// changeLabels looks for the labels to remove among those there are, which saves a
// request for each. A label that the server does not find may have been removed by a
// person; it is also what a server answers that refuses to remove it.
func (g *githubAPI) changeLabels(ctx context.Context, ref Ref, add, remove []string) (remaining []string, err error) {
	names, err := g.addLabels(ctx, ref, add)
	for _, label := range names {
		if !hasFold(remove, label) || hasFold(add, label) {
			continue
		}
		_, err := g.call(ctx, http.MethodDelete, githubPath(ref, "/labels/"+url.PathEscape(label)), nil, nil)
		if notFoundStatus(err) {
			var now []string
			if now, err = g.addLabels(ctx, ref, nil); hasFold(now, label) {
				remaining = append(remaining, label)
			}
		}
		if err != nil {
			return nil, err
		}
	}
	return remaining, err
}

// addLabels returns all labels that there are then.
func (g *githubAPI) addLabels(ctx context.Context, ref Ref, add []string) (names []string, err error) {
	var all []githubName
	if len(add) > 0 {
		_, err = g.call(ctx, http.MethodPost, githubPath(ref, "/labels"), add, &all)
	} else {
		_, err = g.call(ctx, http.MethodGet, githubPath(ref, "/labels?per_page="+strconv.Itoa(perPage)), nil, &all)
	}
	for _, l := range all {
		names = append(names, clean(l.Name))
	}
	return names, err
}

type githubEvent struct {
	ID        int64
	Event     string
	Label     githubName
	Actor     githubUser
	CreatedAt time.Time `json:"created_at"`
}

func (g *githubAPI) labelEvents(ctx context.Context, ref Ref) ([]labelEvent, error) {
	list, err := allPages(githubPage[githubEvent](ctx, g, githubPath(ref, "/events"), url.Values{}))
	list = slices.DeleteFunc(list, func(e *githubEvent) bool { return e.Event != "labeled" })
	return converted(list, func(e *githubEvent) labelEvent {
		return labelEvent{e.ID, e.Label.Name, e.Actor.Login, e.CreatedAt}
	}), err
}

func (g *githubAPI) mayWrite(ctx context.Context, repo, user string) (bool, error) {
	var level struct {
		Permission string
		User       githubUser
	}
	path := "repos/" + repo + "/collaborators/" + url.PathEscape(user) + "/permission"
	_, err := g.call(ctx, http.MethodGet, path, nil, &level)
	if notFoundStatus(err) {
		return false, nil
	}
	// A user who was renamed meanwhile is returned under the new name: somebody else may have the old one.
	return strings.EqualFold(level.User.Login, user) &&
		slices.Contains([]string{"admin", "write", "maintain"}, level.Permission), err
}

func (g *githubAPI) repository(ctx context.Context, repo string) (Repository, error) {
	var r githubRepository
	_, err := g.call(ctx, http.MethodGet, "repos/"+repo, nil, &r)
	return Repository{r.FullName, r.DefaultBranch, r.CloneURL, r.Private, r.Archived}, err
}

func (g *githubAPI) pullRequests(ctx context.Context, repo, branch string) ([]Issue, error) {
	owner, _, _ := strings.Cut(repo, "/")
	list, _, err := githubPage[githubItem](ctx, g, "repos/"+repo+"/pulls", url.Values{"state": {"all"},
		"head": {owner + ":" + branch}, "sort": {"created"}, "direction": {"desc"}})(1)
	return converted(list, (*githubItem).issue), err
}

func (g *githubAPI) openPullRequest(ctx context.Context, d Draft) (Issue, error) {
	i, err := g.open(ctx, d, true)
	if statusOf(err) == http.StatusUnprocessableEntity && mentions(err, "draft pull requests are not supported") {
		i, err = g.open(ctx, d, false) // private repositories without a plan have no drafts
	}
	return i, err
}

func (g *githubAPI) open(ctx context.Context, d Draft, draft bool) (Issue, error) {
	var made githubItem
	_, err := g.call(ctx, http.MethodPost, "repos/"+d.Repo+"/pulls", map[string]any{"title": d.Title, "head": d.Branch,
		"base": d.Target, "body": d.Body, "draft": draft}, &made)
	return made.issue(), err
}
