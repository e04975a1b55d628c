package api

import (
	"context"
	_ "embed"
	"net/http"
	"reflect"
	"strings"

	"hako/internal/app/access"
	"hako/internal/app/coder/tasks"
	"hako/internal/app/records"
	"hako/internal/app/sandboxes"
	"hako/internal/app/secretary/sessions"
	"hako/internal/text"
	"hako/run/fault"
)

// v1 is the prefix of the API.
const v1 = "/api/v1"

// openapi describes the routes; a test compares it with them.
//
//go:embed openapi.yaml
var openapi []byte

// A route is one operation of the API.
type route struct {
	method, path string
	what         string       // a change, as the record calls it; empty means that nothing is changed
	open         bool         // needs no login
	role         access.Role  // who may; Reader means everybody who has logged in
	query        []string     // parameters
	in, out      reflect.Type // of the bodies; nil means none
	streams      bool         // the response is a stream of out
	status       int          // of a successful response
	needsSource  bool         // needs one of the sources

	about  func(*Server, *call) string // details for the record; nil means none
	handle func(*Server, *call) error
}

// A source returns what a handler works on, or an error if this server does not have it.
type source[S any] func(*Server) (S, error)

// itself is the source of handlers that need no other.
func itself(s *Server) (*Server, error) { return s, nil }

// get is a route that reads.
func get[S, Out any](path string, from source[S], do func(S, *call) (Out, error), query ...string) route {
	return route{method: http.MethodGet, path: v1 + path, role: access.Reader, query: query, out: reflect.TypeFor[Out](),
		status: http.StatusOK, needsSource: true, handle: func(s *Server, c *call) error {
			at, err := from(s)
			if err != nil {
				return err
			}
			out, err := do(at, c)
			if err != nil {
				return err
			}
			send(c.w, http.StatusOK, out)
			return nil
		}}
}

// list is a route that returns all items of a source, never null.
func list[S, Item, Out any](path string, from source[S], all func(S, context.Context) ([]Item, error),
	wrap func([]Item) Out) route {
	return get(path, from, func(at S, c *call) (Out, error) {
		items, err := all(at, c.Context())
		return wrap(nonNil(items)), err
	})
}

// watchRoute is a route that streams events.
func watchRoute[Item, S any](path string, from source[S], open func(S, *call) (producer, error),
	query ...string) route {
	return route{method: http.MethodGet, path: v1 + path, role: access.Reader, query: query, out: reflect.TypeFor[Item](),
		status: http.StatusOK, needsSource: true, streams: true, handle: func(s *Server, c *call) error {
			at, err := from(s)
			if err != nil {
				return err
			}
			produce, err := open(at, c)
			if err != nil {
				return err
			}
			return s.stream(c, produce)
		}}
}

// write is a route that changes something, after the change was recorded. A form is redirected to its page, other
// requests get the result.
func write[S, In, Out any](method, path, what string, from source[S], do func(S, *call, In) (Out, error)) route {
	r := route{method: method, path: v1 + path, what: what, role: access.Operator,
		in: reflect.TypeFor[In](), out: reflect.TypeFor[Out](), status: http.StatusOK, needsSource: true}
	if r.out == reflect.TypeFor[nothing]() {
		r.out, r.status = nil, http.StatusNoContent
	}
	if r.in == reflect.TypeFor[nothing]() {
		r.in = nil
	}
	r.handle = func(s *Server, c *call) error {
		var in In
		if err := c.read(&in); err != nil {
			return err
		}
		done, err := s.recordChange(c, in)
		if err != nil {
			return err
		}
		var out Out
		at, err := from(s)
		if err == nil {
			out, err = do(at, c, in)
		}
		done(err)
		switch {
		case err != nil:
			return err
		case c.form != nil:
			http.Redirect(c.w, c.Request, redirectTarget(c.form, backField), http.StatusSeeOther)
			return nil
		}
		send(c.w, c.route.status, out)
		return nil
	}
	return r
}

// recordChange records a change, and done its outcome. A harmless request is not recorded.
func (s *Server) recordChange(c *call, in any) (done func(error), err error) {
	if c.route.what == "" {
		return func(error) {}, nil
	}
	text := c.describe(in)
	if c.route.about != nil {
		text += c.route.about(s, c)
	}
	return s.record(c.identity.Name, short(text))
}

// describe is a change as the record has it: what is done to which item, and how.
func (c *call) describe(in any) string {
	words := []string{c.route.what}
	for _, name := range wildcards(c.route.path) {
		words = append(words, c.PathValue(name))
	}
	for _, name := range c.route.query {
		words = append(words, name+"="+c.query.Get(name))
	}
	if d, ok := in.(interface{ detail() string }); ok && d.detail() != "" {
		words = append(words, d.detail())
	}
	return strings.Join(words, " ")
}

const maxDescription = 300

// short keeps a client from filling the record or putting control characters into it.
func short(s string) string { return text.Shorten(text.RecordLine(s), maxDescription) }

// wildcards are the names of the variable parts of a path.
func wildcards(path string) []string {
	var names []string
	for part := range strings.SplitSeq(path, "/") {
		if name, ok := strings.CutPrefix(part, "{"); ok {
			names = append(names, strings.TrimSuffix(name, "}"))
		}
	}
	return names
}

// harmless changes a route with a body to one that only reads: readers may use it, and nothing is recorded.
func harmless(r route) route {
	r.what, r.role = "", access.Reader
	return r
}

// routes are all routes.
func (s *Server) routes() []route {
	all := []route{
		{method: "POST", path: "/login", open: true, in: reflect.TypeFor[LoginRequest](), out: reflect.TypeFor[Login](),
			status: http.StatusOK, handle: (*Server).login},
		logoutRoute(write("POST", "/logout", "log out", itself, (*Server).logout)),
		healthRoute(v1 + "/health"),
		{method: "GET", path: v1 + "/openapi.yaml", open: true, status: http.StatusOK, handle: describe},
		withoutSource(get("/session", itself, (*Server).whoami)),

		watchRoute[records.Entry]("/events", (*Server).live, events, "after"),

		get("/approvals", (*Server).approvals, pending),
		watchRoute[Questions]("/approvals/events", (*Server).approvals, pendingEvents),
		about(write("POST", "/approvals/{id}/answer", "answer question", (*Server).approvals, answer), (*Server).question),

		{method: "POST", path: v1 + "/secretary/chat", what: "talk to secretary", role: access.Operator,
			in:  reflect.TypeFor[ChatMessage](),
			out: reflect.TypeFor[sessions.Turn](), status: http.StatusOK, needsSource: true, streams: true,
			handle: (*Server).chat},
		list("/secretary/sessions", (*Server).secretary, Secretary.Sessions,
			func(all []sessions.Session) Conversations { return Conversations{all} }),
		get("/secretary/sessions/{id}/messages", (*Server).secretary, messages, "newest"),
		write("POST", "/secretary/sessions/{id}/stop", "stop secretary", (*Server).secretary, stopTurn),
		get("/secretary/voice", (*Server).secretary, voice),
		write("PUT", "/secretary/voice", "switch voice", (*Server).secretary, setVoice),

		list("/todos", (*Server).todos, Todos.List, func(all []sessions.Todo) TodoList { return TodoList{all} }),
		created(write("POST", "/todos", "add to-do", (*Server).todos, addTodo)),
		write("PATCH", "/todos/{id}", "change to-do", (*Server).todos, changeTodo),
		write("DELETE", "/todos/{id}", "delete to-do", (*Server).todos, deleteTodo),

		list("/tasks", (*Server).tasks, Tasks.List, func(all []tasks.Status) TaskList { return TaskList{all} }),
		watchRoute[tasks.Step]("/tasks/events", (*Server).tasks, taskEvents, "id"),
		get("/tasks/{id}", (*Server).tasks, task),
		write("POST", "/tasks/{id}/pause", "pause task", (*Server).tasks, order("pause")),
		write("POST", "/tasks/{id}/resume", "resume task", (*Server).tasks, order("resume")),
		write("POST", "/tasks/{id}/stop", "stop task", (*Server).tasks, order("stop")),

		list("/boxes", (*Server).sandboxes, Sandboxes.List,
			func(all []sandboxes.Sandbox) SandboxList { return SandboxList{all} }),
		get("/boxes/{id}", (*Server).sandboxes, sandbox),
		write("DELETE", "/boxes/{id}", "destroy box", (*Server).sandboxes, destroySandbox),
		get("/boxes/{id}/jobs/{job}/output", (*Server).sandboxes, jobOutput, "offset", "most"),

		get("/budget", (*Server).budget, budgetReport, "days"),
		get("/audit", (*Server).audit, search, "text", "actor", "what", "command", "since", "until", "before", "most"),
		get("/audit/stats", (*Server).audit, stats, "since"),
		get("/audit/verify", (*Server).audit, verifyChain),

		get("/policy/rules", (*Server).policy, policyRules, "profile"),
		harmless(write("POST", "/policy/check", "", (*Server).policy, check)),
	}
	return append(all, s.seedAPI()...)
}

func logoutRoute(r route) route {
	r.path, r.role, r.needsSource, r.handle = "/logout", access.Reader, false, sessionOnly(r.handle)
	return r
}

func about(r route, tell func(*Server, *call) string) route {
	r.about = tell
	return r
}

func withoutSource(r route) route {
	r.needsSource = false
	return r
}

func created(r route) route {
	r.status = http.StatusCreated
	return r
}

// Health says that the server is up, to everybody who can reach the port.
type Health struct {
	Status string `json:"status"`
}

func healthRoute(path string) route {
	return route{method: "GET", path: path, open: true, out: reflect.TypeFor[Health](), status: http.StatusOK,
		handle: health}
}

func health(_ *Server, c *call) error {
	send(c.w, http.StatusOK, Health{"ok"})
	return nil
}

func describe(_ *Server, c *call) error {
	c.w.Header().Set("Content-Type", "application/yaml")
	c.w.Write(openapi)
	return nil
}

// available returns a source, or an error if this server does not have it.
func available[T any](part T, name, hint string) (T, error) {
	if any(part) == nil {
		return part, &fault.Error{Kind: fault.NotFound, Op: "open", Subject: name, Why: "this server does not have it",
			Hint: hint}
	}
	return part, nil
}
