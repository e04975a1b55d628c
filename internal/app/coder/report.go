package coder

import (
	"cmp"
	"fmt"
	"strings"

	"hako/internal/text"
)

// Limits of comments, in characters.
const maxPart, maxComment = 2000, 20_000

// safe makes text of models, strangers and errors fit for a comment.
func (e *taskRun) safe(text string, limit int) string { return Fit(e.Secrets, text, limit) }

// line is safe for one line.
func (e *taskRun) line(s string, limit int) string {
	return text.Shorten(strings.Join(strings.Fields(text.Publishable(s, e.Secrets.Text)), " "), limit)
}

// clean makes the text of an error fit for people who must not know this machine.
func (e *taskRun) clean(text string) string { return e.safe(withoutPaths(text), 4000) }

func (e *taskRun) planComment() string {
	p, b := e.rec.Plan, strings.Builder{}
	head := "## Plan\n\n"
	if e.rec.Version > 1 {
		head = fmt.Sprintf("## Plan, version %d\n\n", e.rec.Version)
	}
	b.WriteString(head)
	if e.rec.Because != "" {
		b.WriteString("It was changed for this:\n\n" + quoted(e.clean(e.rec.Because)) + "\n\n")
	}
	e.paragraph(&b, "", p.Comment)
	e.paragraph(&b, "**Goal:** ", p.Goal.Objective)
	e.bullets(&b, "**Done when:**", p.Goal.Criteria)
	e.bullets(&b, "**Constraints:**", p.Goal.Constraints)
	e.bullets(&b, "**Steps:**", p.Steps())
	b.WriteString("**Environment:** " + e.line(e.rec.Environment, 100))
	if p.Environment.Reasoning != "" && strings.EqualFold(strings.TrimSpace(p.Environment.Name),
		e.rec.Environment) { // otherwise the reasoning is for another one
		b.WriteString(" — " + e.line(p.Environment.Reasoning, 500))
	}
	b.WriteString("\n\n")
	var checks []string
	for _, c := range e.checks() {
		checks = append(checks, "`"+strings.ReplaceAll(text.Line(c.Command, 200), "`", "'")+"`")
	}
	e.bullets(&b, "**Verified by:**", checks)
	if e.rec.Version == 1 { // later ones are in the progress comment
		e.bullets(&b, "**Warnings:**", e.rec.Warnings)
	}
	return text.Shorten(strings.TrimSpace(b.String()), maxComment)
}

func (e *taskRun) paragraph(b *strings.Builder, head, text string) {
	if text = strings.TrimSpace(text); text != "" {
		b.WriteString(head + e.safe(text, maxPart) + "\n\n")
	}
}

func (e *taskRun) bullets(b *strings.Builder, head string, list []string) {
	if len(list) == 0 {
		return
	}
	b.WriteString(head + "\n")
	for _, text := range list {
		b.WriteString("- " + e.line(withoutPaths(text), 500) + "\n")
	}
	b.WriteString("\n")
}

// phaseNames are the phases in the progress comment.
var phaseNames = map[Phase]string{Planning: "planning", Environment: "preparing the environment", Execution: "working",
	Verification: "verifying",
	Delivery:     "delivering", Reporting: "ending", Ended: "ended"}

// progress is the comment that is updated during the work. It contains no time: the
// forge shows when it was changed.
func (e *taskRun) progress() string {
	c, b := e.rec.Count, strings.Builder{}
	status := phaseNames[e.rec.Phase]
	if e.rec.State != Processing {
		status = string(e.rec.State)
	}
	fmt.Fprintf(&b, "**Status:** %s\n\n", status)
	fmt.Fprintf(&b, "| turns | actions | plans | reflections | tokens | cost |\n|---|---|---|---|---|---|\n| %d | %d | %d | %d | %d | %s |\n\n",
		c.Turns, c.Actions, e.rec.Version, c.Reflections, e.rec.Spent.Tokens(), e.cost())
	if e.rec.Environment != "" {
		fmt.Fprintf(&b, "Environment: %s\n\n", e.line(e.rec.Environment, 100))
	}
	e.bullets(&b, "Warnings:", e.rec.Warnings)
	if len(e.rec.Ignored) > 0 {
		fmt.Fprintf(&b, "Comments of people without write access were not followed: %s\n\n",
			e.safe(strings.Join(e.rec.Ignored, ", "), maxPart))
	}
	return strings.TrimSpace(b.String())
}

func (e *taskRun) cost() string {
	switch s := e.rec.Spent; {
	case s.Unpriced || e.Price == nil:
		return "unknown"
	default:
		return fmt.Sprintf("$%.4f", s.Cost)
	}
}

// ending is the last comment.
func (e *taskRun) ending() string {
	var b strings.Builder
	switch e.rec.State {
	case Done:
		b.WriteString("## Done\n\n")
		e.paragraph(&b, "", e.rec.Summary)
		e.paragraph(&b, "Verification ", e.rec.Checks)
		e.paragraph(&b, "", sentence(e.rec.Why))
		if e.rec.Proposal != "" {
			b.WriteString("Proposed: " + e.line(e.rec.Proposal, 500) + "\n\n")
		}
	case Failed:
		b.WriteString("## Failed\n\n" + quoted(e.clean(e.rec.Why)) + "\n\n")
		if e.rec.Hint != "" {
			b.WriteString("What can be done: " + text.Line(e.clean(e.rec.Hint), 1000) + "\n\n")
		}
		b.WriteString(e.whereWorkIs())
	case Paused:
		b.WriteString("Paused. The work so far is saved; it continues when it is resumed.\n\n")
	case Stopped:
		b.WriteString("Stopped: " + text.Line(e.clean(e.rec.Why), 500) + "\n\n")
	}
	return text.Shorten(strings.TrimSpace(b.String()), maxComment)
}

// whereWorkIs says where the work of a failed task is; empty means that there is none,
// or that it is unknown.
func (e *taskRun) whereWorkIs() string {
	code := func(text string) string { return "`" + strings.ReplaceAll(e.line(text, 300), "`", "'") + "`" }
	if e.rec.Commit != "" {
		return "What was done is on the branch " + code(e.task.Branch) + ".\n\n"
	}
	f, ok := e.Workspaces.(RefFinder)
	if e.rec.Kept == "" || !ok {
		return ""
	}
	ref := f.SavedRef(e.task)
	return "What was done so far is kept as " + code(ref) + ", which no page shows: " + code("git fetch origin "+ref) +
		" brings it as `FETCH_HEAD`.\n\n"
}

// sentence makes a sentence of a reason.
func sentence(why string) string {
	if why == "" {
		return ""
	}
	return strings.ToUpper(why[:1]) + why[1:] + "."
}

// commitMessage contains no mentions or secrets: it is shown as it is.
func (e *taskRun) commitMessage() string {
	title := titleLine(e.Secrets, cmp.Or(text.Line(e.rec.Plan.Goal.Objective, maxPart), e.task.Title), 68)
	return title + fmt.Sprintf("\n\nFor %s %d.", e.task.Kind, e.task.Number)
}

func (e *taskRun) proposal() Proposal {
	what := "" // the publisher adds what it closes
	if e.task.Kind == Pull {
		what = fmt.Sprintf("\n\nGoes on from #%d, whose branch is not ours to push to.", e.task.Number)
	}
	text := e.safe(e.rec.Summary, 10_000) + "\n\nVerification " + e.safe(e.rec.Checks, maxPart) + what
	return Proposal{Title: titleLine(e.Secrets, e.task.Title, 200), Text: strings.TrimSpace(text)}
}
