package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"hako/run/fault"
)

const tiny = "hako-tiny:1"

// docker is the engine of this machine. Without one, or without the small image,
// the test is seen to skip, unless the tools are said to be here.
func docker(t testing.TB) *Engine {
	t.Helper()
	e, err := Open("")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	if err = e.Ping(t.Context()); err == nil {
		_, err = e.Image(t.Context(), tiny)
	}
	switch {
	case err != nil && os.Getenv("HAKO_REQUIRE_TOOLS") == "1":
		t.Fatal(err)
	case err != nil:
		t.Skip(err)
	}
	return e
}

// mark is a label that only this run of the tests has.
var mark = fmt.Sprintf("engine-%d", os.Getpid())

func named(t testing.TB, suffix string) string {
	return "hako-" + mark + "-" + strings.ToLower(strings.NewReplacer("/", "-", "_", "-").Replace(t.Name())) + suffix
}

// create makes a container that is gone after the test.
func create(t testing.TB, e *Engine, s Spec) string {
	t.Helper()
	if s.Image == "" {
		s.Image = tiny
	}
	if s.Name == "" {
		s.Name = named(t, "")
	}
	if s.Entrypoint == nil {
		s.Entrypoint = []string{"/bin/sleep", "600"}
	}
	s.Labels = map[string]string{"hako.test": mark}
	id, err := e.Create(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Remove(context.Background(), id); err != nil {
			t.Error(err)
		}
	})
	return id
}

func started(t testing.TB, e *Engine, s Spec) string {
	t.Helper()
	id := create(t, e, s)
	if err := e.Start(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	return id
}

// shell runs a script in a container and returns what it said.
func shell(t *testing.T, e *Engine, id, script string) (string, int) {
	t.Helper()
	var out bytes.Buffer
	exit, err := e.Exec(t.Context(), id, Exec{Argv: []string{"/bin/sh", "-c", "exec 2>&1; " + script}, Stdout: &out,
		Stderr: &out})
	if err != nil {
		t.Fatal(err)
	}
	return out.String(), exit
}

func TestPing(t *testing.T) {
	e := docker(t)
	if err := e.Ping(t.Context()); err != nil {
		t.Fatal(err)
	}
	if minor, ok := minorOf(e.api); !ok || minor < oldestAPI {
		t.Errorf("API %q", e.api)
	}
}

// kill kills the first process of a container.
func kill(t *testing.T, e *Engine, id string) error {
	t.Helper()
	return e.call(t.Context(), request{op: "kill container", subject: id, method: "POST",
		path: "/containers/" + id + "/kill"}, nil)
}

func TestLifeOfAContainer(t *testing.T) {
	e := docker(t)
	ctx := t.Context()
	id := create(t, e, Spec{})
	if c := inspect(t, e, id); c.State != "created" || c.PID != 0 || c.Labels["hako.test"] != mark {
		t.Errorf("created: %+v", c)
	}
	for range 2 { // the second time it runs already
		if err := e.Start(ctx, id); err != nil {
			t.Fatal(err)
		}
	}
	if c := inspect(t, e, id); c.State != "running" || c.PID == 0 {
		t.Errorf("started: %+v", c)
	}
	if err := e.Rename(ctx, id, named(t, "-renamed")); err != nil {
		t.Fatal(err)
	}
	if c := inspect(t, e, named(t, "-renamed")); c.ID != id {
		t.Errorf("renamed: %+v", c)
	}
	if err := kill(t, e, id); err != nil {
		t.Fatal(err)
	}
	if exit, err := e.await(ctx, id, "not-running"); exit != 137 || err != nil {
		t.Errorf("wait: %d, %v", exit, err)
	}
	if c := inspect(t, e, id); c.State != "exited" || c.ExitCode != 137 {
		t.Errorf("killed: %+v", c)
	}
	if err := kill(t, e, id); !errors.Is(err, errStopped) {
		t.Errorf("kill what does not run: %v", err)
	}
	for range 2 { // the second time it is gone already
		if err := e.Remove(ctx, id); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := e.Inspect(ctx, id); !errors.Is(err, ErrGone) || fault.KindOf(err) != fault.NotFound {
		t.Errorf("inspect what is gone: %v", err)
	}
	if err := e.Start(ctx, id); !errors.Is(err, ErrGone) {
		t.Errorf("start what is gone: %v", err)
	}
}

func inspect(t *testing.T, e *Engine, id string) Container {
	t.Helper()
	c, err := e.Inspect(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestListByLabel(t *testing.T) {
	e := docker(t)
	runs, waits := started(t, e, Spec{Name: named(t, "-1")}), create(t, e, Spec{Name: named(t, "-2")})
	all, err := e.List(t.Context(), map[string]string{"hako.test": mark})
	if err != nil {
		t.Fatal(err)
	}
	states := map[string]string{}
	for _, c := range all {
		states[c.ID] = c.State
	}
	if len(all) != 2 || states[runs] != "running" || states[waits] != "created" {
		t.Errorf("%v", states)
	}
	if all, err := e.List(t.Context(), map[string]string{"hako.test": mark, "no.such.label": ""}); err != nil ||
		len(all) != 0 {
		t.Errorf("a label that none has: %v, %v", all, err)
	}
	all, err = e.List(t.Context(), map[string]string{"hako.test": ""})
	if err != nil || !slices.ContainsFunc(all, func(c Container) bool { return c.ID == runs }) {
		t.Errorf("any value: %v, %v", all, err)
	}
}

func TestNamesAndImagesThatAreTakenOrMissing(t *testing.T) {
	e := docker(t)
	create(t, e, Spec{})
	_, err := e.Create(t.Context(), Spec{Image: tiny, Name: named(t, ""), Entrypoint: []string{"/bin/sh"}})
	if !errors.Is(err, ErrConflict) || !strings.Contains(err.Error(), "already in use") {
		t.Errorf("a name in use: %v", err)
	}
	for _, err := range []error{second(e.Create(t.Context(), Spec{Image: "no-such-image:9", Entrypoint: []string{"/bin/sh"}})),
		second(e.Image(t.Context(), "no-such-image:9"))} {
		if !errors.Is(err, ErrNoImage) || fault.KindOf(err) != fault.NotFound ||
			!strings.HasSuffix(err.Error(), ": docker has no image no-such-image:9") {
			t.Errorf("a missing image: %v", err)
		}
	}
}

func second[T any](_ T, err error) error { return err }

func TestContainersAreConfined(t *testing.T) {
	e := docker(t)
	id := started(t, e, Spec{ReadOnly: true, Tmpfs: map[string]string{"/tmp": "size=1m,mode=1777"},
		CapAdd: []string{"KILL"}, Hostname: "box", Dir: "/tmp", Ulimits: []Ulimit{{"nofile", 99, 99}},
		Memory: 64 << 20, Pids: 50, CPUs: 1.5, Shm: 2 << 20, User: "0:0"})
	for script, want := range map[string]string{
		"busybox ls /sys/class/net":                             "lo\n",
		"busybox grep -E 'CapEff|NoNewPrivs' /proc/self/status": "CapEff:\t0000000000000020\nNoNewPrivs:\t1\n",
		"echo x >/x":                                                "/bin/sh: can't create /x: Read-only file system\n",
		"echo x >/tmp/x; busybox cat /tmp/x":                        "x\n",
		"busybox hostname; pwd; ulimit -n":                          "box\n/tmp\n99\n",
		"busybox df -k /dev/shm | busybox awk 'NR==2 { print $2 }'": "2048\n",
	} {
		if got, _ := shell(t, e, id, script); got != want {
			t.Errorf("%s: %q, want %q", script, got, want)
		}
	}
	u, err := e.Usage(t.Context(), id)
	if err != nil || u.Memory <= 0 || u.MemoryLimit != 64<<20 || u.Pids != 1 || u.CPU <= 0 {
		t.Errorf("usage: %+v, %v", u, err)
	}
}

func TestSeccompProfile(t *testing.T) {
	e := docker(t)
	profile := `{"defaultAction":"SCMP_ACT_ALLOW","syscalls":[{"names":["mkdir","mkdirat"],"action":"SCMP_ACT_ERRNO"}]}`
	id := started(t, e, Spec{Seccomp: profile})
	if got, exit := shell(t, e, id, "busybox mkdir /tmp/x"); exit == 0 ||
		!strings.Contains(got, "Operation not permitted") {
		t.Errorf("%d %q", exit, got)
	}
}

func TestTooMuchMemoryIsSeen(t *testing.T) {
	e := docker(t)
	id := started(t, e, Spec{Memory: 16 << 20, Entrypoint: []string{"/bin/busybox", "sh", "-c",
		"busybox tail /dev/zero; exit $?"}})
	if _, err := e.await(t.Context(), id, "not-running"); err != nil {
		t.Fatal(err)
	}
	if c := inspect(t, e, id); c.ExitCode != 137 {
		t.Errorf("%+v", c)
	}
}

func TestMounts(t *testing.T) {
	e := docker(t)
	if !e.Local() {
		t.Skip("the engine is elsewhere")
	}
	folder := t.TempDir()
	if err := os.WriteFile(folder+"/a", []byte("outside"), 0o644); err != nil {
		t.Fatal(err)
	}
	id := started(t, e, Spec{Mounts: []Mount{
		{Kind: Bind, Source: folder, Target: "/in", ReadOnly: true},
		{Kind: Volume, Target: "/kept", Options: map[string]string{"type": "tmpfs", "device": "tmpfs", "o": "size=1m"},
			Labels: map[string]string{"hako.test": mark}},
	}})
	if got, _ := shell(t, e, id,
		"busybox cat /in/a; echo x >/in/b; busybox df -k /kept | busybox awk 'NR==2 { print $2 }'"); got != "outside/bin/sh: can't create /in/b: Read-only file system\n1024\n" {
		t.Errorf("inside: %q", got)
	}
	volumes := func() []VolumeInfo {
		all, err := e.Volumes(t.Context(), map[string]string{"hako.test": mark})
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	kept := volumes()
	if len(kept) != 1 {
		t.Fatalf("volumes: %+v", kept)
	}
	if err := e.RemoveVolume(t.Context(), kept[0].Name); !errors.Is(err, ErrConflict) {
		t.Errorf("remove a volume in use: %v", err)
	}
	if err := e.Remove(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if all := volumes(); len(all) != 0 {
		t.Errorf("left behind: %+v", all)
	}
	if err := e.RemoveVolume(t.Context(), kept[0].Name); err != nil {
		t.Errorf("remove a volume that is gone: %v", err)
	}
}

func TestLogs(t *testing.T) {
	e := docker(t)
	id := started(t, e, Spec{Entrypoint: []string{"/bin/busybox", "sh", "-c",
		`echo one; echo two; printf 'red \033[31m\n'`}})
	if _, err := e.await(t.Context(), id, "not-running"); err != nil {
		t.Fatal(err)
	}
	if got, err := e.Logs(t.Context(), id, 2); err != nil || got != "two\nred \n" {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := e.Logs(t.Context(), named(t, "-none"), 2); !errors.Is(err, ErrGone) {
		t.Errorf("of nobody: %v", err)
	}
}

func TestRemoveTwiceAtOnce(t *testing.T) {
	e := docker(t)
	id := started(t, e, Spec{})
	done := make(chan error, 4)
	for range cap(done) {
		go func() { done <- e.Remove(context.Background(), id) }()
	}
	for range cap(done) {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if _, err := e.Inspect(t.Context(), id); !errors.Is(err, ErrGone) {
		t.Errorf("all say that it is gone: %v", err)
	}
}

// BenchmarkCreateStart measures how long a container takes to run.
func BenchmarkCreateStart(b *testing.B) {
	e := docker(b)
	var took []time.Duration
	for b.Loop() {
		began := time.Now()
		id := started(b, e, Spec{Name: named(b, fmt.Sprint("-", len(took))), ReadOnly: true})
		took = append(took, time.Since(began))
		b.StopTimer()
		if err := e.Remove(b.Context(), id); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "median-ms")
}
