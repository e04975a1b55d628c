package health

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"go.uber.org/goleak"

	"hako/internal/redact"
	"hako/run/fault"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// start runs a server for the length of a test and checks that it leaves nothing.
func start(t *testing.T, s *Server) string {
	t.Helper()
	before := goleak.IgnoreCurrent()
	addr, stop, err := s.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		if err := stop(context.Background()); err != nil {
			t.Error(err)
		}
		goleak.VerifyNone(t, before)
	})
	return "http://" + addr
}

func fetch(t *testing.T, method, url string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequest(method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(body)
}

// probeOf asks a server's handler without a network.
func probeOf(s *Server, path string) (int, status) {
	w := httptest.NewRecorder()
	s.handler(orDiscard(s.Log)).ServeHTTP(w, httptest.NewRequest("GET", "http://localhost"+path, nil))
	var a status
	json.Unmarshal(w.Body.Bytes(), &a)
	return w.Code, a
}

func TestEndpoints(t *testing.T) {
	url := start(t, &Server{Metrics: NewMetrics(Sources{Version: "1.2.3"}).Handler()})
	if !strings.HasPrefix(url, "http://127.0.0.1:") {
		t.Errorf("listens on %s", url)
	}
	for _, c := range []struct {
		method, path string
		status       int
		body         string
	}{
		{"GET", "/healthz", 200, `{"status":"alive"}` + "\n"},
		{"GET", "/readyz", 200, `{"status":"ready"}` + "\n"},
		{"HEAD", "/readyz", 200, ""},
		{"GET", "/metrics", 200, `hako_build_info{version="1.2.3"} 1`},
		{"HEAD", "/metrics", 200, ""},
		{"POST", "/healthz", 405, "Method Not Allowed"},
		{"PUT", "/readyz", 405, "Method Not Allowed"},
		{"DELETE", "/metrics", 405, "Method Not Allowed"},
		{"OPTIONS", "/metrics", 405, "Method Not Allowed"},
		{"GET", "/", 404, "not found"},
		{"GET", "/healthz/x", 404, "not found"},
		{"GET", "/debug/pprof/", 404, "not found"},
		{"GET", "/debug/vars", 404, "not found"},
	} {
		resp, body := fetch(t, c.method, url+c.path)
		if resp.StatusCode != c.status || !strings.Contains(body, c.body) {
			t.Errorf("%s %s: %d %.200q", c.method, c.path, resp.StatusCode, body)
		}
		if c.method == "HEAD" && body != "" {
			t.Errorf("HEAD %s has a body", c.path)
		}
		if resp.Header.Get("Cache-Control") != "no-store" || resp.Header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s %s: header %v", c.method, c.path, resp.Header)
		}
	}
}

func TestNoMetrics(t *testing.T) {
	var none *Metrics
	if code, _ := probeOf(&Server{Metrics: none.Handler()}, "/metrics"); code != 404 {
		t.Errorf("status %d", code)
	}
}

// A panic of Ready is a reason like any other, and the daemon stays alive.
func TestNotReady(t *testing.T) {
	s := &Server{Ready: func(context.Context) error { return errors.New("the loop stands still") }}
	code, a := probeOf(s, "/readyz")
	if code != 503 || a.Status != "not ready" || len(a.Reasons) != 1 || a.Reasons[0].Reason != "the loop stands still" {
		t.Errorf("%d %+v", code, a)
	}
	s.Ready = func(context.Context) error { panic("oops") }
	if code, a = probeOf(s, "/readyz"); code != 503 || !strings.Contains(a.Reasons[0].Reason, "oops") {
		t.Errorf("%d %+v", code, a)
	}
	if code, a = probeOf(s, "/healthz"); code != 200 || a.Status != "alive" {
		t.Errorf("%d %+v", code, a)
	}
}

func TestReasons(t *testing.T) {
	secrets := new(redact.Set)
	secrets.Add("correct horse")
	docker := &fault.Error{Kind: fault.Unavailable, Op: "ask docker", Why: "it said correct horse", Hint: "start docker"}
	queue := fmt.Errorf("queue: %w",
		&fault.Error{Kind: fault.Timeout, Op: "ask", Why: "token=ghp_0123456789abcdefghijABCDEFGHIJ012345"})
	long := errors.New(strings.Repeat("箱", 4000))
	s := &Server{Secrets: secrets,
		Ready: func(context.Context) error { return errors.Join(docker, errors.Join(queue, long)) }}
	code, a := probeOf(s, "/readyz")
	if code != 503 || a.Status != "not ready" || len(a.Reasons) != 3 {
		t.Fatalf("%d %+v", code, a)
	}
	if want := (reason{"unavailable", "ask docker: it said " + redact.Mark, "start docker"}); a.Reasons[0] != want {
		t.Errorf("%+v", a.Reasons[0])
	}
	if got := a.Reasons[1]; got.Kind != "timeout" || strings.Contains(got.Reason, "ghp_") {
		t.Errorf("%+v", got)
	}
	if got := a.Reasons[2].Reason; utf8.RuneCountInString(got) > maxReason || strings.Trim(got, "箱") != "…" {
		t.Errorf("%d bytes: %s", len(got), got)
	}
}

func TestManyReasons(t *testing.T) {
	s := &Server{Ready: func(context.Context) error {
		all := make([]error, 100)
		for i := range all {
			all[i] = errors.New("no")
		}
		return errors.Join(all...)
	}}
	if _, a := probeOf(s, "/readyz"); len(a.Reasons) != maxReasons {
		t.Errorf("%d reasons", len(a.Reasons))
	}
}

// A part that hangs, and does not even mind its context, is not waited for; nor
// do questions to it pile up.
func TestHangingReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls, release := atomic.Int32{}, make(chan struct{})
		s := &Server{Ready: func(context.Context) error { calls.Add(1); <-release; return nil }}
		h := s.handler(orDiscard(s.Log))
		for range 3 {
			began, w := time.Now(), httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequest("GET", "http://localhost/readyz", nil))
			if took := time.Since(began); w.Code != 503 || took != callTimeout ||
				!strings.Contains(w.Body.String(), `"kind":"timeout"`) {
				t.Errorf("%d %s after %v", w.Code, w.Body, took)
			}
		}
		close(release)
		synctest.Wait()
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("GET", "http://localhost/readyz", nil))
		if w.Code != 200 || calls.Load() != 2 {
			t.Errorf("%d after %d calls", w.Code, calls.Load())
		}
	})
}

func TestReadinessIsLoggedWhenItChanges(t *testing.T) {
	var log bytes.Buffer
	var trouble error
	s := &Server{Ready: func(context.Context) error { return trouble }, Log: Logger(&log, Text, nil, nil)}
	h := s.handler(orDiscard(s.Log))
	for _, trouble = range []error{nil, errors.New("no queue"), errors.New("no queue"), nil, nil} {
		h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "http://localhost/readyz", nil))
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(gone, "GET", "http://localhost/readyz", nil))
	lines := strings.Split(strings.TrimSpace(log.String()), "\n")
	if len(lines) != 2 || !strings.Contains(lines[0], `msg="not ready" error="no queue"`) ||
		!strings.Contains(lines[1], `msg="ready again"`) {
		t.Errorf("log:\n%s", log.String())
	}
}

func TestPortInUse(t *testing.T) {
	url := start(t, new(Server))
	addr := strings.TrimPrefix(url, "http://")
	_, stop, err := (&Server{Addr: addr}).Start(t.Context())
	if fault.KindOf(err) != fault.Unavailable || fault.Hint(err) == "" || stop != nil {
		t.Fatalf("%v", err)
	}
	if strings.Count(err.Error(), addr) != 1 {
		t.Errorf("%v", err)
	}
}

func TestRefusedAddressDoesNotListen(t *testing.T) {
	if _, _, err := (&Server{Addr: "0.0.0.0:0"}).Start(t.Context()); fault.KindOf(err) != fault.Denied {
		t.Errorf("%v", err)
	}
}

func TestRebinding(t *testing.T) {
	for host, want := range map[string]int{
		"localhost": 200, "LOCALHOST:9464": 200, "127.0.0.1:9464": 200, "[::1]:9464": 200, "[::1]": 200,
		"evil.example.com": 421, "evil.example.com:9464": 421, "192.168.1.2": 421, "localhost.example.com": 421, "": 421,
	} {
		for _, s := range []*Server{{}, {Public: true}} {
			r := httptest.NewRequest("GET", "/healthz", nil)
			r.Host = host
			w := httptest.NewRecorder()
			s.handler(orDiscard(s.Log)).ServeHTTP(w, r)
			if s.Public && w.Code != 200 || !s.Public && w.Code != want {
				t.Errorf("host %q, public %v: %d", host, s.Public, w.Code)
			}
		}
	}
}

func TestBigHeader(t *testing.T) {
	url := start(t, new(Server))
	req, _ := http.NewRequest("GET", url+"/healthz", nil)
	req.Header.Set("X", strings.Repeat("x", 2*maxHeader))
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("status %d", resp.StatusCode)
	}
}

// Who never finishes asking is cut off.
func TestSlowVisitor(t *testing.T) {
	c := dial(t, start(t, new(Server)))
	io.WriteString(c, "GET /healthz HTTP/1.1\r\nHost: loc")
	c.SetDeadline(time.Now().Add(headerTimeout + 5*time.Second))
	if _, err := io.ReadAll(c); errors.Is(err, context.DeadlineExceeded) || isTimeout(err) {
		t.Errorf("still connected: %v", err)
	}
}

func isTimeout(err error) bool {
	var n net.Error
	return errors.As(err, &n) && n.Timeout()
}

func dial(t *testing.T, url string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// asks sends a request and reports whether an answer comes within d.
func asks(t *testing.T, c net.Conn, d time.Duration) bool {
	t.Helper()
	c.SetDeadline(time.Now().Add(d))
	fmt.Fprint(c, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
	line, err := bufio.NewReader(c).ReadString('\n')
	if err != nil && !isTimeout(err) {
		t.Fatal(err)
	}
	return line != ""
}

func TestManyVisitors(t *testing.T) {
	url := start(t, new(Server))
	first := dial(t, url)
	asks(t, first, 5*time.Second)
	for range maxConnections - 1 {
		asks(t, dial(t, url), 5*time.Second)
	}
	late := dial(t, url)
	if asks(t, late, 200*time.Millisecond) {
		t.Error("one too many was let in")
	}
	first.Close()
	if !asks(t, late, 5*time.Second) {
		t.Error("nobody is let in once there is room")
	}
}

// The server outlives the context it was started with, and lets a running
// answer end when it is stopped.
func TestGracefulStop(t *testing.T) {
	before := goleak.IgnoreCurrent()
	asked, release := make(chan struct{}), make(chan struct{})
	s := &Server{Ready: func(context.Context) error { close(asked); <-release; return nil }}
	ctx, cancel := context.WithCancel(t.Context())
	addr, stop, err := s.Start(ctx)
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	status := make(chan int)
	go func() {
		resp, err := http.Get("http://" + addr + "/readyz")
		if err != nil {
			t.Error(err)
			close(status)
			return
		}
		resp.Body.Close()
		status <- resp.StatusCode
	}()
	<-asked
	stopped := make(chan error)
	go func() { stopped <- stop(context.Background()) }()
	select {
	case <-stopped:
		t.Error("stopped while an answer was under way")
	case <-time.After(50 * time.Millisecond):
	}
	close(release)
	if got, err := <-status, <-stopped; got != 200 || err != nil {
		t.Errorf("status %d, stop: %v", got, err)
	}
	if err := stop(context.Background()); err != nil {
		t.Errorf("second stop: %v", err)
	}
	if _, err := http.Get("http://" + addr + "/healthz"); err == nil {
		t.Error("it still answers")
	}
	http.DefaultClient.CloseIdleConnections()
	goleak.VerifyNone(t, before)
}

func TestStopDoesNotWaitForEver(t *testing.T) {
	asked := make(chan struct{})
	s := &Server{Metrics: http.HandlerFunc(
		func(_ http.ResponseWriter, r *http.Request) { close(asked); <-r.Context().Done() })}
	addr, stop, err := s.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if resp, err := http.Get("http://" + addr + "/metrics"); err == nil {
			resp.Body.Close()
		}
	}()
	<-asked
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := stop(ctx); fault.KindOf(err) != fault.Timeout {
		t.Errorf("%v", err)
	}
	<-done
}

// A panic in a handler is an entry in the log, not the end.
func TestPanicInHandler(t *testing.T) {
	var log bytes.Buffer
	s := &Server{Metrics: http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("oops") }),
		Log: Logger(&log, JSON, slog.LevelDebug, nil)}
	addr, stop, err := s.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := http.Get("http://" + addr + "/metrics"); err == nil {
		t.Error("no trouble was seen")
	}
	http.DefaultClient.CloseIdleConnections()
	if err := stop(context.Background()); err != nil {
		t.Error(err)
	}
	if !strings.Contains(log.String(), "panic serving") || strings.Count(log.String(), "\n") != 1 {
		t.Errorf("log: %s", log.String())
	}
}
