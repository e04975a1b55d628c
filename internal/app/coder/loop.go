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
	if err := e.enter(ctx); err != nil {
		return err
	}
	d, a, err := e.loop(ctx)
	if err != nil {
		return err
	}
	if again {
		if err := e.announce(ctx); err != nil { // whoever changed it last may have died before this
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
		var b *breakOff
		switch {
		case err == nil:
			if done, err := e.finished(ctx, answer.Text); done || err != nil {
				return err
			}
		case !errors.As(err, &b):
			return err
		case b.occasion != "":
			if err := e.reflect(ctx, d, b.occasion); err != nil {
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
	return d, &agent.Agent{Model: resumingModel{e}, Tools: tools, Budget: e.meter, Log: e.Log, ID: e.task.ID,
		Actor: e.task.payer(), Secrets: e.Secrets,
		Calls: 16, Threads: 1, Context: max(e.room()-statement.Weight(), e.room()/4), Observe: e.watch}, nil
}

// room is how many tokens the model can hold.
func (e *taskRun) room() int64 {
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
	said, err := e.listen(ctx)
	switch {
	case gone(err):
		return false, err
	case err != nil:
		e.note("comments could not be read: " + err.Error())
	case len(said) > 0:
		e.rec.Request = e.spoken(said)
		return false, nil
	}
	e.rec.Summary, e.rec.Phase = text, Verification
	return true, e.tell(ctx)
}

// gone tells an error after which there is nothing left to do for the task: its
// issue is gone, or it belongs to another.
func gone(err error) bool { return fault.KindOf(err) == fault.NotFound || errors.Is(err, ErrLost) }

// spoken is what people said meanwhile, for the model.
func (e *taskRun) spoken(said []Comment) string {
	e.rec.Same, e.rec.Count.Errors = nil, 0 // with help it may go another way
	parts := append([]string{"Meanwhile this was said; take it into account:"}, e.instructions(said)...)
	return strings.Join(parts, "\n\n")
}

// A breakOff leaves the loop before the model is asked.
type breakOff struct {
	occasion string // for which the model is to reflect
	request  string // or what it is to be told
}

func (*breakOff) Error() string { return "something is to be said to the model" }

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
	if err := e.between(ctx, d); err != nil {
		return nil, err
	}
	e.heard = false
	turn, err := e.ask(ctx, e.pinned(d))
	if err != nil {
		return nil, err
	}
	if turn.Cut == "" && len(turn.Calls) > 0 {
		e.rec.Items, e.rec.Pending, e.rec.Request = slices.Clip(d.Items), cleaned(e.Secrets, turn), ""
		if err := e.save(ctx); err != nil {
			return nil, err
		}
	}
	return turn, nil
}

// pinned puts the task before everything that was said, so that it stays when
// the rest is shortened.
func (e *taskRun) pinned(d *llm.Dialog) *llm.Dialog {
	own := *d
	own.Items = append([]llm.Item{{Role: llm.User, Text: e.rec.Statement}}, d.Items...)
	return &own
}

// between is what happens between two turns.
func (e *taskRun) between(ctx context.Context, d *llm.Dialog) error {
	if e.acted {
		if err := e.round(ctx, d); err != nil {
			return err
		}
	}
	if err := e.obey(ctx); err != nil {
		return err
	}
	if err := e.hear(ctx); err != nil {
		return err
	}
	if err := e.circles(); err != nil {
		return err
	}
	if occasion := e.occasion(); occasion != "" {
		return &breakOff{occasion: occasion}
	}
	return nil
}

// hear leaves the loop for what people said. It does so once before each turn: a
// forge that says the same again and again must not keep the model from its work.
func (e *taskRun) hear(ctx context.Context) error {
	if e.heard {
		return nil
	}
	switch said, err := e.listen(ctx); {
	case gone(err):
		return err
	case err != nil:
		e.note("comments could not be read: " + err.Error())
	case len(said) > 0:
		e.heard = true
		return &breakOff{request: e.spoken(said)}
	}
	return nil
}

// round puts on record what the calls of a turn came to.
func (e *taskRun) round(ctx context.Context, d *llm.Dialog) error {
	if err := e.keep(ctx); err != nil {
		return err
	}
	e.rec.Items, e.rec.Pending = slices.Clip(d.Items), nil
	if err := e.save(ctx); err != nil {
		return err
	}
	if e.rec.Count.Actions-e.told >= e.limits.TellEvery {
		return e.tell(ctx)
	}
	return nil
}

// circles ends the work of a model that does not get on.
func (e *taskRun) circles() error {
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
