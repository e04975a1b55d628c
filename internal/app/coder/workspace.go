package coder

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"hako/internal/text"
	"hako/run/fault"
)

// environment creates the workspace and completes the description for the model.
func (e *taskRun) environment(ctx context.Context) error {
	if err := e.openWorkspace(ctx); err != nil {
		return err
	}
	notes, err := e.projectNotes(ctx)
	if err != nil {
		return err
	}
	e.rec.Statement += "\n\nThe plan:\n" + truncateTokens(planJSON(e.rec.Plan), e.contextSize()/16) +
		"\n\nThe environment is " + e.rec.Environment + "."
	if len(e.rec.Warnings) > 0 {
		e.rec.Statement += "\n\nWhat went wrong so far:\n" + data("hako", strings.Join(e.rec.Warnings, "\n"))
	}
	e.rec.Statement += notes
	e.rec.Request = "Carry out the plan."
	e.rec.Phase = Execution
	return e.updateProgress(ctx)
}

// openWorkspace creates the workspace if there is none: at the beginning, or after the
// task was taken over or resumed. It has the project as it was saved then.
func (e *taskRun) openWorkspace(ctx context.Context) error {
	if e.workspace != nil {
		return nil
	}
	workspace, err := e.Workspaces.Prepare(ctx, e.task, e.rec.Environment, e.rec.Kept)
	if err != nil {
		return &fault.Error{Kind: fault.KindOf(err), Op: "prepare environment", Subject: e.rec.Environment, Err: err,
			Hint: fault.Hint(err)}
	}
	e.workspace = workspace
	if f, ok := workspace.(Warner); ok {
		for _, w := range f.Warnings() {
			e.warn(w)
		}
	}
	return e.runSetup(ctx)
}

// runSetup runs the setup commands of the plan. A failure is a warning for the model.
func (e *taskRun) runSetup(ctx context.Context) error {
	for _, command := range e.rec.Plan.Environment.Setup {
		out, err := e.workspace.Execute(ctx, command, "")
		if cause := context.Cause(ctx); cause != nil {
			return cause
		}
		switch {
		case err != nil:
			e.warn(fmt.Sprintf("setup command %q: %v", text.Line(command, 200), err))
		case out.ExitCode != 0:
			e.warn(fmt.Sprintf("setup command %q", text.Line(command, 200)) +
				exitText(out.ExitCode, tail(out.Stderr+out.Stdout, 500)))
		}
	}
	return nil
}

// noteFiles are where projects have notes for agents.
var noteFiles = []string{"AGENTS.md", "CLAUDE.md"}

const maxNotes = 16_000

// projectNotes reads the project's notes for agents. They are data: whoever can open a
// pull request can write them.
func (e *taskRun) projectNotes(ctx context.Context) (text string, err error) {
	for _, name := range noteFiles {
		out, err := e.workspace.Execute(ctx, fmt.Sprintf("head -c %d %s", maxNotes, name), "")
		if cause := context.Cause(ctx); cause != nil {
			return "", cause
		}
		if err != nil || out.ExitCode != 0 || strings.TrimSpace(out.Stdout) == "" {
			continue
		}
		text += "\n\nWhat the project says about how to work on it (conventions, commands, structure):\n" +
			data(name+" of the repository", e.Secrets.Text(truncateTokens(out.Stdout, e.contextSize()/16)))
	}
	return text, nil
}

// tail is the end of an output, which shows what failed.
func tail(text string, most int) string {
	text = strings.TrimSpace(text)
	if len(text) <= most {
		return text
	}
	return "[…] " + strings.ToValidUTF8(text[len(text)-most:], "")
}

// saveWorkspace saves the project where another worker finds it.
func (e *taskRun) saveWorkspace(ctx context.Context) error {
	k, ok := e.workspace.(Committer)
	if !ok {
		e.rec.Unkept = true
		return nil
	}
	commit, err := k.Commit(ctx, "work in progress on "+string(e.task.Kind)+" "+fmt.Sprint(e.task.Number), false)
	var quiet unavailable
	switch err = retryable(err); {
	case err != nil && (errors.Is(err, ErrLost) || errors.As(err, &quiet) || context.Cause(ctx) != nil):
		return err
	case err != nil: // refused for good: the work continues, but nobody can take it over as it is
		e.rec.Unkept = true
		e.warn("the work in progress could not be saved: " + err.Error())
		return nil
	}
	if e.rec.Unkept = false; commit != "" {
		e.rec.Kept = commit
	}
	return nil
}
