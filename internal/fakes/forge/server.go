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

// A Server is one forge. What tests change is changed by its methods.
type Server struct {
	URL string // without a slash at the end; the pages of people begin here

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
	Login  string // whose token it had; empty means none that is known
	Status int
}

// A Fault spoils requests.
type Fault struct {
	Method  string // empty means any
	Path    string // part of the path and query; empty means any
	Skip    int    // how many that fit are spared first
	Times   int    // how many are spoilt; zero means one, negative all
	Status  int    // zero means that the request is answered as it should
	Message string
	Header  http.Header
	Raw     string        // sent instead of a message
	Delay   time.Duration // before the answer
	Done    bool          // what was asked for is done nevertheless
	Cut     bool          // the connection breaks in the middle of the answer
}

const budget = 5000 // requests an hour

// Start opens a forge. Its port is free for others again after [Server.Close].
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

// T is what a test gives to [For].
type T interface {
	Helper()
	Errorf(format string, args ...any)
	Cleanup(func())
}

// ForTest opens a forge for a test, which fails if it is asked wrongly.
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

// Close ends the server and whatever it is still sending.
func (s *Server) Close() {
	s.stop()
	s.http.Close()
}

// API is the address of the interface.
func (s *Server) API() string { return s.URL + s.prefix() }

func (s *Server) prefix() string {
	if s.provider == GitLab {
		return "/api/v4"
	}
	return "/api/v3"
}

// Requests returns what has arrived so far.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// Count tells how many requests of a method had a text in their address.
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

// TakeViolations forgets the violations, for tests that mean to ask wrongly, and
// returns them.
func (s *Server) TakeViolations() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.violations
	s.violations = nil
	return all
}

// AddFault adds a fault. The first that fits a request spoils it.
func (s *Server) AddFault(f Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f.Times == 0 {
		f.Times = 1
	}
	s.faults = append(s.faults, &f)
}

// SecondaryRateLimit is GitHub's refusal of too many requests in too short a time. Zero
// means that it does not say for how long.
func SecondaryRateLimit(after time.Duration) Fault {
	f := Fault{Status: http.StatusForbidden,
		Message: "You have exceeded a secondary rate limit. Please wait a few minutes before you try again.",
		Header:  http.Header{}}
	if after > 0 {
		f.Header.Set("Retry-After", strconv.Itoa(int(after.Seconds())))
	}
	return f
}

// SetRateLimit sets how many requests are left, and for how long. Zero time means an
// hour.
func (s *Server) SetRateLimit(left int, reset time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.left = left
	if reset == 0 {
		reset = time.Hour
	}
	s.reset = time.Now().Add(reset)
}

// ResetRateLimit is the passing of the time until the limit is reset.
func (s *Server) ResetRateLimit() { s.SetRateLimit(budget, 0) }

func (s *Server) violate(format string, args ...any) {
	s.violations = append(s.violations, fmt.Sprintf(format, args...))
}

// takeFault takes the fault that fits.
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
