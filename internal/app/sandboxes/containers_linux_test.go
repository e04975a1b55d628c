package sandboxes

import (
	"context"
	"debug/elf"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"hako/container"
	"hako/container/engine"
	"hako/internal/testload"
	"hako/run"
	"hako/run/fault"
)

const image = "coding-agent-executor-python:latest"

// realEngine opens the engine of this machine. A machine without one skips the
// test, unless it must have one.
func realEngine(t *testing.T) *engine.Engine {
	t.Helper()
	e, err := engine.Open("")
	if err == nil {
		t.Cleanup(e.Close)
		_, err = e.Image(t.Context(), image)
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
	fine(t, err)
	file, err := elf.Open(self)
	fine(t, err)
	defer file.Close()
	if !slices.ContainsFunc(file.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP }) {
		return self
	}
	built := filepath.Join(t.TempDir(), "guest")
	cmd := exec.Command("go", "build", "-o", built, "../../../container/testdata/guest")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Fatal(err, string(said))
	}
	return built
}

// dockOn opens a dock on a state directory of its own.
func dockOn(t *testing.T, e *engine.Engine, binary string) *container.Manager {
	t.Helper()
	state, err := os.MkdirTemp("", "hako-t") // short: the path of a socket must be
	fine(t, err)
	t.Cleanup(func() { os.RemoveAll(state) })
	d, err := container.New(container.Options{
		Enabled: true, State: state, Engine: e, Binary: binary, Images: map[string]string{"python": image},
		Resources: container.Resources{CPUs: 1, Memory: 128 << 20, Disk: 32 << 20, Pids: 300},
		Gate:      func(_ string, r run.Runner) run.Runner { return r },
		Record:    func(string, string) (func(error), error) { return func(error) {}, nil },
	})
	fine(t, err)
	t.Cleanup(d.Close)
	return d
}

// TestRealContainer shows a container with what it uses, its job and what that
// printed, quickly, and removes it.
func TestRealContainer(t *testing.T) {
	d := dockOn(t, realEngine(t), guestBinary(t))
	t.Cleanup(func() { _ = d.CleanupAll(context.Background()) })
	task := fmt.Sprintf("works-%d", time.Now().UnixNano())
	_, err := d.Prepare(t.Context(), container.Task{ID: task}, "python")
	fine(t, err)
	var handle strings.Builder
	_, err = d.Background(task).Run(t.Context(), &run.Request{Script: "echo hello; sleep 60", Stdout: &handle})
	fine(t, err)
	job, book := strings.TrimSpace(handle.String()), &notebook{}
	w := &Service{Containers: d, Record: book.record}
	checkBusy(t, w, "task:"+task, job)
	checkQuick(t, w)
	for range 200 {
		text, next, err := w.Output(t.Context(), "task:"+task, job, -4, 100)
		fine(t, err)
		if text == "llo\n" && next == 6 {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if text, next, err := w.Output(t.Context(), "task:"+task, job, 0, 100); err != nil || text != "hello\n" || next != 6 {
		t.Errorf("%q, %d, %v", text, next, err)
	}
	fine(t, w.Destroy(t.Context(), ann, "task:"+task))
	book.has(t, "ann: sandbox destroy task:"+task, "done")
	_, err = w.Get(t.Context(), "task:"+task)
	wantKind(t, err, fault.NotFound)
}

func checkBusy(t *testing.T, w *Service, id, job string) {
	t.Helper()
	var b Sandbox
	for end := time.Now().Add(testload.Bound(20 * time.Second)); len(b.Jobs) == 0 &&
		time.Now().Before(end); { // on a busy machine a guest may not answer in time
		var err error
		b, err = w.Get(t.Context(), id)
		fine(t, err)
	}
	if b.State != "running" || b.Kind != "container" || b.Environment != "python" || len(b.Jobs) != 1 ||
		b.Jobs[0].ID != job || b.Jobs[0].State != "running" {
		t.Errorf("%+v", b)
	}
	u := b.Usage
	if u == nil || u.CPUSeconds <= 0 || u.Memory <= 0 || u.MemoryLimit != 128<<20 || u.DiskLimit <= 0 || u.Processes < 1 {
		t.Errorf("%+v", u)
	}
}

// checkQuick sees that a look costs little once the way to the container is
// known.
func checkQuick(t *testing.T, w *Service) {
	t.Helper()
	best := time.Hour
	for range 10 {
		began := time.Now()
		_, err := w.List(t.Context())
		fine(t, err)
		best = min(best, time.Since(began))
	}
	t.Log("a look takes", best)
	if best > 100*time.Millisecond {
		t.Errorf("a look takes %v", best)
	}
}

// onRecord writes down a container that is not there.
func onRecord(t *testing.T, d *container.Manager, task string) {
	t.Helper()
	dir := filepath.Join(d.State, "boxes", "b-"+task)
	fine(t, os.Mkdir(dir, 0o700))
	fine(t, os.WriteFile(filepath.Join(dir, "box.json"),
		fmt.Appendf(nil, `{"box":"b-%s","task_uuid":%q,"container_id":"c1","status":"ready","environment_name":"python"}`,
			task, task), 0o600))
	fine(t, os.Symlink(filepath.Join("..", "boxes", "b-"+task), filepath.Join(d.State, "tasks", task)))
}

// TestNoEngine shows what is on record where Docker is absent, or does not
// answer.
func TestNoEngine(t *testing.T) {
	dir := t.TempDir()
	mute, err := net.Listen("unix", filepath.Join(dir, "mute.sock"))
	fine(t, err)
	defer mute.Close()
	for name, at := range map[string]string{"absent": "none.sock", "mute": "mute.sock"} {
		t.Run(name, func(t *testing.T) {
			e, err := engine.Open("unix://" + filepath.Join(dir, at))
			fine(t, err)
			defer e.Close()
			d := dockOn(t, e, "")
			w := &Service{Containers: d, Record: (&notebook{}).record, Provider: &rack{boxes: []Sandbox{{ID: "sb-1"}}}}
			onRecord(t, d, "t1")
			began := time.Now()
			list, err := w.List(t.Context())
			if took := time.Since(began); took > testload.Bound(4*time.Second) {
				t.Errorf("it took %v", took)
			}
			if err != nil || len(list) != 2 || list[1].ID != "task:t1" || list[1].State != "ready" || list[1].Usage != nil {
				t.Errorf("%+v, %v", list, err)
			}
		})
	}
}
