package forge

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/go-github/v92/github"
)

// Comments returns what stands below a task. A pull request has its reviews
// and their remarks on lines besides.
func (h *githubForge) Comments(ctx context.Context, ref Ref, since time.Time) ([]Comment, error) {
	if err := checkRef(GitHub, ref); err != nil {
		return nil, err
	}
	me, err := h.Self(ctx)
	if err != nil {
		return nil, err
	}
	all, err := h.plain(ctx, ref, me, since)
	if err == nil && ref.Kind == PullRequest {
		var remarks, reviews []Comment
		if remarks, err = h.remarks(ctx, ref, me, since); err == nil {
			reviews, err = h.reviews(ctx, ref, me, since)
		}
		all = slices.Concat(all, remarks, reviews)
	}
	if err != nil {
		return nil, h.mail.explain("read comments of", ref.String(), err)
	}
	slices.SortStableFunc(all, func(a, b Comment) int { return a.Created.Compare(b.Created) })
	return all, nil
}

func (h *githubForge) plain(ctx context.Context, ref Ref, me string, since time.Time) ([]Comment, error) {
	owner, name := split(ref.Repo)
	list, err := pages(mostList, func(page int, _ string) ([]*github.IssueComment, int, string, error) {
		o := &github.IssueListCommentsOptions{ListOptions: github.ListOptions{Page: page, PerPage: perPage}}
		if !since.IsZero() {
			since := since.UTC()
			o.Since = &since
		}
		list, res, err := h.api.Issues.ListComments(ctx, owner, name, ref.Number, o)
		return list, nextPage(res), "", err
	})
	return each(list, func(c *github.IssueComment) (Comment, bool) { return h.comment(c, me), true }), err
}

func (h *githubForge) remarks(ctx context.Context, ref Ref, me string, since time.Time) ([]Comment, error) {
	owner, name := split(ref.Repo)
	list, err := pages(mostList, func(page int, _ string) ([]*github.PullRequestComment, int, string, error) {
		o := &github.PullRequestListCommentsOptions{Since: since.UTC(),
			ListOptions: github.ListOptions{Page: page, PerPage: perPage}}
		if since.IsZero() {
			o.Since = time.Time{}
		}
		list, res, err := h.api.PullRequests.ListComments(ctx, owner, name, ref.Number, o)
		return list, nextPage(res), "", err
	})
	return each(list, func(c *github.PullRequestComment) (Comment, bool) {
		on := fmt.Sprintf("%s:%d", clean(c.GetPath()), c.GetLine())
		return marked(Comment{ID: "remark-" + strconv.FormatInt(c.GetID(), 10), Author: clean(c.GetUser().GetLogin()),
			Mine: strings.EqualFold(c.GetUser().GetLogin(), me), On: on,
			URL: clean(c.GetHTMLURL()), Created: c.GetCreatedAt().Time, Updated: c.GetUpdatedAt().Time}, c.GetBody()), true
	}), err
}

// reviews have no parameter for a time, and nothing to say if they only carry
// remarks.
func (h *githubForge) reviews(ctx context.Context, ref Ref, me string, since time.Time) ([]Comment, error) {
	owner, name := split(ref.Repo)
	list, err := pages(mostList, func(page int, _ string) ([]*github.PullRequestReview, int, string, error) {
		list, res, err := h.api.PullRequests.ListReviews(ctx, owner, name, ref.Number,
			&github.ListOptions{Page: page, PerPage: perPage})
		return list, nextPage(res), "", err
	})
	return each(list, func(r *github.PullRequestReview) (Comment, bool) {
		at := r.GetSubmittedAt().Time
		return marked(Comment{ID: "review-" + strconv.FormatInt(r.GetID(), 10), Author: clean(r.GetUser().GetLogin()),
			Mine: strings.EqualFold(r.GetUser().GetLogin(), me),
			URL:  clean(r.GetHTMLURL()), Created: at, Updated: at}, r.GetBody()), r.GetBody() != "" && !at.Before(since)
	}), err
}

func nextPage(res *github.Response) int {
	if res == nil {
		return 0
	}
	return res.NextPage
}

// each turns a list into comments and leaves out those that are not wanted.
func each[T any](list []*T, read func(*T) (Comment, bool)) []Comment {
	out := make([]Comment, 0, len(list))
	for _, one := range list {
		if c, ok := read(one); ok {
			out = append(out, c)
		}
	}
	return out
}

func (h *githubForge) comment(c *github.IssueComment, me string) Comment {
	return marked(Comment{ID: strconv.FormatInt(c.GetID(), 10), Author: clean(c.GetUser().GetLogin()),
		Mine: strings.EqualFold(c.GetUser().GetLogin(), me),
		URL:  clean(c.GetHTMLURL()), Created: c.GetCreatedAt().Time, Updated: c.GetUpdatedAt().Time}, c.GetBody())
}

func (h *githubForge) Comment(ctx context.Context, ref Ref, mark Mark, text string) (Comment, error) {
	if err := checkRef(GitHub, ref); err != nil {
		return Comment{}, err
	}
	whole, err := h.says.comment(mark, text)
	if err != nil {
		return Comment{}, err
	}
	owner, name := split(ref.Repo)
	c, _, err := h.api.Issues.CreateComment(ctx, owner, name, ref.Number, github.IssueCommentRequest{Body: whole})
	return h.mineNow(c, "comment on", ref, err)
}

func (h *githubForge) Edit(ctx context.Context, ref Ref, id string, mark Mark, text string) (Comment, error) {
	if err := checkRef(GitHub, ref); err != nil {
		return Comment{}, err
	}
	number, err := commentID(id)
	if err != nil {
		return Comment{}, err
	}
	whole, err := h.says.comment(mark, text)
	if err != nil {
		return Comment{}, err
	}
	owner, name := split(ref.Repo)
	c, _, err := h.api.Issues.UpdateComment(ctx, owner, name, number, github.IssueCommentRequest{Body: whole})
	return h.mineNow(c, "edit comment of", ref, err)
}

// mineNow reads what was just written.
func (h *githubForge) mineNow(c *github.IssueComment, op string, ref Ref, err error) (Comment, error) {
	if err == nil && c.GetID() == 0 {
		err = errNonsense
	}
	if err != nil {
		return Comment{}, h.mail.explain(op, ref.String(), err)
	}
	return h.comment(c, c.GetUser().GetLogin()), nil
}

func commentID(id string) (int64, error) {
	number, err := strconv.ParseInt(id, 10, 64)
	if err != nil || number <= 0 {
		return 0, invalid("edit comment", id, "it can't be edited", "edit only what Comment returned")
	}
	return number, nil
}

func (h *githubForge) pull(p *github.PullRequest) Task {
	base, head := p.GetBase(), p.GetHead()
	return Task{Provider: GitHub, Repo: clean(base.GetRepo().GetFullName()), Kind: PullRequest, Number: p.GetNumber(),
		Title: clean(p.GetTitle()), Body: cleanLines(p.GetBody()),
		Author: clean(p.GetUser().GetLogin()), Labels: hubLabels(p.Labels), Assignees: hubUsers(p.Assignees),
		URL: clean(p.GetHTMLURL()), CloneURL: clean(base.GetRepo().GetCloneURL()),
		Branch: safeBranch(head.GetRef()), Target: safeBranch(base.GetRef()),
		Fork: head.GetRepo().GetFullName() != base.GetRepo().GetFullName(), // also if the fork is gone
		Head: safeCommit(head.GetSHA()), Draft: p.GetDraft(), Closed: p.GetState() == "closed", Merged: p.MergedAt != nil,
		Updated: p.GetUpdatedAt().Time}
}

func (h *githubForge) Pulls(ctx context.Context, repo, branch string) ([]Task, error) {
	if err := checkRepo(GitHub, repo); err != nil {
		return nil, err
	}
	if err := checkBranch("find pull request of", branch); err != nil {
		return nil, err
	}
	owner, name := split(repo)
	list, _, err := h.api.PullRequests.List(ctx, owner, name,
		&github.PullRequestListOptions{State: "all", Head: owner + ":" + branch, Sort: "created", Direction: "desc",
			ListOptions: github.ListOptions{PerPage: perPage}})
	if err != nil {
		return nil, h.mail.explain("find pull request of", repo+" "+branch, err)
	}
	var all []Task
	for _, p := range there(list) {
		all = append(all, h.pull(p))
	}
	return ofBranch(all, branch), nil
}

// ofBranch does not rely on the forge's filter: GitHub shows everything if it
// does not understand it.
func ofBranch(all []Task, branch string) []Task {
	all = slices.DeleteFunc(all, func(t Task) bool { return t.Branch != branch || t.Fork })
	slices.SortStableFunc(all, func(a, b Task) int {
		switch {
		case a.Closed == b.Closed:
			return 0
		case b.Closed:
			return -1
		}
		return 1
	})
	return all
}

func (p Pull) check(provider string) error {
	if err := checkRepo(provider, p.Repo); err != nil {
		return err
	}
	if err := checkBranch("open pull request from", p.Branch); err != nil {
		return err
	}
	if err := checkBranch("open pull request to", p.Target); err != nil {
		return err
	}
	if clean(p.Title) == "" {
		return invalid("open pull request from", p.Branch, "it has no title", "say in a line what it changes")
	}
	return nil
}

func (h *githubForge) Open(ctx context.Context, p Pull) (Task, error) {
	if err := p.check(GitHub); err != nil {
		return Task{}, err
	}
	made, err := h.open(ctx, p, true)
	if statusOf(err) == http.StatusUnprocessableEntity && mentions(err, "draft pull requests are not supported") {
		made, err = h.open(ctx, p, false) // private repositories without a plan have none
	}
	t, err := sensible(made, h.pull, err)
	return t, exists(h.mail.explain("open pull request of", p.Repo+" "+p.Branch, err), err)
}

func (h *githubForge) open(ctx context.Context, p Pull, draft bool) (*github.PullRequest, error) {
	owner, name := split(p.Repo)
	title, body := h.says.pull(p)
	made, _, err := h.api.PullRequests.Create(ctx, owner, name, github.CreatePullRequest{Title: &title, Head: p.Branch,
		Base: p.Target, Body: &body, Draft: &draft})
	return made, err
}
