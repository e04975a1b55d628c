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
	Command   string   // as one would type it, without secrets; a whole script if Argv is empty
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
	Session        // for as long as this gate stands, for the same words and rule
)

const defaultAskTimeout = 300 * time.Second

// ask puts a verdict to a person unless one has approved the same before.
func (p *passage) ask(ctx context.Context, v policy.Verdict) error {
	key := p.key(v)
	done, err := p.agreedBefore(key, v)
	if done || err != nil {
		return err
	}
	if err := p.append(audit.Event{What: audit.Judged, Argv: v.Argv, Effect: v.Effect.String(), Rule: v.Where, Reason: v.Why}); err != nil {
		return err
	}
	answer, why, cause := p.question(ctx, key, v)
	e := audit.Event{What: audit.Refused, Argv: v.Argv, Rule: v.Where, Reason: why}
	if answer != No {
		e.What = audit.Approved
	}
	if err := p.append(e); err != nil {
		return err
	}
	if answer == No {
		v.Hint = p.afterNo(v)
		return p.refusal(v, why, cause)
	}
	p.agree(key, answer)
	return nil
}

// afterNo says what to do when nobody agreed.
func (p *passage) afterNo(v policy.Verdict) string {
	switch {
	case p.gate.Ask != nil:
		return "do it another way"
	case whole(v):
		return "run it where a person can answer: at a terminal"
	}
	return "run it where a person can answer, or change the rule"
}

// agreedBefore reports whether the same was approved for this request, or for the
// session; the latter is put on record once a request.
func (p *passage) agreedBefore(key string, v policy.Verdict) (bool, error) {
	p.mu.Lock()
	agreed := p.agreed[key]
	p.mu.Unlock()
	if agreed {
		return true, nil
	}
	if !p.gate.remembers(key) {
		return false, nil
	}
	p.agree(key, Once)
	return true, p.append(audit.Event{What: audit.Approved, Argv: v.Argv, Rule: v.Where, Reason: "approved earlier in this session"})
}

func (g *Gate) remembers(key string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.granted[key]
}

func (p *passage) agree(key string, a Answer) {
	p.mu.Lock()
	if p.agreed == nil {
		p.agreed = make(map[string]bool)
	}
	p.agreed[key] = true
	p.mu.Unlock()
	if a == Session {
		p.gate.mu.Lock()
		p.gate.granted[key] = true
		p.gate.mu.Unlock()
	}
}

// question waits for a person. Silence, absence and failure are a no.
func (p *passage) question(ctx context.Context, key string, v policy.Verdict) (_ Answer, why string, cause error) {
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
	if g.remembers(key) {
		return Once, "approved earlier in this session", nil
	}
	return p.wait(ctx, Question{
		ID: p.req.ID, Actor: p.req.Actor, Command: p.command(v), Argv: g.Secrets.Argv(v.Argv),
		Reason: g.Secrets.Text(p.req.Reason), Why: v.Why, Rule: v.Where,
	})
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
