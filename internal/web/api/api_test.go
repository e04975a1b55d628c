package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"hako/gate"
	"hako/internal/app/records"
	"hako/internal/app/secretary/sessions"
	"hako/run/fault"
)

// compact is JSON without blanks, for comparing.
func compact(t *testing.T, text string) string {
	var b bytes.Buffer
	if err := json.Compact(&b, []byte(text)); err != nil {
		t.Errorf("%v in %s", err, text)
	}
	return b.String()
}

func TestLooking(t *testing.T) {
	h := build(t)
	h.todos = []sessions.Todo{{ID: 4, Title: "<b>&", Status: "open", Priority: "high"}}
	for path, want := range map[string]string{
		"/health":                    `{"status":"ok"}`,
		"/healthz":                   `{"status":"ok"}`,
		"/api/v1/health":             `{"status":"ok"}`,
		"/api/v1/approvals":          `{"questions":[]}`,
		"/api/v1/secretary/sessions": `{"sessions":[{"id":"a","title":"b","updated":"0001-01-01T00:00:00Z","busy":false}]}`,
		"/api/v1/secretary/sessions/a%2Fb/messages":      `{"messages":[{"role":"user","text":"a/b100","time":"0001-01-01T00:00:00Z"}]}`,
		"/api/v1/secretary/sessions/a/messages?newest=7": `{"messages":[{"role":"user","text":"a7","time":"0001-01-01T00:00:00Z"}]}`,
		"/api/v1/todos": `{"todos":[{"id":4,"title":"<b>&","status":"open","priority":"high"}]}`,
		"/api/v1/tasks": `{"tasks":[]}`,
		"/api/v1/tasks/github%2Fo%2Fr%2Fissue%2F12": `{"id":"github/o/r/issue/12","name":"","title":"","state":"","tokens":0,"cost_usd":0,"changed":"0001-01-01T00:00:00Z"}`,
		"/api/v1/boxes":                                                 `{"boxes":[{"id":"b1","kind":"virtual","state":"","created":"0001-01-01T00:00:00Z"}]}`,
		"/api/v1/boxes/b2":                                              `{"id":"b2","kind":"","state":"","created":"0001-01-01T00:00:00Z"}`,
		"/api/v1/boxes/b/jobs/j/output":                                 `{"text":"b j 0 65536","next":3,"redacted":0}`,
		"/api/v1/boxes/b/jobs/j/output?offset=9&most=5":                 `{"text":"b j 9 5","next":12,"redacted":0}`,
		"/api/v1/boxes/b/jobs/j/output?offset=-200":                     `{"text":"b j -200 65536","next":-197,"redacted":0}`,
		"/api/v1/budget":                                                `{"left":{"tokens":5,"total":7},"days":[{"day":"30","models":[]}]}`,
		"/api/v1/budget?days=2":                                         `{"left":{"tokens":5,"total":7},"days":[{"day":"2","models":[]}]}`,
		"/api/v1/audit":                                                 `{"events":[{"seq":3,"time":"0001-01-01T00:00:00Z","what":"asked","text":"{\"most\":100}"}]}`,
		"/api/v1/audit?text=a+b&actor=c&since=2026-01-02&before=9":      `{"events":[{"seq":3,"time":"0001-01-01T00:00:00Z","what":"asked","text":"{\"text\":\"a b\",\"actor\":\"c\",\"since\":\"2026-01-02T00:00:00Z\",\"before\":9,\"most\":100}"}]}`,
		"/api/v1/audit?what=asked&command=y&until=2026-01-02T03:04:05Z": `{"events":[{"seq":3,"time":"0001-01-01T00:00:00Z","what":"asked","text":"{\"what\":\"asked\",\"command\":\"y\",\"until\":\"2026-01-02T03:04:05Z\",\"most\":100}"}]}`,
		"/api/v1/audit/stats?since=1970-01-01T00:00:09Z":                `{"requests":9,"failed":0,"denied":0,"p50_us":0,"p95_us":0,"commands":[],"denials":[],"actors":[],"days":[]}`,
		"/api/v1/audit/verify":                                          `{"whole":true,"events":9}`,
		"/api/v1/policy/rules?profile=p":                                `{"rules":[{"effect":"allow","words":"ls","where":"p"}]}`,
		"/api/todos":                                                    `[{"id":4,"title":"<b>&","description":"","status":"pending","due_date":null,"created_at":"0001-01-01T00:00:00Z","updated_at":"0001-01-01T00:00:00Z"}]`,
		"/api/bash/pending":                                             `{"requests":[]}`,
	} {
		for _, c := range []*client{h.client(h.reader), h.browser(h.reader)} {
			if status, _, body := c.do(c.request("GET", path, nil)); status != 200 || compact(t, body) != want {
				t.Errorf("%s: %d %s", path, status, body)
			}
		}
	}
	if _, record := h.was(); record != "" {
		t.Errorf("looking is put on record: %s", record)
	}
}

func TestStatsOfAMonth(t *testing.T) {
	h := build(t)
	var got records.Stats
	h.client(h.reader).want(200, &got, "GET", "/api/v1/audit/stats", nil)
	if days := time.Since(time.Unix(got.Requests, 0)).Hours() / 24; days < 29.9 || days > 30.1 {
		t.Errorf("since %v days", days)
	}
}

func TestChanging(t *testing.T) {
	h := build(t)
	h.todos = []sessions.Todo{{ID: 4, Title: "milk", Note: "2", Status: "open", Priority: "low", Due: "2026-01-02"}}
	for _, c := range []struct {
		method, path, body string
		status             int
		answer             string
		done, record       string
	}{
		{"POST", "/api/v1/tasks/github%2Fo%2Fr%2Fissue%2F12/pause", "", 204, "", "ann pause github/o/r/issue/12",
			"ann: pause task github/o/r/issue/12"},
		{"POST", "/api/v1/tasks/a/resume", "{}", 204, "", "ann resume a", "ann: resume task a"},
		{"POST", "/api/v1/tasks/a/stop", "", 204, "", "ann stop a", "ann: stop task a"},
		{"DELETE", "/api/v1/boxes/b", "", 204, "", "ann destroy b", "ann: destroy box b"},
		{"POST", "/api/v1/secretary/sessions/a%20b/stop", "", 204, "", "ann stops a b", "ann: stop secretary a b"},
		{"PUT", "/api/v1/secretary/voice", `{"on":true}`, 200, `{"on":true}`, "voice true", "ann: switch voice on"},
		{"POST", "/api/v1/todos", `{"title":"x","due":"2026-02-02"}`, 201,
			`{"id":0,"title":"x","status":"open","priority":"","due":"2026-02-02"}`, "ann add 0 x//open//2026-02-02",
			"ann: add to-do"},
		{"PATCH", "/api/v1/todos/4", `{"due":"","priority":"high"}`, 200,
			`{"id":4,"title":"milk","note":"2","status":"open","priority":"high"}`, "ann update 4 milk/2/open/high/",
			"ann: change to-do 4"},
		{"PATCH", "/api/v1/todos/4", `{"status":"done"}`, 200,
			`{"id":4,"title":"milk","note":"2","status":"open","priority":"low","due":"2026-01-02"}`,
			"ann complete 4 milk/2/open/low/2026-01-02", "ann: change to-do 4"},
		{"PATCH", "/api/v1/todos/4", `{"status":"done","title":"y"}`, 200,
			`{"id":4,"title":"y","note":"2","status":"done","priority":"low","due":"2026-01-02"}`,
			"ann update 4 y/2/done/low/2026-01-02", "ann: change to-do 4"},
		{"PATCH", "/api/v1/todos/4", `{}`, 400, "", "", "ann: change to-do 4"},
		{"PATCH", "/api/v1/todos/5", `{"title":"y"}`, 404, "", "", "ann: change to-do 5"},
		{"PATCH", "/api/v1/todos/x", `{"title":"y"}`, 400, "", "", "ann: change to-do x"},
		{"DELETE", "/api/v1/todos/4", "", 204, "", "ann delete 4 milk/2/open/low/2026-01-02", "ann: delete to-do 4"},
		{"DELETE", "/api/v1/todos/5", "", 404, "", "", "ann: delete to-do 5"},
		{"POST", "/api/v1/policy/check", `{"command":"rm x","profile":"p"}`, 200,
			`{"verdicts":[{"command":"rm x","effect":"deny","why":"p"}]}`, "", ""},
		{"POST", "/api/todos", `{"title":"x","description":"d","due_date":"2026-02-02","status":"pending"}`, 200,
			`{"id":0,"title":"x","description":"d","status":"pending","due_date":"2026-02-02","created_at":"0001-01-01T00:00:00Z","updated_at":"0001-01-01T00:00:00Z"}`, "ann add 0 x/d/open//2026-02-02", "ann: add to-do"},
		{"PATCH", "/api/todos/4", `{"status":"done","title":"z"}`, 200,
			`{"id":4,"title":"z","description":"2","status":"done","due_date":"2026-01-02","created_at":"0001-01-01T00:00:00Z","updated_at":"0001-01-01T00:00:00Z"}`, "ann update 4 z/2/done/low/2026-01-02", "ann: change to-do 4"},
		{"PATCH", "/api/todos/4", `{"due_date":null}`, 200,
			`{"id":4,"title":"milk","description":"2","status":"pending","due_date":null,"created_at":"0001-01-01T00:00:00Z","updated_at":"0001-01-01T00:00:00Z"}`, "ann update 4 milk/2/open/low/", "ann: change to-do 4"},
		{"PATCH", "/api/todos/4", `{"title":7}`, 400, "", "", ""},
		{"PATCH", "/api/todos/4", `{"status":"lost"}`, 400, "", "", "ann: change to-do 4"},
		{"DELETE", "/api/todos/4", "", 200, `{"deleted":true}`, "ann delete 4 milk/2/open/low/2026-01-02",
			"ann: delete to-do 4"},
	} {
		for _, who := range []*client{h.client(h.operator), h.browser(h.operator)} {
			var body any
			if c.body != "" {
				body = c.body
			}
			status, _, answer := who.do(who.request(c.method, c.path, body))
			if done, record := h.was(); status != c.status || c.answer != "" && compact(t, answer) != c.answer ||
				done != c.done || record != c.record {
				t.Errorf("%s %s %s: %d %s; %s; %s", c.method, c.path, c.body, status, answer, done, record)
			}
		}
	}
}

// A switch must show how it is before somebody presses it.
func TestVoiceIsSeen(t *testing.T) {
	h := build(t)
	for _, on := range []bool{true, false} {
		h.voice = on
		var statusRecorder Voice
		if h.client(h.reader).want(200, &statusRecorder, "GET", "/api/v1/secretary/voice", nil); statusRecorder.On != on {
			t.Errorf("%v is seen as %v", on, statusRecorder.On)
		}
	}
}

func TestReaderMayCheck(t *testing.T) {
	h := build(t)
	h.client(h.reader).want(200, nil, "POST", "/api/v1/policy/check", `{"command":"ls"}`)
}

func TestBadBodies(t *testing.T) {
	h := build(t)
	c := h.client(h.operator)
	for body, status := range map[string]int{
		``:                           400,
		`{"title":"x","admin":true}`: 400, // unknown field
		`{"Title":"x"}`:              400, // package json would take it
		`{"title":"x","title":"y"}`:  400,
		`{"title":7}`:                400,
		`[]`:                         400,
		`"x"`:                        400,
		`{"title":"x"} {}`:           400,
		`{"title":"x"`:               400,
		"{\"title\":\"\xff\"}":       400,
		`{"title":"` + strings.Repeat("x", 1<<20) + `"}`: 413,
	} {
		c.refused(status, "POST", "/api/v1/todos", body)
	}
	for kind, status := range map[string]int{"text/plain": 415, "": 415, "application/json; charset=latin1": 415,
		"multipart/form-data":             415,
		"application/json; charset=UTF-8": 201} {
		r := c.request("POST", "/api/v1/todos", `{"title":"x"}`)
		r.Header.Set("Content-Type", kind)
		if got, _, body := c.do(r); got != status {
			t.Errorf("%q: %d %s", kind, got, body)
		}
	}
	h.was()
	// One that lies about its length, or has none.
	r := c.request("POST", "/api/v1/todos", nil)
	r.Body, r.ContentLength = io.NopCloser(io.MultiReader(strings.NewReader(`{"title":"`),
		strings.NewReader(strings.Repeat("x", 2<<20)))), -1
	r.Header.Set("Content-Type", jsonType)
	if got, _, body := c.do(r); got != 413 {
		t.Errorf("without a length: %d %s", got, body)
	}
	c.refused(413, "POST", "/login", `{"token":"`+strings.Repeat("x", 1<<20)+`"}`)
	c.refused(400, "POST", "/login", `{"token":"x","role":"operator"}`)
	c.refused(400, "POST", "/api/v1/tasks/a/stop", `{"force":true}`)
	if done, record := h.was(); done != "" || record != "" {
		t.Errorf("%s; %s", done, record)
	}
}

func TestBadParameters(t *testing.T) {
	h := build(t)
	for _, path := range []string{
		"/api/v1/todos?x=1", "/api/v1/audit?txet=a", "/api/v1/audit?what=zzz", "/api/v1/audit?what=Asked",
		"/api/v1/audit?text=a&text=b", "/api/v1/audit?most=0", "/api/v1/audit?most=1001",
		"/api/v1/audit?most=x", "/api/v1/audit?before=-1", "/api/v1/audit?since=yesterday", "/api/v1/audit?until=1",
		"/api/v1/audit/stats?since=x",
		"/api/v1/budget?days=99999999999999999999", "/api/v1/secretary/sessions/a/messages?newest=0",
		"/api/v1/boxes/b/jobs/j/output?offset=end",
		"/api/v1/boxes/b/jobs/j/output?most=1048577", "/api/v1/events?after=-1", "/api/v1/events?after=x",
		"/api/v1/todos?%zz", "/api/v1/health?x",
	} {
		if e := h.client(h.operator).refused(400, "GET", path, nil); e.Kind != "invalid" {
			t.Errorf("%s: %+v", path, e)
		}
	}
}

func TestMissingSources(t *testing.T) {
	h := build(t, func(s *Server) { s.Sources = Sources{} })
	n := 0
	for _, r := range h.server.routes() {
		if !r.needsSource {
			continue
		}
		n++
		path := r.example()
		if r.path == "/api/bash/approve/{id}" {
			path += "?approved=true"
		}
		if e := h.client(h.operator).refused(404, r.method, path, r.exampleBody()); e.Hint == "" || e.Subject == "" {
			t.Errorf("%s %s: %+v", r.method, path, e)
		}
	}
	if n < 30 {
		t.Errorf("%d routes", n)
	}
}

func TestFailingSources(t *testing.T) {
	for kind, status := range statuses {
		h := build(t)
		h.fail = fmt.Errorf("wrapped: %w", &fault.Error{Kind: kind, Op: "do", Subject: "it", Why: "why", Hint: "hint"})
		e := h.client(h.operator).refused(status, "PUT", "/api/v1/secretary/voice", `{"on":true}`)
		if e != (ErrorText{kind.String(), "do", "it", "why", "hint"}) {
			t.Errorf("%+v", e)
		}
		h.client(h.operator).refused(status, "POST", "/api/v1/secretary/chat", `{"text":"x"}`)
		if kind != fault.TooLarge { // which only a body can be
			h.client(h.operator).refused(status, "GET", "/api/v1/events", nil)
		}
	}
	// What was not written for strangers stays inside.
	h := build(t)
	h.fail = errInside
	if e := h.client(h.operator).refused(500, "GET", "/api/v1/todos", nil); strings.Contains(fmt.Sprint(e), "hunter2") ||
		e.Kind != "other" {
		t.Errorf("%+v", e)
	}
	h.fail = context.DeadlineExceeded
	h.client(h.operator).refused(504, "GET", "/api/v1/todos", nil)
	if text := bodyOf(&fault.Error{Op: "a", Err: errors.New("below")}).Error.Why; text != "below" {
		t.Errorf("the reason is %q", text)
	}
}

// A database that is locked is said to be so by every route behind which there is
// one, with what to do, and nothing is taken for done.
func TestLockedDatabase(t *testing.T) {
	h := build(t)
	h.fail = &fault.Error{Kind: fault.Unavailable, Op: "open record", Why: "another process holds the lock",
		Hint: "end the other hako"}
	n := 0
	for _, r := range h.server.routes() {
		if !r.needsSource || strings.Contains(r.path, "/approvals") ||
			strings.Contains(r.path, "/bash/") { // which are kept in memory
			continue
		}
		n++
		if e := h.client(h.operator).refused(503, r.method, r.example(), r.exampleBody()); e.Kind != "unavailable" ||
			e.Hint != "end the other hako" {
			t.Errorf("%s %s: %+v", r.method, r.path, e)
		}
	}
	if n < 25 {
		t.Errorf("%d routes", n)
	}
}

func TestMissingTask(t *testing.T) {
	h := build(t)
	h.client(h.reader).refused(404, "GET", "/api/v1/tasks/gone", nil)
}

// ask puts a question on the desk and returns its number and where the answer
// comes.
func (h *house) ask() (id string, answer <-chan gate.Answer) {
	h.t.Helper()
	c, ctx := make(chan gate.Answer, 1), h.t.Context()
	changed := h.desk.Changed(ctx)
	go func() {
		a, _ := h.desk.Ask(ctx, gate.Question{Command: "git push", Actor: "agent", Reason: "to share", Why: "others see it",
			Rule: "p:1"})
		c <- a
	}()
	<-changed
	all, _ := h.desk.Pending(ctx)
	return all[len(all)-1].ID, c
}

func TestApproving(t *testing.T) {
	h := build(t)
	for said, want := range map[string]gate.Answer{"once": gate.Once, "session": gate.Session, "deny": gate.No} {
		id, answer := h.ask()
		var list Questions
		h.client(h.reader).want(200, &list, "GET", "/api/v1/approvals", nil)
		if len(list.Questions) != 1 || list.Questions[0].Command != "git push" || list.Questions[0].Reason != "to share" {
			t.Fatalf("%+v", list)
		}
		b := h.browser(h.operator)
		path := "/api/v1/approvals/" + id + "/answer"
		b.refused(400, "POST", path, `{"answer":"perhaps"}`)
		b.refused(400, "POST", path, `{}`)
		b.refused(400, "POST", path, `{}`)
		h.was()
		b.want(204, nil, "POST", path, `{"answer":"`+said+`"}`)
		if got := <-answer; got != want {
			t.Errorf("%s: %v", said, got)
		}
		if _, record := h.was(); record != "ann: answer question "+id+" "+said+": git push" {
			t.Errorf("%s", record)
		}
		if e := b.refused(400, "POST", path, `{"answer":"once"}`); !strings.Contains(e.Why, "already") {
			t.Errorf("twice: %+v", e)
		}
	}
	h.browser(h.operator).refused(404, "POST", "/api/v1/approvals/x/answer", `{"answer":"once"}`)
}

func TestApprovingTooLate(t *testing.T) {
	h := build(t)
	h.desk.Wait = 20 * time.Millisecond
	id, answer := h.ask()
	if got := <-answer; got != gate.No {
		t.Errorf("%v", got)
	}
	if e := h.client(h.operator).refused(404, "POST", "/api/v1/approvals/"+id+"/answer",
		`{"answer":"once"}`); !strings.Contains(e.Why, "in time") {
		t.Errorf("%+v", e)
	}
}

func TestFamiliarApproving(t *testing.T) {
	h := build(t)
	c := h.client(h.operator)
	for said, want := range map[bool]gate.Answer{true: gate.Once, false: gate.No} {
		id, answer := h.ask()
		var list SeedQuestions
		c.want(200, &list, "GET", "/api/bash/pending", nil)
		if r := list.Requests[0]; r.ID != id || r.Command != "git push" || r.Reason != "to share" || r.Timestamp < 1e9 {
			t.Errorf("%+v", r)
		}
		c.refused(400, "POST", "/api/bash/approve/"+id, nil)
		c.refused(400, "POST", "/api/bash/approve/"+id+"?approved=perhaps", nil)
		h.was()
		var done SeedDecision
		c.want(200, &done, "POST", fmt.Sprint("/api/bash/approve/", id, "?approved=", said), nil)
		if got := <-answer; got != want || done.Approved != said || done.Message == "" {
			t.Errorf("%v: %v, %+v", said, got, done)
		}
		if _, record := h.was(); record != fmt.Sprint("ann: answer question ", id, " approved=", said, ": git push") {
			t.Errorf("%s", record)
		}
		c.refused(400, "POST", "/api/bash/approve/"+id+"?approved=true", nil)
	}
	c.refused(404, "POST", "/api/bash/approve/x?approved=true", nil)
}

func TestFamiliarChat(t *testing.T) {
	h := build(t)
	h.say = func(ctx context.Context, tell func(sessions.Turn)) error {
		tell(sessions.Turn{Type: "text", Text: "half a"})
		tell(sessions.Turn{Type: "again"})
		tell(sessions.Turn{Type: "text", Text: "let me "})
		tell(sessions.Turn{Type: "text", Text: "see"})
		tell(sessions.Turn{Type: "action", Action: []byte(`{"command":"ls","reason":"to look"}`)})
		tell(sessions.Turn{Type: "action", Action: []byte(`[]`)})
		tell(sessions.Turn{Type: "result", Result: &sessions.Outcome{Command: "ls", Stdout: "a\n", Stderr: "e", Exit: 2,
			Dir: "/w"}})
		tell(sessions.Turn{Type: "result", Result: &sessions.Outcome{Command: "rm a", Denied: "no rule allows it"}})
		return nil
	}
	c := h.client(h.operator)
	plan := `{"text":"let me see","bashActions":[{"command":"ls","reason":"to look","result":{"stdout":"a\n","stderr":"e","exit_code":"2","cwd":"/w"},"error":null},` +
		`{"command":"rm a","reason":"","result":null,"error":"SecurityError: no rule allows it"}]}`
	status, _, body := c.do(c.request("POST", "/api/chat", `{"message":"hi","play_audio":true}`))
	if want := `{"voice_plan":` + plan + `,"audio_path":null,"played_audio":true,"raw_response":` + plan +
		`}`; status != 200 || compact(t, body) != want {
		t.Errorf("%d %s", status, body)
	}
	if done, record := h.was(); done != "voice true; ann says hi in api" || record != "ann: talk to secretary" {
		t.Errorf("%s; %s", done, record)
	}
	if _, _, body := c.do(c.request("POST", "/api/chat", `{"message":"hi"}`)); !strings.Contains(body,
		`"played_audio":true`) {
		t.Errorf("the voice does not stay as it was: %s", body)
	}
	c.refused(400, "POST", "/api/chat", `{"message":" "}`)
	c.refused(400, "POST", "/api/chat", `{"message":"hi","model":"other"}`)
	h.fail = &fault.Error{Kind: fault.Unavailable, Op: "ask model", Why: "it does not answer"}
	c.refused(503, "POST", "/api/chat", `{"message":"hi"}`)
}

// A model may think for longer than other answers may take.
func TestFamiliarChatMayTakeLong(t *testing.T) {
	h := build(t, func(s *Server) { s.limits.write = 50 * time.Millisecond })
	h.say = func(ctx context.Context, tell func(sessions.Turn)) error {
		time.Sleep(150 * time.Millisecond)
		return nil
	}
	h.client(h.operator).want(http.StatusOK, nil, "POST", "/api/chat", `{"message":"hi"}`)
}

// TestFamiliarRounds: who does not follow the stream reads her last words, not
// those of every round.
func TestFamiliarRounds(t *testing.T) {
	var l turnCollector
	for _, turn := range []sessions.Turn{{Type: turnText, Text: "Let me look. "}, {Type: turnText, Text: "There are 4."},
		{Type: turnDone, Text: "There are 4."}} {
		l.add(turn)
	}
	if got := l.plan().Text; got != "There are 4." {
		t.Errorf("got %q", got)
	}
}
