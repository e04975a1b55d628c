//go:build unix

package mcpclient

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"hako/internal/testload"
	"hako/run/fault"
)

// site serves a good server over HTTP; front may answer a request in its stead.
func site(t *testing.T, o *mcp.StreamableHTTPOptions, front func(http.ResponseWriter, *http.Request) bool) Server {
	t.Helper()
	server := good()
	h := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, o)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if front == nil || !front(w, r) {
			h.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(func() {
		s.Close()
		for session := range server.Sessions() { // of clients that went without a word
			_ = session.Close()
		}
	})
	return Server{Name: "web", URL: s.URL, Header: map[string]string{"Authorization": "Basic dXNlcjpwYXNz"}}
}

// guarded wants the header that the servers above are told to have.
func guarded(w http.ResponseWriter, r *http.Request) bool {
	if r.Header.Get("Authorization") == "Basic dXNlcjpwYXNz" {
		return false
	}
	http.Error(w, "who are you?", http.StatusUnauthorized)
	return true
}

func TestWeb(t *testing.T) {
	for name, o := range map[string]*mcp.StreamableHTTPOptions{"stream": nil, "json": {JSONResponse: true},
		"stateless": {Stateless: true}} {
		t.Run(name, func(t *testing.T) {
			p := open(t, Options{}, site(t, o, guarded))
			if got := answered(t, p, "web_echo", `{"text":"a dXNlcjpwYXNz"}`); !strings.HasPrefix(got,
				"you said a [redacted]\n[1 secret was redacted") {
				t.Error(got)
			}
			_, err := ask(t, p, "web_fail", "{}")
			failed(t, err, fault.Invalid, "no such repository")
		})
	}
}

func TestWebRefusals(t *testing.T) {
	stranger := site(t, nil, guarded)
	stranger.Header = nil
	_, err := Open(t.Context(), []Server{stranger}, Options{})
	failed(t, err, fault.Unavailable, "start MCP server web: it answered 401 Unauthorized")
	_, err = Open(t.Context(), []Server{{Name: "web", URL: "http://127.0.0.1:1/?key=quite-secret"}}, Options{})
	failed(t, err, fault.Unavailable, "connection refused")
	if strings.Contains(err.Error(), "secret") {
		t.Error(err)
	}
	page := site(t, nil, func(w http.ResponseWriter, _ *http.Request) bool { fmt.Fprint(w, "<html>"); return true })
	_, err = Open(t.Context(), []Server{page}, Options{})
	failed(t, err, fault.Unavailable, "it answered with text/html, and that is not MCP")
}

// TestWebElsewhere checks that keys do not go where a server sends us.
func TestWebElsewhere(t *testing.T) {
	var visits atomic.Int32
	thief := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { visits.Add(1) }))
	defer thief.Close()
	s := site(t, nil, func(w http.ResponseWriter, r *http.Request) bool {
		http.Redirect(w, r, thief.URL, http.StatusTemporaryRedirect)
		return true
	})
	_, err := Open(t.Context(), []Server{s}, Options{})
	failed(t, err, fault.Unavailable, "it answered 307 Temporary Redirect")
	if visits.Load() > 0 {
		t.Error("the thief was visited")
	}
}

// TestWebFaults spoils the calls of a server that is good otherwise.
func TestWebFaults(t *testing.T) {
	var spoiled atomic.Pointer[func(http.ResponseWriter)]
	s := site(t, nil, func(w http.ResponseWriter, r *http.Request) bool {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		f := spoiled.Load()
		if f == nil || !bytes.Contains(body, []byte(`"tools/call"`)) {
			return false
		}
		(*f)(w)
		return true
	})
	s.Timeout = 5 * time.Second
	p := open(t, Options{}, s)
	for _, tt := range []struct {
		name, want string
		spoil      func(w http.ResponseWriter)
	}{
		{"busy", "Service Unavailable",
			func(w http.ResponseWriter) { http.Error(w, "later", http.StatusServiceUnavailable) }},
		{"forbidden", "", func(w http.ResponseWriter) { http.Error(w, "no", http.StatusForbidden) }},
		{"large event", "more than 16 MB", func(w http.ResponseWriter) { pour(w, "text/event-stream", "data: ") }},
		{"large text", "more than 16 MB", func(w http.ResponseWriter) { pour(w, "application/json", `{"x":"`) }},
		{"torn", "the connection to it was lost", func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, "data: {")
			http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}},
		{"garbage", "the connection to it was lost", func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, "{}")
		}},
	} {
		spoiled.Store(&tt.spoil)
		began := time.Now()
		_, err := ask(t, p, "web_echo", `{"text":"a"}`)
		failed(t, err, fault.Unavailable, tt.want)
		if took := time.Since(began); took > testload.Bound(3*time.Second) {
			t.Errorf("%s: noticed after %v", tt.name, took)
		}
		spoiled.Store(nil)
		if got := answered(t, p, "web_echo", `{"text":"a"}`); got != "you said a" {
			t.Error(tt.name, got)
		}
	}
}

func pour(w http.ResponseWriter, kind, start string) {
	w.Header().Set("Content-Type", kind)
	fmt.Fprint(w, start)
	for range 100 {
		if _, err := fmt.Fprint(w, strings.Repeat("x", 1<<20)); err != nil {
			return
		}
	}
}
