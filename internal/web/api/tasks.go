package api

import (
	"context"
	"math"

	"hako/internal/app/coder/tasks"
	"hako/internal/app/sandboxes"
	"hako/internal/redact"
)

// TaskList is the response with all tasks of the coding agent.
type TaskList struct {
	Tasks []tasks.Status `json:"tasks"`
}

func (s *Server) tasks() (Tasks, error) {
	return available(s.Sources.Tasks, "tasks", "start the server with the coding agent")
}

func task(from Tasks, c *call) (tasks.Status, error) { return from.Get(c.Context(), c.PathValue("id")) }

func order(what string) func(Tasks, *call, nothing) (nothing, error) {
	return func(to Tasks, c *call, _ nothing) (nothing, error) {
		return nothing{}, to.Order(c.Context(), c.identity.Actor, c.PathValue("id"), what)
	}
}

// taskEvents streams the steps of one task, or of all.
func taskEvents(of Tasks, c *call) (producer, error) {
	return func(ctx context.Context, push func(item)) error {
		from, err := of.Watch(ctx, c.query.Get("id"))
		if err != nil {
			return err
		}
		push(keepAlive)
		forward(ctx, from, func(step tasks.Step) { push(item{name: "step", data: step}) })
		return nil
	}, nil
}

// SandboxList is the response with all sandboxes and containers.
type SandboxList struct {
	Boxes []sandboxes.Sandbox `json:"boxes"`
}

func (s *Server) sandboxes() (Sandboxes, error) {
	return available(s.Sources.Sandboxes, "boxes", "start the server with containers or MCP")
}

func sandbox(from Sandboxes, c *call) (sandboxes.Sandbox, error) {
	return from.Get(c.Context(), c.PathValue("id"))
}

func destroySandbox(in Sandboxes, c *call, _ nothing) (nothing, error) {
	return nothing{}, in.Destroy(c.Context(), c.identity.Actor, c.PathValue("id"))
}

// Output is a page of the output of a job.
type Output struct {
	Text     string `json:"text"`
	Next     int64  `json:"next"`     // where the next page begins
	Redacted int    `json:"redacted"` // how often a mark stands in the place of a secret
}

const defaultOutput, maxOutput = 64 << 10, 1 << 20

func jobOutput(from Sandboxes, c *call) (Output, error) {
	offset, err := c.number("offset", 0, math.MinInt64, math.MaxInt64)
	if err != nil {
		return Output{}, err
	}
	most, err := c.number("most", defaultOutput, 1, maxOutput)
	if err != nil {
		return Output{}, err
	}
	text, next, err := from.Output(c.Context(), c.PathValue("id"), c.PathValue("job"), offset, int(most))
	return Output{text, next, redact.Marks(text)}, err
}
