package coder

import (
	"context"
	"fmt"
	"strings"

	"hako/internal/lenientjson"
	"hako/internal/text"
	"hako/llm"
)

// reflectionReason says why the model should reflect now; empty means that it need not.
func (e *taskRun) reflectionReason() string {
	c, l := e.rec.Count, e.limits
	switch {
	case c.Errors >= l.Errors:
		return fmt.Sprintf("%d calls in a row failed", c.Errors)
	case l.ReflectEvery > 0 && c.Since >= l.ReflectEvery:
		return fmt.Sprintf("%d actions were carried out since the last reflection", c.Since)
	}
	return ""
}

// A reflection is the model's assessment of its own work.
type reflection struct {
	assessment string
	revise     bool
	next       string
}

// reflect has the model assess its work, and changes the plan if it wants to.
func (e *taskRun) reflect(ctx context.Context, d *llm.Dialog, occasion string) error {
	e.rec.Count.Errors, e.rec.Count.Since = 0, 0
	e.rec.Count.Reflections++
	e.note("the model reflects: " + occasion)
	d.Items = append(d.Items, llm.Item{Role: llm.User, Text: fillPrompt(reflectionText, "occasion", occasion)})
	own := *e.withStatement(d)
	own.Choice = llm.Choice{None: true}
	turn, err := e.callModel(ctx, &own)
	if err != nil {
		return err
	}
	text := e.Secrets.Text(turn.Text)
	if text == "" {
		text = "(nothing)"
	}
	d.Items = append(d.Items, llm.Item{Role: llm.Assistant, Text: text})
	r := readReflection(turn.Text)
	e.rec.Items, e.rec.Request = d.Items, "Go on with the work."
	if r.next != "" {
		e.rec.Request = "Go on with the work as you said: call the tools it takes."
	}
	if !r.revise {
		return e.updateProgress(ctx)
	}
	return e.revise(ctx, r.assessment+"\n"+r.next, "The plan was changed. Go on by this one:")
}

// revise has the plan changed, and sets the next message to the model.
func (e *taskRun) revise(ctx context.Context, why, say string) error {
	changed, err := e.replan(ctx, why)
	switch {
	case err != nil:
		return err
	case !changed:
		e.note("the plan stays as it is")
		return e.updateProgress(ctx)
	}
	e.note("there is a new plan")
	e.rec.Because, e.rec.Request = text.Shorten(strings.TrimSpace(e.Secrets.Text(why)), maxPart),
		say+"\n"+planJSON(e.rec.Plan)
	if err := e.save(ctx); err != nil {
		return err
	}
	return e.publishPlan(ctx)
}

// readReflection reads an assessment; one that cannot be read changes nothing.
func readReflection(answer string) reflection {
	v, err := lenientjson.Find(answer, "plan_revision_needed", "on_track", "assessment")
	if err != nil || v.Cut {
		return reflection{assessment: text.Shorten(strings.TrimSpace(answer), maxText)}
	}
	r := planReader{}
	return reflection{assessment: r.text(v, "assessment"), next: r.text(v, "next"),
		revise: isTrue(r.text(v, "plan_revision_needed"))}
}

func isTrue(text string) bool {
	switch strings.ToLower(strings.TrimSpace(text)) {
	case "true", "yes", "1", "はい":
		return true
	}
	return false
}
