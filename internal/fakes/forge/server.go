package forge

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A Server is a fake forge. Tests change its state by its methods.
type Server struct {
	URL string // of the web pages, without a slash at the end

	provider string
	http     *http.Server
	mux      *http.ServeMux
	stop     context.CancelFunc

	mu         sync.Mutex
	users      map[string]*user
	tokens     map[string]string // login by token
	repos      map[string]*repo
	clock      time.Time
	ids        int
	faults     []*Fault
	left       int
	reset      time.Time
	requests   []Request
	violations []string
	gitRoot    string
	apps       appRegistry
}

// A Request is one that arrived.
type Request struct {
	Method string
	URL    string // path and query
	Login  string // of the token; empty means none that is known
	Status int
}

// A Fault makes requests fail.
type Fault struct {
	Method  string // empty means any
	Path    string // part of the path and query; empty means any
	Skip    int    // how many matching requests are spared first
	Times   int    // how many fail; zero means one, negative all
	Status  int    // zero means the regular response
	Message string
	Header  http.Header
	Raw     string        // body to send instead of a message
	Delay   time.Duration // before the response
	Done    bool          // the request is carried out nevertheless
	Cut     bool          // the connection breaks in the middle of the response
}

const budget = 5000 // requests per hour

// Start starts a forge. Its port is free after [Server.Close].
func Start(provider string) *Server {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	s := &Server{URL: "http://" + listener.Addr().String(), provider: provider, stop: stop, left: budget,
		users: map[string]*user{}, tokens: map[string]string{}, repos: map[string]*repo{},
		clock: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	s.mux = s.routes()
	s.http = &http.Server{Handler: s, BaseContext: func(net.Listener) context.Context { return ctx }}
	go s.http.Serve(listener)
	return s
}

// T is the part of testing.TB that [ForTest] needs.
type T interface {
	Helper()
	Errorf(format string, args ...any)
	Cleanup(func())
}

// ForTest starts a forge for a test, which fails on violations.
func ForTest(t T, provider string) *Server {
	s := Start(provider)
	t.Cleanup(func() {
		t.Helper()
		s.Close()
		for _, violation := range s.Violations() {
			t.Errorf("asked wrongly: %s", violation)
		}
	})
	return s
}

// Close ends the server and its responses.
func (s *Server) Close() {
	s.stop()
	s.http.Close()
}

// API returns the base URL of the API.
func (s *Server) API() string { return s.URL + s.prefix() }

func (s *Server) prefix() string {
	if s.provider == GitLab {
		return "/api/v4"
	}
	return "/api/v3"
}

// Requests returns the requests so far.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// Count counts the requests of a method whose URL contains a text.
func (s *Server) Count(method, path string) int {
	n := 0
	for _, r := range s.Requests() {
		if (method == "" || r.Method == method) && strings.Contains(r.URL, path) {
			n++
		}
	}
	return n
}

// ClearRequests forgets the requests.
func (s *Server) ClearRequests() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = nil
}

// Violations returns what was wrong with the requests.
func (s *Server) Violations() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.violations)
}

// TakeViolations returns and forgets the violations, for tests that expect some.
func (s *Server) TakeViolations() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.violations
	s.violations = nil
	return all
}

// AddFault adds a fault. The first that matches a request applies.
func (s *Server) AddFault(f Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f.Times == 0 {
		f.Times = 1
	}
	s.faults = append(s.faults, &f)
}

// SecondaryRateLimit is GitHub's refusal of too many requests in too short a time. Zero
// means without Retry-After.
func SecondaryRateLimit(after time.Duration) Fault {
	f := Fault{Status: http.StatusForbidden,
		Message: "You have exceeded a secondary rate limit. Please wait a few minutes before you try again.",
		Header:  http.Header{}}
	if after > 0 {
		f.Header.Set("Retry-After", strconv.Itoa(int(after.Seconds())))
	}
	return f
}

// SetRateLimit sets how many requests are left, and when the limit is reset. Zero means
// in an hour.
func (s *Server) SetRateLimit(left int, reset time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.left = left
	if reset == 0 {
		reset = time.Hour
	}
	s.reset = time.Now().Add(reset)
}

// ResetRateLimit resets the rate limit.
func (s *Server) ResetRateLimit() { s.SetRateLimit(budget, 0) }

func (s *Server) violate(format string, args ...any) {
	s.violations = append(s.violations, fmt.Sprintf(format, args...))
}

// takeFault returns the fault for a request.
func (s *Server) takeFault(r *http.Request) Fault {
	for _, f := range s.faults {
		if f.Times == 0 || f.Method != "" && f.Method != r.Method || !strings.Contains(r.URL.RequestURI(), f.Path) {
			continue
		}
		if f.Skip > 0 {
			f.Skip--
			continue
		}
		f.Times--
		return *f
	}
	return Fault{}
}

func itoa(n int) string { return strconv.Itoa(n) }
