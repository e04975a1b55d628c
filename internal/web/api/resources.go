package api

import (
	"context"
	"time"

	"hako/gate"
	"hako/internal/app/access"
	"hako/internal/app/coder/tasks"
	"hako/internal/app/questions"
	"hako/internal/app/records"
	"hako/internal/app/sandboxes"
	"hako/internal/app/secretary/sessions"
)

// Sources are all there is to show. A nil one means that this server does not have
// it: its pages say so, its routes answer 404 with a reason. Every method that
// changes something is told who wants it, so that it can be put on record with its
// actor.
type Sources struct {
	Live      Live
	Approvals Approvals
	Secretary Secretary
	Todos     Todos
	Tasks     Tasks
	Sandboxes Sandboxes
	Budget    Budget
	Record    Record
	Policy    Policy
}

// Live is what happens now: every event of the record as it is written.
type Live interface {
	// Watch returns events after a number, until ctx ends: from the newest few
	// on if it is zero, or one that the record has not reached, which is of an
	// earlier record. A reader that is too slow misses some: the numbers show it.
	Watch(ctx context.Context, after int64) (<-chan records.Entry, error)
}

// Approvals are questions that wait for a person.
type Approvals interface {
	Pending(ctx context.Context) ([]questions.Question, error)
	// Answer decides one. One that is not there any more is fault.NotFound, one
	// that was answered already fault.Invalid.
	Answer(ctx context.Context, who access.Actor, id string, a gate.Answer) error
	// Changed sends something whenever the list has changed, until ctx ends.
	Changed(ctx context.Context) <-chan struct{}
}

// Secretary is the conversation.
type Secretary interface {
	// Chat says something in a session, tells what happens, and returns when
	// she has answered. Several sessions may go on at the same time, one turn at
	// a time in each. When ctx ends it returns and tells nothing more; the turn
	// goes on.
	Chat(ctx context.Context, who access.Actor, session, text string, tell func(sessions.Turn)) error
	// Stop ends the turn of a session. Where none goes on there is nothing to do;
	// a session that does not exist is fault.NotFound.
	Stop(ctx context.Context, who access.Actor, session string) error
	Sessions(ctx context.Context) ([]sessions.Session, error)
	Messages(ctx context.Context, session string, newest int) ([]sessions.Message, error)
	// Speaks tells whether she speaks aloud.
	Speaks(ctx context.Context) (bool, error)
	// Voice lets her speak aloud or not, and returns whether she does now.
	Voice(ctx context.Context, on bool) (bool, error)
}

// Todos is the list of what is to be done.
type Todos interface {
	List(ctx context.Context) ([]sessions.Todo, error)
	// Do carries out an action: add, update, complete or delete, and returns the
	// one it was about. For update t is all that the to-do is to be, with what
	// stays as it is; an empty field empties it.
	Do(ctx context.Context, who access.Actor, action string, t sessions.Todo) (sessions.Todo, error)
}

// Service are those of the coding agent.
type Tasks interface {
	List(ctx context.Context) ([]tasks.Status, error)
	Get(ctx context.Context, id string) (tasks.Status, error)
	Order(ctx context.Context, who access.Actor, id, order string) error // pause, resume, stop
	// Watch tells what happens to a task, or to all if id is empty, until ctx
	// ends. A reader that is too slow misses some.
	Watch(ctx context.Context, id string) (<-chan tasks.Step, error)
}

// Service are the sandboxes and containers there are.
type Sandboxes interface {
	List(ctx context.Context) ([]sandboxes.Sandbox, error)
	Get(ctx context.Context, id string) (sandboxes.Sandbox, error)
	Destroy(ctx context.Context, who access.Actor, id string) error
	// Output reads what a job of a box printed, from an offset; one less than
	// zero counts from the end.
	Output(ctx context.Context, id, job string, offset int64, most int) (text string, next int64, err error)
}

// Budget is what models were used for.
type Budget interface {
	Days(ctx context.Context, newest int) ([]records.Day, error) // oldest first
	Left(ctx context.Context) (records.Left, error)
}

// Record is the audit log.
type Record interface {
	Search(ctx context.Context, q records.Query) ([]records.Entry, error) // newest first
	Stats(ctx context.Context, since time.Time) (records.Stats, error)
	Verify(ctx context.Context) (records.Chain, error)
}

// Policy is the rules.
type Policy interface {
	Rules(ctx context.Context, profile string) ([]records.Rule, error)
	Check(ctx context.Context, profile, command string) ([]records.Verdict, error)
}
