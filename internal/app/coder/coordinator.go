package coder

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"hako/agent/tool"
	"hako/audit"
	"hako/internal/redact"
	"hako/llm"
	"hako/quota"
	"hako/run/fault"
)

// A Coordinator carries out tasks. It is safe for concurrent use if its parts are.
type Coordinator struct {
	Commenter  Commenter
	Publisher  Publisher
	Workspaces Workspaces
	Log        audit.Log

	// Model returns the model for a task, which charges the meter.
	Model func(Task, *quota.Budget) llm.Model
	// Price returns what usage costs in dollars; false means that nobody
	// knows. Nil means that nobody ever does.
	Price func(model string, u quota.Usage) (dollars float64, known bool)

	Environments Environments
	// Execute and Edit describe the tools that run commands and change files.
	Execute, Edit llm.Tool
	// Tools returns the tools that reach beyond the container, each of whose
	// calls is carried out at most once. Nil means that there are none.
	Tools func(context.Context, Task) ([]tool.Tool, error)

	// Orders tells what a person wants of a task; it is asked between any two
	// steps. Nil means that nobody can want anything.
	Orders   func(context.Context, Task) (Order, error)
	Archive  Archive  // nil means that nothing is inherited
	Accounts Accounts // nil means that only tasks have an account

	Verify  []string    // commands that must succeed whatever the plan says; nil means none
	Limits  Limits      //
	Context int64       // tokens that the model can hold; zero means 128 000
	Secrets *redact.Set // values that nobody may see; nil means only those known by their spelling
	// Observe is told what happens, in order for each task. Nil means that
	// nobody is.
	Observe func(Event)
}

// Environments are where commands can run. A nil function means that there is
// nothing to say or to choose.
type Environments struct {
	Table  func() string                             // for the planning prompt
	Choose func(asked string) (name, warning string) // one that is there, and what is to be said if it is another
	Prompt func(name string) string                  // what a model is told about running commands
}

func (e Environments) table() string {
	if e.Table == nil {
		return ""
	}
	return e.Table()
}

func (e Environments) choose(asked string) (name, warning string) {
	if e.Choose == nil {
		return asked, ""
	}
	return e.Choose(asked)
}

func (e Environments) prompt(name string) string {
	if e.Prompt == nil {
		return ""
	}
	return e.Prompt(name)
}

// ScriptLimits end tasks that would not end by themselves. Zero values mean those in
// the comments.
type Limits struct {
	Turns        int     // of the model: 100
	Actions      int     // calls of tools: 200
	Tokens       int64   // weighted: 2 000 000
	Cost         float64 // dollars: as much as one likes
	Same         int     // how often one failure may be met: 5
	Unknown      int     // calls of tools that do not exist: 5
	Empty        int     // turns that say nothing: 3
	PlanAttempts int     // answers in which a plan is looked for: 2
	Replans      int     // new plans after the first: 2; less than zero means none

	Errors        int // in a row, after which the model reflects: 3
	ReflectEvery  int // actions: 15; less than zero means never
	ProgressEvery int // actions after which the progress comment is written anew: 5

	UserTokens int64   // of one person in a month, weighted: as many as one likes
	UserCost   float64 // dollars: as much as one likes
}

func (l Limits) withDefaults() Limits {
	l.Turns, l.Actions, l.Tokens = cmp.Or(l.Turns, 100), cmp.Or(l.Actions, 200), cmp.Or(l.Tokens, 2_000_000)
	l.Same, l.Unknown, l.Empty = cmp.Or(l.Same, 5), cmp.Or(l.Unknown, 5), cmp.Or(l.Empty, 3)
	l.PlanAttempts, l.Replans = cmp.Or(l.PlanAttempts, 2), max(cmp.Or(l.Replans, 2), 0)
	l.Errors, l.ReflectEvery, l.ProgressEvery = cmp.Or(l.Errors, 3), cmp.Or(l.ReflectEvery, 15), cmp.Or(l.ProgressEvery, 5)
	return l
}

// An Event is one thing that happens while a task is worked on.
type Event struct {
	Task  string `json:"task"`
	Type  string `json:"type"` // phase, call, result, note, heard, ignored, state
	Phase Phase  `json:"phase"`
	Name  string `json:"name,omitempty"`
	Text  string `json:"text,omitempty"`
	OK    *bool  `json:"ok,omitempty"`
}

// A taskRun is one task with what is needed to work on it.
type taskRun struct {
	*Coordinator
	limits    Limits
	task      Task
	journal   Journal
	rec       Record
	budget    *quota.Budget
	model     llm.Model
	workspace Workspace // nil until it is needed

	replayed     bool // the pending turn was given to the loop
	acted        bool // calls were carried out since the last save
	commentsSeen bool // people, since the model was asked last
	progressAt   int  // actions at the last writing of the progress comment
	toolNames    map[string]bool
}

// Run works on a task from where its record stands until it ends, or is paused.
// The record says as what. An error means that it is none of these: the task can
// be taken up again from the last record that was saved. What was made for it is
// taken away in any case, unless another worker has the task.
func (c *Coordinator) Run(ctx context.Context, t Task, j Journal, from Record) (Record, error) {
	e := &taskRun{Coordinator: c, limits: c.Limits.withDefaults(), task: t, journal: j, rec: from}
	if e.rec.Phase == Ended {
		return e.rec, e.cleanUp(ctx) // whoever ended it may have died before this
	}
	e.budget = quota.New(e.remainingBudget())
	e.model = c.Model(t, e.budget)
	err := e.work(ctx)
	if lost(ctx, err) {
		return e.rec, err // what is there belongs to the other now
	}
	return e.rec, errors.Join(err, e.cleanUp(ctx))
}

// lost reports whether the task belongs to another worker, which a call that was
// cut short does not say.
func lost(ctx context.Context, err error) bool {
	return errors.Is(err, ErrLost) || errors.Is(context.Cause(ctx), ErrLost)
}

// GiveUp ends a task that was taken up often enough without coming to an end, and
// tells people why.
func (c *Coordinator) GiveUp(ctx context.Context, t Task, j Journal, from Record, why error) (Record, error) {
	e := &taskRun{Coordinator: c, limits: c.Limits.withDefaults(), task: t, journal: j, rec: from}
	switch e.rec.Phase {
	case Ended:
		return e.rec, e.cleanUp(ctx)
	case Reporting: // how it ended is decided
	default:
		e.rec.State = cmp.Or(e.rec.State, Pending)
		if _, err := e.rec.State.Move(Failed); err != nil {
			return from, err
		}
		e.finish(Failed, why)
	}
	err := e.work(ctx)
	if lost(ctx, err) {
		return e.rec, err
	}
	return e.rec, errors.Join(err, e.cleanUp(ctx))
}

// remainingBudget is what is left for this worker, so that the model can be told.
func (e *taskRun) remainingBudget() quota.Limits {
	b := quota.Unlimited()
	if b.Tokens = e.limits.Tokens - e.rec.Spent.Tokens(); b.Tokens == 0 {
		b.Tokens = -1
	}
	return b
}

func (e *taskRun) work(ctx context.Context) error {
	if err := e.begin(ctx); err != nil {
		return err
	}
	for e.rec.Phase != Ended {
		phase := e.rec.Phase
		err := e.step(ctx)
		if err != nil {
			if err = e.handleError(ctx, err); err != nil {
				return err
			}
		}
		if err := e.save(ctx); err != nil {
			return err
		}
		if phase == Reporting && e.rec.State == Paused {
			return nil
		}
	}
	return nil
}

// step goes through one phase, unless a person wants something else. An end that
// a person brought about is told although the time is up.
func (e *taskRun) step(ctx context.Context) error {
	e.observe(Event{Type: "phase"})
	var order Order
	if e.rec.Phase == Reporting && errors.As(context.Cause(ctx), &order) {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
		defer stop()
	}
	if err := e.checkOrder(ctx); err != nil {
		return err
	}
	return e.phase(ctx)
}

func (e *taskRun) phase(ctx context.Context) error {
	switch e.rec.Phase {
	case Planning:
		return e.plan(ctx)
	case Environment:
		return e.environment(ctx)
	case Execution:
		return e.execute(ctx)
	case Verification:
		return e.verify(ctx)
	case Delivery:
		return e.deliver(ctx)
	case Reporting:
		return e.report(ctx)
	}
	return &fault.Error{Kind: fault.Invalid, Op: "go on with task", Subject: e.task.ID,
		Why: fmt.Sprintf("its record has the phase %q", e.rec.Phase)}
}

// begin takes a task up: for the first time, or again.
func (e *taskRun) begin(ctx context.Context) error {
	switch {
	case e.rec.Phase == Reporting:
		return nil // it has ended, and that remains to be told
	case e.rec.Phase == "":
		e.rec.Phase = Planning
	}
	if e.rec.State == Processing {
		return nil
	}
	state := cmp.Or(e.rec.State, Pending)
	if state == Paused {
		state = Pending
	}
	var err error
	if e.rec.State, err = state.Move(Processing); err != nil {
		return err
	}
	if err := e.showState(ctx, Processing); err != nil {
		if err = e.handleError(ctx, err); err != nil {
			return err
		}
	}
	return e.save(ctx)
}

// checkOrder ends the work if a person wants it. What has ended already is reported
// whatever anybody wants.
func (e *taskRun) checkOrder(ctx context.Context) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	if e.Orders == nil || e.rec.Phase == Reporting {
		return nil
	}
	order, err := e.Orders(ctx, e.task)
	switch {
	case errors.Is(err, ErrLost):
		return err
	case err != nil:
		e.note("nobody could be asked for orders: " + err.Error()) // the next step asks again
	case order != Continue:
		return order
	}
	return nil
}

// unavailable means that a part of the outside did not answer: the task has not
// failed for it, it is taken up again later.
type unavailable struct{ error }

func (s unavailable) Unwrap() error { return s.error }

// handleError decides what an error means for the task. It returns the error if the task
// has not come to an end by it.
func (e *taskRun) handleError(ctx context.Context, err error) error {
	var order Order
	var quiet unavailable
	switch {
	case errors.Is(err, ErrLost):
		return err
	case e.rec.Phase == Reporting && e.rec.State != Processing:
		return err // how it ended is decided
	case errors.As(err, &order):
		return e.close(order)
	case errors.As(context.Cause(ctx), &order):
		return e.close(order)
	case context.Cause(ctx) != nil:
		return err
	case errors.As(err, &quiet) && fault.KindOf(err) == fault.NotFound:
		e.finish(Stopped, &fault.Error{Kind: fault.NotFound, Op: "work", Why: "the " + string(e.task.Kind) + " is gone"})
	case errors.As(err, &quiet):
		return err
	default:
		e.finish(Failed, err)
	}
	return nil
}

func (e *taskRun) close(order Order) error {
	if order == Stop {
		e.finish(Stopped, order)
		return nil
	}
	e.rec.After = e.rec.Phase
	e.rec.Count.Pauses++
	e.finish(Paused, order)
	return nil
}

// finish sets how a task ends; it remains to be reported.
func (e *taskRun) finish(s State, why error) {
	to, err := e.rec.State.Move(s)
	if err != nil {
		return // it has ended already
	}
	e.rec.State, e.rec.Phase = to, Reporting
	e.rec.Why, e.rec.Hint = "", ""
	if why != nil {
		e.rec.Why, e.rec.Hint = e.Secrets.Text(why.Error()), e.Secrets.Text(fault.Hint(why))
	}
	e.observe(Event{Type: "state", Text: string(s)})
}

func (e *taskRun) save(ctx context.Context) error {
	if err := e.journal.Save(context.WithoutCancel(ctx), e.rec); err != nil {
		return unavailable{err}
	}
	e.acted = false
	return nil
}

// once does something that others can see. It is such that it finds what it did
// before, so that doing it again does no harm.
func (e *taskRun) once(ctx context.Context, key string, do func(context.Context) (string, error)) (string, error) {
	var own error
	ref, err := e.journal.Once(ctx, key, func(ctx context.Context, _ bool) (string, error) {
		ref, err := do(ctx)
		own = err
		return ref, err
	})
	switch {
	case own != nil:
		return "", own
	case err != nil:
		return "", unavailable{err}
	}
	return ref, nil
}

// comment writes a comment once.
func (e *taskRun) comment(ctx context.Context, key, text string) error {
	_, err := e.once(ctx, key, func(ctx context.Context) (string, error) {
		ref, err := e.Commenter.WriteComment(ctx, e.task, key, text)
		return ref, unlessDenied(err)
	})
	return err
}

func (e *taskRun) showState(ctx context.Context, s State) error {
	return unlessDenied(e.Publisher.SetState(ctx, e.task, s))
}

// unlessDenied is that the forge did not answer, unless it said no: asking again
// would not change that.
func unlessDenied(err error) error {
	if err == nil || fault.KindOf(err) == fault.Denied {
		return err
	}
	return unavailable{err}
}

// retryable tells an error that may pass from one that will not.
func retryable(err error) error {
	switch fault.KindOf(err) {
	case fault.Unavailable, fault.Timeout:
		return unavailable{err}
	}
	return err
}

// cleanupTimeout is how long things are taken away after the time is up.
const cleanupTimeout = 2 * time.Minute

// cleanUp takes away what was made, also when there is no time left.
func (e *taskRun) cleanUp(ctx context.Context) error {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
	defer stop()
	e.workspace = nil
	return e.Workspaces.Cleanup(ctx, e.task.ID)
}

func (e *taskRun) observe(ev Event) {
	if e.Observe == nil {
		return
	}
	ev.Task, ev.Phase = e.task.ID, e.rec.Phase
	e.Observe(ev)
}

func (e *taskRun) note(text string) { e.observe(Event{Type: "note", Text: e.Secrets.Text(text)}) }
