package coder

import (
	"context"
	"errors"
	"fmt"

	"hako/run/fault"
)

// deliver pushes the result and opens a pull request. A task that changed nothing, such
// as a question, has its answer in the last comment.
func (e *taskRun) deliver(ctx context.Context) error {
	commit, err := e.once(ctx, fmt.Sprintf("push-%d", e.rec.Count.Plans), e.push)
	if err != nil {
		return err
	}
	e.rec.Commit = commit
	if commit != "" {
		if err := e.save(ctx); err != nil {
			return err
		}
	}
	if commit != "" && (e.task.Kind == Issue || e.task.Fork) {
		url, err := e.once(ctx, "proposal", func(ctx context.Context) (string, error) {
			url, err := e.Publisher.OpenPullRequest(ctx, e.task, e.proposal())
			return url, retryable(err)
		})
		if err != nil {
			return err
		}
		e.rec.Proposal = url
	}
	e.finish(Done, e.noChangeReason())
	return nil
}

// noChangeReason says why a task that is done has no result; nil if it has one.
func (e *taskRun) noChangeReason() error {
	switch {
	case e.rec.Commit != "":
		return nil
	case e.task.Kind == Issue || e.task.Fork:
		return errors.New("no file was changed, so nothing is proposed")
	}
	return errors.New("no file was changed, so nothing was pushed")
}

func (e *taskRun) push(ctx context.Context) (string, error) {
	if err := e.openWorkspace(ctx); err != nil {
		return "", err
	}
	k, ok := e.workspace.(Committer)
	if !ok {
		return "", nil
	}
	commit, err := k.Commit(ctx, e.commitMessage(), true)
	return commit, retryable(err)
}

// report reports how the task ended.
func (e *taskRun) report(ctx context.Context) error {
	key := string(e.rec.State)
	if e.rec.State == Paused {
		key = fmt.Sprintf("paused-%d", e.rec.Count.Pauses)
	}
	if e.Accounts != nil {
		if _, err := e.Accounts.Charge(ctx, e.task.payer(), e.task.ID, e.rec.Spent); err != nil {
			return unavailable{err}
		}
	}
	if e.Archive != nil {
		if err := e.Archive.Keep(ctx, e.task, e.rec); err != nil {
			e.note("the result could not be archived: " + err.Error())
		}
	}
	if err := e.reportEnd(ctx, key); err != nil {
		return err
	}
	if e.rec.State == Paused {
		e.rec.Phase, e.rec.After = e.rec.After, ""
		return nil
	}
	e.rec.Phase = Ended
	return nil
}

// reportEnd writes the last comments and sets the state. If the issue is gone there is
// nobody to tell; if the forge denies it, that is noted.
func (e *taskRun) reportEnd(ctx context.Context, key string) error {
	err := e.updateProgress(ctx)
	if err == nil {
		err = e.unlessForbidden(e.comment(ctx, key, e.ending()))
	}
	if err == nil {
		err = e.unlessForbidden(e.showState(ctx, e.rec.State))
	}
	if isGone(err) && !errors.Is(err, ErrLost) {
		return nil
	}
	return err
}

func (e *taskRun) unlessForbidden(err error) error {
	var quiet unavailable
	if fault.KindOf(err) != fault.Denied || errors.Is(err, ErrLost) || errors.As(err, &quiet) {
		return err
	}
	e.note("the end could not be reported: " + err.Error())
	return nil
}

// updateProgress updates the progress comment. A failure is only noted, unless the
// issue is gone.
func (e *taskRun) updateProgress(ctx context.Context) error {
	e.progressAt = e.rec.Count.Actions
	_, err := e.Commenter.WriteComment(ctx, e.task, "progress", e.progress())
	if isGone(err) {
		return unavailable{err}
	}
	if err != nil {
		e.note("the progress could not be reported: " + err.Error())
	}
	return nil
}
