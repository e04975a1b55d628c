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
// The loop between model and tools is that of package agent. It is left between two
// turns to send a message to the model, and entered again with it.
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
		if err := e.publishPlan(ctx); err != nil { // whoever changed the plan last may have died before this
			return err
		}
		e.rec.Request = strings.TrimSpace(e.resumed() + "\n\n" + e.rec.Request)
	}
	for {
		a.Turns = e.limits.Turns - e.rec.Count.Turns + 2 // the limit is checked before each turn
		answer, err := a.Run(ctx, d, agent.Request{Text: e.rec.Request, Notes: []string{}})
		if e.rec.Request = ""; e.rec.Pending == nil { // otherwise its calls are repeated, and their results are not known yet
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
		Calls: 16, Threads: 1, Context: max(e.contextSize()-statement.Weight(), e.contextSize()/4),
		Observe: e.observeLoop}, nil
}

// contextSize returns the model's context size in tokens.
func (e *taskRun) contextSize() int64 {
	if e.Context == 0 {
		return 128_000
	}
	return e.Context
}

// resumed tells the model that it works in a new container.
func (e *taskRun) resumed() string {
	if len(e.rec.Items) == 0 && e.rec.Pending == nil {
		return ""
	}
	if e.rec.Unkept {
		return "[The work continues in a new container. What was changed in the project lately may be gone: check before you continue.]"
	}
	return "[The work continues in a new container. The project is as it was; what was installed or written outside of it is gone.]"
}

// finished handles the model's final answer. It is not final if there are new comments,
// or if it is empty.
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

// isGone reports whether there is nothing left to do for the task: its issue is gone,
// or another worker has it.
func isGone(err error) bool { return fault.KindOf(err) == fault.NotFound || errors.Is(err, ErrLost) }

// describeComments formats new comments for the model.
func (e *taskRun) describeComments(said []Comment) string {
	e.rec.Same, e.rec.Count.Errors = nil, 0 // with help it may try something else
	parts := append([]string{"Meanwhile this was said; take it into account:"}, e.instructions(said)...)
	return strings.Join(parts, "\n\n")
}

// An interruption leaves the loop before the model is called.
type interruption struct {
	reason  string // for which the model is to reflect
	request string // or a message to the model
}

func (*interruption) Error() string { return "something is to be said to the model" }

// A resumingModel is the model of the loop. It does what has to happen between two
// turns before it calls the model.
type resumingModel struct{ e *taskRun }

// Next implements [llm.Model].
func (s resumingModel) Next(ctx context.Context, d *llm.Dialog) (*llm.Turn, error) {
	e := s.e
	if p := e.rec.Pending; p != nil && !e.replayed { // requested by the previous worker
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

// withStatement puts the description of the task before the dialog, so that it stays
// when the rest is compacted.
func (e *taskRun) withStatement(d *llm.Dialog) *llm.Dialog {
	own := *d
	own.Items = append([]llm.Item{{Role: llm.User, Text: e.rec.Statement}}, d.Items...)
	return &own
}

// betweenTurns saves, and checks for orders, comments, loops and reflection.
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

// readComments interrupts the loop for new comments, once before each turn: a forge
// that returns the same comment again and again must not keep the model from its work.
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

// saveRound records the results of a turn's calls.
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

// checkLoops ends the work of a model that makes no progress.
func (e *taskRun) checkLoops() error {
	end := func(why, hint string) error {
		return &fault.Error{Kind: fault.Exhausted, Op: "work", Subject: e.task.ID, Why: why, Hint: hint}
	}
	for _, times := range e.rec.Same {
		if times >= e.limits.Same {
			return end(fmt.Sprintf("the same error occurred %d times", times),
				"look at the last calls in the audit log, and write in a comment how to continue")
		}
	}
	if n := e.rec.Count.Unknown; n >= e.limits.Unknown {
		return end(fmt.Sprintf("the model called tools that do not exist %d times", n), "try another model")
	}
	return nil
}
