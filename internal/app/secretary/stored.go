package secretary

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"

	"hako/internal/app/secretary/store"
)

// resumedMessages is the number of messages loaded when a conversation is resumed.
const resumedMessages = 200

// Keep stores the conversation and the to-do list in st, and resumes the conversation of that name; an empty
// name starts a new one.
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
	old, err := st.Messages(s.ID, resumedMessages)
	if err != nil {
		return err
	}
	c.Resume(old)
	return nil
}

// Session returns the name of the conversation in the store, or "" if it is not stored.
func (c *Conversation) Session() string {
	if c.session == nil {
		return ""
	}
	return cmp.Or(c.session.Name, strconv.FormatInt(c.session.ID, 10))
}

// Append implements [History].
func (c *Conversation) Append(_ context.Context, m Message) error {
	_, err := c.store.Append(c.session.ID, m)
	return err
}

type storedTodos struct{ *store.Store }

func (s storedTodos) Do(_ context.Context, a TodoAction) (string, error) {
	said, _, err := s.Store.Do(a)
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
