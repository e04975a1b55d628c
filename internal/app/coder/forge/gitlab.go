package forge

import (
	"cmp"
	"context"
	"net/url"
	"slices"
	"strings"
	"time"

	gitlab "gitlab.com/gitlab-org/api/client-go/v2"
)

// gitlabForge is GitLab, wherever it is hosted.
type gitlabForge struct {
	mail *apiClient
	api  *gitlab.Client
	says outgoingText
	me   account
}

func newGitLab(c Config, at *url.URL, mail *apiClient) (Forge, error) {
	api, err := gitlab.NewAuthSourceClient(plainly{}, gitlab.WithBaseURL(at.String()),
		gitlab.WithHTTPClient(mail.client()), gitlab.WithUserAgent("hako"),
		gitlab.WithoutRetries(), gitlab.WithCustomLimiter(plainly{}))
	if err != nil {
		return nil, mail.explain("configure", GitLab, err)
	}
	l := &gitlabForge{mail: mail, api: api, says: outgoingText{GitLab, mail.secrets}}
	l.me = account{bot: c.BotName, ask: l.whoami}
	return l, nil
}

// plainly keeps the client from adding the token and from limiting itself: the
// courier does both. It has to name some header.
type plainly struct{}

func (plainly) Wait(context.Context) error                 { return nil }
func (plainly) Init(context.Context, *gitlab.Client) error { return nil }
func (plainly) Header(context.Context) (key, value string, err error) {
	return "Accept", "application/json", nil
}

func (l *gitlabForge) Close() { l.mail.Close() }

func (l *gitlabForge) Self(ctx context.Context) (string, error) { return l.me.self(ctx) }

func (l *gitlabForge) whoami(ctx context.Context) (string, error) {
	user, _, err := l.api.Users.CurrentUser(gitlab.WithContext(ctx))
	if err == nil && (user == nil || user.Username == "") {
		err = errNonsense
	}
	if err != nil {
		return "", l.mail.stranger(err)
	}
	return clean(user.Username), nil
}

func (l *gitlabForge) List(ctx context.Context, q Query) ([]Task, error) {
	if err := q.check(GitLab); err != nil {
		return nil, err
	}
	most := cmp.Or(q.Most, mostList)
	issues, err := pages(most, func(page int, _ string) ([]*gitlab.Issue, int, string, error) {
		list, res, err := l.issuesPage(ctx, q, page)
		return list, labNext(res), "", err
	})
	var pulls []*gitlab.BasicMergeRequest
	if err == nil {
		pulls, err = pages(most, func(page int, _ string) ([]*gitlab.BasicMergeRequest, int, string, error) {
			list, res, err := l.pullsPage(ctx, q, page)
			return list, labNext(res), "", err
		})
	}
	if err != nil {
		return nil, l.mail.explain("list tasks of", cmp.Or(q.Repo, "gitlab"), err)
	}
	tasks := make([]Task, 0, len(issues)+len(pulls))
	for _, one := range issues {
		tasks = append(tasks, l.task(one))
	}
	for _, one := range pulls {
		tasks = append(tasks, l.pull(one))
	}
	tasks = wanted(tasks, q)
	return tasks[:min(len(tasks), most)], nil
}

func labNext(res *gitlab.Response) int {
	if res == nil {
		return 0
	}
	return int(res.NextPage)
}

func optional(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

func labels(names ...string) *gitlab.LabelOptions {
	out := gitlab.LabelOptions{}
	for _, name := range names {
		if name != "" {
			out = append(out, name)
		}
	}
	if len(out) == 0 {
		return nil
	}
	return &out
}

func (l *gitlabForge) issuesPage(ctx context.Context, q Query, page int) ([]*gitlab.Issue, *gitlab.Response, error) {
	here := gitlab.ListOptions{Page: int64(page), PerPage: perPage}
	all, opened, created, asc := "all", "opened", "created_at", "asc"
	if q.Repo == "" {
		return l.api.Issues.ListIssues(&gitlab.ListIssuesOptions{ListOptions: here, State: &opened, Scope: &all,
			Labels: labels(q.Label), AssigneeUsername: optional(q.Assignee), OrderBy: &created, Sort: &asc},
			gitlab.WithContext(ctx))
	}
	return l.api.Issues.ListProjectIssues(q.Repo, &gitlab.ListProjectIssuesOptions{ListOptions: here, State: &opened,
		Labels: labels(q.Label), AssigneeUsername: optional(q.Assignee), OrderBy: &created, Sort: &asc},
		gitlab.WithContext(ctx))
}

// pullsPage has no parameter for the name of the assignee: wanted looks at it.
func (l *gitlabForge) pullsPage(ctx context.Context, q Query, page int) ([]*gitlab.BasicMergeRequest, *gitlab.Response,
	error) {
	here := gitlab.ListOptions{Page: int64(page), PerPage: perPage}
	all, opened, created, asc := "all", "opened", "created_at", "asc"
	if q.Repo == "" {
		return l.api.MergeRequests.ListMergeRequests(&gitlab.ListMergeRequestsOptions{ListOptions: here, State: &opened,
			Scope: &all, Labels: labels(q.Label), OrderBy: &created, Sort: &asc}, gitlab.WithContext(ctx))
	}
	return l.api.MergeRequests.ListProjectMergeRequests(q.Repo, &gitlab.ListProjectMergeRequestsOptions{ListOptions: here,
		State: &opened, Labels: labels(q.Label), OrderBy: &created, Sort: &asc}, gitlab.WithContext(ctx))
}

func (l *gitlabForge) task(i *gitlab.Issue) Task {
	t := Task{Provider: GitLab, Kind: Issue, Number: int(i.IID), Title: clean(i.Title), Body: cleanLines(i.Description),
		Labels: cleanAll(i.Labels),
		URL:    clean(i.WebURL), CloneURL: cloneURL(i.WebURL, "/-/"), Closed: i.State == "closed",
		Updated:      stamp(i.UpdatedAt),
		Confidential: i.Confidential}
	if i.Author != nil {
		t.Author = clean(i.Author.Username)
	}
	for _, u := range there(i.Assignees) {
		t.Assignees = append(t.Assignees, clean(u.Username))
	}
	t.Repo = fullPath(i.References, "#")
	return t
}

func (l *gitlabForge) merge(m *gitlab.MergeRequest) Task { return l.pull(&m.BasicMergeRequest) }

func (l *gitlabForge) pull(m *gitlab.BasicMergeRequest) Task {
	t := Task{Provider: GitLab, Kind: PullRequest, Number: int(m.IID), Title: clean(m.Title),
		Body: cleanLines(m.Description), Labels: cleanAll(m.Labels),
		URL: clean(m.WebURL), CloneURL: cloneURL(m.WebURL, "/-/"), Branch: safeBranch(m.SourceBranch),
		Target: safeBranch(m.TargetBranch), Fork: m.SourceProjectID != m.TargetProjectID,
		Head: safeCommit(m.SHA), Draft: m.Draft, Closed: m.State == "closed" || m.State == "merged",
		Merged: m.State == "merged", Updated: stamp(m.UpdatedAt)}
	if m.Author != nil {
		t.Author = clean(m.Author.Username)
	}
	for _, u := range there(m.Assignees) {
		t.Assignees = append(t.Assignees, clean(u.Username))
	}
	t.Repo = fullPath(m.References, "!")
	return t
}

// fullPath is the path of a project before the number.
func fullPath(r *gitlab.IssueReferences, sign string) string {
	if r == nil {
		return ""
	}
	path, _, _ := strings.Cut(r.Full, sign)
	if checkRepo(GitLab, path) != nil {
		return ""
	}
	return path
}

func stamp(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return *t
}

func (l *gitlabForge) Get(ctx context.Context, ref Ref) (Task, error) {
	if err := checkRef(GitLab, ref); err != nil {
		return Task{}, err
	}
	if ref.Kind == PullRequest {
		m, _, err := l.api.MergeRequests.GetMergeRequest(ref.Repo, int64(ref.Number), nil, gitlab.WithContext(ctx))
		t, err := sensible(m, l.merge, err)
		return t, l.mail.explain("read task", ref.String(), err)
	}
	i, _, err := l.api.Issues.GetIssue(ref.Repo, int64(ref.Number), gitlab.WithContext(ctx))
	t, err := sensible(i, l.task, err)
	return t, l.mail.explain("read task", ref.String(), err)
}

func (l *gitlabForge) Relabel(ctx context.Context, ref Ref, add, remove []string) error {
	if err := checkRef(GitLab, ref); err != nil {
		return err
	}
	if err := allLabels(add, remove); err != nil {
		return err
	}
	now, err := l.relabel(ctx, ref, labels(add...), labels(remove...))
	if err != nil {
		return l.mail.explain("label", ref.String(), err)
	}
	for _, label := range remove {
		if slices.Contains(now, label) && !slices.Contains(add, label) {
			return stays(ref, label)
		}
	}
	return nil
}

// relabel returns the labels that there are then.
func (l *gitlabForge) relabel(ctx context.Context, ref Ref, add, remove *gitlab.LabelOptions) ([]string, error) {
	if ref.Kind == PullRequest {
		m, _, err := l.api.MergeRequests.UpdateMergeRequest(ref.Repo, int64(ref.Number),
			&gitlab.UpdateMergeRequestOptions{AddLabels: add, RemoveLabels: remove}, gitlab.WithContext(ctx))
		t, err := sensible(m, l.merge, err)
		return t.Labels, err
	}
	i, _, err := l.api.Issues.UpdateIssue(ref.Repo, int64(ref.Number),
		&gitlab.UpdateIssueOptions{AddLabels: add, RemoveLabels: remove}, gitlab.WithContext(ctx))
	t, err := sensible(i, l.task, err)
	return t.Labels, err
}

func (l *gitlabForge) SetLabels(ctx context.Context, ref Ref, names []string) error {
	if err := checkRef(GitLab, ref); err != nil {
		return err
	}
	if err := allLabels(names); err != nil {
		return err
	}
	set := append(gitlab.LabelOptions{}, names...) // empty takes all away; nil would change nothing
	var err error
	if ref.Kind == PullRequest {
		_, _, err = l.api.MergeRequests.UpdateMergeRequest(ref.Repo, int64(ref.Number),
			&gitlab.UpdateMergeRequestOptions{Labels: &set}, gitlab.WithContext(ctx))
	} else {
		_, _, err = l.api.Issues.UpdateIssue(ref.Repo, int64(ref.Number), &gitlab.UpdateIssueOptions{Labels: &set},
			gitlab.WithContext(ctx))
	}
	return l.mail.explain("label", ref.String(), err)
}

// MayWrite looks for the very name: GitLab's search finds similar ones too.
func (l *gitlabForge) MayWrite(ctx context.Context, repo, user string) (bool, error) {
	if err := checkRepo(GitLab, repo); err != nil {
		return false, err
	}
	if !userName(user) {
		return false, nil
	}
	members, err := pages(mostList, func(page int, _ string) ([]*gitlab.ProjectMember, int, string, error) {
		list, res, err := l.api.ProjectMembers.ListAllProjectMembers(repo,
			&gitlab.ListProjectMembersOptions{ListOptions: gitlab.ListOptions{Page: int64(page), PerPage: perPage},
				Query: &user}, gitlab.WithContext(ctx))
		return list, labNext(res), "", err
	})
	if err != nil {
		return false, l.mail.explain("ask for the rights of", user, err)
	}
	for _, m := range members {
		if strings.EqualFold(m.Username, user) && m.State == "active" && m.AccessLevel >= gitlab.DeveloperPermissions &&
			!expired(m.ExpiresAt) {
			return true, nil
		}
	}
	return false, nil
}

// expired memberships end at the beginning of their day.
func expired(day *gitlab.ISOTime) bool {
	return day != nil && !time.Now().Before(time.Time(*day))
}

func (l *gitlabForge) Repository(ctx context.Context, repo string) (Repository, error) {
	if err := checkRepo(GitLab, repo); err != nil {
		return Repository{}, err
	}
	p, _, err := l.api.Projects.GetProject(repo, nil, gitlab.WithContext(ctx))
	if err == nil && (p == nil || p.PathWithNamespace == "" || p.HTTPURLToRepo == "") {
		err = errNonsense
	}
	if err != nil {
		return Repository{}, l.mail.explain("read repository", repo, err)
	}
	return Repository{Path: clean(p.PathWithNamespace), Default: safeBranch(p.DefaultBranch),
		CloneURL: clean(p.HTTPURLToRepo), Private: p.Visibility != gitlab.PublicVisibility, Archived: p.Archived}, nil
}
