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

// A TaskStatus is how a task is, for people and programs that look on.
type TaskStatus struct {
	Thread      string       `json:"thread"`
	Job         coder.Task   `json:"task"`
	State       coder.State  `json:"state"`
	Phase       coder.Phase  `json:"phase,omitempty"`
	Worker      string       `json:"worker,omitempty"`
	Try         int          `json:"try,omitempty"`
	Order       string       `json:"order,omitempty"` // the last one that was given
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

// StatusOf reads what the queue knows of a task. What is no task of ours shows
// as its thread alone.
func StatusOf(t queue.Task) TaskStatus {
	s := TaskStatus{Thread: t.ID, State: cmp.Or(states[t.State], coder.Pending), Worker: t.Holder, Try: t.Tries, Order: string(t.Order),
		Why: t.Reason, Changed: t.Changed}
	_ = json.Unmarshal(t.Payload, &s.Job)
	var r coder.Record
	if t.Step == nil || json.Unmarshal(t.Step, &r) != nil {
		return s
	}
	if t.State == queue.Done && r.State != "" {
		s.State = r.State
	}
	s.take(r)
	return s
}

// take adds what the worker has noted down.
func (s *TaskStatus) take(r coder.Record) {
	s.Phase, s.Environment, s.Summary, s.Commit, s.Proposal, s.Hint = r.Phase, r.Environment, r.Summary, r.Commit,
		r.Proposal, r.Hint
	s.Count, s.Tokens, s.Cost = &r.Count, r.Spent.Tokens(), r.Spent.Cost
	if r.Plan != nil {
		s.Objective, s.Steps = r.Plan.Goal.Objective, r.Plan.Steps()
	}
	s.Why = cmp.Or(r.Why, s.Why)
}

// Short is the issue as people write it: owner/project#12.
func (s TaskStatus) Short() string {
	if s.Job.Repo == "" {
		return s.Thread
	}
	sign := "#"
	if s.Job.Kind == coder.Pull && s.Job.Provider == forge.GitLab {
		sign = "!" // which numbers them apart
	}
	return fmt.Sprintf("%s%s%d", s.Job.Repo, sign, s.Job.Number)
}

// named reports whether a person means this task.
func (s TaskStatus) named(name string) bool {
	for _, one := range []string{s.Thread, s.Job.ID, s.Job.URL, s.Short(),
		fmt.Sprintf("%s#%d", s.Job.Repo, s.Job.Number)} {
		if one != "" && strings.EqualFold(one, trimmedAddress(name)) {
			return true
		}
	}
	return false
}

// trimmedAddress takes off what browsers add to the address of an issue.
func trimmedAddress(name string) string {
	u, err := url.Parse(name)
	if err != nil || u.Host == "" {
		return name
	}
	u.RawQuery, u.Fragment = "", ""
	return strings.TrimSuffix(u.String(), "/")
}

// A Lister is where tasks are listed; [*queue.Queue] is one.
type Lister interface {
	List(ctx context.Context) ([]queue.Task, error)
	State(ctx context.Context, id string) (queue.Task, error)
}

// Statuses tells how all tasks are.
func Statuses(ctx context.Context, from Lister) ([]TaskStatus, error) {
	all, err := from.List(ctx)
	list := make([]TaskStatus, len(all))
	for i, t := range all {
		list[i] = StatusOf(Whole(ctx, from, t))
	}
	return list, err
}

// Whole completes a task whose last step is too large for lists. One that cannot
// be read now is shown without it.
func Whole(ctx context.Context, from Lister, t queue.Task) queue.Task {
	if t.Step != nil || t.State == queue.Queued && t.Tries == 0 {
		return t
	}
	if w, err := from.State(ctx, t.ID); err == nil {
		return w
	}
	return t
}

// Find returns the task that a person names: by its issue or by its own name.
func Find(ctx context.Context, from Lister, name string) (TaskStatus, error) {
	all, err := from.List(ctx)
	if err != nil {
		return TaskStatus{}, err
	}
	var found []queue.Task
	for _, t := range all {
		if StatusOf(t).named(name) {
			found = append(found, t)
		}
	}
	switch len(found) {
	case 1:
		return StatusOf(Whole(ctx, from, found[0])), nil
	case 0:
		return TaskStatus{}, &fault.Error{Kind: fault.NotFound, Op: "find task", Subject: name,
			Why: "there is none of this name", Hint: "hako agent status lists them"}
	}
	return TaskStatus{}, &fault.Error{Kind: fault.Invalid, Op: "find task", Subject: name, Why: "there are several: " +
		found[0].ID + ", " + found[1].ID, Hint: "name one as it stands there"}
}

// An Orderer is who passes orders on to tasks; [*queue.Queue] is one.
type Orderer interface {
	Order(ctx context.Context, id string, what queue.Command) error
}

// Order tells a task something, and who is refused because it has ended, how it
// is begun again.
func Order(ctx context.Context, by Orderer, thread string, what queue.Command) error {
	err := by.Order(ctx, thread, what)
	var f *fault.Error
	if errors.As(err, &f) && f.Kind == fault.Invalid && f.Subject == thread {
		f.Why = endedAs(ctx, by, thread)
		f.Hint = `give the issue its label ("coding agent") again to have it worked on once more`
	}
	return err
}

// endedAs says how a task that takes no orders has ended, in the words that people
// see everywhere else: to the queue one that was stopped is done.
func endedAs(ctx context.Context, by Orderer, thread string) string {
	if roll, ok := by.(Lister); ok {
		if t, err := roll.State(ctx, thread); err == nil && StatusOf(t).State.Final() {
			return "it is over (" + string(StatusOf(t).State) + ")"
		}
	}
	return "it is over"
}
