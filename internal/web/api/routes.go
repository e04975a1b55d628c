package api

import (
	_ "embed"
	"net/http"
	"reflect"
	"strings"

	"hako/internal/app/access"
	"hako/internal/app/coder/tasks"
	"hako/internal/app/records"
	"hako/internal/app/secretary/sessions"
	"hako/internal/text"
	"hako/run/fault"
)

// v1 is where the API is.
const v1 = "/api/v1"

// openapi describes the routes; a test compares it with them.
//
//go:embed openapi.yaml
var openapi []byte

// A route is one thing that can be asked for.
type route struct {
	method, path string
	what         string       // a change, as the record calls it; empty means that nothing is changed
	open         bool         // needs no login
	role         access.Role  // who may; Reader means everybody who has logged in
	query        []string     // parameters
	in, out      reflect.Type // of the bodies; nil means that there is none
	streams      bool         // the answer is a stream of out
	status       int          // of a good answer
	part         bool         // needs one of the sources

	about  func(*Server, *call) string // more for the record; nil means that there is none
	handle func(*Server, *call) error
}

// get is a route that shows something.
func get[Out any](path string, do func(*Server, *call) (Out, error), query ...string) route {
	return route{method: http.MethodGet, path: v1 + path, role: access.Reader, query: query, out: reflect.TypeFor[Out](),
		status: http.StatusOK, part: true, handle: func(s *Server, c *call) error {
			out, err := do(s, c)
			if err != nil {
				return err
			}
			send(c.w, http.StatusOK, out)
			return nil
		}}
}

// watch is a route that shows what happens, as it happens.
func watchRoute[Item any](path string, open func(*Server, *call) (producer, error), query ...string) route {
	return route{method: http.MethodGet, path: v1 + path, role: access.Reader, query: query, out: reflect.TypeFor[Item](),
		status: http.StatusOK, part: true, streams: true, handle: func(s *Server, c *call) error {
			produce, err := open(s, c)
			if err != nil {
				return err
			}
			return s.stream(c, produce)
		}}
}

// change is a route that does something, after it was put on record. A form is
// sent back to its page, other requests get what came of it.
func write[In, Out any](method, path, what string, do func(*Server, *call, In) (Out, error)) route {
	r := route{method: method, path: v1 + path, what: what, role: access.Operator,
		in: reflect.TypeFor[In](), out: reflect.TypeFor[Out](), status: http.StatusOK, part: true}
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
		out, err := do(s, c, in)
		done(err)
		switch {
		case err != nil:
			return err
		case c.form != nil:
			http.Redirect(c.w, c.Request, back(c.form, backField), http.StatusSeeOther)
			return nil
		}
		send(c.w, c.route.status, out)
		return nil
	}
	return r
}

// recordChange puts a request on record, and done what came of it, unless it is
// harmless.
func (s *Server) recordChange(c *call, in any) (done func(error), err error) {
	if c.route.what == "" {
		return func(error) {}, nil
	}
	told := c.told(in)
	if c.route.about != nil {
		told += c.route.about(s, c)
	}
	return s.record(c.identity.Name, short(told))
}

// told is a change as the record has it: what is done to which one, and how.
func (c *call) told(in any) string {
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

const longestTold = 300

// short keeps a visitor from filling the record or drawing in it.
func short(s string) string { return text.Shorten(text.RecordLine(s), longestTold) }

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

// harmless makes a route of one that only looks, though it has a body: readers
// may, and nothing is put on record.
func harmless(r route) route {
	r.what, r.role = "", access.Reader
	return r
}

// routes are all there are.
func (s *Server) routes() []route {
	all := []route{
		{method: "POST", path: "/login", open: true, in: reflect.TypeFor[LoginRequest](), out: reflect.TypeFor[Login](),
			status: http.StatusOK, handle: (*Server).login},
		leaving(write("POST", "/logout", "log out", (*Server).logout)),
		alive(v1 + "/health"),
		{method: "GET", path: v1 + "/openapi.yaml", open: true, status: http.StatusOK, handle: describe},
		alone(get("/session", (*Server).whoami)),

		watchRoute[records.Entry]("/events", (*Server).events, "after"),

		get("/approvals", (*Server).pending),
		watchRoute[Questions]("/approvals/events", (*Server).pendingEvents),
		about(write("POST", "/approvals/{id}/answer", "answer question", (*Server).answer), (*Server).question),

		{method: "POST", path: v1 + "/secretary/chat", what: "talk to secretary", role: access.Operator,
			in:  reflect.TypeFor[ChatMessage](),
			out: reflect.TypeFor[sessions.Turn](), status: http.StatusOK, part: true, streams: true, handle: (*Server).chat},
		get("/secretary/sessions", (*Server).conversations),
		get("/secretary/sessions/{id}/messages", (*Server).messages, "newest"),
		write("POST", "/secretary/sessions/{id}/stop", "stop secretary", (*Server).stopTalking),
		get("/secretary/voice", (*Server).speaking),
		write("PUT", "/secretary/voice", "switch voice", (*Server).voice),

		get("/todos", (*Server).todos),
		created(write("POST", "/todos", "add to-do", (*Server).addTodo)),
		write("PATCH", "/todos/{id}", "change to-do", (*Server).changeTodo),
		write("DELETE", "/todos/{id}", "delete to-do", (*Server).deleteTodo),

		get("/tasks", (*Server).tasks),
		watchRoute[tasks.Step]("/tasks/events", (*Server).taskEvents, "id"),
		get("/tasks/{id}", (*Server).task),
		write("POST", "/tasks/{id}/pause", "pause task", order("pause")),
		write("POST", "/tasks/{id}/resume", "resume task", order("resume")),
		write("POST", "/tasks/{id}/stop", "stop task", order("stop")),

		get("/boxes", (*Server).listSandboxes),
		get("/boxes/{id}", (*Server).sandbox),
		write("DELETE", "/boxes/{id}", "destroy box", (*Server).destroySandbox),
		get("/boxes/{id}/jobs/{job}/output", (*Server).output, "offset", "most"),

		get("/budget", (*Server).budget, "days"),
		get("/audit", (*Server).search, "text", "actor", "what", "command", "since", "until", "before", "most"),
		get("/audit/stats", (*Server).stats, "since"),
		get("/audit/verify", (*Server).verifyChain),

		get("/policy/rules", (*Server).rules, "profile"),
		harmless(write("POST", "/policy/check", "", (*Server).check)),
	}
	return append(all, s.seedAPI()...)
}

func leaving(r route) route {
	r.path, r.role, r.part, r.handle = "/logout", access.Reader, false, bySession(r.handle)
	return r
}

func about(r route, tell func(*Server, *call) string) route {
	r.about = tell
	return r
}

func alone(r route) route {
	r.part = false
	return r
}

func created(r route) route {
	r.status = http.StatusCreated
	return r
}

// Health is a sign of life, for everybody who can reach the port.
type Health struct {
	Status string `json:"status"`
}

// alive is a sign of life, for everybody who reaches the port.
func alive(path string) route {
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

// there returns a source, or says that this server does not have it.
func available[T any](part T, name, hint string) (T, error) {
	if any(part) == nil {
		return part, &fault.Error{Kind: fault.NotFound, Op: "open", Subject: name, Why: "this server does not have it",
			Hint: hint}
	}
	return part, nil
}
