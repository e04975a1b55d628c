package main

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

// yard is where the containers of tasks stand. It implements [work.Hands].
type yard struct {
	dock   *container.Manager
	author func(coder.Task) string
	left   func(task string) // what else there is of a task is to end
	guard  []string          // files that the result must not change; nil means none
}

// Prepare implements [work.Hands].
func (y yard) Prepare(ctx context.Context, t coder.Task, environment, kept string) (coder.Place, error) {
	from := container.Task{ID: t.ID, Repository: t.CloneURL, Branch: t.Branch, Target: t.Target, Start: t.Start, Commit: cmp.Or(kept, t.Head)}
	if t.Kind == coder.Issue {
		from.Start = "refs/heads/" + t.Target // its own branch is yet to be
	}
	info, err := y.dock.Prepare(ctx, from, environment)
	if err != nil {
		return nil, err
	}
	return &stand{yard: y, task: t, warnings: info.Warnings}, nil
}

// Cleanup implements [work.Hands].
func (y yard) Cleanup(ctx context.Context, task string) error {
	y.left(task)
	err := y.dock.Cleanup(ctx, task)
	if fault.KindOf(err) == fault.NotFound {
		return nil
	}
	return err
}

// Kept implements [work.Finder].
func (y yard) Kept(t coder.Task) string { return "refs/hako/" + t.ID }

// A stand is the container of one task. It implements [work.Place],
// [work.Keeper] and [work.Furnished].
type stand struct {
	yard
	task     coder.Task
	warnings []string
}

// Warnings implements [work.Furnished].
func (p *stand) Warnings() []string { return p.warnings }

// Execute implements [work.Place].
func (p *stand) Execute(ctx context.Context, command, dir string) (coder.Outcome, error) {
	res, err := p.dock.ExecuteIn(ctx, p.task.ID, &run.Request{ID: p.task.ID + "/" + agent.NewID(), Actor: "agent:" + p.task.ID, Script: command, Dir: dir})
	return coder.Outcome(res), err
}

// Edit implements [work.Place].
func (p *stand) Edit(ctx context.Context, call json.RawMessage) (json.RawMessage, error) {
	return p.dock.Edit(ctx, p.task.ID, call)
}

// Keep implements [work.Keeper]: work in progress goes to a reference that
// nobody sees, the result to the branch of the task and nowhere else.
func (p *stand) Keep(ctx context.Context, message string, final bool) (string, error) {
	hidden := p.Kept(p.task)
	s := container.Save{Message: message, Author: p.author(p.task), Key: p.task.ID, Ref: hidden, Mine: true}
	if final {
		s.Ref, s.Mine, s.Drop, s.Guard = "refs/heads/"+p.task.Branch, false, hidden, p.guard
	}
	return p.dock.Save(ctx, p.task.ID, s)
}
