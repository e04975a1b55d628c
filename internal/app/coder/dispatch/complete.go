package dispatch

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"hako/internal/app/coder"
	"hako/internal/app/coder/forge"
	"hako/internal/app/coder/queue"
	"hako/run/fault"
)

// complete reads the issue from the forge and decides whether the task is still wanted.
// An order of the queue takes precedence. A task that has ended is only reported.
func (t *attempt) complete(ctx context.Context, order coder.Order) (coder.Order, error) {
	rec := t.journal.last
	if rec.Phase == coder.Reporting || rec.Phase == coder.Ended {
		return order, nil
	}
	got, err := t.forge.Get(ctx, refOf(t.task))
	if isNotFound(err) {
		return coder.Stop, nil
	}
	if err != nil {
		return order, err
	}
	if order == coder.Continue {
		if declined, err := t.declined(ctx, got); declined || err != nil {
			return order, err
		}
		if order, err = t.desiredOrder(ctx, got, rec.State); err != nil {
			return order, err
		}
	}
	if order != coder.Continue {
		return order, nil
	}
	if err := t.describe(ctx, got); err != nil || rec.Phase != "" {
		return order, err
	}
	return order, t.journal.Save(ctx, rec) // the next worker must go by what was read now
}

// desiredOrder reads from the labels of an issue what people want.
func (t *attempt) desiredOrder(ctx context.Context, got forge.Issue, was coder.State) (coder.Order, error) {
	bot, err := t.forge.bot(ctx)
	if err != nil {
		return coder.Continue, err
	}
	has := func(s coder.State) bool { return t.forge.hasLabel(got, s) }
	order := coder.Continue
	switch {
	case got.Closed, t.task.Assigned && !got.AssignedTo(bot):
		order = coder.Stop
	case has(coder.Paused) && was != coder.Paused:
		order = coder.Pause
	case has(coder.Stopped) && was == coder.Processing:
		order = coder.Stop
	case has(coder.Pending), has(coder.Processing),
		has(coder.Paused): // paused: the queue has the order to resume, or the task would not be here
	default:
		order = coder.Stop
	}
	return order, t.forwardOrder(ctx, order)
}

// forwardOrder gives an order that people expressed at the forge to the queue.
func (t *attempt) forwardOrder(ctx context.Context, order coder.Order) error {
	if order == coder.Continue {
		return nil
	}
	return t.Queue.Order(ctx, t.lease.Item.ID, queue.Command(order))
}

// describe fills in the task.
func (t *attempt) describe(ctx context.Context, got forge.Issue) error {
	repo, err := t.forge.Repository(ctx, t.task.Repo)
	if err != nil {
		return err
	}
	if repo.Archived {
		return &fault.Error{Kind: fault.Denied, Op: "work on", Subject: t.task.Repo, Why: "the repository is archived",
			Hint: "unarchive it, or close the issue"}
	}
	trusted, err := t.ForgeClient.mayWrite(ctx, t.forge, t.task.Repo, got.Author)
	if err != nil {
		return err
	}
	t.task.Title, t.task.Body, t.task.Author, t.task.URL, t.task.Trusted = got.Title, got.Body, got.Author, got.URL,
		trusted
	t.task.CloneURL, t.task.Branch, t.task.Target = repo.CloneURL, "hako/"+t.task.ID, repo.Default
	if got.Kind == forge.KindPullRequest {
		if err := t.pull(ctx, got, repo.Default); err != nil {
			return err
		}
	}
	if t.task.Branch == "" || t.task.Target == "" {
		return &fault.Error{Kind: fault.Invalid, Op: "work on", Subject: refOf(t.task).String(),
			Why: "git does not accept the name of its branch", Hint: "give the branch another name"}
	}
	return nil
}

// pull sets the branches of a pull request. One of somebody else is only read: the
// result goes to a branch of its own, which starts from the commit that was there when
// the task was first taken.
func (t *attempt) pull(ctx context.Context, got forge.Issue, main string) error {
	bot, err := t.forge.bot(ctx)
	if err != nil {
		return err
	}
	ours := t.task.Trusted || strings.EqualFold(got.Author, bot)
	t.task.Target, t.task.Fork = got.Target, got.Fork || got.Branch == main || !ours
	if !t.task.Fork || !got.Fork && got.Branch == "" {
		t.task.Branch = got.Branch
		return nil
	}
	t.journal.head = cmp.Or(t.journal.head, got.Head)
	t.task.Start, t.task.Head = startOf(got), t.journal.head
	return nil
}

// startOf returns the reference with the changes of somebody else.
func startOf(got forge.Issue) string {
	switch {
	case !got.Fork:
		return "refs/heads/" + got.Branch
	case got.Provider == forge.GitLab:
		return fmt.Sprintf("refs/merge-requests/%d/head", got.Number)
	}
	return fmt.Sprintf("refs/pull/%d/head", got.Number)
}
