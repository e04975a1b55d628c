package sessions

import (
	"context"
	"strconv"
	"strings"
	"time"

	"hako/internal/app/access"
	"hako/internal/app/secretary/store"
	"hako/internal/redact"
	"hako/run/fault"
)

// Todos is a [hako/internal/web/api.Todos] over the secretary's list. Store is required.
type Todos struct {
	Store   *store.Store
	Secrets *redact.Set      // redacted before storing; nil means only those recognized by their form
	Now     func() time.Time // nil means time.Now
}

// List implements [hako/internal/web/api.Todos]: open ones first, then by due date, then by priority.
func (l *Todos) List(ctx context.Context) ([]Todo, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	all, err := l.Store.List(store.Filter{})
	shown := make([]Todo, len(all))
	for i, t := range all {
		shown[i] = l.shown(t)
	}
	return shown, err
}

func (l *Todos) shown(t store.Todo) Todo {
	return Todo{ID: t.ID, Title: t.Title, Note: t.Note, Status: t.Status, Priority: t.Priority, Due: t.Due,
		Overdue: t.Overdue(l.now()), Created: t.Created, Updated: t.Updated}
}

func (l *Todos) now() time.Time {
	if l.Now != nil {
		return l.Now()
	}
	return time.Now()
}

// Do implements [hako/internal/web/api.Todos]. An update fails if the to-do changed after t.Updated, unless
// that is zero.
func (l *Todos) Do(ctx context.Context, who access.Actor, action string, t Todo) (Todo, error) {
	switch {
	case ctx.Err() != nil:
		return Todo{}, context.Cause(ctx)
	case who.Role != access.Operator:
		return Todo{}, &fault.Error{Kind: fault.Denied, Op: "change to-do list", Why: "a reader may look but not change",
			Hint: "log in with the token of an operator"}
	}
	t.Title, t.Note = l.Secrets.Text(t.Title), l.Secrets.Text(t.Note)
	done, err := l.do(action, t)
	if err != nil {
		return Todo{}, err
	}
	return l.shown(done), nil
}

func (l *Todos) do(action string, t Todo) (store.Todo, error) {
	if action != "add" && t.ID < 1 {
		return store.Todo{}, &fault.Error{Kind: fault.Invalid, Op: "change to-do list", Subject: strconv.FormatInt(t.ID, 10),
			Why: "it is not the number of a to-do", Hint: "take it from the list"}
	}
	switch action {
	case "add":
		return l.add(t)
	case "update":
		return l.update(t)
	case "complete":
		return l.Store.Complete(t.ID)
	case "delete":
		return l.Store.Delete(t.ID)
	}
	return store.Todo{}, &fault.Error{Kind: fault.Invalid, Op: "change to-do list", Why: "there is no action " +
		strconv.Quote(action), Hint: "it is one of add, update, complete, delete"}
}

// add stores a new to-do; the default status is open.
func (l *Todos) add(t Todo) (store.Todo, error) {
	switch t.Status {
	case "", store.StatusOpen, store.StatusDone:
	default:
		return store.Todo{}, &fault.Error{Kind: fault.Invalid, Op: "add to-do", Why: "there is no status " +
			strconv.Quote(t.Status), Hint: "it is one of open, done"}
	}
	added, err := l.Store.Add(store.Todo{Title: t.Title, Note: t.Note, Due: t.Due, Priority: t.Priority})
	if err != nil || t.Status != store.StatusDone {
		return added, err
	}
	return l.Store.Complete(added.ID)
}

// defaultPriority is the default.
const defaultPriority = "normal"

// update sets all fields of a to-do.
func (l *Todos) update(t Todo) (store.Todo, error) {
	if strings.TrimSpace(t.Priority) == "" {
		t.Priority = defaultPriority
	}
	return l.Store.Update(t.ID, store.Change{Title: &t.Title, Note: &t.Note, Due: &t.Due, Priority: &t.Priority,
		Status: &t.Status, Seen: t.Updated})
}
