package api

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"hako/internal/app/coder/tasks"
	"hako/internal/app/records"
	"hako/internal/app/sandboxes"
	"hako/internal/app/secretary/sessions"
	"hako/internal/redact"
	"hako/run/fault"
)

// TodoList is the answer with all to-dos.
type TodoList struct {
	Todos []sessions.Todo `json:"todos"`
}

// A TodoEdit is what a to-do is to be; nil means as it is, or as usual for a new
// one.
type TodoEdit struct {
	Title    *string `json:"title,omitempty"`
	Note     *string `json:"note,omitempty"`
	Status   *string `json:"status,omitempty"`
	Priority *string `json:"priority,omitempty"`
	Due      *string `json:"due,omitempty"` // empty means that there is none
}

const statusOpen, statusDone = "open", "done"

// apply returns a to-do with the changes in it.
func (e TodoEdit) apply(t sessions.Todo) sessions.Todo {
	for _, f := range []struct{ to, from *string }{{&t.Title, e.Title}, {&t.Note, e.Note}, {&t.Status, e.Status}, {&t.Priority, e.Priority}, {&t.Due, e.Due}} {
		if f.from != nil {
			*f.to = *f.from
		}
	}
	return t
}

func (s *Server) todoList() (Todos, error) {
	return there(s.Sources.Todos, "to-do list", "start the server with the secretary")
}

func (s *Server) todos(c *call) (TodoList, error) {
	list, err := s.todoList()
	if err != nil {
		return TodoList{}, err
	}
	all, err := list.List(c.Context())
	return TodoList{some(all)}, err
}

func (s *Server) addTodo(c *call, in TodoEdit) (sessions.Todo, error) {
	list, err := s.todoList()
	if err != nil {
		return sessions.Todo{}, err
	}
	return list.Do(c.Context(), c.visit.Actor, "add", in.apply(sessions.Todo{Status: statusOpen}))
}

// changeTodo puts the changes into the to-do as it is. One that is only done is
// completed, which is more than a status.
func (s *Server) changeTodo(c *call, in TodoEdit) (sessions.Todo, error) {
	list, err := s.todoList()
	if err != nil {
		return sessions.Todo{}, err
	}
	t, err := c.todo(list)
	switch {
	case err != nil:
		return sessions.Todo{}, err
	case in == TodoEdit{}:
		return sessions.Todo{}, invalid("change to-do", c.PathValue("id"), "nothing is to be changed", "give a title, note, status, priority or due")
	case in.Status != nil && *in.Status == statusDone && in == TodoEdit{Status: in.Status}:
		return list.Do(c.Context(), c.visit.Actor, "complete", t)
	}
	return list.Do(c.Context(), c.visit.Actor, "update", in.apply(t))
}

func (s *Server) deleteTodo(c *call, _ nothing) (nothing, error) {
	list, err := s.todoList()
	if err != nil {
		return nothing{}, err
	}
	t, err := c.todo(list)
	if err != nil {
		return nothing{}, err
	}
	_, err = list.Do(c.Context(), c.visit.Actor, "delete", t)
	return nothing{}, err
}

// todo finds the one that the path names.
func (c *call) todo(list Todos) (sessions.Todo, error) {
	id, err := number("id", c.PathValue("id"), 1, math.MaxInt64)
	if err != nil {
		return sessions.Todo{}, err
	}
	all, err := list.List(c.Context())
	if err != nil {
		return sessions.Todo{}, err
	}
	for _, t := range all {
		if t.ID == id {
			return t, nil
		}
	}
	return sessions.Todo{}, &fault.Error{Kind: fault.NotFound, Op: "find to-do", Subject: strconv.FormatInt(id, 10), Why: "there is none"}
}

// TaskList is the answer with all tasks of the coding agent.
type TaskList struct {
	Tasks []tasks.Status `json:"tasks"`
}

func (s *Server) agent() (Tasks, error) {
	return there(s.Sources.Tasks, "tasks", "start the server with the coding agent")
}

func (s *Server) tasks(c *call) (TaskList, error) {
	agent, err := s.agent()
	if err != nil {
		return TaskList{}, err
	}
	all, err := agent.List(c.Context())
	return TaskList{some(all)}, err
}

func (s *Server) task(c *call) (tasks.Status, error) {
	agent, err := s.agent()
	if err != nil {
		return tasks.Status{}, err
	}
	return agent.Get(c.Context(), c.PathValue("id"))
}

func order(what string) func(*Server, *call, nothing) (nothing, error) {
	return func(s *Server, c *call, _ nothing) (nothing, error) {
		agent, err := s.agent()
		if err != nil {
			return nothing{}, err
		}
		return nothing{}, agent.Order(c.Context(), c.visit.Actor, c.PathValue("id"), what)
	}
}

// taskEvents shows what happens to one task, or to all.
func (s *Server) taskEvents(c *call) (producer, error) {
	agent, err := s.agent()
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, push func(item)) error {
		from, err := agent.Watch(ctx, c.query.Get("id"))
		if err != nil {
			return err
		}
		push(signOfLife)
		passOn(ctx, from, func(step tasks.Step) { push(item{name: "step", data: step}) })
		return nil
	}, nil
}

// SandboxList is the answer with all sandboxes and containers.
type SandboxList struct {
	Boxes []sandboxes.Sandbox `json:"boxes"`
}

func (s *Server) yard() (Sandboxes, error) {
	return there(s.Sources.Sandboxes, "boxes", "start the server with containers or MCP")
}

func (s *Server) boxes(c *call) (SandboxList, error) {
	yard, err := s.yard()
	if err != nil {
		return SandboxList{}, err
	}
	all, err := yard.List(c.Context())
	return SandboxList{some(all)}, err
}

func (s *Server) box(c *call) (sandboxes.Sandbox, error) {
	yard, err := s.yard()
	if err != nil {
		return sandboxes.Sandbox{}, err
	}
	return yard.Get(c.Context(), c.PathValue("id"))
}

func (s *Server) destroyBox(c *call, _ nothing) (nothing, error) {
	yard, err := s.yard()
	if err != nil {
		return nothing{}, err
	}
	return nothing{}, yard.Destroy(c.Context(), c.visit.Actor, c.PathValue("id"))
}

// Output is a piece of what a job printed.
type Output struct {
	Text     string `json:"text"`
	Next     int64  `json:"next"`     // where the next piece begins
	Redacted int    `json:"redacted"` // places of this piece that have a mark instead of a secret
}

const usualOutput, mostOutput = 64 << 10, 1 << 20

func (s *Server) output(c *call) (Output, error) {
	yard, err := s.yard()
	if err != nil {
		return Output{}, err
	}
	offset, err := c.number("offset", 0, math.MinInt64, math.MaxInt64)
	if err != nil {
		return Output{}, err
	}
	most, err := c.number("most", usualOutput, 1, mostOutput)
	if err != nil {
		return Output{}, err
	}
	text, next, err := yard.Output(c.Context(), c.PathValue("id"), c.PathValue("job"), offset, int(most))
	return Output{text, next, redact.Marks(text)}, err
}

// Spending is what models were used for, and what is left.
type Spending struct {
	Left records.Left  `json:"left"`
	Days []records.Day `json:"days"` // the oldest first
}

const usualDays, mostDays = 30, 3660

func (s *Server) budget(c *call) (Spending, error) {
	purse, err := there(s.Sources.Budget, "budget", "start the server with a record")
	if err != nil {
		return Spending{}, err
	}
	newest, err := c.number("days", usualDays, 1, mostDays)
	if err != nil {
		return Spending{}, err
	}
	days, err := purse.Days(c.Context(), int(newest))
	if err != nil {
		return Spending{}, err
	}
	for i := range days {
		days[i].Models = some(days[i].Models)
	}
	left, err := purse.Left(c.Context())
	return Spending{left, some(days)}, err
}

// Events are some of the record.
type Events struct {
	Events []records.Entry `json:"events"` // the newest first
}

const usualEvents, mostEvents = 100, 1000

func (s *Server) audit() (Record, error) {
	return there(s.Sources.Record, "audit", "start the server with a record")
}

func (s *Server) search(c *call) (Events, error) {
	record, err := s.audit()
	if err != nil {
		return Events{}, err
	}
	q, err := c.wanted()
	if err != nil {
		return Events{}, err
	}
	all, err := record.Search(c.Context(), q)
	return Events{some(all)}, err
}

// wanted reads which events are asked for.
func (c *call) wanted() (q records.Query, err error) {
	q = records.Query{Text: c.query.Get("text"), Actor: c.query.Get("actor"), What: c.query.Get("what"), Command: c.query.Get("command")}
	if kinds := records.Kinds(); q.What != "" && !slices.Contains(kinds, q.What) {
		return q, invalid("read query", "what", fmt.Sprintf("there are no events %q", q.What), "there are "+strings.Join(kinds, ", "))
	}
	if q.Since, err = c.when("since"); err != nil {
		return q, err
	}
	if q.Until, err = c.when("until"); err != nil {
		return q, err
	}
	if q.Before, err = c.number("before", 0, 1, math.MaxInt64); err != nil {
		return q, err
	}
	most, err := c.number("most", usualEvents, 1, mostEvents)
	q.Most = int(most)
	return q, err
}

const usualStats = 30 * 24 * time.Hour

func (s *Server) stats(c *call) (records.Stats, error) {
	record, err := s.audit()
	if err != nil {
		return records.Stats{}, err
	}
	since, err := c.when("since")
	if err != nil {
		return records.Stats{}, err
	}
	if since.IsZero() {
		since = time.Now().Add(-usualStats)
	}
	figures, err := record.Stats(c.Context(), since)
	figures.Commands, figures.Denials = some(figures.Commands), some(figures.Denials)
	figures.Actors, figures.Days = some(figures.Actors), some(figures.Days)
	return figures, err
}

func (s *Server) verifyChain(c *call) (records.Chain, error) {
	record, err := s.audit()
	if err != nil {
		return records.Chain{}, err
	}
	unhurried(c.w) // a long record takes its time
	return record.Verify(c.Context())
}

// Rules are those of a policy.
type Rules struct {
	Rules []records.Rule `json:"rules"`
}

func (s *Server) policy() (Policy, error) {
	return there(s.Sources.Policy, "policy", "start the server with rules")
}

func (s *Server) rules(c *call) (Rules, error) {
	policy, err := s.policy()
	if err != nil {
		return Rules{}, err
	}
	all, err := policy.Rules(c.Context(), c.query.Get("profile"))
	return Rules{some(all)}, err
}

// A Wish is a command that somebody would like to know about.
type Wish struct {
	Profile string `json:"profile,omitempty"` // empty means the usual one
	Command string `json:"command"`
}

// Verdicts are what the rules say, command by command.
type Verdicts struct {
	Verdicts []records.Verdict `json:"verdicts"`
}

func (s *Server) check(c *call, in Wish) (Verdicts, error) {
	policy, err := s.policy()
	if err != nil {
		return Verdicts{}, err
	}
	all, err := policy.Check(c.Context(), in.Profile, in.Command)
	return Verdicts{some(all)}, err
}
