package work

import (
	"fmt"
	"strings"
)

// How long the parts of a comment may be.
const longestPart, longestComment = 2000, 20_000

// safe is text of models, strangers and errors, fit for a comment.
func (e *errand) safe(text string, most int) string { return defused(e.Secrets, text, most) }

// clean is an error's text, fit for people who must not know the machine.
func (e *errand) clean(text string) string { return e.safe(withoutPaths(text), 4000) }

func (e *errand) planComment() string {
	p, b := e.rec.Plan, strings.Builder{}
	head := "## Plan\n\n"
	if e.rec.Version > 1 {
		head = fmt.Sprintf("## Plan, version %d\n\n", e.rec.Version)
	}
	b.WriteString(head)
	e.paragraph(&b, "", p.Comment)
	e.paragraph(&b, "**Goal:** ", p.Goal.Objective)
	e.bullets(&b, "**Done when:**", p.Goal.Criteria)
	e.bullets(&b, "**Constraints:**", p.Goal.Constraints)
	e.bullets(&b, "**Steps:**", e.steps())
	b.WriteString("**Environment:** " + e.safe(oneLine(e.rec.Environment, 100), 200))
	if p.Environment.Reasoning != "" {
		b.WriteString(" — " + e.safe(oneLine(p.Environment.Reasoning, 500), 600))
	}
	b.WriteString("\n\n")
	var checks []string
	for _, c := range e.checks() {
		checks = append(checks, "`"+strings.ReplaceAll(oneLine(c.Command, 200), "`", "'")+"`")
	}
	e.bullets(&b, "**Verified by:**", checks)
	e.bullets(&b, "> [!WARNING]", e.rec.Warnings)
	return shorten(strings.TrimSpace(b.String()), longestComment)
}

func (e *errand) steps() (list []string) {
	for _, part := range e.rec.Plan.Decomposition.Subtasks {
		list = append(list, part.Text)
	}
	if list == nil {
		for _, part := range e.rec.Plan.Action.Actions {
			list = append(list, part.Text)
		}
	}
	return list
}

func (e *errand) paragraph(b *strings.Builder, head, text string) {
	if text = strings.TrimSpace(text); text != "" {
		b.WriteString(head + e.safe(text, longestPart) + "\n\n")
	}
}

func (e *errand) bullets(b *strings.Builder, head string, list []string) {
	if len(list) == 0 {
		return
	}
	b.WriteString(head + "\n")
	for _, text := range list {
		b.WriteString("- " + e.safe(oneLine(withoutPaths(text), 500), 600) + "\n")
	}
	b.WriteString("\n")
}

// phaseNames are what people read.
var phaseNames = map[Phase]string{Planning: "planning", Environment: "preparing the environment", Execution: "working", Verification: "verifying",
	Delivery: "delivering", Reporting: "ending", Ended: "ended"}

// progress is the comment that is written anew as the work goes on. It has no
// time in it: the forge shows when it was changed.
func (e *errand) progress() string {
	c, b := e.rec.Count, strings.Builder{}
	status := phaseNames[e.rec.Phase]
	if e.rec.State != Processing {
		status = string(e.rec.State)
	}
	fmt.Fprintf(&b, "**Status:** %s\n\n", status)
	fmt.Fprintf(&b, "| turns | actions | plans | reflections | tokens | cost |\n|---|---|---|---|---|---|\n| %d | %d | %d | %d | %d | %s |\n\n",
		c.Turns, c.Actions, e.rec.Version, c.Reflections, e.rec.Spent.Tokens(), e.cost())
	if e.rec.Environment != "" {
		fmt.Fprintf(&b, "Environment: %s\n\n", e.safe(oneLine(e.rec.Environment, 100), 200))
	}
	e.bullets(&b, "Warnings:", e.rec.Warnings)
	if len(e.rec.Ignored) > 0 {
		fmt.Fprintf(&b, "Comments of people without write access were not followed: %s\n\n", e.safe(strings.Join(e.rec.Ignored, ", "), longestPart))
	}
	return strings.TrimSpace(b.String())
}

func (e *errand) cost() string {
	switch s := e.rec.Spent; {
	case s.Unpriced || e.Price == nil:
		return "unknown"
	default:
		return fmt.Sprintf("$%.4f", s.Cost)
	}
}

// ending is the last comment.
func (e *errand) ending() string {
	var b strings.Builder
	switch e.rec.State {
	case Done:
		b.WriteString("## Done\n\n")
		e.paragraph(&b, "", e.rec.Summary)
		e.paragraph(&b, "Verification ", e.rec.Checks)
		if e.rec.Proposal != "" {
			b.WriteString("Proposed: " + e.safe(oneLine(e.rec.Proposal, 500), 600) + "\n\n")
		}
	case Failed:
		b.WriteString("## Failed\n\n" + quoted(e.clean(e.rec.Why)) + "\n\n")
		if e.rec.Hint != "" {
			b.WriteString("What can be done: " + oneLine(e.clean(e.rec.Hint), 1000) + "\n\n")
		}
	case Paused:
		b.WriteString("Paused. The work so far is kept; it goes on when it is resumed.\n\n")
	case Stopped:
		b.WriteString("Stopped: " + oneLine(e.clean(e.rec.Why), 500) + "\n\n")
	}
	return shorten(strings.TrimSpace(b.String()), longestComment)
}

func (e *errand) commitMessage() string {
	title := oneLine(e.rec.Plan.Goal.Objective, 68)
	if title == "" {
		title = oneLine(e.task.Title, 68)
	}
	return e.Secrets.Text(title) + fmt.Sprintf("\n\nFor %s %d.", e.task.Kind, e.task.Number)
}

func (e *errand) proposal() Proposal {
	text := e.safe(e.rec.Summary, 10_000) + "\n\nVerification " + e.safe(e.rec.Checks, longestPart) + fmt.Sprintf("\n\nCloses #%d", e.task.Number)
	return Proposal{Title: e.safe(oneLine(e.task.Title, 200), 220), Text: strings.TrimSpace(text)}
}
