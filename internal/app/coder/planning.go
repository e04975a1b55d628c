package coder

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"hako/internal/text"
	"hako/llm"
	"hako/run/fault"
)

// plan has the model write the plan and publishes it.
func (e *taskRun) plan(ctx context.Context) error {
	if e.rec.Plan == nil {
		if err := e.firstPlan(ctx); err != nil {
			return err
		}
		if err := e.save(ctx); err != nil { // before it is published: what was published stays true
			return err
		}
	}
	if err := e.publishPlan(ctx); err != nil {
		return err
	}
	e.rec.Phase = Environment
	return e.updateProgress(ctx)
}

// publishPlan writes the current plan as a comment.
func (e *taskRun) publishPlan(ctx context.Context) error {
	return e.comment(ctx, fmt.Sprintf("plan-%d", e.rec.Version), e.planComment())
}

func (e *taskRun) firstPlan(ctx context.Context) error {
	said, err := e.newComments(ctx)
	if err != nil {
		return err
	}
	described := e.describeTask(said)
	if e.Archive != nil {
		past, err := e.Archive.Past(ctx, e.task)
		if err != nil {
			e.note("earlier tasks could not be read: " + err.Error())
		}
		if text := e.describePast(past); text != "" {
			described += "\n\n" + text
		}
	}
	p, err := e.askPlan(ctx, described)
	if err != nil {
		return err
	}
	if p == nil {
		p = fallback(e.task)
		e.warn("no plan could be read from the model's answer")
	}
	e.rec.Plan, e.rec.Statement = p, described
	e.rec.Count.Plans++
	e.rec.Version++
	name, warning := e.Environments.choose(p.Environment.Name)
	e.rec.Environment = name
	if warning != "" {
		e.warn(warning)
	}
	return nil
}

// askPlan asks for a plan until one can be read. Nil means that none could.
func (e *taskRun) askPlan(ctx context.Context, text string) (*Plan, error) {
	d := &llm.Dialog{System: e.planningPrompt(), Items: []llm.Item{{Role: llm.User, Text: text}}}
	for range e.limits.PlanAttempts {
		turn, err := e.callModel(ctx, d)
		if err != nil {
			return nil, err
		}
		p, err := readPlan(turn.Text)
		if err == nil {
			p.change(e.Secrets.Text) // field by field: redaction may break the JSON around a secret
			return p, nil
		}
		e.note(err.Error())
		if turn.Text == "" {
			turn.Text = "(nothing)"
		}
		d.Items = append(d.Items, llm.Item{Role: llm.Assistant, Text: e.Secrets.Text(turn.Text)},
			llm.Item{Role: llm.User, Text: "That is no plan: " + err.Error() + " (" + fault.Hint(err) +
				"). Answer with the one JSON object that was described, and nothing else."})
	}
	return nil, nil
}

// replan has the model write another plan and reports whether there is one: there may
// have been too many, or it could not be read.
func (e *taskRun) replan(ctx context.Context, why string) (bool, error) {
	if e.rec.Count.Plans > e.limits.Replans {
		return false, nil
	}
	text := e.rec.Statement + "\n\nThe plan so far:\n" + planJSON(e.rec.Plan) + "\n\nIt has to be changed:\n" +
		data("the work so far", e.Secrets.Text(why)) +
		"\n\nWrite the new plan. The environment stays " + e.rec.Environment +
		"; what was changed in the project is still there."
	e.rec.Count.Plans++ // also if it cannot be read: this must end
	p, err := e.askPlan(ctx, text)
	if p == nil || err != nil {
		return false, err
	}
	p.Environment.Name = e.rec.Environment
	if len(p.Environment.Verification)+len(p.Verification) == 0 { // a new plan must not lose the checks
		p.Environment.Verification, p.Verification = e.rec.Plan.Environment.Verification, e.rec.Plan.Verification
	}
	e.rec.Plan = p
	e.rec.Version++
	return true, nil
}

// warn records a warning for people and the model.
func (e *taskRun) warn(warning string) {
	if warning = e.Secrets.Text(warning); !slices.Contains(e.rec.Warnings, warning) && len(e.rec.Warnings) < 20 {
		e.rec.Warnings = append(e.rec.Warnings, text.Shorten(warning, 2000))
	}
	e.note(warning)
}

// newComments returns the new comments of people who may give instructions. Those of
// others are not read, and that is recorded.
func (e *taskRun) newComments(ctx context.Context) (said []Comment, err error) {
	all, err := e.Commenter.Comments(ctx, e.task, e.rec.Heard)
	if err != nil {
		return nil, unavailable{err}
	}
	for _, c := range all {
		e.rec.Heard = c.ID
		switch {
		case c.Own, strings.TrimSpace(c.Text) == "":
		case c.Authorised:
			said = append(said, c)
			e.observe(Event{Type: "heard", Name: safeUserName(c.Author)})
		default:
			e.ignore(safeUserName(c.Author))
		}
	}
	return said, nil
}

func (e *taskRun) ignore(author string) {
	if !slices.Contains(e.rec.Ignored, author) && len(e.rec.Ignored) < 20 {
		e.rec.Ignored = append(e.rec.Ignored, author)
	}
	e.observe(Event{Type: "ignored", Name: author})
}

// callModel calls the model and books the cost. It is the only call of the model.
func (e *taskRun) callModel(ctx context.Context, d *llm.Dialog) (*llm.Turn, error) {
	if err := e.checkLimits(ctx); err != nil {
		return nil, err
	}
	turn, err := e.model.Next(ctx, d)
	if refusal := (*llm.Refusal)(nil); errors.As(err, &refusal) && !refusal.Retry {
		return nil, err // a wrong key remains wrong
	}
	if err != nil {
		return nil, retryable(err)
	}
	e.rec.Count.Turns++
	s := Spent{Usage: turn.Usage}
	s.Calls = 1
	if e.Price != nil {
		cost, known := e.Price(turn.Model, turn.Usage)
		s.Cost, s.Unpriced = cost, !known
	}
	e.rec.Spent = e.rec.Spent.Add(s)
	return turn, nil
}

// checkLimits refuses another turn when a limit is reached.
func (e *taskRun) checkLimits(ctx context.Context) error {
	l, c, spent := e.limits, e.rec.Count, e.rec.Spent
	over := func(why, hint string) error {
		return &fault.Error{Kind: fault.Exhausted, Op: "work", Subject: e.task.ID, Why: why, Hint: hint}
	}
	switch {
	case c.Turns >= l.Turns:
		return over(fmt.Sprintf("after %d turns it is not done", c.Turns), "raise planning.max_turns, or split the task")
	case c.Actions >= l.Actions:
		return over(fmt.Sprintf("after %d actions it is not done", c.Actions),
			"raise planning.max_actions, or split the task")
	case spent.Tokens() >= l.Tokens:
		return over(fmt.Sprintf("it used %d of %d tokens", spent.Tokens(), l.Tokens),
			"raise planning.max_tokens, or split the task")
	case l.Cost > 0 && spent.Cost >= l.Cost:
		return over(fmt.Sprintf("it cost $%.2f of $%.2f", spent.Cost, l.Cost), "raise planning.max_cost, or split the task")
	}
	return e.charge(ctx, over)
}

// charge books the cost on the user's account, and refuses when a limit is reached.
func (e *taskRun) charge(ctx context.Context, over func(why, hint string) error) error {
	if e.Accounts == nil {
		return nil
	}
	month, err := e.Accounts.Charge(ctx, e.task.payer(), e.task.ID, e.rec.Spent)
	user := safeUserName(e.task.user())
	switch l := e.limits; {
	case err != nil:
		return unavailable{err} // without booking the model is not called
	case l.UserTokens > 0 && month.Tokens() >= l.UserTokens:
		return over(fmt.Sprintf("%s used %d of %d tokens this month", user, month.Tokens(), l.UserTokens),
			"raise planning.max_user_tokens, or wait for the next month")
	case l.UserCost > 0 && month.Cost >= l.UserCost:
		return over(fmt.Sprintf("the tasks of %s cost $%.2f of $%.2f this month", user, month.Cost, l.UserCost), "raise planning.max_user_cost, or wait for the next month")
	}
	return nil
}
