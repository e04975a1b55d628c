package api

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hako/internal/app/access"
	"hako/internal/app/secretary/sessions"
	"hako/internal/testload"
	"hako/internal/web/auth"
)

func TestForgedHost(t *testing.T) {
	h := build(t, func(s *Server) { s.Names = []string{"hako.example"} })
	for host, ok := range map[string]bool{
		"127.0.0.1": true, "127.0.0.1:1": true, "localhost:8080": true, "LocalHost": true, "[::1]:80": true,
		"127.9.9.9":    true,
		"hako.example": true, "Hako.Example:443": true,
		"evil.example": false, "localhost.evil.example": false, "127.0.0.1.evil.example": false, "10.0.0.1": false,
		"hako.example.evil": false, "localhost:80:80": false,
	} {
		r := h.client(h.operator).request("GET", "/api/v1/todos", nil)
		r.Host = host
		status, _, body := h.client(h.operator).do(r)
		if (status == 200) != ok || !ok && status != 421 {
			t.Errorf("%s: %d %s", host, status, body)
		}
	}
	// Pages, too: a script on them would read what is in the same origin.
	r := h.client("").request("GET", "/", nil)
	r.Host = "evil.example"
	if status, _, _ := h.client("").do(r); status != 421 {
		t.Errorf("page: %d", status)
	}
}

func TestHostBeyondLoopback(t *testing.T) {
	s := &Server{host: "0.0.0.0", Names: []string{"box.lan"}}
	for host, ok := range map[string]bool{"10.0.0.7:80": true, "[2001:db8::1]": true, "box.lan:1": true,
		"localhost": false, "evil.example": false, "": false} {
		if s.isOwnHost(host) != ok {
			t.Errorf("%q: %v", host, !ok)
		}
	}
}

func TestForeignOrigin(t *testing.T) {
	h := build(t)
	b := h.browser(h.operator)
	own := h.url
	for _, c := range []struct {
		origin, site, mode string
		ok                 bool
	}{
		{own, "same-origin", "cors", true},
		{own, "", "", true},
		{"", "", "", true},
		{"", "none", "navigate", true},
		{"http://evil.example", "", "", false},
		{"null", "", "", false},
		{"null", "same-origin", "navigate", true},          // a form on a page without referrer
		{"null", "cross-site", "navigate", false},          // a frame in a sandbox
		{"http://127.0.0.1:1", "same-site", "cors", false}, // another port of the same host
		{"ftp" + strings.TrimPrefix(own, "http"), "", "", false},
		{"", "cross-site", "no-cors", false},
		{"", "same-site", "no-cors", false},
		{"", "cross-site", "navigate", false},
	} {
		for _, path := range []string{"/api/v1/todos", "/login"} {
			r := b.request("GET", path, nil)
			if path == "/login" {
				r = b.request("POST", path, LoginRequest{Token: "x"})

			}
			for name, value := range map[string]string{"Origin": c.origin, "Sec-Fetch-Site": c.site, "Sec-Fetch-Mode": c.mode} {
				if value != "" {
					r.Header.Set(name, value)
				}
			}
			status, _, body := b.do(r)
			if (status != 403) != c.ok {
				t.Errorf("%+v %s: %d %s", c, path, status, body)
			}
		}
	}
	// Somebody follows a link to a page.
	h2 := build(t, func(s *Server) { s.Pages = http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}) })
	r := h2.client("").request("GET", "/now", nil)
	r.Header.Set("Sec-Fetch-Site", "cross-site")
	r.Header.Set("Sec-Fetch-Mode", "navigate")
	if status, _, _ := h2.client("").do(r); status != 200 {
		t.Errorf("a link: %d", status)
	}
}

func TestProxyWithTLS(t *testing.T) {
	if s := new(Server); !s.sameOrigin("https://hako.example", "hako.example") {
		t.Error("a proxy that has the certificate is refused")
	}
	if s := (&Server{TLS: Certificate{"a", "b"}}); s.sameOrigin("http://hako.example", "hako.example") {
		t.Error("a page without TLS is taken for ours")
	}
}

func TestCSRF(t *testing.T) {
	h := build(t)
	b := h.browser(h.operator)
	good := b.header.Get("X-CSRF-Token")
	other := h.browser(h.operator).header.Get("X-CSRF-Token")
	for token, ok := range map[string]bool{good: true, "": false, "x": false, other: false} {
		b.header.Set("X-CSRF-Token", token)
		status, _, body := b.do(b.request("POST", "/api/v1/tasks/a/stop", nil))
		done, record := h.was()
		if (status == 204) != ok || !ok && status != 403 || (done != "") != ok || (record != "") != ok {
			t.Errorf("%q: %d %s; %s; %s", token, status, body, done, record)
		}
	}
	// A program needs none: no browser sends its header by itself.
	h.client(h.operator).want(204, nil, "POST", "/api/v1/tasks/a/stop", nil)
	// One who shows both is a program.
	b.header.Set("Authorization", "Bearer "+h.reader)
	b.refused(403, "POST", "/api/v1/tasks/a/stop", nil)
}

func TestForms(t *testing.T) {
	h := build(t)
	b := h.browser(h.operator)
	csrf := b.header.Get("X-CSRF-Token")
	status, header, body := h.form(b, "/api/v1/todos", url.Values{"csrf": {csrf}, "back": {"/secretary"},
		"title": {"牛乳 & パン"}, "priority": {"high"}})
	if done, record := h.was(); status != 303 || header.Get("Location") != "/secretary" ||
		done != "ann add 0 牛乳 & パン//open/high/" || record != "ann: add to-do" {
		t.Errorf("%d %s; %s; %s", status, body, done, record)
	}
	for name, fields := range map[string]url.Values{
		"no csrf":       {"title": {"x"}},
		"wrong csrf":    {"title": {"x"}, "csrf": {"x"}},
		"unknown field": {"title": {"x"}, "csrf": {csrf}, "admin": {"1"}},
		"twice":         {"title": {"x", "y"}, "csrf": {csrf}},
	} {
		status, _, body := h.form(b, "/api/v1/todos", fields)
		if done, _ := h.was(); status != 403 && status != 400 || done != "" {
			t.Errorf("%s: %d %s; %s", name, status, body, done)
		}
	}
	// The token in the address or a program's form do not count.
	r := h.client(h.operator).request("POST", "/api/v1/todos", "title=x")
	r.Header.Set("Content-Type", formType)
	if status, _, _ := h.client(h.operator).do(r); status != 415 {
		t.Errorf("a program's form: %d", status)
	}
	if status, _, body := h.form(b, "/api/v1/todos?csrf="+csrf, url.Values{"title": {"x"}}); status != 400 {
		t.Errorf("in the address: %d %s", status, body)
	}
	if status, header, body := h.form(b, "/api/v1/tasks/a/stop", url.Values{"csrf": {csrf}}); status != 303 ||
		header.Get("Location") != "/" {
		t.Errorf("%d %s", status, body)
	}
}

func TestReaderChangesNothing(t *testing.T) {
	h := build(t)
	n, readers := 0, []*client{h.client(h.reader), h.browser(h.reader)}
	for _, r := range h.server.routes() {
		if r.role != access.Operator {
			continue
		}
		n++
		path := r.example()
		for _, c := range readers {
			if e := c.refused(403, r.method, path, "{}"); !strings.Contains(e.Why, "reader") || e.Hint == "" {
				t.Errorf("%s %s: %+v", r.method, path, e)
			}
		}
	}
	if done, record := h.was(); n < 15 || done != "" || strings.Count(record, "bob: ") != 1 ||
		!strings.Contains(record, "bob: was refused: ") {
		t.Errorf("%d routes; %s; %s", n, done, record)
	}
}

// Every change is put on record first: if that fails, nothing happens.
func TestNoRecordNoChange(t *testing.T) {
	h := build(t)
	h.todos = []sessions.Todo{{ID: 1}}
	h.broken = errInside
	n := 0
	for _, r := range h.server.routes() {
		if r.what == "" {
			continue
		}
		n++
		path := r.example()
		body := "{}"
		if r.path == "/api/v1/secretary/chat" {
			body = `{"text":"x"}`
		}
		c := h.client(h.operator)
		if r.path == "/logout" { // which is for sessions
			h.breakRecord(nil)
			c = h.browser(h.operator)
			h.breakRecord(errInside)
		}
		e := c.refused(503, r.method, path, body)
		if done, record := h.was(); done != "" || !strings.HasPrefix(record, "ann: "+r.what) ||
			strings.Contains(e.Why, "hunter2") {
			t.Errorf("%s %s: done %q, record %q, %+v", r.method, path, done, record, e)
		}
	}
	if n < 16 {
		t.Errorf("%d changes", n)
	}
}

func (w *world) breakRecord(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.broken = err
}

// A route that changes nothing must not have a method that could.
func TestChangesAreNamed(t *testing.T) {
	for _, r := range new(Server).routes() {
		if r.method != "GET" && r.what == "" && r.path != "/login" && r.path != "/api/v1/policy/check" {
			t.Errorf("%s %s is not put on record", r.method, r.path)
		}
		if r.method == "GET" && (r.what != "" || r.role == access.Operator) {
			t.Errorf("%s %s changes something", r.method, r.path)
		}
		if r.open == (r.role != "") {
			t.Errorf("%s %s: who may?", r.method, r.path)
		}
	}
}

func TestRecordCannotBeDrawnIn(t *testing.T) {
	h := build(t)
	h.client(h.operator).want(204, nil, "POST", "/api/v1/tasks/a%0Aeve:%20log%20in%E2%80%AE"+strings.Repeat("x", 400)+
		"/stop", nil)
	_, record := h.was()
	if strings.ContainsAny(record, "\n\u202e") || len(record) > 400 ||
		!strings.HasPrefix(record, "ann: stop task a␊eve: log in‹U+202E›xxx") {
		t.Errorf("%q", record)
	}
}

func TestUnknownRouteAndMethod(t *testing.T) {
	h := build(t)
	for _, path := range []string{"/api/v1/nothing", "/api/v1", "/api/", "/api/v2/todos", "/mcp", "/metrics", "/nothing",
		"/"} {
		if e := h.client(h.operator).refused(404, "GET", path, nil); e.Kind != "not_found" {
			t.Errorf("%s: %+v", path, e)
		}
	}
	c := h.client(h.operator)
	status, header, body := c.do(c.request("DELETE", "/api/v1/approvals", nil))
	if status != 405 || header.Get("Allow") != "GET, HEAD" || !strings.Contains(body, `"kind":"invalid"`) {
		t.Errorf("%d %v %s", status, header, body)
	}
	c.refused(405, "GET", "/logout", nil)
	c.refused(405, "OPTIONS", "/api/v1/todos", nil)
	if status, _, body := c.do(c.request("HEAD", "/api/v1/todos", nil)); status != 200 || body != "" {
		t.Errorf("HEAD: %d %s", status, body)
	}
}

func TestMounts(t *testing.T) {
	who := func(w http.ResponseWriter, r *http.Request) {
		v, _ := r.Context().Value(identityKey{}).(identity)
		body, err := io.ReadAll(r.Body)
		w.(http.Flusher).Flush()
		if r.URL.Query().Has("wait") {
			<-r.Context().Done()
		}
		io.WriteString(w, v.Name+" "+string(v.Role)+" "+r.URL.Path)
		if err != nil {
			io.WriteString(w, err.Error())
		}
		_ = body
	}
	h := build(t, func(s *Server) {
		s.MCP, s.Metrics, s.Pages = http.HandlerFunc(who), http.HandlerFunc(who), http.HandlerFunc(who)
	})
	for path, want := range map[string]string{"/mcp": "ann operator /mcp", "/mcp/x": "ann operator /mcp/x",
		"/metrics": "ann operator /metrics", "/now": "  /now", "/page/x": "  /page/x"} {
		c := h.client(h.operator)
		if status, _, body := c.do(c.request("GET", path, nil)); status != 200 || body != want {
			t.Errorf("%s: %d %q", path, status, body)
		}
	}
	c := h.client(h.operator)
	if status, _, body := c.do(c.request("POST", "/mcp", strings.Repeat("x", 2<<20))); status != 200 ||
		body != "ann operator /mcp" {
		t.Errorf("%d %.100s", status, body)
	}
	// What pages ask of themselves reaches them, but not from elsewhere.
	if status, _, body := c.do(c.request("POST", "/page/x", "{}")); status != 200 || body != "  /page/x" {
		t.Errorf("%d %s", status, body)
	}
	c.refused(404, "POST", "/now", "{}")
	foreign := h.client(h.operator)
	foreign.header.Set("Origin", "https://evil.test")
	foreign.refused(403, "POST", "/page/x", "{}")
	h.client(h.reader).refused(403, "POST", "/mcp", "{}")
	h.client("").refused(401, "POST", "/mcp", "{}")
	h.client("").refused(401, "GET", "/metrics", nil)
	h.browser(h.operator).refused(401, "POST", "/mcp", "{}") // a cookie does not count there
	if status, _, body := h.browser(h.reader).do(h.browser(h.reader).request("GET", "/metrics", nil)); status != 200 {
		t.Errorf("%d %s", status, body)
	}
	// A stream of MCP ends with the server.
	res, err := c.http.Do(c.request("GET", "/mcp?wait", nil))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if err := h.stop(context.Background()); err != nil {
		t.Error(err)
	}
	if body, err := io.ReadAll(res.Body); err != nil || !strings.HasPrefix(string(body), "ann") {
		t.Errorf("%q, %v", body, err)
	}
}

// What is mounted ends soon after the token was removed.
func TestMountEndsWithTheToken(t *testing.T) {
	h := build(t, func(s *Server) {
		s.Tokens.Path, s.limits.recheck = filepath.Join(t.TempDir(), "d", "tokens.json"), 20*time.Millisecond
		s.MCP = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		})
	})
	secret, err := h.server.Tokens.Add("eve", access.Client)
	if err != nil {
		t.Fatal(err)
	}
	c := h.client(secret)
	res, err := c.http.Do(c.request("GET", "/mcp", nil))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if err := (&auth.Store{Path: h.server.Tokens.Path}).Remove("eve"); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if _, err := io.ReadAll(res.Body); err != nil || time.Since(began) > testload.Bound(2*time.Second) {
		t.Errorf("%v after %v", err, time.Since(began))
	}
}

func TestUsualLook(t *testing.T) {
	var l limits
	if l.setDefaults(); l.recheck > 2*time.Second {
		t.Errorf("who was removed goes on for %v", l.recheck)
	}
}

func TestPanic(t *testing.T) {
	h := build(t, func(s *Server) {
		s.Pages = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/half" {
				io.WriteString(w, "half")
				http.NewResponseController(w).Flush()
			}
			panic("the password is hunter2")
		})
	})
	if e := h.client("").refused(500, "GET", "/x", nil); strings.Contains(e.Why, "hunter2") {
		t.Errorf("%+v", e)
	}
	res, err := h.client("").http.Do(h.client("").request("GET", "/half", nil))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if _, err := io.ReadAll(res.Body); err == nil {
		t.Error("half an answer looks like a whole one")
	}
}
