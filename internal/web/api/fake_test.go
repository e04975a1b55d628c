package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"hako/internal/app/access"
	"hako/internal/app/coder/tasks"
	"hako/internal/app/questions"
	"hako/internal/app/records"
	"hako/internal/app/sandboxes"
	"hako/internal/app/secretary/sessions"
	"hako/internal/web/auth"
	"hako/run/fault"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A world is everything behind a server. What is done to it is written down.
type world struct {
	mu     sync.Mutex
	done   []string // by the sources
	record []string // before it was done
	came   []string // of it
	broken error    // of the record
	fail   error    // of every source

	events chan records.Entry
	steps  chan tasks.Step
	after  int64 // that Watch was asked for
	say    func(ctx context.Context, tell func(sessions.Turn)) error
	todos  []sessions.Todo
	voice  bool
	desk   questions.List
}

func (w *world) do(format string, args ...any) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.done = append(w.done, fmt.Sprintf(format, args...))
	return w.fail
}

func (w *world) Record(actor, what string) (done func(error), err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.record = append(w.record, actor+": "+what)
	return func(err error) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.came = append(w.came, fmt.Sprintf("%s: %v", what, err))
	}, w.broken
}

func (w *world) was() (done, record string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	done, record = strings.Join(w.done, "; "), strings.Join(w.record, "; ")
	w.done, w.record = nil, nil
	return done, record
}

func (w *world) sources() Sources {
	return Sources{Live: live{w}, Approvals: &w.desk, Secretary: sec{w}, Todos: fakeTodos{w}, Tasks: fakeTasks{w},
		Sandboxes: fakeBoxes{w}, Budget: budget{w}, Record: record{w}, Policy: rules{w}}
}

type live struct{ *world }

func (w live) Watch(ctx context.Context, after int64) (<-chan records.Entry, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.after = after
	return w.events, w.fail
}

type sec struct{ *world }

func (w sec) Chat(ctx context.Context, who access.Actor, session, text string, tell func(sessions.Turn)) error {
	if err := w.do("%s says %s in %s", who.Name, text, session); err != nil {
		return err
	}
	if w.say == nil {
		tell(sessions.Turn{Type: "text", Text: "hello"})
		return nil
	}
	return w.say(ctx, tell)
}
func (w sec) Stop(_ context.Context, who access.Actor, session string) error {
	return w.do("%s stops %s", who.Name, session)
}
func (w sec) Sessions(context.Context) ([]sessions.Session, error) {
	return []sessions.Session{{ID: "a", Title: "b"}}, w.fail
}
func (w sec) Messages(_ context.Context, session string, newest int) ([]sessions.Message, error) {
	return []sessions.Message{{Role: "user", Text: fmt.Sprint(session, newest)}}, w.fail
}
func (w sec) Speaks(context.Context) (bool, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.voice, w.fail
}
func (w sec) Voice(_ context.Context, on bool) (bool, error) {
	err := w.do("voice %v", on)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.voice = on
	return on, err
}

type fakeTodos struct{ *world }

func (w fakeTodos) List(context.Context) ([]sessions.Todo, error) { return w.todos, w.fail }
func (w fakeTodos) Do(_ context.Context, who access.Actor, action string, t sessions.Todo) (sessions.Todo, error) {
	return t, w.do("%s %s %d %s/%s/%s/%s/%s", who.Name, action, t.ID, t.Title, t.Note, t.Status, t.Priority, t.Due)
}

type fakeTasks struct{ *world }

func (w fakeTasks) List(context.Context) ([]tasks.Status, error) { return nil, w.fail }
func (w fakeTasks) Get(_ context.Context, id string) (tasks.Status, error) {
	if id == "gone" {
		return tasks.Status{}, &fault.Error{Kind: fault.NotFound, Op: "find task", Subject: id, Why: "there is none"}
	}
	return tasks.Status{ID: id}, w.fail
}
func (w fakeTasks) Order(_ context.Context, who access.Actor, id, order string) error {
	return w.do("%s %s %s", who.Name, order, id)
}
func (w fakeTasks) Watch(_ context.Context, id string) (<-chan tasks.Step, error) {
	return w.steps, w.do("watch %s", id)
}

type fakeBoxes struct{ *world }

func (w fakeBoxes) List(context.Context) ([]sandboxes.Sandbox, error) {
	return []sandboxes.Sandbox{{ID: "b1", Kind: "virtual"}}, w.fail
}
func (w fakeBoxes) Get(_ context.Context, id string) (sandboxes.Sandbox, error) {
	return sandboxes.Sandbox{ID: id}, w.fail
}
func (w fakeBoxes) Destroy(_ context.Context, who access.Actor, id string) error {
	return w.do("%s destroy %s", who.Name, id)
}
func (w fakeBoxes) Output(_ context.Context, id, job string, offset int64, most int) (string, int64, error) {
	return fmt.Sprint(id, " ", job, " ", offset, " ", most), offset + 3, w.fail
}

type budget struct{ *world }

func (w budget) Days(_ context.Context, newest int) ([]records.Day, error) {
	return []records.Day{{Day: fmt.Sprint(newest)}}, w.fail
}
func (w budget) Left(context.Context) (records.Left, error) {
	return records.Left{Tokens: 5, Total: 7}, w.fail
}

type record struct{ *world }

func (w record) Search(_ context.Context, q records.Query) ([]records.Entry, error) {
	text, _ := json.Marshal(q)
	return []records.Entry{{Seq: 3, What: "asked", Text: string(text)}}, w.fail
}
func (w record) Stats(_ context.Context, since time.Time) (records.Stats, error) {
	return records.Stats{Requests: since.Unix()}, w.fail
}
func (w record) Verify(context.Context) (records.Chain, error) {
	return records.Chain{Whole: true, Events: 9}, w.fail
}

type rules struct{ *world }

func (w rules) Rules(_ context.Context, profile string) ([]records.Rule, error) {
	return []records.Rule{{Effect: "allow", Words: "ls", Where: profile}}, w.fail
}
func (w rules) Check(_ context.Context, profile, command string) ([]records.Verdict, error) {
	return []records.Verdict{{Command: command, Effect: "deny", Why: profile}}, w.fail
}

// A house is a server that runs, with what is behind it and who may come in.
type house struct {
	server *Server
	*world
	t                *testing.T
	url              string
	operator, reader string // tokens
	stop             func(context.Context) error
}

func build(t *testing.T, write ...func(*Server)) *house {
	t.Helper()
	w := &world{events: make(chan records.Entry), steps: make(chan tasks.Step)}
	s := &Server{Sources: w.sources(), Record: w.Record, Tokens: new(auth.Store)}
	s.limits = limits{keepAlive: 50 * time.Millisecond, write: 500 * time.Millisecond, read: 2 * time.Second, buffer: 16,
		sessionStreams: 4}
	h := &house{server: s, world: w, t: t}
	h.operator, _ = s.Tokens.Ephemeral("ann", access.Operator)
	h.reader, _ = s.Tokens.Ephemeral("bob", access.Reader)
	for _, c := range write {
		c(s)
	}
	addr, stop, err := s.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	h.url, h.stop = "http://"+addr, stop
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
		defer cancel()
		if err := stop(ctx); err != nil {
			t.Error(err)
		}
	})
	return h
}

// A client is a program with a token, a browser with a cookie, or neither.
type client struct {
	*house
	http   http.Client
	header http.Header
}

func (h *house) client(token string) *client {
	c := &client{house: h, header: http.Header{}}
	transport := &http.Transport{}
	c.http = http.Client{Transport: transport, Timeout: 10 * time.Second,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	h.t.Cleanup(transport.CloseIdleConnections)
	if token != "" {
		c.header.Set("Authorization", "Bearer "+token)
	}
	return c
}

// browser is one that has logged in.
func (h *house) browser(token string) *client {
	h.t.Helper()
	c := h.client("")
	c.http.Jar, _ = cookiejar.New(nil)
	var made Login
	c.want(http.StatusOK, &made, "POST", "/login", LoginRequest{Token: token})
	c.header.Set("X-CSRF-Token", made.CSRF)
	h.was()
	return c
}

func (c *client) request(method, path string, body any) *http.Request {
	c.t.Helper()
	var content io.Reader
	kind := ""
	switch body := body.(type) {
	case nil:
	case string:
		content, kind = strings.NewReader(body), jsonType
	default:
		b, err := json.Marshal(body)
		if err != nil {
			c.t.Fatal(err)
		}
		content, kind = bytes.NewReader(b), jsonType
	}
	r, err := http.NewRequestWithContext(c.t.Context(), method, c.url+path, content)
	if err != nil {
		c.t.Fatal(err)
	}
	for name, values := range c.header {
		r.Header[name] = values
	}
	if kind != "" {
		r.Header.Set("Content-Type", kind)
	}
	return r
}

// do sends a request. Every answer must be one that the description knows, and
// have the headers that keep browsers safe.
func (c *client) do(r *http.Request) (status int, header http.Header, body string) {
	c.t.Helper()
	res, err := c.http.Do(r)
	if err != nil {
		c.t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	if !described(c.server, r, res.StatusCode) {
		c.t.Errorf("%s %s answers %d, which is not described", r.Method, r.URL.Path, res.StatusCode)
	}
	for name, value := range headers {
		if res.Header.Get(name) != value {
			c.t.Errorf("%s %s: %s is %q", r.Method, r.URL.Path, name, res.Header.Get(name))
		}
	}
	for name := range res.Header {
		if strings.HasPrefix(name, "Access-Control") {
			c.t.Errorf("%s: other origins are told something", name)
		}
	}
	return res.StatusCode, res.Header, string(b)
}

// described tells whether an answer is one that the route documents. What is no
// route at all is not its matter.
func described(s *Server, r *http.Request, status int) bool {
	mux := http.NewServeMux()
	all := map[string]route{}
	for _, one := range s.routes() {
		mux.Handle(one.method+" "+one.path, http.NotFoundHandler())
		all[one.method+" "+one.path] = one
	}
	_, pattern := mux.Handler(r)
	one, ok := all[pattern]
	return !ok || status >= 500 || slices.Contains(one.answers(), status)
}

// example is a path of the route.
func (r route) example() string {
	path := r.path
	for _, name := range wildcards(r.path) {
		path = strings.Replace(path, "{"+name+"}", "1", 1)
	}
	return path
}

// exampleBody is one that the route takes.
func (r route) exampleBody() any {
	switch {
	case r.method == http.MethodGet:
		return nil
	case r.path == "/api/chat":
		return `{"message":"x"}`
	case r.path == "/api/v1/secretary/chat":
		return `{"text":"x"}`
	}
	return "{}"
}

// want sends a request and decodes the answer.
func (c *client) want(status int, out any, method, path string, body any) {
	c.t.Helper()
	got, header, text := c.do(c.request(method, path, body))
	if got != status {
		c.t.Fatalf("%s %s: %d %s, want %d", method, path, got, text, status)
	}
	if out == nil {
		return
	}
	if header.Get("Content-Type") != jsonType {
		c.t.Errorf("%s %s: %s", method, path, header.Get("Content-Type"))
	}
	dec := json.NewDecoder(strings.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(out); err != nil {
		c.t.Errorf("%s %s: %v in %s", method, path, err, text)
	}
}

// refused sends a request that must not be taken, and returns what is said.
func (c *client) refused(status int, method, path string, body any) ErrorText {
	c.t.Helper()
	var e ErrorBody
	c.want(status, &e, method, path, body)
	if e.Error.Kind == "" || e.Error.Op == "" || e.Error.Why == "" {
		c.t.Errorf("%s %s: %+v says too little", method, path, e.Error)
	}
	return e.Error
}

var errInside = errors.New("the password is hunter2")
