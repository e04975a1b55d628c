package forge

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	gitlab "gitlab.com/gitlab-org/api/client-go/v2"

	"hako/run/fault"
)

// Comments asks for the latest first and stops where they get older than
// wanted: GitLab has no parameter for a time.
func (l *gitlabForge) Comments(ctx context.Context, ref Ref, since time.Time) ([]Comment, error) {
	if err := checkRef(GitLab, ref); err != nil {
		return nil, err
	}
	me, err := l.Self(ctx)
	if err != nil {
		return nil, err
	}
	notes, err := pages(mostList, func(page int, _ string) ([]*gitlab.Note, int, string, error) {
		list, res, err := l.notesPage(ctx, ref, page)
		next := labNext(res)
		if n := len(list); n > 0 && list[n-1] != nil && stamp(list[n-1].UpdatedAt).Before(since) {
			next = 0
		}
		return list, next, "", err
	})
	if err != nil {
		return nil, l.mail.explain("read comments of", ref.String(), err)
	}
	all := each(notes, func(n *gitlab.Note) (Comment, bool) {
		return l.comment(n, me), !n.System && !stamp(n.UpdatedAt).Before(since)
	})
	slices.SortStableFunc(all, func(a, b Comment) int { return a.Created.Compare(b.Created) })
	return all, nil
}

func (l *gitlabForge) notesPage(ctx context.Context, ref Ref, page int) ([]*gitlab.Note, *gitlab.Response, error) {
	here := gitlab.ListOptions{Page: int64(page), PerPage: perPage}
	by, desc := "updated_at", "desc"
	if ref.Kind == PullRequest {
		return l.api.Notes.ListMergeRequestNotes(ref.Repo, int64(ref.Number),
			&gitlab.ListMergeRequestNotesOptions{ListOptions: here, OrderBy: &by, Sort: &desc}, gitlab.WithContext(ctx))
	}
	return l.api.Notes.ListIssueNotes(ref.Repo, int64(ref.Number), &gitlab.ListIssueNotesOptions{ListOptions: here,
		OrderBy: &by, Sort: &desc}, gitlab.WithContext(ctx))
}

func (l *gitlabForge) comment(n *gitlab.Note, me string) Comment {
	c := Comment{ID: strconv.FormatInt(n.ID, 10), Author: clean(n.Author.Username),
		Mine: strings.EqualFold(n.Author.Username, me), Created: stamp(n.CreatedAt), Updated: stamp(n.UpdatedAt)}
	//lint:ignore SA1019 servers before GitLab 15 know the second word alone
	c.Internal = n.Internal || n.Confidential
	if p := n.Position; p != nil {
		c.On = fmt.Sprintf("%s:%d", clean(p.NewPath), p.NewLine)
	}
	return marked(c, n.Body)
}

func (l *gitlabForge) Comment(ctx context.Context, ref Ref, mark Mark, text string) (Comment, error) {
	if err := checkRef(GitLab, ref); err != nil {
		return Comment{}, err
	}
	whole, err := l.says.comment(mark, text)
	if err != nil {
		return Comment{}, err
	}
	var n *gitlab.Note
	if ref.Kind == PullRequest {
		n, _, err = l.api.Notes.CreateMergeRequestNote(ref.Repo, int64(ref.Number),
			&gitlab.CreateMergeRequestNoteOptions{Body: &whole}, gitlab.WithContext(ctx))
	} else {
		n, _, err = l.api.Notes.CreateIssueNote(ref.Repo, int64(ref.Number), &gitlab.CreateIssueNoteOptions{Body: &whole},
			gitlab.WithContext(ctx))
	}
	return l.mineNow(n, "comment on", ref, err)
}

func (l *gitlabForge) Edit(ctx context.Context, ref Ref, id string, mark Mark, text string) (Comment, error) {
	if err := checkRef(GitLab, ref); err != nil {
		return Comment{}, err
	}
	number, err := commentID(id)
	if err != nil {
		return Comment{}, err
	}
	whole, err := l.says.comment(mark, text)
	if err != nil {
		return Comment{}, err
	}
	var n *gitlab.Note
	if ref.Kind == PullRequest {
		n, _, err = l.api.Notes.UpdateMergeRequestNote(ref.Repo, int64(ref.Number), number,
			&gitlab.UpdateMergeRequestNoteOptions{Body: &whole}, gitlab.WithContext(ctx))
	} else {
		n, _, err = l.api.Notes.UpdateIssueNote(ref.Repo, int64(ref.Number), number,
			&gitlab.UpdateIssueNoteOptions{Body: &whole}, gitlab.WithContext(ctx))
	}
	return l.mineNow(n, "edit comment of", ref, err)
}

// mineNow reads what was just written.
func (l *gitlabForge) mineNow(n *gitlab.Note, op string, ref Ref, err error) (Comment, error) {
	if err == nil && (n == nil || n.ID == 0) {
		err = errNonsense
	}
	if err != nil {
		return Comment{}, l.mail.explain(op, ref.String(), err)
	}
	return l.comment(n, n.Author.Username), nil
}

func (l *gitlabForge) Pulls(ctx context.Context, repo, branch string) ([]Task, error) {
	if err := checkRepo(GitLab, repo); err != nil {
		return nil, err
	}
	if err := checkBranch("find merge request of", branch); err != nil {
		return nil, err
	}
	every, created, desc := "all", "created_at", "desc"
	list, _, err := l.api.MergeRequests.ListProjectMergeRequests(repo,
		&gitlab.ListProjectMergeRequestsOptions{ListOptions: gitlab.ListOptions{PerPage: perPage},
			State: &every, SourceBranch: &branch, OrderBy: &created, Sort: &desc}, gitlab.WithContext(ctx))
	if err != nil {
		return nil, l.mail.explain("find merge request of", repo+" "+branch, err)
	}
	var all []Task
	for _, m := range there(list) {
		all = append(all, l.pull(m))
	}
	return ofBranch(all, branch), nil
}

// draftTitle is how GitLab tells a draft: by the beginning of its title.
func draftTitle(title string) string {
	if strings.HasPrefix(title, "Draft:") {
		return title
	}
	return "Draft: " + title
}

func (l *gitlabForge) Open(ctx context.Context, p Pull) (Task, error) {
	if err := p.check(GitLab); err != nil {
		return Task{}, err
	}
	title, body := l.says.pull(p)
	title = draftTitle(title)
	m, _, err := l.api.MergeRequests.CreateMergeRequest(p.Repo, &gitlab.CreateMergeRequestOptions{Title: &title,
		Description: &body, SourceBranch: &p.Branch, TargetBranch: &p.Target}, gitlab.WithContext(ctx))
	t, err := sensible(m, l.merge, err)
	return t, exists(l.mail.explain("open merge request of", p.Repo+" "+p.Branch, err), err)
}

// exists adds ErrExists to what was explained, if that was the reason.
func exists(explained, err error) error {
	known := statusOf(err) == http.StatusConflict || statusOf(err) == http.StatusUnprocessableEntity &&
		mentions(err, "already exists")
	var e *fault.Error
	if known && errors.As(explained, &e) {
		e.Why, e.Err, e.Hint = "", ErrExists, "push to its branch instead"
	}
	return explained
}
