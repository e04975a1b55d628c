package coder

import (
	"context"
	"fmt"
	"strings"

	"hako/internal/lenientjson"
	"hako/internal/text"
	"hako/llm"
	"hako/run/fault"
)

// verify checks the work. If it is not done, there is a new plan, or the task has
// failed.
func (e *taskRun) verify(ctx context.Context) error {
	if err := e.openWorkspace(ctx); err != nil {
		return err
	}
	checks, issues := e.checks(), []string(nil)
	if len(checks) == 0 {
		var err error
		if checks, issues, err = e.askVerdict(ctx); err != nil {
			return err
		}
	}
	for _, c := range checks {
		issue, err := e.runCheck(ctx, c)
		if err != nil {
			return err
		}
		if issue != "" {
			issues = append(issues, issue)
		}
	}
	if len(issues) == 0 {
		e.rec.Checks = passedText(checks)
		e.rec.Phase = Delivery
		return e.updateProgress(ctx)
	}
	return e.verificationFailed(ctx, strings.Join(issues, "\n"))
}

// checks are the commands that must succeed: those of the configuration and those of
// the plan.
func (e *taskRun) checks() (list []Check) {
	for _, c := range e.Verify {
		list = append(list, Check{Command: c})
	}
	list = append(list, e.rec.Plan.Environment.Verification...)
	return append(list, e.rec.Plan.Verification...)
}

// runCheck runs one check and returns what is wrong; empty means nothing.
func (e *taskRun) runCheck(ctx context.Context, c Check) (issue string, err error) {
	if err := e.checkOrder(ctx); err != nil {
		return "", err
	}
	out, err := e.workspace.Execute(ctx, c.Command, "")
	if cause := context.Cause(ctx); cause != nil {
		return "", cause
	}
	name := fmt.Sprintf("`%s`", text.Line(c.Command, 200))
	switch {
	case err != nil:
		return name + ": " + err.Error(), nil
	case out.ExitCode != 0:
		return name + exitText(out.ExitCode, tail(out.Stdout+"\n"+out.Stderr, 2000)), nil
	case c.Expect != "" && !strings.Contains(out.Stdout+out.Stderr, c.Expect):
		return fmt.Sprintf("%s did not print %q", name, text.Line(c.Expect, 200)), nil
	}
	return "", nil
}

// exitText describes how a command failed.
func exitText(status int, output string) string {
	if output == "" {
		return fmt.Sprintf(" ended with status %d and printed nothing", status)
	}
	return fmt.Sprintf(" ended with status %d: %s", status, output)
}

// askVerdict asks the model itself if no plan says how to check.
func (e *taskRun) askVerdict(ctx context.Context) ([]Check, []string, error) {
	d := &llm.Dialog{System: e.executionPrompt(), Items: append(e.rec.Items[:len(e.rec.Items):len(e.rec.Items)],
		llm.Item{Role: llm.User, Text: strings.TrimSpace(verificationText)})}
	for range e.limits.PlanAttempts {
		turn, err := e.callModel(ctx, e.withStatement(d))
		if err != nil {
			return nil, nil, err
		}
		if checks, issues, ok := readVerdict(turn.Text); ok {
			return checks, issues, nil
		}
		d.Items = append(d.Items,
			llm.Item{Role: llm.User,
				Text: "That could not be read. Answer with the one JSON object that was described, and nothing else."})
	}
	return nil, []string{"the model could not say whether the work is done"}, nil
}

func readVerdict(text string) (checks []Check, issues []string, ok bool) {
	v, err := lenientjson.Find(text, "verification_passed")
	if err != nil || v.Cut {
		return nil, nil, false
	}
	r := planReader{}
	issues = r.texts(v, "issues_found")
	if isTrue(r.text(v, "verification_passed")) {
		issues = nil
	} else if issues == nil {
		issues = []string{"the model says that the work is not done"}
	}
	return r.checks(v, "commands"), issues, true
}

// verificationFailed goes back to work with a new plan, as often as that is allowed.
func (e *taskRun) verificationFailed(ctx context.Context, issues string) error {
	failed := &fault.Error{Kind: fault.Other, Op: "verify", Why: issues,
		Hint: "look at what was said, and comment how to continue in another attempt"}
	if e.rec.Count.Plans > e.limits.Replans {
		return failed
	}
	e.note("the verification failed: " + text.Line(issues, 300))
	issues = truncateTokens(issues, e.contextSize()/16)
	found := "The verification found that the work is not done:\n" + data("verification", e.Secrets.Text(issues))
	e.rec.Phase, e.rec.Request = Execution, found+"\nGo on."
	return e.revise(ctx, "The verification failed:\n"+issues, found+"\nGo on by this plan:")
}

func passedText(checks []Check) string {
	if len(checks) == 0 {
		return "checked by the model; no command was run"
	}
	var names []string
	for _, c := range checks {
		names = append(names, "`"+text.Line(c.Command, 100)+"`")
	}
	return "passed: " + strings.Join(names, ", ")
}
