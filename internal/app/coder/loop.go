package coder

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"hako/agent"
	"hako/llm"
	"hako/run/fault"
)

// execute lets the model work with its tools until it says that it is done.
//
// The loop between model and tools is that of package agent. It is left between
// two turns when something is to be said to the model, and entered again with it.
func (e *taskRun) execute(ctx context.Context) error {
	again := e.workspace == nil
	if err := e.openWorkspace(ctx); err != nil {
		return err
	}
	d, a, err := e.loop(ctx)
	if err != nil {
		return err
	}
	if again {
		if err := e.publishPlan(ctx); err != nil { // whoever changed it last may have died before this
			return err
		}
		e.rec.Request = strings.TrimSpace(e.resumed() + "\n\n" + e.rec.Request)
	}
	for {
		a.Turns = e.limits.Turns - e.rec.Count.Turns + 2 // the limit is kept before each turn, not by a last one
		answer, err := a.Run(ctx, d, agent.Request{Text: e.rec.Request, Notes: []string{}})
		if e.rec.Request = ""; e.rec.Pending == nil { // otherwise its calls are made again, and their results are not known yet
			e.rec.Items = slices.Clip(d.Items)
		}
		var b *interruption
		switch {
		case err == nil:
			if done, err := e.finished(ctx, answer.Text); done || err != nil {
				return err
			}
		case !errors.As(err, &b):
			return err
		case b.reason != "":
			if err := e.reflect(ctx, d, b.reason); err != nil {
				return err
			}
		default:
			e.rec.Request = b.request
		}
	}
}

func (e *taskRun) loop(ctx context.Context) (*llm.Dialog, *agent.Agent, error) {
	tools, err := e.tools(ctx)
	if err != nil {
		return nil, nil, err
	}
	statement := llm.Item{Role: llm.User, Text: e.rec.Statement}
	d := &llm.Dialog{System: e.executionPrompt(), Items: slices.Clip(e.rec.Items), CacheKey: e.task.ID}
	return d, &agent.Agent{Model: resumingModel{e}, Tools: tools, Budget: e.budget, Log: e.Log, ID: e.task.ID,
		Actor: e.task.payer(), Secrets: e.Secrets,
		Calls: 16, Threads: 1, Context: max(e.contextSize()-statement.Weight(), e.contextSize()/4), Observe: e.observeLoop}, nil
}

// contextSize is how many tokens the model can hold.
func (e *taskRun) contextSize() int64 {
	if e.Context == 0 {
		return 128_000
	}
	return e.Context
}

// resumed tells the model that it is somewhere else now.
func (e *taskRun) resumed() string {
	if len(e.rec.Items) == 0 && e.rec.Pending == nil {
		return ""
	}
	if e.rec.Unkept {
		return "[The work goes on in a new container. What was changed in the project lately may be gone: look before you go on.]"
	}
	return "[The work goes on in a new container. The project is as it was; what was installed or written outside of it is gone.]"
}

// finished takes the model's last words. Somebody may have said something
// meanwhile; words that say nothing are not the last ones.
func (e *taskRun) finished(ctx context.Context, text string) (bool, error) {
	e.rec.Pending = nil
	if strings.TrimSpace(text) == "" {
		e.rec.Count.Empty++
		if e.rec.Count.Empty > e.limits.Empty {
			return false, &fault.Error{Kind: fault.Exhausted, Op: "work", Subject: e.task.ID,
				Why: fmt.Sprintf("the model said nothing %d times", e.rec.Count.Empty), Hint: "try another model"}
		}
		e.rec.Request = "You said nothing and called nothing. Go on with the work, or say in a sentence what you did if it is done."
		return false, nil
	}
	said, err := e.newComments(ctx)
	switch {
	case isGone(err):
		return false, err
	case err != nil:
		e.note("comments could not be read: " + err.Error())
	case len(said) > 0:
		e.rec.Request = e.describeComments(said)
		return false, nil
	}
	e.rec.Summary, e.rec.Phase = text, Verification
	return true, e.updateProgress(ctx)
}

// isGone tells an error after which there is nothing left to do for the task: its
// issue is gone, or it belongs to another.
func isGone(err error) bool { return fault.KindOf(err) == fault.NotFound || errors.Is(err, ErrLost) }

// describeComments is what people said meanwhile, for the model.
func (e *taskRun) describeComments(said []Comment) string {
	e.rec.Same, e.rec.Count.Errors = nil, 0 // with help it may go another way
	parts := append([]string{"Meanwhile this was said; take it into account:"}, e.instructions(said)...)
	return strings.Join(parts, "\n\n")
}

// A interruption leaves the loop before the model is asked.
type interruption struct {
	reason  string // for which the model is to reflect
	request string // or what it is to be told
}

func (*interruption) Error() string { return "something is to be said to the model" }

// A resumingModel is the model of the loop. Everything that happens between
// two turns happens before it is asked.
type resumingModel struct{ e *taskRun }

// next implements [llm.Model].
func (s resumingModel) Next(ctx context.Context, d *llm.Dialog) (*llm.Turn, error) {
	e := s.e
	if p := e.rec.Pending; p != nil && !e.replayed { // asked by the worker before this one
		e.replayed = true
		return &llm.Turn{Text: p.Text, Calls: slices.Clone(p.Calls), Raw: p.Raw, Source: p.Source}, nil
	}
	e.replayed = true
	if err := e.betweenTurns(ctx, d); err != nil {
		return nil, err
	}
	e.commentsSeen = false
	turn, err := e.callModel(ctx, e.withStatement(d))
	if err != nil {
		return nil, err
	}
	if turn.Cut == "" && len(turn.Calls) > 0 {
		e.rec.Items, e.rec.Pending, e.rec.Request = slices.Clip(d.Items), redactedTurn(e.Secrets, turn), ""
		if err := e.save(ctx); err != nil {
			return nil, err
		}
	}
	return turn, nil
}

// withStatement puts the task before everything that was said, so that it stays when
// the rest is shortened.
func (e *taskRun) withStatement(d *llm.Dialog) *llm.Dialog {
	own := *d
	own.Items = append([]llm.Item{{Role: llm.User, Text: e.rec.Statement}}, d.Items...)
	return &own
}

// betweenTurns is what happens between two turns.
func (e *taskRun) betweenTurns(ctx context.Context, d *llm.Dialog) error {
	if e.acted {
		if err := e.saveRound(ctx, d); err != nil {
			return err
		}
	}
	if err := e.checkOrder(ctx); err != nil {
		return err
	}
	if err := e.readComments(ctx); err != nil {
		return err
	}
	if err := e.checkLoops(); err != nil {
		return err
	}
	if occasion := e.reflectionReason(); occasion != "" {
		return &interruption{reason: occasion}
	}
	return nil
}

// readComments leaves the loop for what people said. It does so once before each turn: a
// forge that says the same again and again must not keep the model from its work.
func (e *taskRun) readComments(ctx context.Context) error {
	if e.commentsSeen {
		return nil
	}
	switch said, err := e.newComments(ctx); {
	case isGone(err):
		return err
	case err != nil:
		e.note("comments could not be read: " + err.Error())
	case len(said) > 0:
		e.commentsSeen = true
		return &interruption{request: e.describeComments(said)}
	}
	return nil
}

// saveRound puts on record what the calls of a turn came to.
func (e *taskRun) saveRound(ctx context.Context, d *llm.Dialog) error {
	if err := e.saveWorkspace(ctx); err != nil {
		return err
	}
	e.rec.Items, e.rec.Pending = slices.Clip(d.Items), nil
	if err := e.save(ctx); err != nil {
		return err
	}
	if e.rec.Count.Actions-e.progressAt >= e.limits.ProgressEvery {
		return e.updateProgress(ctx)
	}
	return nil
}

// checkLoops ends the work of a model that does not get on.
func (e *taskRun) checkLoops() error {
	end := func(why, hint string) error {
		return &fault.Error{Kind: fault.Exhausted, Op: "work", Subject: e.task.ID, Why: why, Hint: hint}
	}
	for _, times := range e.rec.Same {
		if times >= e.limits.Same {
			return end(fmt.Sprintf("the same error came %d times", times),
				"look at the last calls in the audit log, and say in a comment how to go on")
		}
	}
	if n := e.rec.Count.Unknown; n >= e.limits.Unknown {
		return end(fmt.Sprintf("the model called tools that do not exist %d times", n), "try another model")
	}
	return nil
}
