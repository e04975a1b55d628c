package llmcmd

import (
	"context"
	"strconv"
	"strings"
	"time"

	"hako/internal/app"
	"hako/internal/app/llmcmd/plan"
	"hako/llm"
	"hako/run/fault"
)

// planTries is how often the planner is called.
const planTries = 2

// plan lets a large model make a plan.
func (c *Session) plan(ctx context.Context, request string) (*plan.Plan, error) {
	spec := c.PlanModel
	if spec == "" {
		spec = c.Model
	}
	m, err := c.model(ctx, spec)
	if err != nil {
		return nil, err
	}
	c.busy("planning")
	defer c.busy("")
	text := c.shell.Secrets.Text(llm.Annotate(request, nil, c.table.Map()))
	p, err := c.askPlan(ctx, m, &llm.Dialog{System: plan.Instructions(), Items: []llm.Item{{Role: llm.User, Text: text}},
		Format: plan.Format(), Temperature: c.temperature()})
	if err != nil {
		return nil, err
	}
	p.Metadata = plan.Metadata{Created: time.Now().UTC().Format(time.RFC3339), Planner: m.Name, Request: request}
	return p, nil
}

// askPlan asks until there is a valid plan.
func (c *Session) askPlan(ctx context.Context, m *app.MeteredModel, d *llm.Dialog) (*plan.Plan, error) {
	for try := 1; ; try++ {
		turn, err := m.Wrapped.Next(ctx, d)
		if err != nil {
			return nil, err
		}
		p, wrong := plan.Parse(turn.Text)
		if wrong == nil {
			wrong = p.Check(c.table.Readable())
		}
		switch {
		case wrong == nil:
			return p, nil
		case try == planTries:
			return nil, c.noPlan(m.Name, turn.Text, wrong)
		}
		c.note("the planner is asked once more: " + wrong.Error())
		d.Items = append(d.Items, llm.Item{Role: llm.Assistant, Text: turn.Text},
			llm.Item{Role: llm.User, Text: c.shell.Secrets.Text(correction(wrong))})
	}
}

func correction(wrong error) string {
	text := "That cannot be carried out: " + wrong.Error()
	if hint := fault.Hint(wrong); hint != "" {
		text += " (" + hint + ")"
	}
	return text + ". Answer with the whole plan only, as JSON."
}

// noPlan is the error of a model that made no valid plan.
func (c *Session) noPlan(model, answer string, wrong error) error {
	hint := "name another planner with --plan-model"
	if more := fault.Hint(wrong); more != "" {
		hint = more + "; or " + hint
	}
	return &fault.Error{Kind: fault.Unavailable, Op: "ask model", Subject: model, Hint: hint, Err: wrong,
		Why: "it made no plan that can be carried out, but said " + c.beginning(answer)}
}

// mostQuoted is how many characters of an answer are shown.
const mostQuoted = 200

// beginning quotes the beginning of an answer, without secrets.
func (c *Session) beginning(answer string) string {
	text := strings.TrimSpace(c.shell.Secrets.Text(answer))
	if text == "" {
		return "nothing"
	}
	if runes := []rune(text); len(runes) > mostQuoted {
		text = string(runes[:mostQuoted]) + "…"
	}
	return strconv.Quote(text)
}
