package coder

import (
	"context"
	"errors"
	"fmt"

	"hako/run/fault"
)

// deliver pushes what was done and proposes it. A task that changed nothing, as
// one that was a question, has its answer in the last comment.
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

// noChangeReason says why nothing is to be seen of a task that is done; nil where
// there is something.
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

// report tells people how the task ended.
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
			e.note("nothing could be kept for later tasks: " + err.Error())
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

// reportEnd writes the last comments and shows the state. Where the issue is
// gone there is nobody to tell; what the forge does not let us tell is noted.
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
	e.note("the end could not be told: " + err.Error())
	return nil
}

// updateProgress writes the progress comment anew. That it cannot be written now is no
// reason to stop, unless the issue is gone.
func (e *taskRun) updateProgress(ctx context.Context) error {
	e.progressAt = e.rec.Count.Actions
	_, err := e.Commenter.WriteComment(ctx, e.task, "progress", e.progress())
	if isGone(err) {
		return unavailable{err}
	}
	if err != nil {
		e.note("the progress could not be told: " + err.Error())
	}
	return nil
}
