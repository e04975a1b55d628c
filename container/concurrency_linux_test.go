package container

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"hako/container/engine"
	"hako/internal/testload"
	"hako/run"
	"hako/run/fault"
)

// TestCrowd runs 200 commands at once in one container, from a dock that did not
// talk to it before.
func TestCrowd(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it takes a while")
	}
	state, task := newState(t), unique("crowd")
	maker := dockAt(t, state, nil)
	prepare(t, maker, task)
	d := dockAt(t, state, nil)
	before := sockets(t)
	var wg sync.WaitGroup
	began := time.Now()
	for i := range 200 {
		wg.Go(func() {
			script := fmt.Sprintf("x=%d; echo out $x; echo err $x >&2; cat; exit $((x %% 7))", i)
			res, err := d.ExecuteIn(t.Context(), task,
				&run.Request{Script: script, Stdin: strings.NewReader(fmt.Sprintln("in", i))})
			want := Result{ExitCode: i % 7, Stdout: fmt.Sprintf("out %d\nin %d\n", i, i), Stderr: fmt.Sprintf("err %d\n", i),
				Duration: res.Duration}
			if err != nil || res != want {
				t.Errorf("%+v, %v; want %+v", res, err, want)
			}
		})
	}
	wg.Wait()
	t.Log("200 commands at once took", time.Since(began))
	if grown := sockets(t) - before; grown > 20 {
		t.Errorf("%d connections are open", grown)
	}
}

// sockets counts the sockets of this process.
func sockets(t *testing.T) (n int) {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if to, _ := os.Readlink("/proc/self/fd/" + e.Name()); strings.HasPrefix(to, "socket:") {
			n++
		}
	}
	return n
}

// TestEightTasks prepares, uses and removes eight containers at once.
func TestEightTasks(t *testing.T) {
	slow(t)
	d := newManager(t, nil)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			if err := roundTrip(t.Context(), d, unique(fmt.Sprint("eight", i))); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

// pooled opens a dock that keeps containers warm, and waits until it does.
func pooled(t *testing.T, state string, n int) *Manager {
	t.Helper()
	d := dockAt(t, state, func(o *Options) { o.Warm = map[string]int{"python": n} })
	d.KeepWarm(context.Background())
	fill(t, d)
	return d
}

func fill(t *testing.T, d *Manager) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testload.Bound(30*time.Second))
	defer cancel()
	if err := d.WaitWarm(ctx); err != nil {
		t.Fatal(err)
	}
}

// warmIDs returns the containers of the pool.
func warmIDs(t *testing.T, d *Manager) map[string]bool {
	t.Helper()
	all, err := d.boxes()
	if err != nil {
		t.Fatal(err)
	}
	ids := make(map[string]bool)
	for _, b := range all {
		if b.warm("python", b.Fit) {
			ids[b.ContainerID] = true
		}
	}
	return ids
}

func TestPool(t *testing.T) {
	slow(t)
	state := newState(t)
	d := pooled(t, state, 2)
	warm := warmIDs(t, d)
	if len(warm) != 2 || d.WarmCount()["python"] != 2 {
		t.Fatalf("%v are warm", warm)
	}
	first, second := unique("first"), unique("second")
	began := time.Now()
	info := prepare(t, d, first)
	res, err := d.ExecuteIn(t.Context(), first, &run.Request{Script: "echo x >mine; pwd"})
	t.Log("from the pool to the end of the first command:", time.Since(began))
	if err != nil || res.Stdout != Project+"\n" || !warm[info.ContainerID] || time.Since(info.Created) > time.Minute {
		t.Errorf("%+v, %+v, %v", info, res, err)
	}
	if c, err := d.Engine.Inspect(t.Context(), Name(first)); err != nil || c.ID != info.ContainerID {
		t.Errorf("%+v, %v", c, err)
	}
	fill(t, d) // it is filled up again
	if after := warmIDs(t, d); after[info.ContainerID] || len(after) != 2 {
		t.Errorf("%v are warm; %s was taken", after, info.ContainerID)
	}
	if err := d.Cleanup(t.Context(), first); err != nil {
		t.Error(err)
	}
	if other := prepare(t, d, second); other.ContainerID == info.ContainerID {
		t.Error("one container was used twice")
	}
	if res, err := d.ExecuteIn(t.Context(), second, &run.Request{Script: "ls -A"}); err != nil || res.Stdout != "" {
		t.Errorf("it is not clean: %+v, %v", res, err)
	}
}

// TestPoolOfAnother has another hako take a container of our pool, and checks
// that from then on it is no longer ours.
func TestPoolOfAnother(t *testing.T) {
	slow(t)
	state, task := newState(t), unique("claimed")
	d := pooled(t, state, 1)
	warm := warmIDs(t, d)
	c := begin(t, wish{Verb: "prepare", State: state, Task: task})
	c.says(t, "begin")
	c.says(t, "done")
	info, err := d.ContainerInfo(task)
	if err != nil || !warm[info.ContainerID] {
		t.Errorf("%+v, %v; warm were %v", info, err, warm)
	}
	fill(t, d)
	c.kill()
	waitGone(t, d, 1)
	if _, err := d.ContainerInfo(task); fault.KindOf(err) != fault.NotFound {
		t.Errorf("what the other took is still there: %v", err)
	}
}

// TestPoolEnds has another hako take a container of a pool that ends right then.
func TestPoolEnds(t *testing.T) {
	slow(t)
	state, task := newState(t), unique("claimed")
	d := pooled(t, state, 2)
	d.StopWarming()
	c := begin(t, wish{Verb: "prepare", State: state, Task: task})
	c.says(t, "begin")
	c.says(t, "done")
	info, err := d.ContainerInfo(task)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.CleanupAll(t.Context()); err != nil {
		t.Error(err)
	}
	if left, err := d.Engine.List(t.Context(), map[string]string{labelState: d.id}); err != nil || len(left) != 1 ||
		left[0].ID != info.ContainerID || left[0].State != "running" {
		t.Errorf("what is not ours was removed, or what is ours was not: %+v, %v", left, err)
	}
	c.kill()
	waitGone(t, d, 0)
}

// TestPoolLosses checks that a warm container that died, or was made for other
// settings, is of no use to anybody, and is replaced.
func TestPoolLosses(t *testing.T) {
	slow(t)
	state := newState(t)
	d := pooled(t, state, 1)
	d.StopWarming() // nobody replaces it before it is asked for
	warm := warmIDs(t, d)
	kill(t, d, warm)
	info := prepare(t, d, unique("dead"))
	if warm[info.ContainerID] {
		t.Error("a dead container was taken")
	}
	if len(warmIDs(t, d)) != 0 {
		t.Error("the dead container is still in the pool")
	}

	changed := pooled(t, state, 1)
	warm = warmIDs(t, changed)
	other := dockAt(t, state, func(o *Options) { o.Resources.Memory = 96 << 20 })
	if info := prepare(t, other, unique("changed")); warm[info.ContainerID] {
		t.Error("a container with other limits was taken")
	}
	kill(t, changed, warm)
	for end := time.Now().Add(testload.Bound(20 * time.Second)); ; time.Sleep(20 * time.Millisecond) {
		now := warmIDs(t, changed)
		for id := range warm {
			delete(now, id)
		}
		if len(now) == 1 {
			break
		}
		if time.Now().After(end) {
			t.Fatal("a dead container is not replaced")
		}
	}
}

func kill(t *testing.T, d *Manager, ids map[string]bool) {
	t.Helper()
	for id := range ids {
		killContainer(t, id)
	}
}

// TestPoolName checks that a name that is taken spoils nothing.
func TestPoolName(t *testing.T) {
	slow(t)
	d := pooled(t, newState(t), 1)
	task := unique("foreign")
	id, err := d.Engine.Create(t.Context(), engine.Spec{Name: Name(task), Image: tinyImage,
		Entrypoint: []string{"/bin/sleep", "600"}})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Engine.Remove(context.Background(), id)
	_, err = d.Prepare(t.Context(), Task{ID: task}, "python")
	wantFault(t, err, fault.Invalid, "that was not made here")
	if c, err := d.Engine.Inspect(t.Context(), Name(task)); err != nil || c.ID != id {
		t.Errorf("%+v, %v", c, err)
	}
	_, err = d.ContainerInfo(task)
	wantFault(t, err, fault.NotFound)
}

// TestBare works without a guest, as on an engine that is another machine.
func TestBare(t *testing.T) {
	slow(t)
	d, task := newManager(t, nil), unique("bare")
	d.bare = true
	info := prepare(t, d, task)
	b, err := d.find(task)
	if err != nil || !b.Bare {
		t.Fatal(b, err)
	}
	mounts, err := exec.Command("docker", "inspect", "-f", "{{len .Mounts}}", info.ContainerID).CombinedOutput()
	if err != nil || string(mounts) != "0\n" {
		t.Errorf("a path of this machine is in it: %s mounts, %v", mounts, err)
	}
	for _, c := range []struct {
		script, dir, stdout, stderr string
		exit                        int
	}{
		{"echo out; echo err >&2; exit 3", "", "out\n", "err\n", 3},
		{"pwd; id -u; echo $HOME; mkdir sub", "", Project + "\n1000\n/workspace/.home\n", "", 0},
		{"pwd", "sub", Project + "/sub\n", "", 0},
		{"pwd", "/workspace/tmp", "/workspace/tmp\n", "", 0},
		{"cat", "", "given", "", 0},
	} {
		res, err := d.ExecuteIn(t.Context(), task,
			&run.Request{Script: c.script, Dir: c.dir, Stdin: strings.NewReader("given")})
		if err != nil || res.ExitCode != c.exit || res.Stdout != c.stdout || res.Stderr != c.stderr {
			t.Errorf("%s: %+v, %v", c.script, res, err)
		}
	}
	res, err := d.ExecuteIn(t.Context(), task, &run.Request{Script: "echo partial; sleep 7779", Timeout: time.Second})
	if err != nil || res.ExitCode != -1 || res.Stdout != "partial\n" ||
		!strings.HasSuffix(res.Stderr, "Command timeout after 1 seconds") {
		t.Errorf("%+v, %v", res, err)
	}
	res, err = d.ExecuteIn(t.Context(), task,
		&run.Request{Script: "cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' ' | grep -o 'sleep 777[0-9]'"})
	if err != nil || res.Stdout != "" {
		t.Errorf("left: %+v, %v", res, err)
	}
	if x, err := d.Details(t.Context(), task); err != nil || x.Status != Ready || x.Usage == nil {
		t.Errorf("%+v, %v", x, err)
	}
	_, err = d.Jobs(t.Context(), task)
	wantFault(t, err, fault.Unavailable, "another machine")
	_, err = d.Edit(t.Context(), task, nil)
	wantFault(t, err, fault.Unavailable, "another machine")
	if err := d.Cleanup(t.Context(), task); err != nil {
		t.Error(err)
	}
}

// TestBarePool takes a container without a guest out of the pool.
func TestBarePool(t *testing.T) {
	slow(t)
	d := dockAt(t, newState(t), func(o *Options) { o.Warm = map[string]int{"python": 1} })
	d.bare = true
	d.KeepWarm(context.Background())
	fill(t, d)
	warm := warmIDs(t, d)
	d.StopWarming()
	task := unique("barepool")
	if info := prepare(t, d, task); !warm[info.ContainerID] {
		t.Error("the warm container was not taken")
	}
	if res, err := d.ExecuteIn(t.Context(), task, &run.Request{Script: "pwd"}); err != nil || res.Stdout != Project+"\n" {
		t.Errorf("%+v, %v", res, err)
	}
}

// TestLongState checks that a state directory in which no socket can be is
// refused with what to do.
func TestLongState(t *testing.T) {
	d := plainDock(t, filepath.Join(t.TempDir(), strings.Repeat("x", 100)))
	_, err := d.newBox(record{})
	wantFault(t, err, fault.Invalid, "too long", "XDG_STATE_HOME")
}
