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

// Sources provide the data and actions of the API. A nil one is not available on this server: its pages explain why,
// its routes answer 404. Methods that change something get the actor, for the record.
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

// Live streams the events of the record as they are written.
type Live interface {
	// Watch returns events after a sequence number, until ctx ends. Zero, or a number that the record has not reached,
	// means the newest few. A slow reader misses events, which the numbers show.
	Watch(ctx context.Context, after int64) (<-chan records.Entry, error)
}

// Approvals are the pending questions.
type Approvals interface {
	Pending(ctx context.Context) ([]questions.Question, error)
	// Answer answers a question. The error is fault.NotFound if it does not exist, fault.Invalid if it was answered
	// already.
	Answer(ctx context.Context, who access.Actor, id string, a gate.Answer) error
	// Changed signals changes of the list until ctx ends.
	Changed(ctx context.Context) <-chan struct{}
}

// Secretary provides conversations.
type Secretary interface {
	// Chat sends a message, reports the events of the turn, and returns when the turn has ended. Sessions run
	// concurrently, with one turn at a time in each. When ctx ends, Chat returns and the turn goes on.
	Chat(ctx context.Context, who access.Actor, session, text string, tell func(sessions.Turn)) error
	// Stop ends the turn of a session, if there is one. The error is fault.NotFound if the session does not exist.
	Stop(ctx context.Context, who access.Actor, session string) error
	Sessions(ctx context.Context) ([]sessions.Session, error)
	Messages(ctx context.Context, session string, newest int) ([]sessions.Message, error)
	// Speaks reports whether answers are spoken.
	Speaks(ctx context.Context) (bool, error)
	// Voice switches speech on or off, and reports whether it is on.
	Voice(ctx context.Context, on bool) (bool, error)
}

// Todos is the to-do list.
type Todos interface {
	List(ctx context.Context) ([]sessions.Todo, error)
	// Do adds, updates, completes or deletes a to-do and returns it. An update sets all fields of t; an empty one is
	// cleared.
	Do(ctx context.Context, who access.Actor, action string, t sessions.Todo) (sessions.Todo, error)
}

// Tasks are the tasks of the coding agent.
type Tasks interface {
	List(ctx context.Context) ([]tasks.Status, error)
	Get(ctx context.Context, id string) (tasks.Status, error)
	Order(ctx context.Context, who access.Actor, id, order string) error // pause, resume, stop
	// Watch streams the steps of a task, or of all if id is empty, until ctx ends. A slow reader misses steps.
	Watch(ctx context.Context, id string) (<-chan tasks.Step, error)
}

// Sandboxes are the sandboxes and containers.
type Sandboxes interface {
	List(ctx context.Context) ([]sandboxes.Sandbox, error)
	Get(ctx context.Context, id string) (sandboxes.Sandbox, error)
	Destroy(ctx context.Context, who access.Actor, id string) error
	// Output reads the output of a job from an offset; a negative one counts from the end.
	Output(ctx context.Context, id, job string, offset int64, most int) (text string, next int64, err error)
}

// Budget is the usage of models and the remaining budget.
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

// Policy shows and applies the rules.
type Policy interface {
	Rules(ctx context.Context, profile string) ([]records.Rule, error)
	Check(ctx context.Context, profile, command string) ([]records.Verdict, error)
}
