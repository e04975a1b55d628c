package api

import (
	"context"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"hako/internal/app/access"
	"hako/run/fault"
)

// csp lets a page load its own style and script and nothing else.
const csp = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"form-action 'self'; frame-ancestors 'none'; base-uri 'none'"

// headers are sent with every response. None lets other origins read it.
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

// handler checks every request and passes it on to the routes, the mounted handlers or the pages.
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
	api := s.jsonNotFound(mux)
	return s.logged(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for name, value := range headers {
			w.Header().Set(name, value)
		}
		if err := s.checkHost(r); err != nil {
			s.fail(w, r, err)
		} else if err := s.checkOrigin(r); err != nil {
			s.fail(w, r, err)
		} else if s.Pages != nil && isPage(r) {
			s.servePage(w, r)
		} else {
			api.ServeHTTP(w, r)
		}
	}))
}

// isPage reports whether a request is for the pages.
func isPage(r *http.Request) bool {
	if strings.HasPrefix(r.URL.Path, "/page/") {
		return true
	}
	looks := r.Method == http.MethodGet || r.Method == http.MethodHead
	return looks && !isAPI(r.URL.Path) && r.URL.Path != "/api" && r.URL.Path != "/health" && r.URL.Path != "/healthz"
}

// servePage passes a request on to the pages. A program with a token that they redirect to the login gets an error in
// JSON instead.
func (s *Server) servePage(w http.ResponseWriter, r *http.Request) {
	if scheme, _, _ := strings.Cut(r.Header.Get("Authorization"), " "); !strings.EqualFold(scheme, "bearer") {
		s.Pages.ServeHTTP(w, r)
		return
	}
	held := &loginInterceptor{ResponseWriter: w}
	s.Pages.ServeHTTP(held, r)
	if !held.intercepted {
		return
	}
	w.Header().Del("Location")
	w.Header().Del("Content-Type")
	v, err := s.identifyByToken(r)
	if err == nil {
		setLogName(r, v.Name)
		err = &fault.Error{Kind: fault.NotFound, Op: "find", Subject: r.URL.Path, Why: "there is nothing here for programs",
			Hint: "/api/v1/openapi.yaml lists all routes; pages are for browsers that log in at /login"}
	}
	s.fail(w, r, err)
}

// loginInterceptor suppresses a redirect to the login.
type loginInterceptor struct {
	http.ResponseWriter
	intercepted bool
}

func (l *loginInterceptor) WriteHeader(status int) {
	if status == http.StatusSeeOther && strings.HasPrefix(l.Header().Get("Location"), "/login") {
		l.intercepted = true
		return
	}
	l.ResponseWriter.WriteHeader(status)
}

func (l *loginInterceptor) Write(b []byte) (int, error) {
	if l.intercepted {
		return len(b), nil
	}
	return l.ResponseWriter.Write(b)
}

// Unwrap is for [http.ResponseController].
func (l *loginInterceptor) Unwrap() http.ResponseWriter { return l.ResponseWriter }

// Flush implements [http.Flusher].
func (l *loginInterceptor) Flush() { http.NewResponseController(l.ResponseWriter).Flush() }

// jsonNotFound also answers in JSON if there is no route.
func (s *Server) jsonNotFound(mux *http.ServeMux) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, pattern := mux.Handler(r); pattern != "" {
			mux.ServeHTTP(w, r)
			return
		}
		if allow := strings.Join(methodsOf(mux, r), ", "); allow != "" {
			w.Header().Set("Allow", allow)
			s.fail(w, r, refuse(http.StatusMethodNotAllowed, &fault.Error{Kind: fault.Invalid, Op: "answer",
				Subject: r.Method, Why: "the method is not allowed", Hint: "allowed are " + allow}))
			return
		}
		s.fail(w, r, &fault.Error{Kind: fault.NotFound, Op: "find", Subject: r.URL.Path, Why: "there is nothing here",
			Hint: "/api/v1/openapi.yaml lists all routes"})
	})
}

// methodsOf returns the methods that have a route for the path of a request.
func methodsOf(mux *http.ServeMux, r *http.Request) []string {
	return slices.DeleteFunc([]string{"DELETE", "GET", "HEAD", "PATCH", "POST", "PUT"}, func(method string) bool {
		other := *r
		other.Method = method
		_, pattern := mux.Handler(&other)
		return pattern == ""
	})
}

// serve authenticates and authorizes a request, checks its CSRF token, and only then calls the handler of the route.
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
	setLogName(c.Request, c.identity.Name)
	if err := checkRole(c.identity.Actor, c.route.role); err != nil {
		s.refused(c.Request, c.identity.Name, c.describe(nil), "a change")
		return err
	}
	if c.Method == http.MethodGet || c.Method == http.MethodHead {
		return nil
	}
	if err := c.parseForm(); err != nil {
		return err
	}
	return c.checkCSRF()
}

// A mountedHandler is a handler beside the API that does not know tokens.
type mountedHandler struct {
	pattern   string
	next      http.Handler // nil means that there is none
	role      access.Role
	tokenOnly bool // accept no cookies, which a browser sends without being asked
}

func (s *Server) mounts() []mountedHandler {
	return []mountedHandler{
		{"/mcp", s.MCP, access.Client, true},
		{"/mcp/", s.MCP, access.Client, true},
		{"GET /metrics", s.Metrics, access.Reader, false},
	}
}

// mount authenticates and authorizes requests before it passes them on.
func (s *Server) mount(m mountedHandler) http.Handler {
	who := s.identify
	if m.tokenOnly {
		who = s.identifyByToken
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v, err := who(r)
		if err != nil {
			s.fail(w, r, err)
			return
		}
		if err := checkRole(v.Actor, m.role); err != nil {
			s.refused(r, v.Name, r.URL.Path, "a change")
			s.fail(w, r, err)
			return
		}
		setLogName(r, v.Name)
		ctx, cancel := s.whileValid(context.WithValue(r.Context(), identityKey{}, v), v)
		defer cancel()
		withoutDeadlines(w)
		r.Body = http.MaxBytesReader(w, r.Body, maxMCPBody)
		m.next.ServeHTTP(w, r.WithContext(ctx))
	})
}

// whileValid returns a context for long responses: it ends with the server, and soon after the token or session becomes
// invalid.
func (s *Server) whileValid(ctx context.Context, v identity) (_ context.Context, end func()) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(s.ending, cancel)
	var looking sync.WaitGroup
	looking.Go(func() {
		defer cancel()
		s.waitUntilInvalid(ctx, v)
	})
	return ctx, func() {
		stop()
		cancel()
		looking.Wait()
	}
}

// waitUntilInvalid returns when the token or session becomes invalid, or ctx ends.
func (s *Server) waitUntilInvalid(ctx context.Context, v identity) {
	tick := time.NewTicker(s.limits.recheck)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			if !s.valid(v) {
				return
			}
		case <-ctx.Done():
			return
		}
	}
}

// withoutDeadlines removes the timeouts that are meant for short responses.
func withoutDeadlines(w http.ResponseWriter) {
	rc := http.NewResponseController(w)
	rc.SetReadDeadline(time.Time{})
	rc.SetWriteDeadline(time.Time{})
}

// logged logs requests and recovers from panics.
func (s *Server) logged(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began, recorder, name := time.Now(), &statusRecorder{ResponseWriter: w}, new(string)
		r = r.WithContext(context.WithValue(r.Context(), nameKey{}, name))
		defer func() {
			if trouble := recover(); trouble != nil {
				if trouble == http.ErrAbortHandler {
					panic(trouble)
				}
				s.log().Error("panic", "path", r.URL.Path, "panic", trouble, "stack", string(debug.Stack()))
				if recorder.status != 0 {
					panic(http.ErrAbortHandler) // a partial response must not look complete
				}
				send(recorder, http.StatusInternalServerError, bodyOf(nil))
			}
			s.log().Debug("request", "method", r.Method, "path", r.URL.Path, "status", recorder.status, "actor", *name,
				"duration", time.Since(began))
		}()
		next.ServeHTTP(recorder, r)
	})
}

type nameKey struct{}

// setLogName sets the actor of the request in the log.
func setLogName(r *http.Request, name string) {
	if p, ok := r.Context().Value(nameKey{}).(*string); ok {
		*p = name
	}
}

// statusRecorder records the status of a response.
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

// Unwrap is for [http.ResponseController].
func (s *statusRecorder) Unwrap() http.ResponseWriter { return s.ResponseWriter }

// Flush implements [http.Flusher].
func (s *statusRecorder) Flush() { http.NewResponseController(s.ResponseWriter).Flush() }
