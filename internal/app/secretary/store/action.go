package store

import (
	"fmt"
	"strconv"

	"hako/run/fault"
)

// A TodoAction is a change of the list as a model or a user writes it. Empty fields are unset.
type TodoAction struct {
	Action   string `json:"action"` // add, update, complete or delete
	ID       int64  `json:"id,omitempty"`
	Title    string `json:"title,omitempty"`
	Note     string `json:"note,omitempty"`
	Due      string `json:"due,omitempty"` // "none" removes it
	Priority string `json:"priority,omitempty"`
}

// Do carries out an action and describes what was done.
func (s *Store) Do(a TodoAction) (said string, t Todo, err error) {
	if err := a.check(); err != nil {
		return "", Todo{}, err
	}
	switch a.Action {
	case "add":
		t, err = s.Add(Todo{Title: a.Title, Note: a.Note, Due: a.Due, Priority: a.Priority})
	case "update":
		t, err = s.Update(a.ID, Change{Title: optional(a.Title), Note: optional(a.Note), Due: optional(a.Due),
			Priority: optional(a.Priority)})
	case "complete":
		t, err = s.Complete(a.ID)
	case "delete":
		t, err = s.Delete(a.ID)
	}
	if err != nil {
		return "", Todo{}, err
	}
	return DescribeAction(a.Action, t), t, nil
}

func (a TodoAction) check() error {
	e := &fault.Error{Kind: fault.Invalid, Op: "change to-do list"}
	switch a.Action {
	case "add":
		return nil
	case "update", "complete", "delete":
		if a.ID > 0 {
			return nil
		}
		e.Why, e.Hint = a.Action+" needs the id of a to-do", "take it from the list"
	default:
		e.Why, e.Hint = "there is no action "+strconv.Quote(a.Action), "it is one of add, update, complete, delete"
	}
	return e
}

func optional(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// DescribeAction describes a completed action.
func DescribeAction(action string, t Todo) string {
	done := map[string]string{"add": "added", "update": "updated", "complete": "completed", "delete": "deleted"}[action]
	return fmt.Sprintf("%s to-do %d: %s", done, t.ID, t.Title)
}
