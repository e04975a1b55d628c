package console

import (
	"context"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/a-h/templ"

	"hako/internal/app/questions"
	"hako/internal/app/secretary/sessions"
)

// secretaryView is the content of the page.
type secretaryView struct {
	Talks    bool // there is a secretary
	Speaks   bool // aloud
	Session  string
	Busy     bool                 // a turn is running
	Asks     []questions.Question // questions of the turn
	Sessions []sessions.Session
	Messages []sessions.Message
	Lists    bool // there is a to-do list
	Lanes    []todoColumn
	Err      error
	ListErr  error
}

// A todoColumn has the to-dos of one priority, or those that are done.
type todoColumn struct {
	Status, Priority string
	Todos            []sessions.Todo
}

// Name is its key in the catalogue.
func (l todoColumn) Name() string {
	if l.Status == "done" {
		return "done"
	}
	return l.Priority
}

// todoColumns sorts to-dos into columns.
func todoColumns(all []sessions.Todo) []todoColumn {
	some := []todoColumn{{Status: "open", Priority: "high"}, {Status: "open", Priority: "normal"},
		{Status: "open", Priority: "low"}, {Status: "done"}}
	for _, t := range all {
		i := 1
		switch {
		case t.Status == "done":
			i = 3
		case t.Priority == "high":
			i = 0
		case t.Priority == "low":
			i = 2
		}
		some[i].Todos = append(some[i].Todos, t)
	}
	return some
}

const newestMessages = 100

func (c *console) drawSecretary(ctx context.Context, p *page, q url.Values) templ.Component {
	v := secretaryView{Talks: c.Sources.Secretary != nil, Lists: c.Sources.Todos != nil, Session: q.Get("session")}
	if v.Talks {
		v.Err = c.converse(ctx, &v, q.Has("session"))
	}
	if v.Lists {
		todos, err := c.Sources.Todos.List(ctx)
		v.Lanes, v.ListErr = todoColumns(todos), err
	}
	return secretaryPage(p, v)
}

// converse loads the named conversation, or the newest.
func (c *console) converse(ctx context.Context, v *secretaryView, named bool) (err error) {
	if v.Sessions, err = c.Sources.Secretary.Sessions(ctx); err != nil {
		return err
	}
	if !named && len(v.Sessions) > 0 {
		v.Session = v.Sessions[0].ID
	}
	if i := slices.IndexFunc(v.Sessions, func(s sessions.Session) bool { return s.ID == v.Session }); i >= 0 &&
		v.Sessions[i].Busy {
		v.Busy, v.Asks = true, c.asks(ctx, v.Session)
	}
	if v.Speaks, err = c.Sources.Secretary.Speaks(ctx); err != nil || v.Session == "" {
		return err
	}
	v.Messages, err = c.Sources.Secretary.Messages(ctx, v.Session, newestMessages)
	return err
}

// asks returns the pending questions of a conversation.
func (c *console) asks(ctx context.Context, session string) []questions.Question {
	if c.Sources.Approvals == nil {
		return nil
	}
	all, _ := c.Sources.Approvals.Pending(ctx) // the page of approvals shows the error
	return slices.DeleteFunc(all, func(q questions.Question) bool { return q.Session != session })
}

// outcomeOf describes the outcome of a command, with a class of the style sheet.
func (p *page) outcomeOf(o sessions.Outcome) (words, class string) {
	if o.Denied != "" {
		return p.T("js.denied"), "e-failed"
	}
	words, class = p.T("js.exit", count(o.Exit)), "e-good"
	if o.Exit != 0 {
		class = "e-failed"
	}
	if o.Seconds > 0 {
		words += " · " + formatDuration(int64(o.Seconds*1e6))
	}
	return words, class
}

func (p *page) outcomeText(o sessions.Outcome) string  { words, _ := p.outcomeOf(o); return words }
func (p *page) outcomeClass(o sessions.Outcome) string { _, class := p.outcomeOf(o); return class }

// outputOf is the whole output of a command.
func outputOf(o sessions.Outcome) string {
	return strings.TrimPrefix(strings.TrimSuffix(o.Stdout, "\n")+"\n"+o.Stderr, "\n")
}

// foldedOutput is the length above which an output is folded.
const foldedOutput = 2000

func todoRoute(t sessions.Todo) string { return todosRoute + "/" + strconv.FormatInt(t.ID, 10) }

// roleClass is the class of a message, by its role.
func roleClass(m sessions.Message) string {
	switch m.Role {
	case "user", "assistant":
		return m.Role
	}
	return "system"
}

func count(n int) string { return strconv.Itoa(n) }
