package api

import (
	"math"
	"strconv"

	"hako/internal/app/secretary/sessions"
	"hako/run/fault"
)

// TodoList is the response with all to-dos.
type TodoList struct {
	Todos []sessions.Todo `json:"todos"`
}

// A TodoEdit has the fields to set; nil means unchanged, or the default of a new to-do.
type TodoEdit struct {
	Title    *string `json:"title,omitempty"`
	Note     *string `json:"note,omitempty"`
	Status   *string `json:"status,omitempty"`
	Priority *string `json:"priority,omitempty"`
	Due      *string `json:"due,omitempty"` // empty means none
}

const statusOpen, statusDone = "open", "done"

// apply returns a to-do with the fields set.
func (e TodoEdit) apply(t sessions.Todo) sessions.Todo {
	for _, f := range []struct{ to, from *string }{{&t.Title, e.Title}, {&t.Note, e.Note}, {&t.Status, e.Status},
		{&t.Priority, e.Priority}, {&t.Due, e.Due}} {
		if f.from != nil {
			*f.to = *f.from
		}
	}
	return t
}

func (s *Server) todos() (Todos, error) {
	return available(s.Sources.Todos, "to-do list", "start the server with the secretary")
}

func addTodo(list Todos, c *call, in TodoEdit) (sessions.Todo, error) {
	return list.Do(c.Context(), c.identity.Actor, "add", in.apply(sessions.Todo{Status: statusOpen}))
}

// changeTodo updates a to-do. If only its status becomes done, it is completed, which is more than an update.
func changeTodo(list Todos, c *call, in TodoEdit) (sessions.Todo, error) {
	t, err := c.todo(list)
	switch {
	case err != nil:
		return sessions.Todo{}, err
	case in == TodoEdit{}:
		return sessions.Todo{}, invalid("change to-do", c.PathValue("id"), "nothing is to be changed",
			"give a title, note, status, priority or due")
	case in.Status != nil && *in.Status == statusDone && in == TodoEdit{Status: in.Status}:
		return list.Do(c.Context(), c.identity.Actor, "complete", t)
	}
	return list.Do(c.Context(), c.identity.Actor, "update", in.apply(t))
}

func deleteTodo(list Todos, c *call, _ nothing) (nothing, error) {
	t, err := c.todo(list)
	if err == nil {
		_, err = list.Do(c.Context(), c.identity.Actor, "delete", t)
	}
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
	return sessions.Todo{}, &fault.Error{Kind: fault.NotFound, Op: "find to-do", Subject: strconv.FormatInt(id, 10),
		Why: "there is none"}
}
