package dispatch

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"hako/internal/app/coder"
	"hako/internal/app/coder/forge"
	"hako/internal/app/coder/queue"
	"hako/run/fault"
)

// A TaskStatus is the state of a task, for people and programs.
type TaskStatus struct {
	Thread      string       `json:"thread"`
	Job         coder.Task   `json:"task"`
	State       coder.State  `json:"state"`
	Phase       coder.Phase  `json:"phase,omitempty"`
	Worker      string       `json:"worker,omitempty"`
	Attempt     int          `json:"try,omitempty"`
	Order       string       `json:"order,omitempty"` // the last one
	Environment string       `json:"environment,omitempty"`
	Objective   string       `json:"objective,omitempty"`
	Steps       []string     `json:"-"` // of the plan; nil means that there is none yet
	Count       *coder.Count `json:"count,omitempty"`
	Tokens      int64        `json:"tokens"`
	Cost        float64      `json:"cost_usd"`
	Why         string       `json:"why,omitempty"`
	Hint        string       `json:"hint,omitempty"`
	Summary     string       `json:"summary,omitempty"`
	Commit      string       `json:"commit,omitempty"`
	Proposal    string       `json:"proposal,omitempty"`
	Changed     time.Time    `json:"changed,omitzero"`
}

// states are the states of a task by those of the queue.
var states = map[queue.State]coder.State{queue.Queued: coder.Pending, queue.Held: coder.Processing,
	queue.Parked: coder.Paused, queue.Done: coder.Done, queue.Dead: coder.Failed}

// StatusOf reads the status of a task from its entry in the queue. Of an entry that is
// no task of ours only the thread is set.
func StatusOf(t queue.Entry) TaskStatus {
	s := TaskStatus{Thread: t.ID, State: cmp.Or(states[t.State], coder.Pending), Worker: t.Holder,
		Attempt: t.Tries, Order: string(t.Order),
		Why: t.Reason, Changed: t.Changed}
	_ = json.Unmarshal(t.Payload, &s.Job)
	var r coder.Record
	if t.Step == nil || json.Unmarshal(t.Step, &r) != nil {
		return s
	}
	if t.State == queue.Done && r.State != "" {
		s.State = r.State
	}
	s.addRecord(r)
	return s
}

// addRecord adds what the worker recorded.
func (s *TaskStatus) addRecord(r coder.Record) {
	s.Phase, s.Environment, s.Summary, s.Commit, s.Proposal, s.Hint = r.Phase, r.Environment, r.Summary, r.Commit,
		r.Proposal, r.Hint
	s.Count, s.Tokens, s.Cost = &r.Count, r.Spent.Tokens(), r.Spent.Cost
	if r.Plan != nil {
		s.Objective, s.Steps = r.Plan.Goal.Objective, r.Plan.Steps()
	}
	s.Why = cmp.Or(r.Why, s.Why)
}

// Short is the short form of the issue: owner/project#12.
func (s TaskStatus) Short() string {
	if s.Job.Repo == "" {
		return s.Thread
	}
	sign := "#"
	if s.Job.Kind == coder.Pull && s.Job.Provider == forge.GitLab {
		sign = "!" // which numbers them separately
	}
	return fmt.Sprintf("%s%s%d", s.Job.Repo, sign, s.Job.Number)
}

// named reports whether a name given by a person means this task.
func (s TaskStatus) named(name string) bool {
	for _, one := range []string{s.Thread, s.Job.ID, s.Job.URL, s.Short(),
		fmt.Sprintf("%s#%d", s.Job.Repo, s.Job.Number)} {
		if one != "" && strings.EqualFold(one, trimmedAddress(name)) {
			return true
		}
	}
	return false
}

// trimmedAddress removes what browsers add to the URL of an issue.
func trimmedAddress(name string) string {
	u, err := url.Parse(name)
	if err != nil || u.Host == "" {
		return name
	}
	u.RawQuery, u.Fragment = "", ""
	return strings.TrimSuffix(u.String(), "/")
}

// A Lister lists tasks; [*queue.Queue] is one.
type Lister interface {
	List(ctx context.Context) ([]queue.Entry, error)
	State(ctx context.Context, id string) (queue.Entry, error)
}

// Statuses returns the status of all tasks.
func Statuses(ctx context.Context, from Lister) ([]TaskStatus, error) {
	all, err := from.List(ctx)
	list := make([]TaskStatus, len(all))
	for i, t := range all {
		list[i] = StatusOf(WithStep(ctx, from, t))
	}
	return list, err
}

// WithStep adds the last step if it is too large for lists. If it cannot be read, the
// entry stays as it is.
func WithStep(ctx context.Context, from Lister, t queue.Entry) queue.Entry {
	if t.Step != nil || t.State == queue.Queued && t.Tries == 0 {
		return t
	}
	if w, err := from.State(ctx, t.ID); err == nil {
		return w
	}
	return t
}

// Find returns the task that a person names, by its issue or by its ID.
func Find(ctx context.Context, from Lister, name string) (TaskStatus, error) {
	all, err := from.List(ctx)
	if err != nil {
		return TaskStatus{}, err
	}
	var found []queue.Entry
	for _, t := range all {
		if StatusOf(t).named(name) {
			found = append(found, t)
		}
	}
	switch len(found) {
	case 1:
		return StatusOf(WithStep(ctx, from, found[0])), nil
	case 0:
		return TaskStatus{}, &fault.Error{Kind: fault.NotFound, Op: "find task", Subject: name,
			Why: "there is no such task", Hint: "hako agent status lists them"}
	}
	return TaskStatus{}, &fault.Error{Kind: fault.Invalid, Op: "find task", Subject: name, Why: "there are several: " +
		found[0].ID + ", " + found[1].ID, Hint: "use the name of one of them"}
}

// An Orderer gives orders to tasks; [*queue.Queue] is one.
type Orderer interface {
	Order(ctx context.Context, id string, what queue.Command) error
}

// Order gives an order to a task. If the task has ended, the error says how to start it
// again.
func Order(ctx context.Context, by Orderer, thread string, what queue.Command) error {
	err := by.Order(ctx, thread, what)
	var f *fault.Error
	if errors.As(err, &f) && f.Kind == fault.Invalid && f.Subject == thread {
		f.Why = endText(ctx, by, thread)
		f.Hint = `give the issue its label ("coding agent") again to have it worked on once more`
	}
	return err
}

// endText says how a task ended, in the words that people see elsewhere: to the queue a
// stopped task is done.
func endText(ctx context.Context, by Orderer, thread string) string {
	if roll, ok := by.(Lister); ok {
		if t, err := roll.State(ctx, thread); err == nil && StatusOf(t).State.Final() {
			return "it has ended (" + string(StatusOf(t).State) + ")"
		}
	}
	return "it has ended"
}
