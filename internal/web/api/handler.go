package api

import (
	"context"
	"net/http"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"hako/internal/app/access"
	"hako/run/fault"
)

// csp lets a page load its own style and script and nothing else.
const csp = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"form-action 'self'; frame-ancestors 'none'; base-uri 'none'"

// headers go with every answer. There is none that lets other origins read: they
// have no business here.
var headers = map[string]string{
	"Content-Security-Policy":      csp,
	"X-Content-Type-Options":       "nosniff",
	"X-Frame-Options":              "DENY",
	"Referrer-Policy":              "no-referrer",
	"Cross-Origin-Opener-Policy":   "same-origin",
	"Cross-Origin-Resource-Policy": "same-origin",
	"Permissions-Policy":           "camera=(), geolocation=(), microphone=()",
	"Cache-Control":                "no-store",
}

// handler is the whole door: the checks that every request passes, and behind
// them what it may ask for.
func (s *Server) handler() http.Handler {
	mux := http.NewServeMux()
	for _, r := range s.routes() {
		mux.Handle(r.method+" "+r.path, s.serve(r))
	}
	for _, m := range s.mounts() {
		if m.next != nil {
			mux.Handle(m.pattern, s.mount(m))
		}
	}
	api := s.orWords(mux)
	return s.watched(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for name, value := range headers {
			w.Header().Set(name, value)
		}
		if err := s.ownName(r); err != nil {
			s.fail(w, r, err)
		} else if err := s.ownOrigin(r); err != nil {
			s.fail(w, r, err)
		} else if s.Pages != nil && isPage(r) {
			s.show(w, r)
		} else {
			api.ServeHTTP(w, r)
		}
	}))
}

// isPage tells what is for people to look at, or what pages ask of themselves.
func isPage(r *http.Request) bool {
	if strings.HasPrefix(r.URL.Path, "/page/") {
		return true
	}
	looks := r.Method == http.MethodGet || r.Method == http.MethodHead
	return looks && !isAPI(r.URL.Path) && r.URL.Path != "/api" && r.URL.Path != "/health" && r.URL.Path != "/healthz"
}

// show passes a request on to the pages. A program that they send to the login
// has come with a token already: it is told that there is nothing for it.
func (s *Server) show(w http.ResponseWriter, r *http.Request) {
	if scheme, _, _ := strings.Cut(r.Header.Get("Authorization"), " "); !strings.EqualFold(scheme, "bearer") {
		s.Pages.ServeHTTP(w, r)
		return
	}
	held := &loginHolder{ResponseWriter: w}
	s.Pages.ServeHTTP(held, r)
	if !held.back {
		return
	}
	w.Header().Del("Location")
	w.Header().Del("Content-Type")
	v, err := s.byToken(r)
	if err == nil {
		note(r, v.Name)
		err = &fault.Error{Kind: fault.NotFound, Op: "find", Subject: r.URL.Path, Why: "there is nothing here for programs",
			Hint: "what there is says /api/v1/openapi.yaml; pages are for browsers that log in at /login"}
	}
	s.fail(w, r, err)
}

// loginHolder keeps back an answer that sends to the login.
type loginHolder struct {
	http.ResponseWriter
	back bool
}

func (l *loginHolder) WriteHeader(status int) {
	if status == http.StatusSeeOther && strings.HasPrefix(l.Header().Get("Location"), "/login") {
		l.back = true
		return
	}
	l.ResponseWriter.WriteHeader(status)
}

func (l *loginHolder) Write(b []byte) (int, error) {
	if l.back {
		return len(b), nil
	}
	return l.ResponseWriter.Write(b)
}

// Unwrap lets a ResponseController through.
func (l *loginHolder) Unwrap() http.ResponseWriter { return l.ResponseWriter }

// Flush is for handlers that ask for it the old way.
func (l *loginHolder) Flush() { http.NewResponseController(l.ResponseWriter).Flush() }

// orWords answers in JSON also what no route is for.
func (s *Server) orWords(mux *http.ServeMux) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h, pattern := mux.Handler(r)
		if pattern != "" {
			mux.ServeHTTP(w, r)
			return
		}
		// The mux knows which methods there would have been.
		notFoundBuffer := &notFoundBuffer{header: http.Header{}}
		h.ServeHTTP(notFoundBuffer, r)
		e := &fault.Error{Kind: fault.NotFound, Op: "find", Subject: r.URL.Path, Why: "there is nothing here",
			Hint: "what there is says /api/v1/openapi.yaml"}
		if notFoundBuffer.status == http.StatusMethodNotAllowed {
			w.Header().Set("Allow", notFoundBuffer.header.Get("Allow"))
			e.Kind, e.Op, e.Subject, e.Why, e.Hint = fault.Invalid, "answer", r.Method, "this cannot be done here",
				"it takes "+notFoundBuffer.header.Get("Allow")
			s.fail(w, r, refuse(notFoundBuffer.status, e))
			return
		}
		s.fail(w, r, e)
	})
}

// found keeps the status and headers of an answer, and drops the rest.
type notFoundBuffer struct {
	header http.Header
	status int
}

func (f *notFoundBuffer) Header() http.Header         { return f.header }
func (f *notFoundBuffer) WriteHeader(status int)      { f.status = status }
func (f *notFoundBuffer) Write(b []byte) (int, error) { return len(b), nil }

// serve carries out a route: who is it, may they, is it a page of ours that
// asks, and only then what do they want.
func (s *Server) serve(r route) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		req.Body = http.MaxBytesReader(w, req.Body, s.limits.body)
		c := &call{Request: req, w: w, route: &r}
		if err := s.admit(c); err != nil {
			s.fail(w, req, err)
			return
		}
		if err := r.handle(s, c); err != nil {
			s.fail(w, req, err)
		}
	})
}

func (s *Server) admit(c *call) (err error) {
	if err := c.parseQuery(); err != nil || c.route.open {
		return err
	}
	if c.identity, err = s.identify(c.Request); err != nil {
		return err
	}
	note(c.Request, c.identity.Name)
	if err := may(c.identity.Actor, c.route.role); err != nil {
		s.refused(c.Request, c.identity.Name, c.describe(nil), "a change")
		return err
	}
	if c.Method == http.MethodGet || c.Method == http.MethodHead {
		return nil
	}
	if err := c.parseForm(); err != nil {
		return err
	}
	return c.ownPage()
}

// A mounted handler stands beside the API, and knows nothing of tokens.
type mountedHandler struct {
	pattern   string
	next      http.Handler // nil means that it is not there
	role      access.Role
	tokenOnly bool // a cookie does not count where programs come in: a browser sends it unasked
}

// mounts are all there may be.
func (s *Server) mounts() []mountedHandler {
	return []mountedHandler{
		{"/mcp", s.MCP, access.Client, true},
		{"/mcp/", s.MCP, access.Client, true},
		{"GET /metrics", s.Metrics, access.Reader, false},
	}
}

// mount passes requests on to a handler of somebody else.
func (s *Server) mount(m mountedHandler) http.Handler {
	who := s.identify
	if m.tokenOnly {
		who = s.byToken
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v, err := who(r)
		if err != nil {
			s.fail(w, r, err)
			return
		}
		if err := may(v.Actor, m.role); err != nil {
			s.refused(r, v.Name, r.URL.Path, "a change")
			s.fail(w, r, err)
			return
		}
		note(r, v.Name)
		ctx, cancel := s.lasting(context.WithValue(r.Context(), visitorKey{}, v), v)
		defer cancel()
		withoutDeadlines(w)
		r.Body = http.MaxBytesReader(w, r.Body, mostMCPBody)
		m.next.ServeHTTP(w, r.WithContext(ctx))
	})
}

// lasting is for what would go on for ever: it ends with the server, and soon
// after the visitor would not be let in again.
func (s *Server) lasting(ctx context.Context, v identity) (_ context.Context, end func()) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(s.ending, cancel)
	var looking sync.WaitGroup
	looking.Go(func() {
		defer cancel()
		s.whileStill(ctx, v)
	})
	return ctx, func() {
		stop()
		cancel()
		looking.Wait()
	}
}

// whileStill returns once a visitor would not be let in any more, or ctx ends.
func (s *Server) whileStill(ctx context.Context, v identity) {
	tick := time.NewTicker(s.limits.get)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			if !s.still(v) {
				return
			}
		case <-ctx.Done():
			return
		}
	}
}

// unhurried lifts the limits of time that are meant for short answers.
func withoutDeadlines(w http.ResponseWriter) {
	rc := http.NewResponseController(w)
	rc.SetReadDeadline(time.Time{})
	rc.SetWriteDeadline(time.Time{})
}

// watched logs requests and survives those that panic.
func (s *Server) watched(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began, statusRecorder, name := time.Now(), &statusRecorder{ResponseWriter: w}, new(string)
		r = r.WithContext(context.WithValue(r.Context(), nameKey{}, name))
		defer func() {
			if trouble := recover(); trouble != nil {
				if trouble == http.ErrAbortHandler {
					panic(trouble)
				}
				s.log().Error("panic", "path", r.URL.Path, "panic", trouble, "stack", string(debug.Stack()))
				if statusRecorder.status != 0 {
					panic(http.ErrAbortHandler) // half an answer must not look like a whole one
				}
				send(statusRecorder, http.StatusInternalServerError, bodyOf(nil))
			}
			s.log().Debug("request", "method", r.Method, "path", r.URL.Path, "status", statusRecorder.status, "actor", *name,
				"duration", time.Since(began))
		}()
		next.ServeHTTP(statusRecorder, r)
	})
}

type nameKey struct{}

// note tells the log who it was.
func note(r *http.Request, name string) {
	if p, ok := r.Context().Value(nameKey{}).(*string); ok {
		*p = name
	}
}

// seen remembers the status of an answer.
type statusRecorder struct {
	http.ResponseWriter
	status int
}

func (s *statusRecorder) WriteHeader(status int) {
	if s.status == 0 {
		s.status = status
	}
	s.ResponseWriter.WriteHeader(status)
}

func (s *statusRecorder) Write(b []byte) (int, error) {
	if s.status == 0 {
		s.status = http.StatusOK
	}
	return s.ResponseWriter.Write(b)
}

// Unwrap lets a ResponseController through.
func (s *statusRecorder) Unwrap() http.ResponseWriter { return s.ResponseWriter }

// Flush is for handlers that ask for it the old way.
func (s *statusRecorder) Flush() { http.NewResponseController(s.ResponseWriter).Flush() }
