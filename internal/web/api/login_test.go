package api

import (
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"hako/internal/app/access"
	"hako/internal/web/auth"
)

func TestLogin(t *testing.T) {
	h := build(t)
	c := h.client("")
	c.http.Jar, _ = cookiejar.New(nil)
	status, header, _ := c.do(c.request("POST", "/login", LoginRequest{Token: h.operator}))
	cookie := header.Get("Set-Cookie")
	for _, part := range []string{"HttpOnly", "SameSite=Strict", "Path=/", "hako_"} {
		if !strings.Contains(cookie, part) {
			t.Errorf("%d: cookie %s has no %s", status, cookie, part)
		}
	}
	if strings.Contains(cookie, "Secure") || strings.Contains(cookie, h.operator) {
		t.Errorf("cookie %s", cookie)
	}
	if _, record := h.was(); record != "ann: log in" {
		t.Errorf("on record: %s", record)
	}
	var who Login
	c.want(200, &who, "GET", "/api/v1/session", nil)
	if who.Actor != (access.Actor{Name: "ann", Role: access.Operator}) || who.CSRF == "" ||
		time.Until(who.Ends) < 11*time.Hour {
		t.Errorf("%+v", who)
	}
	// Programs need no session, and have no CSRF token.
	who = Login{}
	h.client(h.reader).want(200, &who, "GET", "/api/v1/session", nil)
	if who != (Login{Actor: access.Actor{Name: "bob", Role: access.Reader}}) {
		t.Errorf("%+v", who)
	}
}

func TestLoginByForm(t *testing.T) {
	h := build(t)
	for next, want := range map[string]string{
		"":                         "/",
		"/tasks?id=a%2Fb":          "/tasks?id=a%2Fb",
		"https://evil.example/":    "/",
		"https://evil.example/now": "/",
		"//evil.example/now":       "/",
		"////evil.example":         "/",
		"/\\evil.example":          "/",
		"javascript:alert(1)":      "/",
		"/now\r\nSet-Cookie: a=":   "/",
		"evil":                     "/",
	} {
		status, header, _ := h.form(h.client(""), "/login", url.Values{"token": {h.operator}, "next": {next}})
		if status != http.StatusSeeOther || header.Get("Location") != want || header.Get("Set-Cookie") == "" {
			t.Errorf("%q: %d to %s", next, status, header.Get("Location"))
		}
	}
	status, header, _ := h.form(h.client(""), "/login", url.Values{"token": {"x"}, "next": {"/now"}})
	if status != http.StatusSeeOther || header.Get("Location") != "/login?failed=denied&next=%2Fnow" ||
		header.Get("Set-Cookie") != "" {
		t.Errorf("%d to %s, %v", status, header.Get("Location"), header)
	}
}

func (h *house) form(c *client, path string, fields url.Values) (int, http.Header, string) {
	h.t.Helper()
	r := c.request("POST", path, fields.Encode())
	r.Header.Set("Content-Type", formType)
	r.Header.Del("X-CSRF-Token")
	return c.do(r)
}

func TestWrongToken(t *testing.T) {
	h := build(t)
	for _, token := range []string{"x", h.operator + "x", h.operator[:20]} {
		e := h.client("").refused(401, "POST", "/login", LoginRequest{Token: token})
		if e.Kind != "denied" || strings.Contains(e.Why+e.Subject+e.Hint, token) {
			t.Errorf("%+v", e)
		}
		h.client(token).refused(401, "GET", "/api/v1/approvals", nil)
	}
	basic := h.client("")
	basic.header.Set("Authorization", "Basic YTpi")
	basic.refused(401, "GET", "/api/v1/approvals", nil)
	_, header, _ := basic.do(basic.request("GET", "/api/v1/approvals", nil))
	if header.Get("WWW-Authenticate") != "Bearer" {
		t.Errorf("%v", header)
	}
	h.client("").refused(401, "GET", "/api/v1/approvals", nil)
	if done, record := h.was(); done != "" || record != "stranger: was refused: wrong token at /login, from 127.0.0.1" {
		t.Errorf("%s, %s", done, record)
	}
}

func TestLoginRate(t *testing.T) {
	h := build(t)
	c := h.client("")
	for range 10 {
		c.refused(401, "POST", "/login", LoginRequest{Token: "x"})
	}
	status, header, body := c.do(c.request("POST", "/login", LoginRequest{Token: "x"}))
	if status != 429 || header.Get("Retry-After") == "" || header.Get("Retry-After") == "0" {
		t.Errorf("%d %s %s", status, header.Get("Retry-After"), body)
	}
	status, header, _ = h.form(c, "/login", url.Values{"token": {"x"}})
	if status != 303 || !strings.HasPrefix(header.Get("Location"), "/login?failed=exhausted") {
		t.Errorf("form: %d %s", status, header.Get("Location"))
	}
	// People who have a token are not kept out by those who have none.
	c.want(200, nil, "POST", "/login", LoginRequest{Token: h.operator})
	// Programs that have a token are not kept out by people who have none.
	h.client(h.operator).want(200, nil, "GET", "/api/v1/approvals", nil)
	for range 10 {
		h.client("x").refused(401, "GET", "/api/v1/approvals", nil)
	}
	h.client("x").refused(429, "GET", "/api/v1/approvals", nil)
	h.client(h.operator).want(200, nil, "GET", "/api/v1/approvals", nil)
}

func TestTriesAreCountedByNetwork(t *testing.T) {
	for remote, want := range map[string]string{
		"10.1.2.3:99": "10.1.2.3", "[::ffff:10.1.2.3]:99": "10.1.2.3",
		"[2001:db8:1:2:3::4]:99": "2001:db8:1:2::/64", "[fe80::1%eth0]:99": "fe80::/64", "odd": "odd",
	} {
		if got := clientNetwork(remote); got != want {
			t.Errorf("%s counts as %s", remote, got)
		}
	}
}

func TestLogout(t *testing.T) {
	h := build(t)
	for _, token := range []string{h.operator, h.reader} {
		b := h.browser(token)
		b.want(200, nil, "GET", "/api/v1/todos", nil)
		jar := b.http.Jar
		b.want(204, nil, "POST", "/logout", nil)
		b.refused(401, "GET", "/api/v1/todos", nil)
		b.http.Jar = jar
		b.refused(401, "GET", "/api/v1/todos", nil)
	}
	h.was()
	h.client(h.reader).refused(400, "POST", "/logout", nil)
	h.client(h.operator).refused(400, "POST", "/logout", nil)
	if _, record := h.was(); record != "" {
		t.Errorf("who has no session fills the record: %s", record)
	}
	b := h.browser(h.operator)
	csrf := b.header.Get("X-CSRF-Token")
	if status, header, _ := h.form(b, "/logout", url.Values{"csrf": {csrf}, "back": {"/login"}}); status != 303 ||
		header.Get("Location") != "/login" {
		t.Errorf("%d to %s", status, header.Get("Location"))
	}
	b.refused(401, "GET", "/api/v1/todos", nil)
}

func TestExpiredCookie(t *testing.T) {
	now := time.Now()
	h := build(t, func(s *Server) { s.sessions = auth.Sessions{Now: func() time.Time { return now }} })
	b := h.browser(h.operator)
	now = now.Add(119 * time.Minute)
	b.want(200, nil, "GET", "/api/v1/todos", nil)
	now = now.Add(120 * time.Minute)
	if e := b.refused(401, "GET", "/api/v1/todos", nil); !strings.Contains(e.Why, "ended") {
		t.Errorf("%+v", e)
	}
	if _, _, ok := h.server.Session(b.request("GET", "/", nil)); ok {
		t.Error("pages take it")
	}
}

// A login ends the session the browser had before: what somebody knew of it is
// of no use any more.
func TestLoginEndsOldSession(t *testing.T) {
	h := build(t)
	b := h.browser(h.operator)
	u, _ := url.Parse(h.url)
	old := b.http.Jar.Cookies(u)
	b.want(200, nil, "POST", "/login", LoginRequest{Token: h.operator})
	b.http.Jar, _ = cookiejar.New(nil)
	b.http.Jar.SetCookies(u, old)
	b.refused(401, "GET", "/api/v1/todos", nil)
}

func TestRemovedToken(t *testing.T) {
	h := build(t, func(s *Server) { s.Tokens.Path = filepath.Join(t.TempDir(), "d", "tokens.json") })
	secret, err := h.server.Tokens.Add("eve", access.Operator)
	if err != nil {
		t.Fatal(err)
	}
	b, p := h.browser(secret), h.client(secret)
	b.want(200, nil, "GET", "/api/v1/todos", nil)
	p.want(200, nil, "GET", "/api/v1/todos", nil)
	if err := (&auth.Store{Path: h.server.Tokens.Path}).Remove("eve"); err != nil {
		t.Fatal(err)
	}
	b.refused(401, "GET", "/api/v1/todos", nil)
	p.refused(401, "GET", "/api/v1/todos", nil)
}

func TestSessionForPages(t *testing.T) {
	h := build(t, func(s *Server) {
		s.Pages = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if who, csrf, ok := s.Session(r); ok {
				w.Write([]byte(who.Name + " " + csrf))
			}
		})
	})
	b := h.browser(h.reader)
	if _, _, body := b.do(b.request("GET", "/now", nil)); body != "bob "+b.header.Get("X-CSRF-Token") {
		t.Errorf("%q", body)
	}
	// A token in a header is for programs, which do not look at pages.
	if _, _, body := h.client(h.operator).do(h.client(h.operator).request("GET", "/now", nil)); body != "" {
		t.Errorf("%q", body)
	}
}

// Without tokens and without a record nobody gets in.
func TestZeroLetsNobodyIn(t *testing.T) {
	h := build(t, func(s *Server) { s.Tokens = nil })
	h.client(h.operator).refused(401, "GET", "/api/v1/todos", nil)
	h.client("").refused(401, "POST", "/login", LoginRequest{Token: h.operator})
	h = build(t, func(s *Server) { s.Record = nil })
	h.client("").refused(503, "POST", "/login", LoginRequest{Token: h.operator})
	h.client(h.operator).refused(503, "POST", "/api/v1/tasks/a/stop", nil)
	if done, _ := h.was(); done != "" {
		t.Errorf("%s", done)
	}
}

func TestBrokenTokens(t *testing.T) {
	h := build(t, func(s *Server) { s.Tokens = &auth.Store{Path: t.TempDir()} })
	for _, e := range []ErrorText{h.client("x").refused(503, "GET", "/api/v1/todos", nil),
		h.client("").refused(503, "POST", "/login", LoginRequest{Token: "x"})} {
		if strings.Contains(e.Why+e.Hint+e.Subject, h.server.Tokens.Path) {
			t.Errorf("%+v tells strangers where the file is", e)
		}
	}
}

func TestCallerOfNobody(t *testing.T) {
	if name := Caller(httptest.NewRequest("GET", "/mcp", nil)); name != "" {
		t.Errorf("somebody is there: %q", name)
	}
}

// However often a reader logs in, others still can.
func TestLoginsKeepNobodyOut(t *testing.T) {
	h := build(t, func(s *Server) { s.sessions = auth.Sessions{Most: 10, Each: 5} })
	first := h.browser(h.reader)
	for range 12 {
		h.client("").want(200, nil, "POST", "/login", LoginRequest{Token: h.reader})
	}
	first.refused(401, "GET", "/api/v1/todos", nil)
	h.browser(h.operator).want(200, nil, "GET", "/api/v1/todos", nil)
}

// A page of another port can put a cookie of our name before ours.
func TestJunkCookie(t *testing.T) {
	h := build(t)
	b := h.browser(h.operator)
	u, _ := url.Parse(h.url)
	own := b.http.Jar.Cookies(u)[0]
	b.http.Jar = nil
	b.header.Set("Cookie", own.Name+"=junk; "+own.Name+"="+own.Value+"; "+own.Name+"=more")
	b.want(200, nil, "GET", "/api/v1/todos", nil)
	b.want(204, nil, "POST", "/logout", nil)
	b.refused(401, "GET", "/api/v1/todos", nil)
}

// Behind a proxy that has TLS the cookie is for TLS alone. Elsewhere the word of
// a header counts for nothing.
func TestCookieBehindProxy(t *testing.T) {
	for _, c := range []struct {
		public bool
		proto  string
		secure bool
	}{{true, "https", true}, {true, "HTTPS", true}, {true, "http", false}, {true, "", false}, {false, "https", false}} {
		h := build(t, func(s *Server) { s.Public, s.Addr = c.public, "127.0.0.1:0" })
		b := h.client("")
		b.header.Set("X-Forwarded-Proto", c.proto)
		_, header, _ := b.do(b.request("POST", "/login", LoginRequest{Token: h.operator}))
		if got := strings.Contains(header.Get("Set-Cookie"), "Secure"); got != c.secure {
			t.Errorf("%+v: %s", c, header.Get("Set-Cookie"))
		}
	}
}

func TestRefusedLoginSaysWhereTokensAre(t *testing.T) {
	h := build(t)
	e := h.client("").refused(401, "POST", "/login", LoginRequest{Token: "x"})
	if !strings.Contains(e.Hint, "printed when it started") || !strings.Contains(e.Hint, "hako serve token") {
		t.Errorf("%s", e.Hint)
	}
}

// A client uses MCP and nothing else: it must not approve what it asks for.
func TestClientsOnlyUseMCP(t *testing.T) {
	page := func(s *Server) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if _, _, ok := s.Session(r); ok {
				w.Write([]byte("inside"))
			}
		}
	}
	h := build(t, func(s *Server) {
		s.MCP, s.Metrics = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.Write([]byte(Caller(r))) }),
			http.NotFoundHandler()
		s.Pages = page(s)
	})
	token, err := h.server.Tokens.Ephemeral("claude", access.Client)
	if err != nil {
		t.Fatal(err)
	}
	c := h.client(token)
	if status, _, body := c.do(c.request("POST", "/mcp", "{}")); status != 200 || !strings.HasPrefix(body, "claude#") {
		t.Errorf("%d %s", status, body)
	}
	for _, r := range h.server.routes() {
		if !r.open {
			if e := c.refused(403, r.method, r.example(), r.exampleBody()); !strings.Contains(e.Why, "/mcp and nothing else") ||
				e.Hint == "" {
				t.Errorf("%s %s: %+v", r.method, r.path, e)
			}
		}
	}
	c.refused(403, "GET", "/metrics", nil)
	h.client("").refused(403, "POST", "/login", LoginRequest{Token: token})
	status, header, _ := h.form(h.client(""), "/login", url.Values{"token": {token}})
	if status != 303 || !strings.HasPrefix(header.Get("Location"), "/login?failed=client") ||
		header.Get("Set-Cookie") != "" {
		t.Errorf("%d %v", status, header)
	}
	if done, record := h.was(); done != "" || strings.Contains(record, "claude: log in") ||
		!strings.Contains(record, "claude: was refused: log in") {
		t.Errorf("%s; %s", done, record)
	}
	// Nor does a session that somehow is there.
	_, key, _, _ := h.server.Tokens.Verify(token)
	secret, _, _ := h.server.sessions.Open(key)
	b := h.client("")
	b.header.Set("Cookie", h.server.cookie+"="+secret)
	if _, _, body := b.do(b.request("GET", "/now", nil)); body != "" {
		t.Errorf("pages: %s", body)
	}
}

// Two tokens are two callers, whatever their names are.
func TestCaller(t *testing.T) {
	h := build(t, func(s *Server) {
		s.Tokens.Path = filepath.Join(t.TempDir(), "d", "tokens.json")
		s.MCP = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.Write([]byte(Caller(r))) })
	})
	caller := func(token string) string {
		c := h.client(token)
		_, _, body := c.do(c.request("POST", "/mcp", "{}"))
		return body
	}
	before, _ := h.server.Tokens.Add("ann", access.Operator) // as the one of the start
	statusRecorder := []string{caller(h.operator), caller(before)}
	h.server.Tokens.Remove("ann")
	after, _ := h.server.Tokens.Add("ann", access.Operator)
	statusRecorder = append(statusRecorder, caller(after))
	for i, name := range statusRecorder {
		if !strings.HasPrefix(name, "ann#") || slices.Contains(statusRecorder[:i], name) ||
			strings.Contains(h.operator+before+after, name[4:]) {
			t.Errorf("%q", statusRecorder)
		}
	}
	if caller(after) != statusRecorder[2] {
		t.Error("the same token is another caller the second time")
	}
	if name := Caller(h.client("").request("GET", "/", nil)); name != "" {
		t.Errorf("nobody is %q", name)
	}
}
