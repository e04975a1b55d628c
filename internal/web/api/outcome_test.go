package api

import (
	"context"
	"strings"
	"testing"
	"time"

	"hako/internal/app/secretary/sessions"
	"hako/internal/testload"
	"hako/run/fault"
)

// outcomes are those on record, and forgets them.
func (w *world) outcomes() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := strings.Join(w.came, "; ")
	w.came = nil
	return all
}

// What came of a change is on record, not only that somebody wanted it.
func TestOutcomesAreOnRecord(t *testing.T) {
	h := build(t)
	h.todos = []sessions.Todo{{ID: 4, Title: "milk"}}
	id, _ := h.ask()
	c := h.browser(h.operator)
	if got := h.outcomes(); got != "log in: <nil>" {
		t.Errorf("login: %s", got)
	}
	answer := "/api/v1/approvals/" + id + "/answer"
	for _, step := range []struct {
		method, path, body string
		want               string
	}{
		{"PATCH", "/api/v1/todos/4", `{"title":"y"}`, "change to-do 4: <nil>"},
		{"PATCH", "/api/v1/todos/5", `{"title":"y"}`, "change to-do 5: find to-do 5: there is none"},
		{"PATCH", "/api/v1/todos/4", `{"title":7}`, ""}, // nobody can tell what was wanted
		{"DELETE", "/api/todos/5", "", "delete to-do 5: find to-do 5: there is none"},
		{"POST", answer, `{"answer":"deny"}`, "answer question " + id + " deny: git push: <nil>"},
		{"POST", answer, `{"answer":"once"}`, "answer question " + id + " once: answer question " + id +
			": somebody has answered it already"},
		{"POST", "/api/v1/secretary/chat", `{"session":"s","text":"x"}`, "talk to secretary s: <nil>"},
		{"GET", "/api/v1/todos", "", ""},
	} {
		var body any
		if step.body != "" {
			body = step.body
		}
		c.do(c.request(step.method, step.path, body))
		if got := h.outcomes(); got != step.want {
			t.Errorf("%s %s %s: %s\nwant %s", step.method, step.path, step.body, got, step.want)
		}
	}
}

// A conversation fails after its stream has begun, and the record says so.
func TestOutcomesOfConversations(t *testing.T) {
	h := build(t)
	c := h.client(h.operator)
	h.say = func(context.Context, func(sessions.Turn)) error {
		return &fault.Error{Kind: fault.Unavailable, Op: "ask model", Why: "nobody answers"}
	}
	c.do(c.request("POST", "/api/v1/secretary/chat", `{"session":"s","text":"x"}`))
	if got := h.outcomes(); got != "talk to secretary s: ask model: nobody answers" {
		t.Error(got)
	}
	begun := make(chan struct{})
	h.say = func(ctx context.Context, _ func(sessions.Turn)) error {
		close(begun)
		<-ctx.Done()
		return context.Cause(ctx)
	}
	ctx, leave := context.WithCancel(t.Context())
	go func() {
		<-begun
		leave()
	}()
	_, _ = c.http.Do(c.request("POST", "/api/chat", `{"message":"x"}`).WithContext(ctx))
	for end := time.Now().Add(testload.Bound(5 * time.Second)); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if got := h.outcomes(); got == "talk to secretary: answer: who asked did not wait for the answer" {
			return
		} else if got != "" {
			t.Fatal(got)
		}
	}
	t.Error("what came of it is not on record")
}
