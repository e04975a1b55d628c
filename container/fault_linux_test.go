package container

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"hako/container/engine"
	"hako/internal/ownerfile"
	"hako/internal/testload"
	"hako/run"
	"hako/run/fault"
)

func TestBadTasks(t *testing.T) {
	d := newManager(t, nil)
	for _, id := range []string{"", ".", "..", "../x", "a/b", "a b", "-rf", "_x", "x\n", "x;id", "$(id)", "`id`", "日本",
		"a\x00b", "a~", "*", strings.Repeat("x", 65)} {
		_, err := d.Prepare(t.Context(), Task{ID: id}, "python")
		wantFault(t, err, fault.Invalid, "fix-42")
		wantFault(t, d.Cleanup(t.Context(), id), fault.Invalid)
		_, err = d.ContainerInfo(id)
		wantFault(t, err, fault.Invalid)
		_, err = d.Runner(id).Run(t.Context(), &run.Request{Script: "true"})
		wantFault(t, err, fault.Invalid)
	}
	for _, id := range []string{"a", "fix-42", "a..b", "0.~"[:2], "6f9619ff-8b86-d011-b42d-00cf4fc964ff",
		strings.Repeat("x", 64)} {
		if err := CheckTask(id); err != nil {
			t.Error(err)
		}
	}
}

func TestEngineDown(t *testing.T) {
	e, err := engine.Open("unix:///nowhere/docker.sock")
	if err != nil {
		t.Fatal(err)
	}
	d := newManager(t, func(o *Options) { o.Engine = e })
	_, err = d.Prepare(t.Context(), Task{ID: "x"}, "python")
	wantFault(t, err, fault.Unavailable, "docker is not running", "systemctl start docker")
	_, err = d.CleanupStale(t.Context())
	wantFault(t, err, fault.Unavailable, "docker is not running")
}

func TestImageMissing(t *testing.T) {
	d := newManager(t, func(o *Options) { o.Images = map[string]string{"python": "hako-h-none:1", "node": "hako-h-none:2"} })
	_, err := d.Prepare(t.Context(), Task{ID: "x"}, "node")
	wantFault(t, err, fault.NotFound, "docker has no image hako-h-none:2", "hako env build node")
}

func TestUnknownEnvironment(t *testing.T) {
	d, task := newManager(t, nil), unique("cobol")
	info, err := d.Prepare(t.Context(), Task{ID: task}, "cobol")
	if err != nil || info.Environment != "python" || len(info.Warnings) != 1 ||
		!strings.Contains(info.Warnings[0], "cobol") || !strings.Contains(info.Warnings[0], "python") {
		t.Fatalf("%+v, %v", info, err)
	}
	if kept, err := d.ContainerInfo(task); err != nil || len(kept.Warnings) != 1 {
		t.Errorf("the warning is not on record: %+v, %v", kept, err)
	}
}

// TestTimeout checks that nothing of a command that took too long lives on, not
// even what left its group.
func TestTimeout(t *testing.T) {
	d, task := newManager(t, nil), unique("late")
	prepare(t, d, task)
	script := `echo partial; echo wrong >&2; setsid sleep 7771 & (setsid sh -c 'sleep 7772 & sleep 7773' &) ; nohup sleep 7774 >/dev/null 2>&1 & sleep 7775`
	began := time.Now()
	res, err := d.ExecuteIn(t.Context(), task, &run.Request{Script: script, Timeout: 500 * time.Millisecond})
	if err != nil || res.ExitCode != -1 || res.Stdout != "partial\n" || !strings.HasPrefix(res.Stderr, "wrong\n") ||
		!strings.HasSuffix(res.Stderr, "Command timeout after 0.5 seconds") {
		t.Errorf("%+v, %v", res, err)
	}
	if took := time.Since(began); took > testload.Bound(5*time.Second) {
		t.Errorf("it took %v", took)
	}
	left, err := d.ExecuteIn(t.Context(), task,
		&run.Request{Script: `cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\0' ' ' | grep -o 'sleep 777[0-9]'`})
	if err != nil || left.Stdout != "" {
		t.Errorf("left: %+v, %v", left, err)
	}
}

// TestFlood has a command print 100 MB.
func TestFlood(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it takes a while")
	}
	d, task := newManager(t, nil), unique("flood")
	prepare(t, d, task)
	stop, peak := make(chan struct{}), make(chan uint64)
	go func() { peak <- peakMemory(stop) }()
	began := time.Now()
	res, err := d.ExecuteIn(t.Context(), task, &run.Request{Script: `head -c 104857600 /dev/zero | tr '\0' x; printf end`})
	close(stop)
	t.Logf("100 MB in %v", time.Since(began))
	if err != nil || res.ExitCode != 0 {
		t.Fatalf("exit %d, %v", res.ExitCode, err)
	}
	note, tail, _ := strings.Cut(res.Stdout, "\n")
	if len(tail) != 1<<20 || !strings.HasSuffix(tail, "xxend") || !strings.Contains(note, strconv.Itoa(100<<20+3)) ||
		!strings.Contains(note, "not shown") {
		t.Errorf("%s; %d bytes", note, len(tail))
	}
	if grown := <-peak; grown > 32<<20 {
		t.Errorf("memory grew by %d MB", grown>>20)
	} else {
		t.Logf("memory grew by %d KB", grown>>10)
	}
	f, err := d.Log(task, res.Log, "stdout")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if n, err := io.Copy(io.Discard, f); n != logLimit || err != nil {
		t.Errorf("the log has %d bytes, %v", n, err)
	}
}

// peakMemory returns by how much the heap grows until it is told to stop.
func peakMemory(stop chan struct{}) (grown uint64) {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	first := m.HeapInuse
	for {
		select {
		case <-stop:
			return grown
		case <-time.After(20 * time.Millisecond):
			runtime.ReadMemStats(&m)
			grown = max(grown, max(m.HeapInuse, first)-first)
		}
	}
}

func TestKilledOutside(t *testing.T) {
	d, task := newManager(t, nil), unique("killed")
	info := prepare(t, d, task)
	started, done := make(chan struct{}), make(chan error, 1)
	var out keptOutput
	go func() {
		_, err := d.Runner(task).Run(t.Context(), &run.Request{Script: "echo before; sleep 600",
			Stdout: io.MultiWriter(&out, &signalWriter{ch: started})})
		done <- err
	}()
	<-started
	killContainer(t, info.ContainerID)
	wantFault(t, <-done, fault.Unavailable, "its container ended while a command was running", "hako env up --task "+task)
	if out.String() != "before\n" {
		t.Errorf("kept %q", out.String())
	}
	_, err := d.ExecuteIn(t.Context(), task, &run.Request{Script: "true"})
	wantFault(t, err, fault.Unavailable, "not running any more", "hako env up --task "+task)
	if again := prepare(t, d, task); again.ContainerID == info.ContainerID {
		t.Error("the dead container was used again")
	}
	if res, err := d.ExecuteIn(t.Context(), task, &run.Request{Script: "echo well"}); err != nil ||
		res.Stdout != "well\n" {
		t.Errorf("%+v, %v", res, err)
	}
}

// keptOutput is a buffer that may be read while it is written.
type keptOutput struct {
	mu   sync.Mutex
	text strings.Builder
}

func (k *keptOutput) Write(p []byte) (int, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.text.Write(p)
}

func (k *keptOutput) String() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.text.String()
}

func TestForeignContainer(t *testing.T) {
	d, task := newManager(t, nil), unique("foreign")
	id, err := d.Engine.Create(t.Context(), engine.Spec{Name: Name(task), Image: tinyImage,
		Entrypoint: []string{"/bin/sleep", "600"}, Labels: map[string]string{labelState: "another"}})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Engine.Remove(context.Background(), id)
	began := time.Now()
	_, err = d.Prepare(t.Context(), Task{ID: task}, "python")
	wantFault(t, err, fault.Invalid, "there is a container coding-agent-exec-"+task+" that was not made here",
		"choose another task id")
	if took := time.Since(began); took > testload.Bound(5*time.Second) {
		t.Errorf("it took %v", took)
	}
	if _, err := d.CleanupStale(t.Context()); err != nil {
		t.Error(err)
	}
	wantFault(t, d.Cleanup(t.Context(), task), fault.NotFound)
	if c, err := d.Engine.Inspect(t.Context(), id); err != nil || c.State != "created" {
		t.Errorf("the foreign container is %+v, %v", c, err)
	}
}

// A frail engine is a socket to the real one that dies at a chosen request.
type frail struct {
	path   string
	cut    func(*http.Request) bool
	after  bool // the real engine gets the request; its answer is lost
	server *http.Server
	once   sync.Once
	seen   []string
	mu     sync.Mutex
	late   time.Duration // the engine lives on, and gets the request so long after it hung up; zero means that it dies
	done   chan struct{} // closed once it has done so
}

func newFrail(t *testing.T, cut func(*http.Request) bool, after bool) *frail {
	t.Helper()
	dir, err := os.MkdirTemp("", "hako-f")
	if err != nil {
		t.Fatal(err)
	}
	f := &frail{path: filepath.Join(dir, "s"), cut: cut, after: after, done: make(chan struct{})}
	l, err := net.Listen("unix", f.path)
	if err != nil {
		t.Fatal(err)
	}
	forward := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.Out.URL.Scheme, r.Out.URL.Host = "http", "docker" },
		Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "unix", "/var/run/docker.sock")
		}},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { panic(http.ErrAbortHandler) },
	}
	f.server = &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.mu.Lock()
		f.seen = append(f.seen, r.Method+" "+r.URL.Path)
		f.mu.Unlock()
		if !f.cut(r) {
			forward.ServeHTTP(w, r)
			return
		}
		if f.late > 0 {
			body, _ := io.ReadAll(r.Body)
			go f.lag(forward, r, body)
			panic(http.ErrAbortHandler)
		}
		if f.after {
			forward.ServeHTTP(lostAnswer{http.Header{}}, r.WithContext(context.Background()))
		}
		go f.die()
		panic(http.ErrAbortHandler)
	})}
	go f.server.Serve(l)
	t.Cleanup(func() { f.die(); os.RemoveAll(dir) })
	return f
}

// lag passes a request on that nobody waits for any more.
func (f *frail) lag(to http.Handler, r *http.Request, body []byte) {
	defer close(f.done)
	time.Sleep(f.late)
	r = r.Clone(context.Background())
	r.Body = io.NopCloser(bytes.NewReader(body))
	to.ServeHTTP(lostAnswer{http.Header{}}, r)
}

func (f *frail) die() { f.once.Do(func() { f.server.Close() }) }

// lostAnswer takes an answer that nobody gets.
type lostAnswer struct{ header http.Header }

func (l lostAnswer) Header() http.Header         { return l.header }
func (l lostAnswer) Write(p []byte) (int, error) { return len(p), nil }
func (l lostAnswer) WriteHeader(int)             {}

func (f *frail) engine(t *testing.T) *engine.Engine {
	t.Helper()
	e, err := engine.Open("unix://" + f.path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	return e
}

func asks(method, suffix string) func(*http.Request) bool {
	return func(r *http.Request) bool {
		return r.Method == method && strings.HasSuffix(r.URL.Path, suffix)
	}
}

// TestEngineDies has the engine die at each step of the way up, before and after
// it did what it was asked for.
func TestEngineDies(t *testing.T) {
	slow(t)
	realEngine(t)
	for name, cut := range map[string]func(*http.Request) bool{
		"list": asks("GET", "/containers/json"), "image": asks("GET", ":latest/json"),
		"create": asks("POST", "/containers/create"), "start": asks("POST", "/start"),
	} {
		for _, after := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s %v", name, after), func(t *testing.T) {
				t.Parallel()
				dieAt(t, newFrail(t, cut, after))
			})
		}
	}
}

func dieAt(t *testing.T, f *frail) {
	state, task := newState(t), unique("frail")
	real := dockAt(t, state, nil)
	d, err := New(wish{State: state, Binary: guestBinary(t)}.options(f.engine(t)))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	began := time.Now()
	info, err := d.Prepare(t.Context(), Task{ID: task}, "python")
	if took := time.Since(began); took > testload.Bound(20*time.Second) {
		t.Errorf("it took %v", took)
	}
	if err == nil { // the way up was done before the sweep got to ask
		t.Logf("it went well: %+v", info)
		if err := real.Cleanup(t.Context(), task); err != nil {
			t.Error(err)
		}
		return
	}
	wantFault(t, err, fault.Unavailable, "docker")
	for range 2 {
		if _, err := real.CleanupStale(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if left := leftovers(real.Engine, state); len(left) > 0 {
		time.Sleep(50 * time.Millisecond)
		t.Logf("seen %q", f.seen)
	}
	prepare(t, real, task) // and the task is not spoilt
}

// TestEngineLags has the engine make a container after whoever asked for it has
// given up: while he still looks for it, and later.
func TestEngineLags(t *testing.T) {
	slow(t)
	for _, late := range []time.Duration{100 * time.Millisecond, 1500 * time.Millisecond} {
		d := newManager(t, nil)
		d.bare = true // else the engine would miss the folder, and make none
		real, f := d.Engine, newFrail(t, asks("POST", "/containers/create"), false)
		f.late = late
		d.Engine = f.engine(t)
		_, err := d.Prepare(t.Context(), Task{ID: unique("late")}, "python")
		wantFault(t, err, fault.Unavailable, "docker")
		<-f.done
		d.Engine = real
		all, err := real.List(t.Context(), map[string]string{labelState: d.id})
		if found := len(all) > 0; err != nil || found != (late > time.Second) {
			t.Errorf("late by %v: %d containers, %v", late, len(all), err)
		}
		if n, err := d.CleanupStale(t.Context()); n != len(all) || err != nil {
			t.Errorf("removed %d, %v", n, err)
		}
	}
}

// TestOrphans sweeps containers that nothing is on record about: of makers that
// live, have ended, or are unknown.
func TestOrphans(t *testing.T) {
	slow(t)
	d := newManager(t, nil)
	other := begin(t, wish{Verb: "pool", State: newState(t)})
	other.says(t, "begin")
	defer other.dismiss(t)
	pid := other.cmd.Process.Pid
	folder := filepath.Join(d.State, "boxes", "0011")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	defer os.Remove(folder)
	making, err := os.OpenFile(d.makingLock(), os.O_CREATE|os.O_RDWR,
		0o600) // somebody is making the box that has only a folder
	if err != nil || !ownerfile.TryLock(making) {
		t.Fatal(err)
	}
	defer making.Close()
	for _, c := range []struct {
		what, owner, box string
		gone             bool
	}{
		{"this process", self().String(), "aa", true},
		{"another that lives", owner{self().Host, pid, startOf(pid)}.String(), "bb", false},
		{"another with the same number that has ended", owner{self().Host, pid, "1"}.String(), "cc", true},
		{"another machine", owner{"far.away", 1, "1"}.String(), "dd", false},
		{"nobody", "", "ee", false},
		{"this process, with a folder", self().String(), "0011", false},
	} {
		id, err := d.Engine.Create(t.Context(), engine.Spec{Image: tinyImage, Entrypoint: []string{"/bin/sleep", "600"},
			Labels: map[string]string{labelState: d.id, labelBox: c.box, labelOwner: c.owner}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := d.CleanupStale(t.Context()); err != nil {
			t.Error(err)
		}
		if _, err := d.Engine.Inspect(t.Context(), id); errors.Is(err, engine.ErrGone) != c.gone {
			t.Errorf("of %s: %v", c.what, err)
		}
		if err := d.Engine.Remove(t.Context(), id); err != nil {
			t.Error(err)
		}
	}
}

// TestCleanupWithoutEngine checks that what could not be removed stays on record
// and is removed once that is possible, by whoever sweeps first.
func TestCleanupWithoutEngine(t *testing.T) {
	slow(t)
	state, task := newState(t), unique("stays")
	for _, detached := range []bool{true, false} {
		d := dockAt(t, state, func(o *Options) { o.Detached = detached })
		prepare(t, d, task)
		f := newFrail(t, func(*http.Request) bool { return true }, false)
		real := d.Engine
		d.Engine = f.engine(t)
		wantFault(t, d.Cleanup(t.Context(), task), fault.Unavailable, "hako env prune")
		d.Engine = real
		info, err := d.ContainerInfo(task)
		if err != nil || info.Status != Stopped || len(info.Warnings) != 1 ||
			!strings.Contains(info.Warnings[0], "could not be removed") {
			t.Errorf("%+v, %v", info, err)
		}
		if n, err := d.CleanupStale(t.Context()); n != 1 || err != nil {
			t.Errorf("removed %d, %v", n, err)
		}
		checkNothingLeft(t, state)
	}
}

// TestUselessWithoutEngine does the same with a container that belongs to no task.
func TestUselessWithoutEngine(t *testing.T) {
	slow(t)
	d := newManager(t, nil)
	l := d.language("python")
	img, err := d.image(t.Context(), l.Name, l.Image)
	if err != nil {
		t.Fatal(err)
	}
	b, err := d.create(t.Context(), l, img, Task{})
	if err != nil {
		t.Fatal(err)
	}
	real := d.Engine
	d.Engine = newFrail(t, func(*http.Request) bool { return true }, false).engine(t)
	d.discard(t.Context(), b)
	d.Engine = real
	if n, err := d.CleanupStale(t.Context()); n != 1 || err != nil {
		t.Errorf("removed %d, %v", n, err)
	}
	checkNothingLeft(t, d.State)
}
