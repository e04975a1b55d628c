package gate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"hako/audit"
	"hako/policy"
)

// A Question is what an approver sees. Its JSON is what sockets and pages carry.
type Question struct {
	ID    string `json:"id,omitempty"` // of the request
	Actor string `json:"actor"`        // of the request

	// Command is the command as one would type it, without secret values and
	// tokens. It is the whole script if Argv is empty.
	Command string   `json:"command"`
	Argv    []string `json:"argv,omitempty"`   // the same in words, as far as they are known
	Script  string   `json:"script,omitempty"` // the script of the command; empty means that it is too long
	Dir     string   `json:"dir,omitempty"`    // where it would run; empty means unknown
	Reason  string   `json:"reason,omitempty"` // why the actor wants it, in its own words
	Why     string   `json:"why"`              // why the rule requires approval
	Rule    string   `json:"rule,omitempty"`   // file:line
}

// An Answer is the answer of a person. The zero Answer is no.
type Answer uint8

// The answers.
const (
	No      Answer = iota
	Once           // for this request
	Session        // for the lifetime of the gate, for the same words, rule and directory
)

var answerNames = [...]string{No: "deny", Once: "once", Session: "session"}

// String returns the word for an answer: deny, once or session.
func (a Answer) String() string {
	if int(a) >= len(answerNames) {
		a = No
	}
	return answerNames[a]
}

// ParseAnswer reads what [Answer.String] returns. Any other word is No and false.
func ParseAnswer(word string) (Answer, bool) {
	i := slices.Index(answerNames[:], word)
	return Answer(max(i, 0)), i >= 0
}

const defaultAskTimeout = 300 * time.Second

// ask puts a verdict about a command in dir to a person, unless the same was approved before.
func (p *gateRun) ask(ctx context.Context, dir string, v policy.Verdict) error {
	what := p.key(dir, v)
	done, err := p.wasApproved(what, v)
	if done || err != nil {
		return err
	}
	if err := p.append(audit.Event{What: audit.Judged, Argv: v.Argv, Effect: v.Effect.String(), Rule: v.Where,
		Reason: v.Why}); err != nil {
		return err
	}
	q := p.newQuestion(dir, v)
	answer, why, cause := No, "it is too long for anybody to look through before approving it", error(nil)
	if p.readable(v) {
		answer, why, cause = p.askPerson(ctx, what, q)
	}
	e := audit.Event{What: audit.Refused, Argv: v.Argv, Rule: v.Where, Reason: why}
	if answer != No {
		e.What = audit.Approved
	}
	if err := p.append(e); err != nil {
		return err
	}
	if answer == No {
		v.Hint = p.hintAfterNo(v)
		return p.refusal(v, why, cause)
	}
	p.approve(what, answer)
	return nil
}

// newQuestion returns the question about a verdict.
func (p *gateRun) newQuestion(dir string, v policy.Verdict) Question {
	g := p.gate
	return Question{
		ID: p.req.ID, Actor: p.req.Actor, Command: p.command(v), Script: p.script(),
		Dir: visibleName(g.secrets.Text(dir)), Argv: g.secrets.Argv(v.Argv),
		Reason: g.secrets.Text(p.req.Reason), Why: v.Why, Rule: v.Where,
	}
}

// hintAfterNo is the hint of a refusal.
func (p *gateRun) hintAfterNo(v policy.Verdict) string {
	switch {
	case !p.readable(v):
		return fmt.Sprintf("split it: a person reads at most %d characters, and a line counts for %d of them", readableSize,
			lineSize)
	case p.gate.opts.Ask != nil:
		return "do it another way"
	case isWholeScript(v):
		return "run it where a person can answer: at a terminal"
	}
	return "run it where a person can answer, or change the rule"
}

// askPerson waits for the answer of a person. No answer and errors mean no.
func (p *gateRun) askPerson(ctx context.Context, what approvalKey, q Question) (_ Answer, why string, cause error) {
	g := p.gate
	if g.opts.Ask == nil {
		return No, "a person must approve it, and nobody is there to ask", nil
	}
	defer p.startWaiting()()
	if p.running && g.opts.Pause != nil {
		defer g.opts.Pause()()
	}
	select {
	case g.asking <- struct{}{}:
	case <-ctx.Done():
		return No, "the request ended before anybody was asked", context.Cause(ctx)
	}
	defer func() { <-g.asking }()
	// Somebody may have asked the same while we waited for our turn.
	if g.isGranted(what) {
		return Once, "approved earlier in this session", nil
	}
	return p.awaitAnswer(ctx, q)
}

// awaitAnswer calls Ask but does not rely on it to return in time.
func (p *gateRun) awaitAnswer(ctx context.Context, q Question) (_ Answer, why string, cause error) {
	limit := cmp.Or(p.gate.opts.AskTimeout, defaultAskTimeout)
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	type reply struct {
		answer Answer
		err    error
	}
	replies := make(chan reply, 1)
	go func() {
		a, err := p.gate.opts.Ask(ctx, q)
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

// startWaiting measures how long the script waits for a person. Parts of a script that wait at the same time
// count once.
func (p *gateRun) startWaiting() (over func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.waiting++; p.waiting == 1 {
		p.since = time.Now()
	}
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.waiting--; p.waiting > 0 {
			return
		}
		p.waited += time.Since(p.since)
	}
}

// waitedFor returns how long the script has waited for a person.
func (p *gateRun) waitedFor() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.waited
}
