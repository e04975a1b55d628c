package container

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"hako/internal/testload"
	"hako/run"
)

// sweepAll does what the next two starts of hako do.
func sweepAll(t *testing.T, d *Manager) {
	t.Helper()
	for range 2 {
		if _, err := d.CleanupStale(context.Background()); err != nil {
			t.Error("sweep:", err)
		}
	}
}

// TestKilledOnTheWayUp kills hako with kill -9 at all times of the way up, which
// a container with its keeper takes, and looks for what is left after the next start.
func TestKilledOnTheWayUp(t *testing.T) {
	slow(t)
	realEngine(t)
	const lanes, kills = 4, 15
	whole := timeOfPrepare(t)
	t.Logf("a way up takes %v", whole)
	for lane := range lanes {
		t.Run(fmt.Sprint("lane ", lane), func(t *testing.T) {
			t.Parallel()
			killLoop(t, lane%2 == 0, kills, whole)
		})
	}
}

// timeOfPrepare measures another hako from its beginning to a ready container.
func timeOfPrepare(t *testing.T) time.Duration {
	t.Helper()
	c := begin(t, wish{Verb: "prepare", State: newState(t), Task: unique("timed"), Way: true})
	c.says(t, "begin")
	began := time.Now()
	c.says(t, "done")
	whole := time.Since(began)
	c.dismiss(t)
	return whole
}

// killLoop kills at growing times, until the way up was done before. The same
// task has to survive the remains of the one before; other tasks do not even look
// at them.
func killLoop(t *testing.T, sameTask bool, kills int, whole time.Duration) {
	state, task := newState(t), unique("kill")
	reached := make(map[string]int)
	for i := 0; i < kills || reached[allTheWay] < 2 && i < 4*kills; i++ {
		w := wish{Verb: "prepare", State: state, Task: task, Way: true, Detached: i%2 == 0}
		if !sameTask {
			w.Task = unique("kill")
		}
		c := begin(t, w)
		c.says(t, "begin")
		step := whole / time.Duration(kills)
		time.Sleep(step*time.Duration(i) + rand.N(step))
		c.kill()
		reached[howFar(state)]++
	}
	t.Log("killed at:", reached)
	if reached[allTheWay] < 2 {
		t.Error("that is not all of the way up")
	}
	d := dockAt(t, state, func(
		o *Options) {
		o.Stale = time.Nanosecond
	}) // some got ready and were not to end with their maker
	sweepAll(t, d)
	checkNothingLeft(t, state)
	if err := roundTrip(t.Context(), d, task); err != nil {
		t.Error(err)
	}
}

const allTheWay = "a container that is ready"

// howFar tells how far the last one came who was killed.
func howFar(state string) string {
	var last *box
	entries, _ := os.ReadDir(filepath.Join(state, "boxes"))
	for _, e := range entries {
		if b, err := load(filepath.Join(state, "boxes", e.Name())); err == nil &&
			(last == nil || b.Created.After(last.Created)) {
			last = b
		}
	}
	switch {
	case last == nil:
		return "no box"
	case last.ContainerID == "":
		return "a box without container"
	}
	return "a container that is " + string(last.Status)
}

// TestKilledPool kills one who keeps containers warm, and those who claim them.
func TestKilledPool(t *testing.T) {
	slow(t)
	realEngine(t)
	t.Run("owner", func(t *testing.T) {
		t.Parallel()
		state := newState(t)
		for i := range 8 {
			c := begin(t, wish{Verb: "pool", State: state, Times: 2})
			c.says(t, "begin")
			time.Sleep(time.Duration(i) * 150 * time.Millisecond)
			c.kill()
		}
		d := dockAt(t, state, nil)
		sweepAll(t, d)
	})
	t.Run("claimer", func(t *testing.T) {
		t.Parallel()
		state := newState(t)
		owner := begin(t, wish{Verb: "pool", State: state, Times: 4})
		owner.says(t, "begin")
		owner.says(t, "done")
		for i := range 12 {
			waitWarm(t, state)
			c := begin(t, wish{Verb: "prepare", State: state, Task: unique("claim")})
			c.says(t, "begin")
			time.Sleep(time.Duration(i) * 4 * time.Millisecond)
			c.kill()
		}
		d := dockAt(t, state, nil)
		waitOnlyWarm(t, d) // the owner lives, and lets go of what others took
		owner.dismiss(t)
	})
}

// waitWarm waits until somebody has a container warm.
func waitWarm(t *testing.T, state string) {
	t.Helper()
	for end := time.Now().Add(testload.Bound(30 * time.Second)); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if marks, _ := filepath.Glob(filepath.Join(state, "boxes", "*", poolMark)); len(marks) > 0 {
			return
		}
	}
	t.Fatal("the pool stays empty")
}

// waitOnlyWarm sweeps until nothing is there but what is in the pool.
func waitOnlyWarm(t *testing.T, d *Manager) {
	t.Helper()
	var all []*box
	for end := time.Now().Add(testload.Bound(15 * time.Second)); time.Now().Before(end); time.Sleep(
		50 * time.Millisecond) {
		sweepAll(t, d)
		all, _ = d.boxes()
		all = slices.DeleteFunc(all, func(b *box) bool { return b.warm("python", b.Fit) })
		if len(all) == 0 && d.WarmCount()["python"] == 4 {
			return
		}
	}
	t.Errorf("%d boxes are left that are not warm", len(all))
}

// waitGone sweeps until no more than that many containers are there.
func waitGone(t *testing.T, d *Manager, want int) {
	t.Helper()
	var n int
	for end := time.Now().Add(testload.Bound(15 * time.Second)); time.Now().Before(end); time.Sleep(
		100 * time.Millisecond) {
		sweepAll(t, d)
		all, err := d.Engine.List(t.Context(), map[string]string{labelState: d.id})
		if n = len(all); err == nil && n <= want {
			return
		}
	}
	t.Errorf("%d containers are left, want %d", n, want)
}

// TestTwoProcesses has several hakos work at the same time, on the same records
// and on others.
func TestTwoProcesses(t *testing.T) {
	slow(t)
	realEngine(t)
	shared := newState(t)
	bystander := newManager(t, nil)
	task := unique("bystander")
	info := prepare(t, bystander, task)
	var all []*child
	const rounds = 20
	for i, state := range []string{shared, shared, newState(t)} {
		all = append(all, begin(t, wish{Verb: "cycle", State: state, Task: unique(fmt.Sprint("p", i)), Times: rounds}))
	}
	for _, c := range all {
		c.says(t, "begin")
	}
	for _, c := range all {
		for range rounds {
			c.says(t, "round")
		}
		c.says(t, "done")
		c.dismiss(t)
	}
	if c, err := bystander.Engine.Inspect(t.Context(), info.ContainerID); err != nil || c.State != "running" {
		t.Errorf("%+v, %v", c, err)
	}
	res, err := bystander.ExecuteIn(t.Context(), task, &run.Request{Script: "echo here"})
	if err != nil || res.Stdout != "here\n" {
		t.Errorf("%+v, %v", res, err)
	}
}

// TestSameTask has two hakos prepare one task at the same time.
func TestSameTask(t *testing.T) {
	slow(t)
	realEngine(t)
	state, task := newState(t), unique("same")
	var pair []*child
	for range 2 {
		pair = append(pair, begin(t, wish{Verb: "prepare", State: state, Task: task, Detached: true}))
	}
	for _, c := range pair {
		c.says(t, "begin")
		c.says(t, "done")
		c.dismiss(t)
	}
	d := dockAt(t, state, nil)
	all, err := d.Engine.List(t.Context(), map[string]string{labelState: d.id})
	if err != nil || len(all) != 1 {
		t.Errorf("%d containers: %+v, %v", len(all), all, err)
	}
	if res, err := d.ExecuteIn(t.Context(), task, &run.Request{Script: "echo well"}); err != nil ||
		res.Stdout != "well\n" {
		t.Errorf("%+v, %v", res, err)
	}
	if err := d.Cleanup(t.Context(), task); err != nil {
		t.Error(err)
	}
}

// TestStale checks what a sweep removes and what it leaves alone.
func TestStale(t *testing.T) {
	slow(t)
	state := newState(t)
	d := dockAt(t, state, func(o *Options) { o.Detached = true })
	old, young := unique("old"), unique("young")
	prepare(t, d, old)
	prepare(t, d, young)
	other := newManager(t, nil)
	living := begin(t, wish{Verb: "prepare", State: state, Task: unique("living")})
	living.says(t, "begin")
	living.says(t, "done")

	for _, sweeper := range []*Manager{other, d} {
		if n, err := sweeper.CleanupStale(t.Context()); n != 0 || err != nil {
			t.Errorf("removed %d, %v", n, err)
		}
	}
	age(t, d, old, 25*time.Hour)
	if n, err := other.CleanupStale(t.Context()); n != 0 || err != nil {
		t.Errorf("removed %d of others, %v", n, err)
	}
	if n, err := d.CleanupStale(t.Context()); n != 1 || err != nil {
		t.Errorf("removed %d, %v", n, err)
	}
	if _, err := d.ContainerInfo(old); err == nil {
		t.Error("the old one is still there")
	}
	living.kill()
	if n, err := d.CleanupStale(t.Context()); n != 1 || err != nil {
		t.Errorf("removed %d of the one that was killed, %v", n, err)
	}
	if res, err := d.ExecuteIn(t.Context(), young, &run.Request{Script: "echo well"}); err != nil ||
		res.Stdout != "well\n" {
		t.Errorf("%+v, %v", res, err)
	}
	if err := d.Cleanup(t.Context(), young); err != nil {
		t.Error(err)
	}
}

// age makes the container of a task look older.
func age(t *testing.T, d *Manager, task string, by time.Duration) {
	t.Helper()
	b, err := d.find(task)
	if err != nil {
		t.Fatal(err)
	}
	b.Created = b.Created.Add(-by)
	if err := b.save(); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(filepath.Join(b.dir, usedMark), b.Created, b.Created); err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
}

// TestAbandoned looks at records without any container.
func TestAbandoned(t *testing.T) {
	d := plainDock(t, filepath.Join(t.TempDir(), "st[a]te*")) // a name that is also a pattern
	b, err := d.newBox(record{})
	if err != nil {
		t.Fatal(err)
	}
	check := func(what string, want bool) {
		t.Helper()
		if got := b.abandoned(); got != want {
			t.Errorf("%s: abandoned %v", what, got)
		}
	}
	check("held", false)
	d.release(b.Box)
	check("let go", true)
	b.Settled = true
	check("settled", false)
	b.Settled = false
	machine, _, _ := strings.Cut(self().Host, ".")
	b.Owner.Host = "elsewhere.0123"
	check("of another machine", false)
	b.Owner.Host = "elsewhere"
	check("of who knows", false)
	b.Owner.Host = machine + "." + digest("an earlier start")
	check("of an earlier start", true)
	b.Owner.Host = machine + "." + digest("")
	check("of a start that is not known", false)
}

// plainDock opens a dock that talks to no engine.
func plainDock(t *testing.T, state string) *Manager {
	t.Helper()
	d, err := New(wish{State: state}.options(nil))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	return d
}

// TestSweepFolders leaves halves of boxes and looks what a sweep does.
func TestSweepFolders(t *testing.T) {
	d := plainDock(t, t.TempDir())
	boxes := filepath.Join(d.State, "boxes")
	for _, dir := range []string{"empty", "locked", "spoilt", "aged"} {
		if err := os.MkdirAll(filepath.Join(boxes, dir, "run"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	f, err := (&box{dir: filepath.Join(boxes, "locked")}).lock()
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, dir := range []string{"spoilt", "aged"} {
		if err := os.WriteFile(filepath.Join(boxes, dir, recordName), []byte("{"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	long := time.Now().Add(-time.Hour)
	if err := os.Chtimes(filepath.Join(boxes, "aged"), long, long); err != nil {
		t.Fatal(err)
	}
	whole, err := d.newBox(record{Info: Info{TaskUUID: "whole"}})
	if err != nil {
		t.Fatal(err)
	}
	links := map[string]bool{"gone.0123456789ab~": false, "whole." + whole.Box + "~": true}
	for name := range links {
		if err := os.Symlink("nowhere", filepath.Join(d.State, "tasks", name)); err != nil {
			t.Fatal(err)
		}
	}
	turn, err := d.lockTask(t.Context(), "busy")
	if err != nil {
		t.Fatal(err)
	}
	defer turn.Close()
	idle, err := d.lockTask(t.Context(), "idle")
	if err != nil {
		t.Fatal(err)
	}
	idle.Close()

	d.sweepFolders()
	d.sweepTasks()
	for path, want := range map[string]bool{
		"boxes/empty": false, "boxes/locked": true, "boxes/spoilt": true, "boxes/aged": false, "boxes/" + whole.Box: true,
		"tasks/gone.0123456789ab~": false, "tasks/whole." + whole.Box + "~": true, "turns/busy": true, "turns/idle": false,
	} {
		if _, err := os.Lstat(filepath.Join(d.State, path)); (err == nil) != want {
			t.Errorf("%s: there %v, want %v", path, err == nil, want)
		}
	}
}

// TestForget has many remove the same box while it is still written to.
func TestForget(t *testing.T) {
	d := plainDock(t, t.TempDir())
	for range 20 {
		b, err := d.newBox(record{Info: Info{TaskUUID: "x"}})
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		for range 8 {
			own := *b
			wg.Go(func() {
				_ = own.save() // as who begins to remove it does
				if err := d.removeFolder(&own); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
	}
	half := filepath.Join(d.State, "boxes", "half"+removedSuffix)
	if err := os.Mkdir(half, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := (&box{dir: half}).save(); err != nil {
		t.Fatal(err)
	}
	if all, err := d.boxes(); len(all) != 0 || err != nil {
		t.Errorf("%d boxes, %v", len(all), err)
	}
	d.sweepFolders()
	if left, err := os.ReadDir(filepath.Join(d.State, "boxes")); len(left) != 0 || err != nil {
		t.Errorf("%v, %v", left, err)
	}
}

// TestTurn has many wait for one task, whose lock is removed again and again.
func TestTurn(t *testing.T) {
	state := t.TempDir()
	a, b := plainDock(t, state), plainDock(t, state)
	var wg sync.WaitGroup
	inside := make(chan struct{}, 1)
	for i := range 40 {
		d := a
		if i%2 == 0 {
			d = b
		}
		wg.Go(func() {
			f, err := d.lockTask(t.Context(), "x")
			if err != nil {
				t.Error(err)
				return
			}
			select {
			case inside <- struct{}{}:
			default:
				t.Error("two at the same time")
			}
			<-inside
			if i%3 == 0 {
				os.Remove(f.Name()) // the last thing that is done: from here on the next may go on
			}
			f.Close()
			removeTaskLock(f.Name())
		})
	}
	wg.Wait()

	f, err := a.lockTask(t.Context(), "x")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := os.Rename(f.Name(), f.Name()+".away"); err != nil || current(f) {
		t.Errorf("a lock without name is taken for the one that others wait for; %v", err)
	}
	if next, err := b.lockTask(t.Context(), "x"); err != nil || current(f) || !current(next) {
		t.Errorf("an old lock is taken for the one that others wait for; %v", err)
	} else {
		defer next.Close()
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := b.lockTask(ctx, "x"); err == nil {
		t.Error("it did not wait")
	}
}

// TestRecordRoundTrip checks that what is saved is what is loaded.
func TestRecordRoundTrip(t *testing.T) {
	d := plainDock(t, t.TempDir())
	b, err := d.newBox(record{Info: Info{TaskUUID: "x", Status: Created, Created: time.Now().UTC()}, Env: []string{"A=b"},
		Fit: "f"})
	if err != nil {
		t.Fatal(err)
	}
	got, err := load(b.dir)
	if err != nil {
		t.Fatal(err)
	}
	want, _ := json.Marshal(b.record)
	have, _ := json.Marshal(got.record)
	if string(want) != string(have) {
		t.Errorf("%s\n%s", want, have)
	}
}
