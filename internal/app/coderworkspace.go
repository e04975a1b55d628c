package app

import (
	"cmp"
	"context"
	"encoding/json"

	"hako/agent"
	"hako/container"
	"hako/internal/app/coder"
	"hako/run"
	"hako/run/fault"
)

// containerWorkspaces gives each task a container to work in. It implements
// [coder.Workspaces].
type containerWorkspaces struct {
	manager *container.Manager
	author  func(coder.Task) string
	cleanUp func(task string) // ends what else there is of a task
	guard   []string          // files that the result must not change; nil means none
}

// Prepare implements [coder.Workspaces].
func (y containerWorkspaces) Prepare(ctx context.Context, t coder.Task, environment, kept string) (coder.Workspace,
	error) {
	from := container.Task{ID: t.ID, Repository: t.CloneURL, Branch: t.Branch, Target: t.Target, Start: t.Start,
		Commit: cmp.Or(kept, t.Head)}
	if t.Kind == coder.Issue {
		from.Start = "refs/heads/" + t.Target // its own branch does not exist yet
	}
	info, err := y.manager.Prepare(ctx, from, environment)
	if err != nil {
		return nil, err
	}
	return &taskContainer{containerWorkspaces: y, task: t, warnings: info.Warnings}, nil
}

// Cleanup implements [coder.Workspaces].
func (y containerWorkspaces) Cleanup(ctx context.Context, task string) error {
	y.cleanUp(task)
	err := y.manager.Cleanup(ctx, task)
	if fault.KindOf(err) == fault.NotFound {
		return nil
	}
	return err
}

// SavedRef implements [coder.RefFinder].
func (y containerWorkspaces) SavedRef(t coder.Task) string { return "refs/hako/" + t.ID }

// The optional interfaces are found by type assertion.
var (
	_ coder.RefFinder = containerWorkspaces{}
	_ coder.Committer = (*taskContainer)(nil)
	_ coder.Warner    = (*taskContainer)(nil)
)

// A taskContainer is the container of one task. It implements [coder.Workspace].
type taskContainer struct {
	containerWorkspaces
	task     coder.Task
	warnings []string
}

// Warnings implements [coder.Warner].
func (p *taskContainer) Warnings() []string { return p.warnings }

// Execute implements [coder.Workspace].
func (p *taskContainer) Execute(ctx context.Context, command, dir string) (coder.Outcome, error) {
	res, err := p.manager.ExecuteIn(ctx, p.task.ID, &run.Request{ID: p.task.ID + "/" + agent.NewID(),
		Actor: "agent:" + p.task.ID, Script: command, Dir: dir})
	return coder.Outcome(res), err
}

// Edit implements [coder.Workspace].
func (p *taskContainer) Edit(ctx context.Context, call json.RawMessage) (json.RawMessage, error) {
	return p.manager.Edit(ctx, p.task.ID, call)
}

// Commit implements [coder.Committer]: work in progress goes to a hidden reference, the
// result to the branch of the task and nowhere else.
func (p *taskContainer) Commit(ctx context.Context, message string, final bool) (string, error) {
	hidden := p.SavedRef(p.task)
	s := container.Save{Message: message, Author: p.author(p.task), Key: p.task.ID, Ref: hidden, Mine: true}
	if final {
		s.Ref, s.Mine, s.Drop, s.Guard = "refs/heads/"+p.task.Branch, false, hidden, p.guard
	}
	return p.manager.Save(ctx, p.task.ID, s)
}
