package api

import (
	"context"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"hako/internal/app/access"
	"hako/internal/app/secretary/sessions"
	"hako/run/fault"
)

// What is wrong with a body is said in words of JSON.
func TestWrongBodies(t *testing.T) {
	c := build(t)
	for _, w := range []struct{ method, path, body, why string }{
		{"POST", "/api/v1/todos", `[]`, "it must be an object, not a list"},
		{"POST", "/api/v1/todos", `"x"`, "it must be an object, not a text"},
		{"POST", "/api/v1/todos", `{"title":5}`, "title must be a text, not a number"},
		{"POST", "/api/v1/todos", `{"title":-5.5e3}`, "title must be a text, not a number"},
		{"PATCH", "/api/v1/todos/4", `{"note":["x"]}`, "note must be a text, not a list"},
		{"PUT", "/api/v1/secretary/voice", `{"on":"x"}`, "on must be true or false, not a text"},
		{"POST", "/api/v1/secretary/chat", `{"text":{"a":1}}`, "text must be a text, not an object"},
		{"POST", "/api/v1/approvals/a/answer", `{"answer":5}`, "answer must be a text, not a number"},
		{"POST", "/api/v1/policy/check", `{"command":true}`, "command must be a text, not true or false"},
		{"POST", "/api/v1/tasks/a/stop", `7`, "it must be an object, not a number"},
		{"POST", "/api/chat", `{"message":"x","play_audio":1}`, "play_audio must be true or false, not a number"},
		{"POST", "/api/todos", `{"due_date":5}`, "due_date must be a text, not a number"},
		{"PATCH", "/api/todos/4", `[]`, "it must be an object, not a list"},
		{"POST", "/login", `{"token":[]}`, "token must be a text, not a list"},
		{"POST", "/api/v1/todos", `{"title":"x"`, "it breaks off"},
		{"POST", "/api/v1/todos", `{title:"x"}`,
			"it is not JSON: invalid character 't' looking for beginning of object key string"},
	} {
		if e := c.client(c.operator).refused(400, w.method, w.path, w.body); e.Why != w.why || e.Hint == "" {
			t.Errorf("%s %s %s: %q, want %q; hint %q", w.method, w.path, w.body, e.Why, w.why, e.Hint)
		}
	}
}

// No refusal of any route tells of the language that it is written in.
func TestNoErrorSpeaksGo(t *testing.T) {
	h := build(t)
	n := 0
	for _, r := range h.server.routes() {
		if r.method == http.MethodGet {
			continue
		}
		for _, body := range r.wrongBodies() {
			c := h.client(h.operator)
			status, _, text := c.do(c.request(r.method, r.example(), body))
			if status < 300 || strings.Contains(text, "Go ") || strings.Contains(text, "unmarshal") ||
				strings.Contains(text, "server.") || strings.Contains(text, "source.") {
				t.Errorf("%s %s %s: %d %s", r.method, r.path, body, status, text)
			}
			n++
		}
	}
	if n < 200 {
		t.Errorf("%d bodies", n)
	}
}

// wrongBodies are such as a route does not take.
func (r route) wrongBodies() []string {
	bodies := []string{`[]`, `5`, `"x"`, `true`, `{`, `{"`, `{"a"`, `{}{}`, `x`, `{"zz":1}`}
	if r.in == nil {
		return bodies
	}
	for f := range r.in.Fields() {
		for _, value := range []string{`5`, `1e99`, `[]`, `{}`, `["x"]`, `{"a":{}}`, `"`, `nul`} {
			bodies = append(bodies, fmt.Sprintf(`{%q:%s}`, jsonName(f), value))
		}
	}
	return bodies
}

func TestWanted(t *testing.T) {
	for _, c := range []struct {
		of   any
		want string
	}{{"", "a text"}, {access.Operator, "a text"}, {true, "true or false"}, {7, "a whole number"},
		{int64(7), "a whole number"}, {0.5, "a number"}, {[]string{}, "a list"}, {map[string]int{}, "an object"},
		{Voice{}, "an object"}, {'x', "something else"}} {
		if got := jsonTypeOf(reflect.TypeOf(c.of)); got != c.want {
			t.Errorf("%T: %s", c.of, got)
		}
	}
}

// A silent is a secretary to whom nobody has said anything; some conversations
// have a name all the same.
type silent struct {
	sec
	busy bool
}

func (s silent) Messages(_ context.Context, session string, _ int) ([]sessions.Message, error) {
	if session == "none" {
		return nil, &fault.Error{Kind: fault.NotFound, Op: "find session", Subject: session, Why: "there is none"}
	}
	return nil, nil
}

func (s silent) Sessions(context.Context) ([]sessions.Session, error) {
	if !s.busy {
		return nil, nil
	}
	return []sessions.Session{{ID: "w1", Busy: true}}, nil
}

// Only a conversation that there is can be stopped: one that only has a name, since
// its first turn failed, is not listed either.
func TestStopOfNothing(t *testing.T) {
	for _, c := range []struct {
		session string
		busy    bool
		status  int
	}{{"w1", false, 404}, {"none", false, 404}, {"w1", true, 204}, {"w2", true, 404}} {
		h := build(t, func(s *Server) { s.Sources.Secretary = silent{s.Sources.Secretary.(sec), c.busy} })
		o := h.client(h.operator)
		path := "/api/v1/secretary/sessions/" + c.session + "/stop"
		if c.status == 204 {
			o.want(204, nil, "POST", path, nil)
		} else if e := o.refused(c.status, "POST", path, nil); e.Kind != "not_found" || e.Subject != c.session {
			t.Errorf("%+v: %+v", c, e)
		}
		if done, _ := h.was(); done != "ann stops "+c.session { // in any case: a turn may begin meanwhile
			t.Errorf("%+v: %q", c, done)
		}
	}
}

// Who shows a token is a program, which is not sent to the login.
func TestProgramsAreNotSentToTheLogin(t *testing.T) {
	h := build(t, func(s *Server) {
		s.Pages = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if _, _, ok := s.Session(r); !ok && r.URL.Path != "/login" {
				http.Redirect(w, r, "/login?next=/nope", http.StatusSeeOther)
				return
			}
			w.Write([]byte("page"))
		})
	})
	for _, token := range []string{h.operator, h.reader} {
		if e := h.client(token).refused(404, "GET", "/nope", nil); e.Kind != "not_found" || e.Subject != "/nope" ||
			!strings.Contains(e.Hint, "openapi.yaml") {
			t.Errorf("%+v", e)
		}
	}
	if status, header, body := h.client(h.operator).do(h.client(h.operator).request("HEAD", "/nope",
		nil)); status != 404 || body != "" || header.Get("Location") != "" {
		t.Errorf("%d %v %s", status, header, body)
	}
	wrong := h.client("wrong")
	for range 30 { // tries are counted here as well
		if status, _, _ := wrong.do(wrong.request("GET", "/nope", nil)); status == 429 {
			break
		} else if status != 401 {
			t.Fatalf("a wrong token: %d", status)
		}
	}
	wrong.refused(429, "GET", "/nope", nil)
	h.client(h.operator).refused(404, "GET", "/nope", nil)

	basic := h.client("")
	basic.header.Set("Authorization", "Basic YTpi") // of a proxy
	both := h.browser(h.reader)
	both.header.Set("Authorization", "Bearer "+h.operator)
	for name, c := range map[string]struct {
		*client
		path   string
		status int
	}{"nobody": {h.client(""), "/nope", 303}, "a proxy": {basic, "/nope", 303},
		"a browser": {h.browser(h.reader), "/nope", 200}, "both": {both, "/nope", 200},
		"the login": {h.client(h.operator), "/login", 200}} {
		if status, header, body := c.do(c.request("GET", c.path, nil)); status != c.status ||
			(status == 303) != strings.HasPrefix(header.Get("Location"), "/login") {
			t.Errorf("%s: %d %v %s", name, status, header, body)
		}
	}
}
