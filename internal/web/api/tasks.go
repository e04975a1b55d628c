package api

import (
	"context"

	"hako/internal/app/coder/tasks"
)

// TaskList is the answer with all tasks of the coding agent.
type TaskList struct {
	Tasks []tasks.Status `json:"tasks"`
}

func (s *Server) agent() (Tasks, error) {
	return available(s.Sources.Tasks, "tasks", "start the server with the coding agent")
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
		return nothing{}, agent.Order(c.Context(), c.identity.Actor, c.PathValue("id"), what)
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
