package websearch

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"hako/run/fault"
)

var names = []string{"google_cse", "brave", "searxng"}

func serve(t *testing.T, handle http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(handle)
	t.Cleanup(s.Close)
	return s.URL
}

// TestEnginesFail checks what every engine has to bear.
func TestEnginesFail(t *testing.T) {
	var asked atomic.Int32
	elsewhere := serve(t, func(http.ResponseWriter, *http.Request) { asked.Add(1) })
	tests := []struct {
		name   string
		handle http.HandlerFunc
		kind   fault.Kind
		why    string
	}{
		{"late", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, fault.Timeout, "longer than 200ms"},
		{"redirect", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, elsewhere, http.StatusFound) },
			fault.Unavailable, "redirects"},
		{"redirect at home", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/x?"+r.URL.RawQuery, http.StatusMovedPermanently)
		}, fault.Unavailable, "redirects"},
		{"huge", func(w http.ResponseWriter, _ *http.Request) { w.Write(make([]byte, 3<<20)) }, fault.Unavailable, "2 MB"},
		{"bomb", bomb(), fault.Unavailable, "2 MB"},
		{"cut off", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			w.Write([]byte(`{"items":[`))
		}, fault.Unavailable, "could not be asked"},
		{"abort", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, fault.Unavailable,
			"could not be asked"},
		{"teapot", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }, fault.Unavailable,
			"418"},
		{"array", func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte(`[1]`)) }, fault.Unavailable, "not the JSON"},
	}
	for _, tt := range tests {
		for _, name := range names {
			o := options(serve(t, tt.handle))
			if tt.name == "late" {
				o.Timeout = 200 * time.Millisecond
			}
			_, err := engineOf(t, name, o).Search(t.Context(), Query{Text: "x"})
			if fault.KindOf(err) != tt.kind || !strings.Contains(err.Error(), tt.why) || fault.Hint(err) == "" {
				t.Errorf("%s %s: %v", name, tt.name, err)
			}
			quiet(t, err)
		}
	}
	if asked.Load() != 0 {
		t.Error("a redirect was followed")
	}
}

// bomb answers with little that grows. It is packed before anybody waits for it.
func bomb() http.HandlerFunc {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	z.Write(make([]byte, 8<<20))
	z.Close()
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		w.Write(b.Bytes())
	}
}

// quiet checks that no error in the chain gives a key away.
func quiet(t *testing.T, err error) {
	t.Helper()
	for ; err != nil; err = errors.Unwrap(err) {
		for _, key := range []string{testGoogleKey, testGoogleCX, testBraveKey, "pass/word", url.QueryEscape("pass/word")} {
			if strings.Contains(fmt.Sprintf("%v %+v %#v %s", err, err, err, fault.Hint(err)), key) {
				t.Errorf("a key is shown: %v", err)
			}
		}
	}
}

func TestEnginesNobodyThere(t *testing.T) {
	s := httptest.NewServer(nil)
	address := s.URL
	s.Close()
	for _, name := range names {
		_, err := engineOf(t, name, options(address)).Search(t.Context(), Query{Text: "x"})
		if fault.KindOf(err) != fault.Unavailable || !strings.Contains(err.Error(), "refused") {
			t.Errorf("%s: %v", name, err)
		}
		quiet(t, err)
	}
	l, _ := newClient("x", "http://h/", Options{}, testGoogleKey)
	err := l.broken(t.Context(), &url.Error{Op: "Get", URL: "http://h/?key=" + testGoogleKey,
		Err: errors.New("no route, key=" + testGoogleKey)})
	if quiet(t, err); !strings.Contains(err.Error(), "no route") {
		t.Error(err)
	}
}

func TestEnginesCancelled(t *testing.T) {
	address := serve(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	for _, name := range names {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(20*time.Millisecond, cancel)
		if _, err := engineOf(t, name, options(address)).Search(ctx, Query{Text: "x"}); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestEnginesRefuse checks that a query which makes no sense is not sent.
func TestEnginesRefuse(t *testing.T) {
	address := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("it was sent") })
	for _, name := range names {
		if _, err := engineOf(t, name, options(address)).Search(t.Context(), Query{Text: "x", Count: 99}); fault.KindOf(
			err) != fault.Invalid {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestBravePace checks that requests go one after the other, and not too fast.
func TestBravePace(t *testing.T) {
	var at []time.Time
	var mu sync.Mutex
	busy := false
	o := options(serve(t, func(w http.ResponseWriter, _ *http.Request) {
		mu.Lock()
		if busy {
			t.Error("two requests at a time")
		}
		busy = true
		at = append(at, time.Now())
		mu.Unlock()
		time.Sleep(10 * time.Millisecond)
		mu.Lock()
		busy = false
		mu.Unlock()
		w.Write([]byte(`{}`))
	}))
	o.Pace = 100 * time.Millisecond
	e := engineOf(t, "brave", o)
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			if _, err := e.Search(t.Context(), Query{Text: "x"}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if d := at[2].Sub(at[0]); len(at) != 3 || d < 190*time.Millisecond {
		t.Errorf("%d requests within %v", len(at), d)
	}
}

// TestBraveWaits checks that a refused request is repeated after the time that
// Brave names, and that who waits for a turn can give up.
func TestBraveWaits(t *testing.T) {
	var asked []time.Time
	o := options(serve(t, func(w http.ResponseWriter, _ *http.Request) {
		if asked = append(asked, time.Now()); len(asked) == 1 {
			w.Header().Set("X-RateLimit-Reset", "1, 1419704")
			w.WriteHeader(http.StatusTooManyRequests)
			w.Write([]byte(`{"error":{"code":"RATE_LIMITED"}}`))
			return
		}
		w.Write([]byte(`{}`))
	}))
	e := engineOf(t, "brave", o)
	done := make(chan error)
	go func() {
		_, err := e.Search(t.Context(), Query{Text: "x"})
		done <- err
	}()
	time.Sleep(50 * time.Millisecond)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := e.Search(ctx, Query{Text: "y"}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("waiting ended with %v", err)
	}
	if err := <-done; err != nil || len(asked) != 2 || asked[1].Sub(asked[0]) < time.Second {
		t.Errorf("%v, asked at %v", err, asked)
	}
}

func TestSearxngAddress(t *testing.T) {
	for _, path := range []string{"", "/", "/search", "/search/", "/searx", "/searx/search"} {
		address := serve(t, func(w http.ResponseWriter, r *http.Request) {
			want := "/search"
			if strings.HasPrefix(path, "/searx") {
				want = "/searx/search"
			}
			user, password, _ := r.BasicAuth()
			if r.URL.Path != want || user != "me" || password != "pass/word" {
				t.Errorf("%s: asked %s as %s", path, r.URL, user)
			}
			w.WriteHeader(http.StatusInternalServerError)
		})
		o := Options{SearxngURL: strings.Replace(address, "://", "://me:pass%2Fword@", 1) + path}
		_, err := engineOf(t, "searxng", o).Search(t.Context(), Query{Text: "x"})
		if quiet(t, err); !strings.Contains(err.Error(), "500") {
			t.Error(err)
		}
	}
}

func TestEnginesByProxy(t *testing.T) {
	var asked atomic.Int32
	proxy, _ := url.Parse(serve(t, func(w http.ResponseWriter, r *http.Request) {
		if asked.Add(1); r.URL.Host != "search.example" {
			t.Errorf("proxy was asked for %v", r.URL)
		}
		w.Write([]byte(`{}`))
	}))
	o := options("http://search.example")
	o.Proxy = http.ProxyURL(proxy)
	for _, name := range names {
		if _, err := engineOf(t, name, o).Search(t.Context(), Query{Text: "x"}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if asked.Load() != 3 {
		t.Errorf("asked %d times", asked.Load())
	}
}

// TestEnginesByProxyOfEnvironment runs itself in a process of its own, since the
// environment is only looked at once.
func TestEnginesByProxyOfEnvironment(t *testing.T) {
	if os.Getenv("SEARCH_BY_PROXY") != "" {
		_, err := engineOf(t, "searxng", Options{SearxngURL: "http://search.example"}).Search(t.Context(), Query{Text: "x"})
		if err != nil {
			t.Error(err)
		}
		return
	}
	var asked atomic.Int32
	proxy := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		w.Write([]byte(`{}`))
	})
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestEnginesByProxyOfEnvironment$")
	cmd.Env = []string{"SEARCH_BY_PROXY=1", "HTTP_PROXY=" + proxy}
	if out, err := cmd.CombinedOutput(); err != nil || asked.Load() != 1 {
		t.Errorf("%v, asked %d times\n%s", err, asked.Load(), out)
	}
}
