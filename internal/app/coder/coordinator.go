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

	// Model returns the model for a task, which charges the budget.
	Model func(Task, *quota.Budget) llm.Model
	// Price returns the cost of usage in dollars, and whether the price is known. Nil
	// means that no price is known.
	Price func(model string, u quota.Usage) (dollars float64, known bool)

	Environments Environments
	// Execute and Edit describe the tools that run commands and change files.
	Execute, Edit llm.Tool
	// Tools returns the tools that reach beyond the container. Each of their calls is
	// carried out at most once. Nil means none.
	Tools func(context.Context, Task) ([]tool.Tool, error)

	// Orders returns what a person wants of a task; it is called between steps. Nil
	// means that there are no orders.
	Orders   func(context.Context, Task) (Order, error)
	Archive  Archive  // nil means that nothing is inherited
	Accounts Accounts // nil means that only tasks have limits

	Verify  []string // commands that must succeed besides those of the plan; nil means none
	Limits  Limits
	Context int64       // size of the model's context in tokens; zero means 128 000
	Secrets *redact.Set // to redact; nil means only those recognised by their form
	// Observe is called with events, in order for each task. It may be nil.
	Observe func(Event)
}

// Environments are where commands can run. Each function may be nil.
type Environments struct {
	Table  func() string                             // for the planning prompt
	Choose func(asked string) (name, warning string) // returns one that exists, and a warning if it is another
	Prompt func(name string) string                  // about running commands
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

// Limits end tasks that would not end by themselves. The defaults of zero values are in
// the comments.
type Limits struct {
	Turns        int     // of the model: 100
	Actions      int     // calls of tools: 200
	Tokens       int64   // weighted: 2 000 000
	Cost         float64 // dollars: unlimited
	Same         int     // occurrences of one failure: 5
	Unknown      int     // calls of tools that do not exist: 5
	Empty        int     // empty turns: 3
	PlanAttempts int     // answers in which a plan is looked for: 2
	Replans      int     // new plans after the first: 2; negative means none

	Errors        int // in a row, after which the model reflects: 3
	ReflectEvery  int // actions: 15; negative means never
	ProgressEvery int // actions between updates of the progress comment: 5

	UserTokens int64   // of one user in a month, weighted: unlimited
	UserCost   float64 // dollars: unlimited
}

func (l Limits) withDefaults() Limits {
	l.Turns, l.Actions, l.Tokens = cmp.Or(l.Turns, 100), cmp.Or(l.Actions, 200), cmp.Or(l.Tokens, 2_000_000)
	l.Same, l.Unknown, l.Empty = cmp.Or(l.Same, 5), cmp.Or(l.Unknown, 5), cmp.Or(l.Empty, 3)
	l.PlanAttempts, l.Replans = cmp.Or(l.PlanAttempts, 2), max(cmp.Or(l.Replans, 2), 0)
	l.Errors, l.ReflectEvery, l.ProgressEvery = cmp.Or(l.Errors, 3), cmp.Or(l.ReflectEvery, 15), cmp.Or(l.ProgressEvery, 5)
	return l
}

// An Event is something that happened during the work on a task.
type Event struct {
	Task  string `json:"task"`
	Type  string `json:"type"` // phase, call, result, note, heard, ignored, state
	Phase Phase  `json:"phase"`
	Name  string `json:"name,omitempty"`
	Text  string `json:"text,omitempty"`
	OK    *bool  `json:"ok,omitempty"`
}

// A taskRun is the work on one task.
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
	commentsSeen bool // since the last call of the model
	progressAt   int  // number of actions at the last progress comment
	toolNames    map[string]bool
}

// Run works on a task from where its record stands until it ends or is paused; the
// record has the state. After an error the task can be continued from the last record
// that was saved. The workspace is removed in any case, unless another worker has the
// task.
func (c *Coordinator) Run(ctx context.Context, t Task, j Journal, from Record) (Record, error) {
	e := &taskRun{Coordinator: c, limits: c.Limits.withDefaults(), task: t, journal: j, rec: from}
	if e.rec.Phase == Ended {
		return e.rec, e.cleanUp(ctx) // whoever ended it may have died before this
	}
	e.budget = quota.New(e.remainingBudget())
	e.model = c.Model(t, e.budget)
	return e.workAndCleanUp(ctx)
}

func (e *taskRun) workAndCleanUp(ctx context.Context) (Record, error) {
	err := e.work(ctx)
	if lost(ctx, err) {
		return e.rec, err // the workspace belongs to the other worker now
	}
	return e.rec, errors.Join(err, e.cleanUp(ctx))
}

// lost reports whether another worker has the task, which the error of a canceled call
// does not say.
func lost(ctx context.Context, err error) bool {
	return errors.Is(err, ErrLost) || errors.Is(context.Cause(ctx), ErrLost)
}

// GiveUp ends a task that was attempted too often, and reports why.
func (c *Coordinator) GiveUp(ctx context.Context, t Task, j Journal, from Record, why error) (Record, error) {
	e := &taskRun{Coordinator: c, limits: c.Limits.withDefaults(), task: t, journal: j, rec: from}
	switch e.rec.Phase {
	case Ended:
		return e.rec, e.cleanUp(ctx)
	case Reporting:
	default:
		e.rec.State = cmp.Or(e.rec.State, Pending)
		if _, err := e.rec.State.Move(Failed); err != nil {
			return from, err
		}
		e.finish(Failed, why)
	}
	return e.workAndCleanUp(ctx)
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

// step runs one phase, unless a person orders something else. An end that a person
// ordered is reported although the context has ended.
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

// begin starts or continues a task.
func (e *taskRun) begin(ctx context.Context) error {
	switch {
	case e.rec.Phase == Reporting:
		return nil // it has ended, and is only to be reported
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

// checkOrder returns an order as an error. A task that has ended is reported whatever
// the order.
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
		e.note("orders could not be read: " + err.Error()) // the next step asks again
	case order != Continue:
		return order
	}
	return nil
}

// unavailable means that something outside did not answer: the task has not failed, it
// is continued later.
type unavailable struct{ error }

func (s unavailable) Unwrap() error { return s.error }

// handleError decides what an error means for the task. It returns the error if the
// task has not ended by it.
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

// close stops or pauses the task.
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

// finish sets the final state; it remains to be reported.
func (e *taskRun) finish(s State, why error) {
	to, err := e.rec.State.Move(s)
	if err != nil {
		return
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

// once carries out a side effect that is idempotent by itself.
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

// unlessDenied makes an error unavailable, unless the forge denied the request:
// retrying would not change that.
func unlessDenied(err error) error {
	if err == nil || fault.KindOf(err) == fault.Denied {
		return err
	}
	return unavailable{err}
}

// retryable makes a transient error unavailable.
func retryable(err error) error {
	switch fault.KindOf(err) {
	case fault.Unavailable, fault.Timeout:
		return unavailable{err}
	}
	return err
}

// cleanupTimeout limits what is done after the context has ended.
const cleanupTimeout = 2 * time.Minute

// cleanUp removes the workspace, also after the context has ended.
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
