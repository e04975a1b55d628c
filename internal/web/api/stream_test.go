package api

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"hako/internal/app/access"
	"hako/internal/app/coder/tasks"
	"hako/internal/app/records"
	"hako/internal/app/secretary/sessions"
	"hako/internal/testload"
	"hako/internal/web/auth"
	"hako/run/fault"
)

// An ear listens to a stream.
type ear struct {
	*bufio.Reader
	t    *testing.T
	body io.Closer
}

func (c *client) listen(r *http.Request) *ear {
	c.t.Helper()
	res, err := c.http.Do(r)
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { res.Body.Close() })
	if res.StatusCode != 200 || res.Header.Get("Content-Type") != "text/event-stream" {
		body, _ := io.ReadAll(res.Body)
		c.t.Fatalf("%d %s %s", res.StatusCode, res.Header, body)
	}
	return &ear{bufio.NewReader(res.Body), c.t, res.Body}
}

// next returns the next event in one line. Signs of life are left out.
func (e *ear) next() string {
	e.t.Helper()
	var event []string
	for {
		line, err := e.ReadString('\n')
		line = strings.TrimSuffix(line, "\n")
		switch {
		case err == io.EOF && line == "":
			return "end"
		case err != nil:
			return "cut: " + err.Error()
		case line == "" && len(event) > 0:
			return strings.Join(event, "|")
		case line != "" && line != ":":
			event = append(event, line)
		}
	}
}

func (e *ear) want(event string) {
	e.t.Helper()
	if got := e.next(); got != event {
		e.t.Errorf("got %s, want %s", got, event)
	}
}

// tell puts something into a stream that somebody listens to.
func tell[T any](t *testing.T, to chan<- T, v T) {
	t.Helper()
	select {
	case to <- v:
	case <-time.After(testload.Bound(5 * time.Second)):
		t.Fatal("nobody listens")
	}
}

// open is how many streams are open.
func (h *house) open() int {
	h.server.streams.mu.Lock()
	defer h.server.streams.mu.Unlock()
	return h.server.streams.open[""]
}

func TestEvents(t *testing.T) {
	h := build(t)
	for _, c := range []*client{h.client(h.reader), h.browser(h.reader)} {
		e := c.listen(c.request("GET", "/api/v1/events?after=7", nil))
		if h.after != 7 {
			t.Errorf("after %d", h.after)
		}
		tell(t, h.events, records.Entry{Seq: 8, What: "asked", Text: "echo a\n\nid: 99\ndata: x"})
		e.want(`id: 8|event: event|data: {"seq":8,"time":"0001-01-01T00:00:00Z","what":"asked","text":"echo a\n\nid: 99\ndata: x"}`)
		tell(t, h.events, records.Entry{Seq: 9, What: "<end>"})
		e.want(`id: 9|event: event|data: {"seq":9,"time":"0001-01-01T00:00:00Z","what":"<end>"}`)
		e.body.Close()
		eventually(t, func() bool { return h.open() == 0 })
	}
}

func TestEventsGoOn(t *testing.T) {
	h := build(t)
	c := h.client(h.reader)
	c.header.Set("Last-Event-ID", "41")
	c.listen(c.request("GET", "/api/v1/events?after=7", nil))
	if h.after != 41 {
		t.Errorf("after %d", h.after)
	}
	c.header.Set("Last-Event-ID", "x")
	c.refused(400, "GET", "/api/v1/events", nil)
}

func TestHeadOfAStream(t *testing.T) {
	h := build(t)
	c := h.client(h.reader)
	if status, _, _ := c.do(c.request("HEAD", "/api/v1/events", nil)); status != 200 {
		t.Error(status)
	}
}

func TestStreamEndsWithItsSource(t *testing.T) {
	h := build(t)
	c := h.client(h.reader)
	e := c.listen(c.request("GET", "/api/v1/tasks/events?id=a%2Fb", nil))
	tell(t, h.steps, tasks.Step{Task: "a/b", Type: "note"})
	e.want(`event: step|data: {"task":"a/b","time":"0001-01-01T00:00:00Z","type":"note"}`)
	if done, _ := h.was(); done != "watch a/b" {
		t.Errorf("%s", done)
	}
	close(h.steps)
	e.want("end")
}

func TestApprovalEvents(t *testing.T) {
	h := build(t)
	c := h.client(h.operator)
	e := c.listen(c.request("GET", "/api/v1/approvals/events", nil))
	e.want(`event: approvals|data: {"questions":[]}`)
	id, answer := h.ask()
	if got := e.next(); !strings.Contains(got, id) || !strings.Contains(got, "git push") {
		t.Errorf("%s", got)
	}
	c.want(204, nil, "POST", "/api/v1/approvals/"+id+"/answer", `{"answer":"once"}`)
	e.want(`event: approvals|data: {"questions":[]}`)
	<-answer
}

func TestHeartbeat(t *testing.T) {
	h := build(t)
	c := h.client(h.reader)
	e := c.listen(c.request("GET", "/api/v1/events", nil))
	for i := range 6 { // three signs of life, each with an empty line
		if line, err := e.ReadString('\n'); err != nil || line != []string{":\n", "\n"}[i%2] {
			t.Fatalf("%q, %v", line, err)
		}
	}
}

func TestStreamEndsWithTheSession(t *testing.T) {
	h := build(t)
	b := h.browser(h.reader)
	e := b.listen(b.request("GET", "/api/v1/events", nil))
	b.want(204, nil, "POST", "/logout", nil)
	e.want("end")
}

// A page that is open keeps its session, or approvals would go unanswered.
func TestStreamKeepsTheSession(t *testing.T) {
	h := build(t, func(s *Server) { s.sessions = auth.Sessions{Idle: 300 * time.Millisecond} })
	b := h.browser(h.reader)
	b.listen(b.request("GET", "/api/v1/events", nil))
	time.Sleep(600 * time.Millisecond)
	b.want(200, nil, "GET", "/api/v1/todos", nil)
}

func TestStreamEndsWithTheServer(t *testing.T) {
	h := build(t)
	c := h.client(h.reader)
	e := c.listen(c.request("GET", "/api/v1/events", nil))
	began := time.Now()
	if err := h.stop(context.Background()); err != nil || time.Since(began) > testload.Bound(2*time.Second) {
		t.Errorf("%v after %v", err, time.Since(began))
	}
	e.want("end")
	if err := h.stop(context.Background()); err != nil {
		t.Errorf("twice: %v", err)
	}
}

func TestStreamsAreCounted(t *testing.T) {
	h := build(t, func(s *Server) { s.limits.allStreams = 6 })
	c := h.client(h.reader)
	var ears []*ear
	for range 4 {
		ears = append(ears, c.listen(c.request("GET", "/api/v1/events", nil)))
	}
	if e := c.refused(429, "GET", "/api/v1/events", nil); e.Kind != "exhausted" || e.Hint == "" {
		t.Errorf("%+v", e)
	}
	b := h.browser(h.reader)
	b.listen(b.request("GET", "/api/v1/events", nil))
	b.listen(b.request("GET", "/api/v1/events", nil))
	b.refused(429, "GET", "/api/v1/events", nil) // of all
	ears[0].body.Close()
	eventually(t, func() bool { return h.open() == 5 })
	c.listen(c.request("GET", "/api/v1/events", nil))
}

// However often somebody logs in, there are streams for others.
func TestStreamsOfOneToken(t *testing.T) {
	h := build(t, func(s *Server) { s.limits.sessionStreams, s.limits.tokenStreams, s.limits.allStreams = 2, 5, 8 })
	for range 2 {
		b := h.browser(h.reader)
		b.listen(b.request("GET", "/api/v1/events", nil))
		b.listen(b.request("GET", "/api/v1/events", nil))
		b.refused(429, "GET", "/api/v1/events", nil)
	}
	c := h.client(h.reader)
	last := c.listen(c.request("GET", "/api/v1/events", nil))
	c.refused(429, "GET", "/api/v1/events", nil)
	h.browser(h.reader).refused(429, "GET", "/api/v1/events", nil)
	o := h.client(h.operator)
	o.listen(o.request("GET", "/api/v1/events", nil))
	last.body.Close()
	eventually(t, func() bool { return h.open() == 5 })
	c.listen(c.request("GET", "/api/v1/events", nil))
}

// Whose token was removed gets not one piece more, and is out soon if there is
// none.
func TestStreamEndsWithTheToken(t *testing.T) {
	for name, get := range map[string]time.Duration{"before a piece": time.Minute, "in silence": 20 * time.Millisecond} {
		h := build(t, func(s *Server) {
			s.Tokens.Path = filepath.Join(t.TempDir(), "d", "tokens.json")
			s.limits.keepAlive, s.limits.recheck = time.Minute, get
		})
		secret, err := h.server.Tokens.Add("eve", access.Reader)
		if err != nil {
			t.Fatal(err)
		}
		c := h.client(secret)
		c.http.Timeout = 3 * time.Second
		heard := make(chan *ear)
		go func() { heard <- c.listen(c.request("GET", "/api/v1/events", nil)) }()
		tell(t, h.events, records.Entry{Seq: 1})
		e := <-heard
		if got := e.next(); !strings.HasPrefix(got, "id: 1|") {
			t.Errorf("%s: %s", name, got)
		}
		if err := (&auth.Store{Path: h.server.Tokens.Path}).Remove("eve"); err != nil {
			t.Fatal(err)
		}
		if get == time.Minute {
			tell(t, h.events, records.Entry{Seq: 2})
		}
		if got := e.next(); got != "end" {
			t.Errorf("%s: %s", name, got)
		}
	}
}

func eventually(t *testing.T, ok func() bool) {
	t.Helper()
	for began := time.Now(); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Since(began) > testload.Bound(5*time.Second) {
			t.Fatal("it does not come true")
		}
	}
}

// mute opens a stream and never reads.
func (h *house) mute(path, token string) net.Conn {
	h.t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(h.url, "http://"))
	if err != nil {
		h.t.Fatal(err)
	}
	conn.(*net.TCPConn).SetReadBuffer(4096)
	h.t.Cleanup(func() { conn.Close() })
	fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer %s\r\n\r\n", path, token)
	return conn
}

// Nobody waits for a client that does not read: it is cut off.
func TestClientThatNeverReads(t *testing.T) {
	h := build(t)
	h.mute("/api/v1/events", h.reader)
	big := records.Entry{Seq: 1, Text: strings.Repeat("x", 1<<20)}
	slowest := time.Duration(0)
	eventually(t, func() bool { return h.open() == 1 })
	for began := time.Now(); h.open() > 0; {
		sent := time.Now()
		select {
		case h.events <- big:
			slowest = max(slowest, time.Since(sent))
		case <-time.After(time.Second): // nobody listens any more
		}
		if time.Since(began) > testload.Bound(10*time.Second) {
			t.Fatal("it was never cut off")
		}
	}
	if slowest > time.Second { // twice the time a client has
		t.Errorf("the source waited %v", slowest)
	}
}

// A client that does not read does not keep the server from stopping either.
func TestStopWithAClientThatNeverReads(t *testing.T) {
	h := build(t, func(s *Server) { s.limits.write = time.Minute })
	h.mute("/api/v1/events", h.reader)
	full := func() bool {
		select {
		case h.events <- records.Entry{Seq: 1, Text: strings.Repeat("x", 1<<20)}:
			return false
		case <-time.After(200 * time.Millisecond):
			return true
		}
	}
	for !full() {
	}
	began := time.Now()
	if err := h.stop(t.Context()); err != nil || time.Since(began) > testload.Bound(3*time.Second) {
		t.Errorf("%v after %v", err, time.Since(began))
	}
}

// Streams that clients abandon leave nothing: goroutines are counted here, and
// goleak looks at the end.
func TestAbandonedStreams(t *testing.T) {
	h := build(t, func(s *Server) { s.limits.sessionStreams = 100 })
	before := runtime.NumGoroutine()
	for _, path := range []string{"/api/v1/events", "/api/v1/approvals/events", "/api/v1/tasks/events"} {
		for range 20 {
			h.mute(path, h.reader).Close()
		}
	}
	eventually(t, func() bool { return h.open() == 0 && runtime.NumGoroutine() <= before+2 })
}

func TestChat(t *testing.T) {
	h := build(t)
	h.say = func(ctx context.Context, tell func(sessions.Turn)) error {
		tell(sessions.Turn{Type: "text", Text: "はい"})
		tell(sessions.Turn{Type: "action", Action: []byte(`{"command":"ls"}`)})
		tell(sessions.Turn{Type: "result", Result: &sessions.Outcome{Command: "ls", Stdout: "a\n"}})
		return nil
	}
	for _, c := range []*client{h.client(h.operator), h.browser(h.operator)} {
		e := c.listen(c.request("POST", "/api/v1/secretary/chat", `{"session":"s","text":"hi"}`))
		e.want(`event: turn|data: {"type":"text","text":"はい"}`)
		e.want(`event: turn|data: {"type":"action","action":{"command":"ls"}}`)
		e.want(`event: turn|data: {"type":"result","result":{"command":"ls","exit_code":0,"stdout":"a\n","stderr":"","redacted":0,"seconds":0}}`)
		e.want(`event: turn|data: {"type":"done"}`)
		e.want("end")
		if done, record := h.was(); done != "ann says hi in s" || record != "ann: talk to secretary s" {
			t.Errorf("%s; %s", done, record)
		}
	}
	c := h.client(h.operator)
	c.refused(400, "POST", "/api/v1/secretary/chat", `{"session":"s","text":" \n"}`)
	c.refused(400, "POST", "/api/v1/secretary/chat", `{"session":"s"}`)
}

func TestChatSaysDoneOnce(t *testing.T) {
	h := build(t)
	h.say = func(_ context.Context, tell func(sessions.Turn)) error {
		tell(sessions.Turn{Type: "done", Text: "x"})
		return nil
	}
	c := h.client(h.operator)
	e := c.listen(c.request("POST", "/api/v1/secretary/chat", `{"text":"hi"}`))
	e.want(`event: turn|data: {"type":"done","text":"x"}`)
	e.want("end")
}

func TestChatThatFails(t *testing.T) {
	h := build(t)
	h.say = func(_ context.Context, tell func(sessions.Turn)) error {
		tell(sessions.Turn{Type: "text", Text: "a"})
		return &fault.Error{Kind: fault.Unavailable, Op: "ask model", Subject: "m", Why: "it is gone", Hint: "start it"}
	}
	c := h.client(h.operator)
	e := c.listen(c.request("POST", "/api/v1/secretary/chat", `{"text":"hi"}`))
	e.want(`event: turn|data: {"type":"text","text":"a"}`)
	e.want(`event: error|data: {"error":{"kind":"unavailable","op":"ask model","subject":"m","why":"it is gone","hint":"start it"}}`)
	e.want("end")
}

// Whoever hangs up is not waited for.
func TestChatIsLeft(t *testing.T) {
	h := build(t)
	var ended atomic.Bool
	h.say = func(ctx context.Context, tell func(sessions.Turn)) error {
		tell(sessions.Turn{Type: "text", Text: "a"})
		<-ctx.Done()
		tell(sessions.Turn{Type: "text", Text: "too late"})
		ended.Store(true)
		return ctx.Err()
	}
	c := h.client(h.operator)
	e := c.listen(c.request("POST", "/api/v1/secretary/chat", `{"text":"hi"}`))
	e.want(`event: turn|data: {"type":"text","text":"a"}`)
	e.body.Close()
	eventually(t, ended.Load)
}

// Much may happen at once: a client is not cut off as long as it reads.
func TestBurst(t *testing.T) {
	h := build(t)
	h.say = func(_ context.Context, tell func(sessions.Turn)) error {
		for range 5000 {
			tell(sessions.Turn{Type: "text", Text: "a"})
		}
		return nil
	}
	c := h.client(h.operator)
	e := c.listen(c.request("POST", "/api/v1/secretary/chat", `{"text":"hi"}`))
	for range 5000 {
		e.want(`event: turn|data: {"type":"text","text":"a"}`)
	}
	e.want(`event: turn|data: {"type":"done"}`)
	e.want("end")
}

// The time that an answer may take is not that of a stream.
func TestStreamOutlivesAnAnswer(t *testing.T) {
	pair, pool := certificate(t)
	h := build(t, func(s *Server) {
		s.TLS, s.limits.keepAlive = pair, time.Minute
		s.limits.read, s.limits.write = 200*time.Millisecond, 200*time.Millisecond
	})
	h.say = func(ctx context.Context, tell func(sessions.Turn)) error {
		select {
		case <-time.After(500 * time.Millisecond):
		case <-ctx.Done():
		}
		return ctx.Err()
	}
	for _, version := range []int{1, 2} {
		c := h.secure(h.operator, pool, version)
		e := c.listen(c.request("GET", "/api/v1/tasks/events", nil))
		time.Sleep(500 * time.Millisecond)
		tell(t, h.steps, tasks.Step{Task: "a", Type: "note"})
		e.want(`event: step|data: {"task":"a","time":"0001-01-01T00:00:00Z","type":"note"}`)
		e.body.Close()
		e = c.listen(c.request("POST", "/api/v1/secretary/chat", `{"text":"hi"}`))
		e.want(`event: turn|data: {"type":"done"}`)
	}
}
