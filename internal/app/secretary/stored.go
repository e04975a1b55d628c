package secretary

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"

	"hako/internal/app/secretary/store"
	"hako/llm"
)

// remembered is how many messages of a conversation are taken up again.
const remembered = 200

// Keep keeps the conversation and the to-do list in a store, and takes up the
// conversation of that name; an empty name begins a new one.
func (c *Conversation) Keep(st *store.Store, name string) (err error) {
	c.store, c.Todos = st, storedTodos{st}
	var s store.Session
	if name == "" {
		s, err = st.NewSession("")
	} else {
		s, err = st.Resume(name)
	}
	if err != nil {
		return err
	}
	c.session, c.History = &s, c
	old, err := st.Messages(s.ID, remembered)
	if err != nil {
		return err
	}
	messages := make([]Message, len(old))
	for i, o := range old {
		messages[i] = Message{Role: llm.Role(o.Role), Text: o.Text, Meta: o.Meta}
	}
	c.Resume(messages)
	return nil
}

// Session is the name of the conversation in the store; empty means that it is not
// kept.
func (c *Conversation) Session() string {
	if c.session == nil {
		return ""
	}
	return cmp.Or(c.session.Name, strconv.FormatInt(c.session.ID, 10))
}

// Append implements [History].
func (c *Conversation) Append(_ context.Context, m Message) error {
	_, err := c.store.Append(c.session.ID, store.Message{Role: string(m.Role), Text: m.Text, Meta: m.Meta})
	return err
}

// storedTodos are those of a store.
type storedTodos struct{ *store.Store }

// Do implements [Todos].
func (s storedTodos) Do(_ context.Context, a TodoAction) (string, error) {
	said, _, err := s.Store.Do(store.TodoAction(a))
	return said, err
}

// Open implements [Todos].
func (s storedTodos) Open(context.Context) (string, error) {
	todos, err := s.List(store.Filter{Status: store.StatusOpen})
	var b strings.Builder
	for _, t := range todos {
		fmt.Fprintf(&b, "#%d %s", t.ID, t.Title)
		if t.Due != "" {
			fmt.Fprintf(&b, " (%s)", t.Due)
		}
		if t.Priority != "normal" {
			fmt.Fprintf(&b, " [%s]", t.Priority)
		}
		b.WriteByte('\n')
	}
	return b.String(), err
}
