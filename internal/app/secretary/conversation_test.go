package secretary

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hako/gate"
	"hako/internal/app/secretary/store"
	"hako/run/fault"
)

// TestConversation: every line ends with one event that has what came of it.
func TestConversation(t *testing.T) {
	var events []Event
	c := NewConversation(func(e Event) { events = append(events, e) })
	c.Use(&Secretary{Model: &says{t: t, answers: []string{`{"text": "はい。"}`, "!"}}})
	st, err := store.Open(filepath.Join(t.TempDir(), "secretary.db"))
	if err == nil {
		err = c.Keep(st, "work")
	}
	if err != nil {
		t.Fatal(err)
	}
	c.OnClose(func() { _ = st.Close() })
	defer c.Close()
	for _, tt := range []struct {
		line, last, text string
		kind             fault.Kind
		fails            bool
	}{
		{line: " hello ", last: Done, text: "はい。"},
		{line: "/help", last: Printed, text: helpReset},
		{line: "/history", last: Printed, text: "user: hello\nassistant: はい。\n"},
		{line: "/hlp", last: Printed, fails: true, kind: fault.Invalid},
		{line: "again", last: Done, fails: true, kind: fault.Unavailable},
	} {
		events = nil
		err := c.Say(t.Context(), tt.line)
		if (err != nil) != tt.fails || err != nil && fault.KindOf(err) != tt.kind {
			t.Errorf("%s: %v", tt.line, err)
		}
		last := events[len(events)-1]
		if last.Type != tt.last || !strings.Contains(last.Text, tt.text) || !errors.Is(last.Err, err) {
			t.Errorf("%s: %+v", tt.line, last)
		}
	}
	if c.Session() != "work" || c.Over() || c.Busy() {
		t.Errorf("%q, over %v, busy %v", c.Session(), c.Over(), c.Busy())
	}
}

// TestConversationThatStays refuses to forget, and reports a budget whose time is up
// as one that begins anew.
func TestConversationThatStays(t *testing.T) {
	c := NewConversation(func(Event) {})
	c.Use(&Secretary{Model: &says{t: t, answers: []string{"!"}}})
	c.NoReset = true
	c.Deadline = func() (time.Time, bool) { return time.Now().Add(-time.Second), true }
	if err := c.Say(t.Context(), "/reset"); fault.KindOf(err) != fault.Invalid {
		t.Error(err)
	}
	if err := c.Say(t.Context(), "hello"); fault.KindOf(err) != fault.Exhausted || !c.Over() {
		t.Error(err)
	}
}

// TestAttended reports a question before it is asked.
func TestAttended(t *testing.T) {
	var asked []string
	c := NewConversation(func(e Event) { asked = append(asked, e.Type+" "+e.Question.Command) })
	if c.Attended(nil) != nil {
		t.Error("nobody is somebody")
	}
	ask := c.Attended(func(_ context.Context, q gate.Question) (gate.Answer, error) {
		asked = append(asked, "ask "+q.Command)
		return gate.Once, nil
	})
	answer, err := ask(t.Context(), gate.Question{Command: "ls"})
	if got := strings.Join(asked, ", "); answer != gate.Once || err != nil || got != "question ls, ask ls" {
		t.Errorf("%v, %v: %s", answer, err, got)
	}
}
