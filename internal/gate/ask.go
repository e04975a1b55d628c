package gate

import (
	"context"
	"errors"
	"fmt"
	"time"

	"hako/internal/audit"
	"hako/internal/policy"
)

// A Question is what an approver sees.
type Question struct {
	ID, Actor string   // of the request
	Command   string   // as one would type it, whole, without secrets; a whole script if Argv is empty
	Dir       string   // where it would run; empty means not known
	Argv      []string // the same in words, as far as they are known
	Reason    string   // why the asker wants it, in its own words
	Why       string   // why the rule wants a person to decide
	Rule      string   // file:line
}

// An Answer is what a person says. The zero Answer is no.
type Answer uint8

// The answers.
const (
	No      Answer = iota
	Once           // for this request
	Session        // for as long as this gate stands, for the same words, rule and directory
)

const defaultAskTimeout = 300 * time.Second

// ask puts a verdict about a command in dir to a person, unless one has approved
// the same before.
func (p *passage) ask(ctx context.Context, dir string, v policy.Verdict) error {
	what := p.matter(dir, v)
	done, err := p.agreedBefore(what, v)
	if done || err != nil {
		return err
	}
	if err := p.append(audit.Event{What: audit.Judged, Argv: v.Argv, Effect: v.Effect.String(), Rule: v.Where, Reason: v.Why}); err != nil {
		return err
	}
	q := p.describe(dir, v)
	answer, why, cause := No, "it is too long for anybody to look through before approving it", error(nil)
	if readable(q.Command) {
		answer, why, cause = p.question(ctx, what, q)
	}
	e := audit.Event{What: audit.Refused, Argv: v.Argv, Rule: v.Where, Reason: why}
	if answer != No {
		e.What = audit.Approved
	}
	if err := p.append(e); err != nil {
		return err
	}
	if answer == No {
		v.Hint = p.afterNo(v, q)
		return p.refusal(v, why, cause)
	}
	p.agree(what, answer)
	return nil
}

// describe makes the question of a verdict.
func (p *passage) describe(dir string, v policy.Verdict) Question {
	g := p.gate
	return Question{
		ID: p.req.ID, Actor: p.req.Actor, Command: p.command(v), Dir: g.Secrets.Text(dir), Argv: g.Secrets.Argv(v.Argv),
		Reason: g.Secrets.Text(p.req.Reason), Why: v.Why, Rule: v.Where,
	}
}

// afterNo says what to do when nobody agreed.
func (p *passage) afterNo(v policy.Verdict, q Question) string {
	switch {
	case !readable(q.Command):
		return fmt.Sprintf("split it: a person reads at most %d characters, and a line counts for %d of them", readableSize, lineSize)
	case p.gate.Ask != nil:
		return "do it another way"
	case whole(v):
		return "run it where a person can answer: at a terminal"
	}
	return "run it where a person can answer, or change the rule"
}

// question waits for a person. Silence, absence and failure are a no.
func (p *passage) question(ctx context.Context, what matter, q Question) (_ Answer, why string, cause error) {
	g := p.gate
	if g.Ask == nil {
		return No, "a person must approve it, and nobody is there to ask", nil
	}
	if p.running && g.Pause != nil {
		defer g.Pause()()
	}
	select {
	case g.asking <- struct{}{}:
	case <-ctx.Done():
		return No, "the request ended before anybody was asked", context.Cause(ctx)
	}
	defer func() { <-g.asking }()
	// Somebody may have asked the same while we waited for our turn.
	if g.remembers(what) {
		return Once, "approved earlier in this session", nil
	}
	return p.wait(ctx, q)
}

// wait calls Ask but does not rely on it to return in time.
func (p *passage) wait(ctx context.Context, q Question) (_ Answer, why string, cause error) {
	limit := p.gate.AskTimeout
	if limit == 0 {
		limit = defaultAskTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	type reply struct {
		answer Answer
		err    error
	}
	replies := make(chan reply, 1)
	go func() {
		a, err := p.gate.Ask(ctx, q)
		replies <- reply{a, err}
	}()
	var r reply
	select {
	case r = <-replies:
	case <-ctx.Done():
		r.err = ctx.Err()
	}
	switch {
	case errors.Is(r.err, context.DeadlineExceeded):
		return No, fmt.Sprintf("nobody answered within %v", limit), nil
	case r.err != nil:
		return No, "nobody could be asked", r.err
	case r.answer == Once:
		return Once, "a person approved it once", nil
	case r.answer == Session:
		return Session, "a person approved it for this session", nil
	}
	return No, "a person said no", nil
}
