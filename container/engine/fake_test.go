package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"hako/internal/testload"
	"hako/run/fault"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A fake is an engine that misbehaves as a test wants.
type fake struct {
	*Engine
	pings, calls atomic.Int32 // that came
	socket       string
}

// serve runs an engine that answers a ping properly and everything else by h.
func serve(t *testing.T, h http.HandlerFunc) *fake {
	t.Helper()
	return serveAll(t, func(w http.ResponseWriter, r *http.Request, f *fake) {
		if r.URL.Path == "/_ping" {
			f.pings.Add(1)
			w.Header().Set("Api-Version", "1.41")
			io.WriteString(w, "OK")
			return
		}
		f.calls.Add(1)
		h(w, r)
	})
}

func serveAll(t *testing.T, h func(http.ResponseWriter, *http.Request, *fake)) *fake {
	t.Helper()
	t.Setenv("DOCKER_API_VERSION", "")
	f := &fake{socket: filepath.Join(t.TempDir(), "s")}
	l, err := net.Listen("unix", f.socket)
	if err != nil {
		t.Fatal(err)
	}
	if f.Engine, err = Open("unix://" + f.socket); err != nil {
		t.Fatal(err)
	}
	f.retryDelays = []time.Duration{0, 0}
	s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { h(w, r, f) })}
	served := make(chan struct{})
	go func() { defer close(served); s.Serve(l) }()
	t.Cleanup(func() { f.Close(); s.Close(); <-served })
	return f
}

// answer always says the same.
func answer(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		io.WriteString(w, body)
	}
}

// cut promises more than it says, and hangs up.
func cut(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", fmt.Sprint(len(body)+100))
		io.WriteString(w, body)
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}
}

// hangUp says nothing at all.
func hangUp(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

// every call that the engine's faults can hit, with how often it is tried.
var everyCall = map[string]struct {
	call  func(context.Context, *Engine) error
	tries int32
}{
	"create":        {func(c context.Context, e *Engine) error { return second(e.Create(c, Spec{Image: "i"})) }, 1},
	"start":         {func(c context.Context, e *Engine) error { return e.Start(c, "x") }, 3},
	"rename":        {func(c context.Context, e *Engine) error { return e.Rename(c, "x", "y") }, 1},
	"wait":          {func(c context.Context, e *Engine) error { return second(e.await(c, "x", "removed")) }, 3},
	"remove":        {func(c context.Context, e *Engine) error { return e.Remove(c, "x") }, 3},
	"inspect":       {func(c context.Context, e *Engine) error { return second(e.Inspect(c, "x")) }, 3},
	"list":          {func(c context.Context, e *Engine) error { return second(e.List(c, nil)) }, 3},
	"usage":         {func(c context.Context, e *Engine) error { return second(e.Usage(c, "x")) }, 3},
	"image":         {func(c context.Context, e *Engine) error { return second(e.Image(c, "x")) }, 3},
	"images":        {func(c context.Context, e *Engine) error { return second(e.Images(c, nil)) }, 3},
	"remove image":  {func(c context.Context, e *Engine) error { return e.RemoveImage(c, "x") }, 3},
	"volumes":       {func(c context.Context, e *Engine) error { return second(e.Volumes(c, nil)) }, 3},
	"remove volume": {func(c context.Context, e *Engine) error { return e.RemoveVolume(c, "x") }, 3},
	"logs":          {func(c context.Context, e *Engine) error { return second(e.Logs(c, "x", 1)) }, 1},
	"exec": {func(c context.Context,
		e *Engine) error {
		return second(e.Exec(c, "x", Exec{Argv: []string{"a"}}))
	}, 1},
	"build": {func(c context.Context, e *Engine) error {
		return e.Build(c, Build{Context: strings.NewReader("")}, nil)
	}, 1},
	"ping": {func(c context.Context, e *Engine) error { return e.Ping(c) }, 3},
}

// tellsNothing are the calls that heed no answer.
var tellsNothing = map[string]bool{"start": true, "rename": true, "remove": true,
	"remove image": true, "remove volume": true}

func TestEngineThatHangsUp(t *testing.T) {
	for name, c := range everyCall {
		t.Run(name, func(t *testing.T) {
			f := serve(t, hangUp)
			err := c.call(t.Context(), f.Engine)
			if fault.KindOf(err) != fault.Unavailable || !strings.Contains(err.Error(), "hung up") || fault.Hint(err) == "" {
				t.Errorf("%v", err)
			}
			// The transport itself asks once more what it may, if a connection was used before.
			if got := f.calls.Load(); got < c.tries || c.tries == 1 && name != "logs" && got != 1 {
				t.Errorf("asked %d times, want %d", got, c.tries)
			}
		})
	}
}

func TestAnswersCutShort(t *testing.T) {
	for name, c := range everyCall {
		if tellsNothing[name] {
			continue
		}
		t.Run(name, func(t *testing.T) {
			f := serve(t, cut(`{"Id": "abc", "Stat`))
			err := c.call(t.Context(), f.Engine)
			if fault.KindOf(err) != fault.Unavailable || f.calls.Load() != c.tries {
				t.Errorf("asked %d times: %v", f.calls.Load(), err)
			}
		})
	}
}

func TestAnswersThatMakeNoSense(t *testing.T) {
	for _, body := range []string{"<html>", "[[1]]", `"x"`, "\x00\xff", `{"Id": 5}`,
		`{"Id": "../../x", "ExitCode": "a", "Volumes": 3, "cpu_stats": 1, "Version": []}`} {
		for name, c := range everyCall {
			if tellsNothing[name] {
				continue
			}
			f := serve(t, answer(200, body))
			if err := c.call(t.Context(), f.Engine); err == nil && !harmless(name, body) || err != nil &&
				fault.KindOf(err) == fault.Other {
				t.Errorf("%s of %q: %v", name, body, err)
			}
			f.Close()
		}
	}
}

// harmless are answers without what was asked for that are answers all the same.
func harmless(name, body string) bool {
	return body == `{"Id": 5}` && (name == "usage" || name == "volumes" || name == "ping")
}

func TestEngineThatHangs(t *testing.T) {
	for name, c := range everyCall {
		t.Run(name, func(t *testing.T) {
			hung := make(chan struct{})
			f := serve(t, func(_ http.ResponseWriter, r *http.Request) { <-hung })
			defer close(hung)
			f.timeout, f.api = 20*time.Millisecond, "1.41"
			endless, enough := name == "wait" || name == "build", time.Minute
			if endless {
				enough = 100 * time.Millisecond
			}
			ctx, cancel := context.WithTimeout(t.Context(), enough)
			defer cancel()
			err := c.call(ctx, f.Engine)
			if endless && (fault.KindOf(err) != fault.Timeout || !errors.Is(err, context.DeadlineExceeded)) {
				t.Errorf("endless: %v", err)
			}
			if !endless && (fault.KindOf(err) != fault.Unavailable ||
				!strings.Contains(err.Error(), "did not answer within 20ms")) {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestRefusals(t *testing.T) {
	long := strings.Repeat("long ", 1<<20)
	for _, c := range []struct {
		status int
		body   string
		kind   fault.Kind
		is     error
		want   string
	}{
		{500, `{"message":"No space left\non device\u001b[31m"}`, fault.Unavailable, nil,
			"start container x: no space left on device"},
		{500, "<h1>oops</h1>", fault.Unavailable, nil, "start container x: docker answered 500: <h1>oops</h1>"},
		{500, "", fault.Unavailable, nil, "start container x: docker answered 500 Internal Server Error"},
		{400, `{"message":"OCI runtime create failed"}`, fault.Invalid, nil, "start container x: OCI runtime create failed"},
		{403, `{"message":"authorization denied by plugin"}`, fault.Denied, nil,
			"start container x: authorization denied by plugin"},
		{404, `{"message":"No such container: x"}`, fault.NotFound, ErrGone,
			"start container x: docker has no such container"},
		{404, `{"message":"page not found"}`, fault.NotFound, nil, "start container x: page not found"},
		{409, `{"message":"Conflict. The name is in use"}`, fault.Invalid, ErrConflict,
			"start container x: conflict. The name is in use"},
		{409, `{"message":"Container x is not running"}`, fault.Invalid, errStopped,
			"start container x: the container is not running"},
		{301, "", fault.Unavailable, nil, "start container x: docker answered 301 Moved Permanently"},
	} {
		f := serve(t, answer(c.status, c.body))
		err := f.Start(t.Context(), "x")
		if err == nil || err.Error() != c.want || fault.KindOf(err) != c.kind || c.is != nil && !errors.Is(err, c.is) ||
			f.calls.Load() != 1 {
			t.Errorf("%d %s: %s %v", c.status, c.body, fault.KindOf(err), err)
		}
	}
	f := serve(t, answer(500, `{"message":"`+long+`"}`))
	if err := f.Start(t.Context(), "x"); err == nil || len(err.Error()) > maxText+100 {
		t.Errorf("%d bytes of refusal", len(err.Error()))
	}
}

func TestBusyEngineIsAskedAgain(t *testing.T) {
	var n atomic.Int32
	f := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if n.Add(1) < 3 {
			w.WriteHeader(503)
			return
		}
		io.WriteString(w, `{"Id":"abc"}`)
	})
	if c, err := f.Inspect(t.Context(), "x"); c.ID != "abc" || err != nil {
		t.Errorf("%+v, %v", c, err)
	}
	n.Store(0)
	if _, err := f.Create(t.Context(), Spec{Image: "i"}); fault.KindOf(err) != fault.Unavailable || n.Load() != 1 {
		t.Errorf("create, which may not be repeated: %v after %d", err, n.Load())
	}
}

func TestEndlessAnswer(t *testing.T) {
	f := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, `[{"Id":"`)
		for w != nil {
			if _, err := io.WriteString(w, strings.Repeat("a", 1<<16)); err != nil {
				return
			}
		}
	})
	if _, err := f.List(t.Context(), nil); fault.KindOf(err) != fault.TooLarge {
		t.Errorf("%v", err)
	}
}

func TestCloseEndsWhatIsUnderWay(t *testing.T) {
	for name, c := range everyCall {
		came, hung := make(chan struct{}, 9), make(chan struct{})
		f := serve(t, func(http.ResponseWriter, *http.Request) { came <- struct{}{}; <-hung })
		go func() { <-came; f.Close() }()
		for range 2 {
			if err := c.call(t.Context(), f.Engine); err == nil || !strings.Contains(err.Error(), "closed here") {
				t.Errorf("%s: %v", name, err)
			}
		}
		close(hung)
	}
}

func TestCallerGivesUp(t *testing.T) {
	hung := make(chan struct{})
	defer close(hung)
	ctx, cancel := context.WithCancel(t.Context())
	f := serve(t, func(http.ResponseWriter, *http.Request) { cancel(); <-hung })
	if err := f.Start(ctx, "x"); !errors.Is(err, context.Canceled) || fault.KindOf(err) != fault.Other {
		t.Errorf("%v", err)
	}
	if f.calls.Load() != 1 {
		t.Errorf("asked %d times", f.calls.Load())
	}
}

func TestVersionIsAskedForOnce(t *testing.T) {
	var paths sync.Map
	f := serve(t, func(w http.ResponseWriter, r *http.Request) {
		paths.Store(r.URL.Path, true)
		io.WriteString(w, "[]")
	})
	if f.pings.Load() != 0 {
		t.Error("contacted by Open")
	}
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if _, err := f.List(t.Context(), nil); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if _, ok := paths.Load("/v1.41/containers/json"); !ok || f.pings.Load() != 1 {
		t.Errorf("asked %d times", f.pings.Load())
	}
}

func TestVersionsThatEnginesOffer(t *testing.T) {
	for offered, want := range map[string]string{"1.41": "1.41", "1.48": "1.48", "1.99": "1.51", "1.40": "too old",
		"2.0": "not a docker engine", "": "not a docker engine", "1.x": "not a docker engine"} {
		f := serveAll(t, func(w http.ResponseWriter, r *http.Request, f *fake) {
			w.Header()["Api-Version"] = []string{offered}
			io.WriteString(w, "[]")
		})
		got, err := f.version(t.Context(), "x")
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, want) || err != nil && (fault.KindOf(err) != fault.Unavailable || fault.Hint(err) == "") {
			t.Errorf("%q: %s", offered, got)
		}
	}
}

func TestVersionThatWasGiven(t *testing.T) {
	f := serve(t, answer(200, `[]`))
	t.Setenv("DOCKER_API_VERSION", "1.43")
	e, err := Open("unix://" + f.socket)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if _, err := e.List(t.Context(), nil); err != nil || f.pings.Load() != 0 || e.api != "1.43" {
		t.Errorf("%v after %d pings of %s", err, f.pings.Load(), e.api)
	}
	for _, bad := range []string{"1.40", "latest", "1.", "2.1", "1.41/../x"} {
		t.Setenv("DOCKER_API_VERSION", bad)
		if _, err := Open(""); fault.KindOf(err) != fault.Invalid || fault.Hint(err) == "" {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

func TestEngineThatComesLater(t *testing.T) {
	var up atomic.Bool
	f := serveAll(t, func(w http.ResponseWriter, r *http.Request, f *fake) {
		if !up.Load() {
			w.WriteHeader(503)
			return
		}
		w.Header().Set("Api-Version", "1.41")
		io.WriteString(w, "[]")
	})
	if _, err := f.List(t.Context(), nil); fault.KindOf(err) != fault.Unavailable {
		t.Errorf("not up: %v", err)
	}
	up.Store(true)
	if _, err := f.List(t.Context(), nil); err != nil {
		t.Errorf("up: %v", err)
	}
}

func TestNobodyThere(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	e, err := Open("unix://" + socket)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	check := func(what string) {
		t.Helper()
		began := time.Now()
		for name, c := range everyCall {
			err := c.call(t.Context(), e)
			if fault.KindOf(err) != fault.Unavailable || !strings.Contains(err.Error(), "nothing listens at unix://"+socket) ||
				!strings.Contains(fault.Hint(err), "DOCKER_HOST") {
				t.Errorf("%s, %s: %v", what, name, err)
			}
		}
		if what == "no socket" && time.Since(began) > testload.Bound(5*time.Second) {
			t.Errorf("%s: asked again and again for %s", what, time.Since(began))
		}
	}
	check("no socket")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	l.Close()
	e.retryDelays = nil
	check("a dead socket")
}
