package container

import (
	"context"
	"crypto/rand"
	"debug/elf"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"hako/container/egress"
	"hako/container/engine"
	"hako/container/guest/server"
	"hako/container/proxyproc"
	"hako/internal/testload"
	"hako/run"
	"hako/run/fault"
)

// keeperName is what the keepers of tests are called by.
const keeperName = "hako-test-keeper"

// childWish names the variable that makes this program another hako.
const childWish = "HAKO_TEST_CHILD"

// TestMain is also the guest, the keeper and another hako.
func TestMain(m *testing.M) {
	server.Main(os.Args[0], os.Args[1:])
	if os.Args[0] == keeperName {
		os.Exit(keep())
	}
	if wish := os.Getenv(childWish); wish != "" {
		os.Exit(beChild(wish))
	}
	code := m.Run()
	_ = os.Remove(builtAt())
	os.Exit(code)
}

// The images of these tests.
const (
	pythonImage = "coding-agent-executor-python:latest"
	tinyImage   = "hako-tiny:1" // a shell and nothing else
)

// realEngine opens the engine of this machine. A machine without one skips the
// test, unless it must have one.
func realEngine(t *testing.T) *engine.Engine {
	t.Helper()
	e, err := engine.Open("")
	if err == nil {
		t.Cleanup(e.Close)
		_, err = e.Image(t.Context(), pythonImage)
	}
	if err != nil && os.Getenv("HAKO_REQUIRE_TOOLS") == "1" {
		t.Fatal(err)
	}
	if err != nil {
		t.Skip(err)
	}
	return e
}

// guestBinary returns this program, or where it needs libraries, as with the race
// detector, one that does not.
func guestBinary(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	file, err := elf.Open(self)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if !slices.ContainsFunc(file.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP }) {
		return self
	}
	said, err := builtGuest()
	if err != nil {
		t.Fatal(err, said)
	}
	return builtAt()
}

// builtAt is where a guest is built to, if one has to be.
func builtAt() string { return filepath.Join(os.TempDir(), fmt.Sprint("hako-t-guest-", os.Getpid())) }

// builtGuest builds it once: containers with another program are other containers.
var builtGuest = sync.OnceValues(func() (string, error) {
	cmd := exec.Command("go", "build", "-o", builtAt(), "./testdata/guest")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := cmd.CombinedOutput()
	return string(out), err
})

func keep() int {
	s, l, err := proxyproc.Read()
	if err == nil {
		err = proxyproc.Serve(context.Background(), s, l, func(egress.Event) error { return nil })
	}
	if err != nil {
		return 1
	}
	return 0
}

// A wish is what another hako is to do.
type wish struct {
	Verb     string // prepare, cycle or pool
	State    string
	Binary   string
	Task     string
	Detached bool
	Way      bool // containers have a way out, and so a keeper
	Times    int
}

// options are those of a dock of tests, in this process or another.
func (w wish) options(e *engine.Engine) Options {
	o := Options{
		Enabled: true, State: w.State, Engine: e, Binary: w.Binary, Images: map[string]string{"python": pythonImage,
			"other": tinyImage}, Detached: w.Detached,
		Resources: Resources{CPUs: 1, Memory: 128 << 20, Disk: 32 << 20, Pids: 300},
		Gate:      func(_ string, r run.Runner) run.Runner { return r },
		Record:    func(string, string) (func(error), error) { return func(error) {}, nil },
	}
	if w.Way {
		o.Network = Open
		o.ServeEgress = func(_ context.Context, way Egress) error {
			self, err := os.Executable()
			if err != nil {
				return err
			}
			return proxyproc.Start(self, []string{keeperName, w.State}, proxyproc.Settings{Task: way.Task, Guest: way.Guest,
				Open: true}, way.Listener)
		}
	}
	return o
}

// beChild does what was wished, and says so line by line. It ends when nobody
// talks to it any more.
func beChild(text string) int {
	var w wish
	if err := json.Unmarshal([]byte(text), &w); err != nil {
		return 2
	}
	e, err := engine.Open("")
	if err != nil {
		return 2
	}
	o := w.options(e)
	o.Warm = map[string]int{"python": w.Times}
	d, err := New(o)
	if err == nil {
		fmt.Println("begin")
		err = w.fulfil(d)
	}
	if err != nil {
		fmt.Println("fault:", err)
		return 1
	}
	fmt.Println("done")
	io.Copy(io.Discard, os.Stdin)
	d.StopWarming()
	if err := d.CleanupAll(context.Background()); err != nil {
		return 1
	}
	return 0
}

func (w wish) fulfil(d *Manager) error {
	ctx := context.Background()
	switch w.Verb {
	case "prepare":
		_, err := d.Prepare(ctx, Task{ID: w.Task}, "python")
		return err
	case "pool":
		d.KeepWarm(ctx)
		return d.WaitWarm(ctx)
	}
	for i := range w.Times {
		if err := roundTrip(ctx, d, fmt.Sprintf("%s-%d", w.Task, i)); err != nil {
			return err
		}
		fmt.Println("round") // who waits, waits for one and not for all
	}
	return nil
}

// roundTrip prepares a task, runs a command in it and cleans up.
func roundTrip(ctx context.Context, d *Manager, task string) error {
	if _, err := d.Prepare(ctx, Task{ID: task}, "python"); err != nil {
		return err
	}
	res, err := d.ExecuteIn(ctx, task, &run.Request{Script: "echo " + task + " >me; cat me"})
	if err != nil || res.Stdout != task+"\n" {
		return fmt.Errorf("%s: %+v, %w", task, res, err)
	}
	return d.Cleanup(ctx, task)
}

// A child is another hako.
type child struct {
	cmd   *exec.Cmd
	stdin io.Closer
	lines chan string
}

// startJob starts another hako, which is killed at the end of the test at the latest.
func begin(t *testing.T, w wish) *child {
	t.Helper()
	w.Binary = guestBinary(t)
	text, _ := json.Marshal(w)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := &child{cmd: exec.Command(self), lines: make(chan string, 16)}
	c.cmd.Env = append(os.Environ(), childWish+"="+string(text))
	c.cmd.Stderr = os.Stderr
	c.stdin, err = c.cmd.StdinPipe()
	out, oerr := c.cmd.StdoutPipe()
	if err != nil || oerr != nil {
		t.Fatal(err, oerr)
	}
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go c.read(out)
	t.Cleanup(c.kill)
	return c
}

func (c *child) read(out io.Reader) {
	defer close(c.lines)
	data := make([]byte, 0, 4096)
	for {
		n, err := out.Read(data[len(data):cap(data)])
		data = data[:len(data)+n]
		for i := slices.Index(data, '\n'); i >= 0; i = slices.Index(data, '\n') {
			c.lines <- string(data[:i])
			data = append(data[:0], data[i+1:]...)
		}
		if err != nil || len(data) == cap(data) {
			return
		}
	}
}

// says waits for a line.
func (c *child) says(t *testing.T, want string) {
	t.Helper()
	select {
	case got := <-c.lines:
		if got != want {
			t.Fatalf("the other hako says %q, not %q", got, want)
		}
	case <-time.After(4 * time.Minute): // other tests may keep the engine busy
		t.Fatalf("the other hako does not say %q", want)
	}
}

// kill is kill -9.
func (c *child) kill() {
	if c.cmd.ProcessState == nil {
		_ = c.cmd.Process.Kill()
		_ = c.cmd.Wait()
	}
}

// dismiss has the other hako end by itself.
func (c *child) dismiss(t *testing.T) {
	t.Helper()
	c.stdin.Close()
	if err := c.cmd.Wait(); err != nil {
		t.Error(err)
	}
}

// newState returns a state directory in which nothing may be left.
func newState(t *testing.T) string {
	t.Helper()
	state, err := os.MkdirTemp("", "hako-t") // short: the path of a socket must be
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		checkNothingLeft(t, state)
		os.RemoveAll(state)
	})
	return state
}

// dockAt opens a dock on a state directory.
func dockAt(t *testing.T, state string, change func(*Options)) *Manager {
	t.Helper()
	o := wish{State: state, Binary: guestBinary(t)}.options(realEngine(t))
	if change != nil {
		change(&o)
	}
	d, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		d.StopWarming()
		if err := d.CleanupAll(context.Background()); err != nil {
			t.Error("clean up:", err)
		}
		d.Close()
	})
	return d
}

// newManager opens a dock on a state directory of its own.
func newManager(t *testing.T, change func(*Options)) *Manager { return dockAt(t, newState(t), change) }

// slow is for tests that take a while, most of it waiting for the engine.
func slow(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("long: it takes a while")
	}
	t.Parallel()
}

// unique names a task as nobody else does: the engine may have other users.
func unique(word string) string { return "t-" + word + "-" + strings.ToLower(rand.Text()[:8]) }

// prepare gives a task a container that has to work.
func prepare(t *testing.T, d *Manager, task string) Info {
	t.Helper()
	info, err := d.Prepare(t.Context(), Task{ID: task}, "python")
	if err != nil {
		t.Fatal(err)
	}
	return info
}

// checkNothingLeft looks for everything that may be left of a state directory.
// The kernel and the engine may take a moment.
func checkNothingLeft(t *testing.T, state string) {
	t.Helper()
	e, err := engine.Open("")
	if err != nil {
		return
	}
	defer e.Close()
	var left []string
	for end := time.Now().Add(testload.Bound(10 * time.Second)); ; time.Sleep(20 * time.Millisecond) {
		if left = leftovers(e, state); len(left) == 0 {
			return
		}
		if time.Now().After(end) {
			break
		}
	}
	t.Errorf("left of %s:\n%s", state, strings.Join(left, "\n"))
	if id := idOf(state); id != "" {
		all, _ := e.List(context.Background(), map[string]string{labelState: id})
		for _, c := range all {
			_ = e.Remove(context.Background(), c.ID)
		}
	}
}

func idOf(state string) string {
	id, _ := os.ReadFile(filepath.Join(state, "id"))
	return strings.TrimSpace(string(id))
}

// killContainer kills the first process of a container.
func killContainer(t *testing.T, id string) {
	t.Helper()
	if out, err := exec.Command("docker", "kill", id).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

func leftovers(e *engine.Engine, state string) (left []string) {
	ctx := context.Background()
	if id := idOf(state); id != "" {
		all, err := e.List(ctx, map[string]string{labelState: id})
		for _, c := range all {
			left = append(left, "container "+c.ID+" "+c.State)
		}
		volumes, verr := e.Volumes(ctx, map[string]string{labelState: id})
		for _, v := range volumes {
			left = append(left, "volume "+v.Name)
		}
		if err != nil || verr != nil {
			left = append(left, fmt.Sprint(err, verr))
		}
	}
	for _, dir := range []string{"boxes", "tasks", "turns"} {
		entries, _ := os.ReadDir(filepath.Join(state, dir))
		for _, entry := range entries {
			left = append(left, "file "+dir+"/"+entry.Name())
		}
	}
	left = append(left, loops(state)...)
	return append(left, keepersOf(state)...)
}

// loops lists the loop devices over files of a state directory.
func loops(state string) (list []string) {
	files, _ := filepath.Glob("/sys/block/loop*/loop/backing_file")
	for _, file := range files {
		if name, _ := os.ReadFile(file); strings.HasPrefix(string(name), state+"/") {
			list = append(list, "device "+file+": "+strings.TrimSpace(string(name)))
		}
	}
	return list
}

// keepersOf lists the keepers of containers of a state directory.
func keepersOf(state string) (list []string) {
	entries, _ := os.ReadDir("/proc")
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		if words, _ := os.ReadFile(filepath.Join("/proc", entry.Name(), "cmdline")); string(words) == keeperName+"\x00"+state+
			"\x00" {
			list = append(list, fmt.Sprint("keeper ", pid))
		}
	}
	return list
}

// wantFault checks kind and words of an error.
func wantFault(t *testing.T, err error, kind fault.Kind, words ...string) {
	t.Helper()
	if err == nil {
		t.Error("no error")
		return
	}
	if fault.KindOf(err) != kind {
		t.Errorf("%v: kind %v, want %v", err, fault.KindOf(err), kind)
	}
	all := err.Error() + "\n" + fault.FlagHint(err)
	for _, word := range words {
		if !strings.Contains(all, word) {
			t.Errorf("%q does not say %q", all, word)
		}
	}
}
