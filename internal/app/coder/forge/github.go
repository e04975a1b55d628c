package forge

import (
	"cmp"
	"context"
	"net/url"
	"strconv"
	"strings"

	"github.com/google/go-github/v92/github"
)

// githubForge is GitHub, or a GitHub Enterprise Server.
type githubForge struct {
	mail *apiClient
	api  *github.Client
	says outgoingText
	me   account
	app  *appTokens // of its token; nil means that somebody has given us one
}

// hubClient is the official client with a courier of ours.
func hubClient(at *url.URL, mail *apiClient) (*github.Client, error) {
	base := at.String()
	api, err := github.NewClient(github.WithHTTPClient(mail.client()), github.WithURLs(&base, &base),
		github.WithUserAgent("hako"), github.WithDisableRateLimitCheck())
	return api, mail.explain("configure", GitHub, err)
}

// newGitHub opens it for an App, or if there is none, for whoever gave us a token.
func newGitHub(c Config, at *url.URL, mail *apiClient, app *appTokens) (Forge, error) {
	api, err := hubClient(at, mail)
	if err != nil {
		return nil, err
	}
	h := &githubForge{mail: mail, api: api, says: outgoingText{GitHub, mail.secrets}, app: app}
	h.me = account{bot: c.BotName, ask: h.whoami}
	if app != nil {
		h.me.ask = app.whoami
	}
	return h, nil
}

func (h *githubForge) Close() { h.mail.Close() }

func (h *githubForge) Self(ctx context.Context) (string, error) { return h.me.self(ctx) }

func (h *githubForge) whoami(ctx context.Context) (string, error) {
	user, _, err := h.api.Users.Get(ctx, "")
	if err == nil && user.GetLogin() == "" {
		err = errNonsense
	}
	if err != nil {
		return "", h.mail.stranger(err)
	}
	return clean(user.GetLogin()), nil
}

// split parts owner and name, which were checked.
func split(repo string) (owner, name string) {
	owner, name, _ = strings.Cut(repo, "/")
	return owner, name
}

func (h *githubForge) List(ctx context.Context, q Query) ([]Task, error) {
	if err := q.check(GitHub); err != nil {
		return nil, err
	}
	if q.Repo == "" && h.app != nil {
		return h.listInstalled(ctx, q)
	}
	all, err := pages(cmp.Or(q.Most, mostList), func(page int, after string) ([]*github.Issue, int, string, error) {
		list, res, err := h.listPage(ctx, q, page, after)
		if err != nil {
			return nil, 0, "", err
		}
		return list, res.NextPage, res.After, nil
	})
	if err != nil {
		return nil, h.mail.explain("list tasks of", cmp.Or(q.Repo, "github"), err)
	}
	tasks := make([]Task, 0, len(all))
	for _, one := range all {
		tasks = append(tasks, h.task(one))
	}
	return wanted(tasks, q), nil
}

// listPage asks by creation, so that pages stay as they are while tasks change.
// The client's own methods can't pass on the cursor that long lists need.
func (h *githubForge) listPage(ctx context.Context, q Query, page int, after string) ([]*github.Issue, *github.Response,
	error) {
	v := url.Values{"state": {"open"}, "sort": {"created"}, "direction": {"asc"}, "per_page": {strconv.Itoa(perPage)},
		"page": {strconv.Itoa(page)}}
	path := "issues"
	if q.Repo == "" { // has no parameter for the assignee: wanted looks at it
		v.Set("filter", "all")
	} else {
		path = "repos/" + q.Repo + "/issues"
		setIf(v, "assignee", q.Assignee)
	}
	setIf(v, "labels", q.Label)
	setIf(v, "after", after)
	req, err := h.api.NewRequest(ctx, "GET", path+"?"+v.Encode(), nil)
	if err != nil {
		return nil, nil, err
	}
	var list []*github.Issue
	res, err := h.api.Do(req, &list)
	return list, res, err
}

func setIf(v url.Values, name, value string) {
	if value != "" {
		v.Set(name, value)
	}
}

// task reads an issue. GitHub's list has pull requests too.
func (h *githubForge) task(i *github.Issue) Task {
	t := Task{Provider: GitHub, Kind: Issue, Number: i.GetNumber(), Title: clean(i.GetTitle()),
		Body: cleanLines(i.GetBody()), Author: clean(i.GetUser().GetLogin()),
		Labels: hubLabels(i.Labels), Assignees: hubUsers(i.Assignees), URL: clean(i.GetHTMLURL()), Draft: i.GetDraft(),
		Closed: i.GetState() == "closed", Updated: i.GetUpdatedAt().Time}
	cut := "/issues/"
	if links := i.PullRequestLinks; links != nil {
		t.Kind, t.Merged, cut = PullRequest, links.MergedAt != nil, "/pull/"
	}
	t.Repo, t.CloneURL = repoOf(i.GetRepositoryURL()), cloneURL(i.GetHTMLURL(), cut)
	return t
}

// repoOf reads owner/name from the end of an address of the API.
func repoOf(address string) string {
	parts := strings.Split(address, "/")
	if len(parts) < 2 {
		return ""
	}
	repo := parts[len(parts)-2] + "/" + parts[len(parts)-1]
	if checkRepo(GitHub, repo) != nil {
		return ""
	}
	return repo
}

func hubLabels(labels []*github.Label) []string {
	out := make([]string, 0, len(labels))
	for _, l := range labels {
		out = append(out, clean(l.GetName()))
	}
	return out
}

func hubUsers(users []*github.User) []string {
	out := make([]string, 0, len(users))
	for _, u := range users {
		out = append(out, clean(u.GetLogin()))
	}
	return out
}

func (h *githubForge) Get(ctx context.Context, ref Ref) (Task, error) {
	if err := checkRef(GitHub, ref); err != nil {
		return Task{}, err
	}
	owner, name := split(ref.Repo)
	issue, _, err := h.api.Issues.Get(ctx, owner, name, ref.Number)
	t, err := sensible(issue, h.task, err)
	if err == nil && t.Kind == PullRequest {
		var pull *github.PullRequest
		pull, _, err = h.api.PullRequests.Get(ctx, owner, name, ref.Number)
		t, err = sensible(pull, h.pull, err)
	}
	return t, h.mail.explain("read task", ref.String(), err)
}

func (h *githubForge) Relabel(ctx context.Context, ref Ref, add, remove []string) error {
	if err := checkRef(GitHub, ref); err != nil {
		return err
	}
	if err := allLabels(add, remove); err != nil {
		return err
	}
	now, err := h.addLabels(ctx, ref, add)
	if err != nil {
		return h.mail.explain("label", ref.String(), err)
	}
	for _, label := range hubLabels(now) {
		if !hasFold(remove, label) || hasFold(add, label) {
			continue
		}
		if err := h.unlabel(ctx, ref, label); err != nil {
			return err
		}
	}
	return nil
}

// unlabel takes a label off. That there is none may mean that a person was
// faster; it is also what a forge says that will not do it, and then a task
// would be begun again and again for a label that stays.
func (h *githubForge) unlabel(ctx context.Context, ref Ref, label string) error {
	owner, name := split(ref.Repo)
	_, err := h.api.Issues.RemoveLabelForIssue(ctx, owner, name, ref.Number, url.PathEscape(label))
	if err = h.mail.explain("take label off", ref.String(), err); !gone(err) {
		return err
	}
	now, err := h.addLabels(ctx, ref, nil)
	if err == nil && hasFold(hubLabels(now), label) {
		return stays(ref, label)
	}
	return h.mail.explain("take label off", ref.String(), err)
}

// addLabels returns all labels of a task; those to remove are looked for among
// them, which saves asking for each.
func (h *githubForge) addLabels(ctx context.Context, ref Ref, add []string) ([]*github.Label, error) {
	owner, name := split(ref.Repo)
	if len(add) > 0 {
		all, _, err := h.api.Issues.AddLabelsToIssue(ctx, owner, name, ref.Number, add)
		return all, err
	}
	all, _, err := h.api.Issues.ListLabelsByIssue(ctx, owner, name, ref.Number, &github.ListOptions{PerPage: perPage})
	return all, err
}

func (h *githubForge) SetLabels(ctx context.Context, ref Ref, labels []string) error {
	if err := checkRef(GitHub, ref); err != nil {
		return err
	}
	if err := allLabels(labels); err != nil {
		return err
	}
	owner, name := split(ref.Repo)
	if labels == nil {
		labels = []string{}
	}
	_, _, err := h.api.Issues.ReplaceLabelsForIssue(ctx, owner, name, ref.Number, labels)
	return h.mail.explain("label", ref.String(), err)
}

func (h *githubForge) MayWrite(ctx context.Context, repo, user string) (bool, error) {
	if err := checkRepo(GitHub, repo); err != nil {
		return false, err
	}
	if !userName(user) {
		return false, nil
	}
	owner, name := split(repo)
	level, _, err := h.api.Repositories.GetPermissionLevel(ctx, owner, name, url.PathEscape(user))
	if err = h.mail.explain("ask for the rights of", user, err); gone(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	// A user who was renamed in between is answered under the new name: not the one who wrote.
	if !strings.EqualFold(level.GetUser().GetLogin(), user) {
		return false, nil
	}
	return level.GetPermission() == "admin" || level.GetPermission() == "write" || level.GetPermission() == "maintain", nil
}

func (h *githubForge) Repository(ctx context.Context, repo string) (Repository, error) {
	if err := checkRepo(GitHub, repo); err != nil {
		return Repository{}, err
	}
	owner, name := split(repo)
	r, _, err := h.api.Repositories.Get(ctx, owner, name)
	if err == nil && (r.GetFullName() == "" || r.GetCloneURL() == "") {
		err = errNonsense
	}
	if err != nil {
		return Repository{}, h.mail.explain("read repository", repo, err)
	}
	return Repository{Path: clean(r.GetFullName()), Default: safeBranch(r.GetDefaultBranch()),
		CloneURL: clean(r.GetCloneURL()), Private: r.GetPrivate(), Archived: r.GetArchived()}, nil
}
