package container

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"hako/container/clone"
	"hako/container/engine"
	"hako/run/fault"
)

// brought builds a Dockerfile the way a repository's own is built.
func brought(t *testing.T, d *Manager, text string) (containerPlan, error) {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	if err := addFile(w, "Dockerfile", []byte(text)); err != nil {
		t.Fatal(err)
	}
	w.Close()
	p := containerPlan{Language: d.language("python"), network: d.Network}
	files, err := d.checkedContext(b.Bytes())
	if err == nil {
		_, err = d.buildProjectImage(t.Context(), &p, clone.Folder{ID: unique("own"), Tar: files})
	}
	if err == nil {
		t.Cleanup(func() { _ = d.Engine.RemoveImage(context.Background(), p.Language.Image) })
	}
	return p, err
}

// TestOwnImage checks that the steps of an own image have the network and the
// memory of the task, and that it is removed when nobody uses it any more.
func TestOwnImage(t *testing.T) {
	slow(t)
	var told []string
	d := newDock(t, tinyImage, func(o *Options) {
		o.Resources = Resources{Memory: 64 << 20, CPUs: 0.5}
		o.Progress = func(line string) { told = append(told, line) }
	})
	p, err := brought(t, d, "FROM "+tinyImage+" AS one\nRUN [\"/bin/sh\", \"-c\", \"echo > /mark\"]\nFROM "+tinyImage+
		"\nCOPY --from=one /mark /mark\n"+
		`RUN ["/bin/busybox", "cat", "/proc/net/dev", "/sys/fs/cgroup/memory/memory.limit_in_bytes"]`)
	if err != nil {
		t.Fatal(err)
	}
	said := strings.Join(told, "\n")
	if !strings.Contains(said, "lo:") || strings.Contains(said, "eth0") {
		t.Errorf("network of a step: %s", said)
	}
	if _, err := os.Stat("/sys/fs/cgroup/memory"); err == nil && !strings.Contains(said, "\n| 67108864") {
		t.Errorf("memory of a step: %s", said)
	}
	for _, line := range told {
		if !strings.HasPrefix(line, quote) && !strings.HasPrefix(line, "building the image that") {
			t.Errorf("it could be ours: %q", line)
		}
	}
	checkSwept(t, d, p.Language.Image)
}

// checkSwept checks when an own image is removed.
func checkSwept(t *testing.T, d *Manager, image string) {
	t.Helper()
	note := filepath.Join(d.State, "own", strings.TrimPrefix(image, projectImageName+":"))
	sweep := func(boxes ...*box) bool {
		if err := d.sweepImages(t.Context(), boxes); err != nil {
			t.Error(err)
		}
		_, err := d.Engine.Image(t.Context(), image)
		return errors.Is(err, engine.ErrNoImage)
	}
	if sweep() {
		t.Error("it was just built, and is gone")
	}
	old := time.Now().Add(-25 * time.Hour)
	if err := os.Chtimes(note, old, old); err != nil {
		t.Fatal(err)
	}
	if sweep(&box{record: record{Info: Info{Image: image}}}) {
		t.Error("a box is made of it, and it is gone")
	}
	d.Stale = time.Nanosecond
	if !sweep() {
		t.Error("nobody uses it, and it is there")
	}
	if left, err := d.Engine.Images(t.Context(), map[string]string{labelProject: d.id}); err != nil || len(left) > 0 {
		t.Errorf("left: %+v, %v", left, err)
	}
	if _, err := os.Stat(note); err == nil {
		t.Error("it is still noted down")
	}
}

// TestOwnImageInTheOpen checks that it is said what the network of a build is.
func TestOwnImageInTheOpen(t *testing.T) {
	slow(t)
	var told []string
	d := newDock(t, tinyImage, func(o *Options) {
		o.Network = Open
		o.Progress = func(line string) { told = append(told, line) }
	})
	p, err := brought(t, d, "FROM "+tinyImage)
	if err != nil || !strings.HasSuffix(p.Language.Image, "-open") {
		t.Errorf("%s, %v", p.Language.Image, err)
	}
	if !slices.Contains(told, "warning: "+buildNetworkWarning) {
		t.Errorf("%q", told)
	}
}

// TestVolumesOfAnImage checks that an image cannot bring disks without limit.
func TestVolumesOfAnImage(t *testing.T) {
	slow(t)
	e := openEngine(t, tinyImage)
	tag := "hako-test-volumes:" + unique("v")
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	_ = addFile(w, "Dockerfile", []byte("FROM "+tinyImage+"\nVOLUME /data /more\n"))
	w.Close()
	if err := e.Build(t.Context(), engine.Build{Context: &b, Tags: []string{tag}, Network: "none"}, nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.RemoveImage(context.Background(), tag) })
	d := newDock(t, tag, nil)
	_, err := d.Prepare(t.Context(), Task{ID: unique("volumes")}, "python")
	wantFault(t, err, fault.Denied, "/data, /more", "VOLUME")
}

// TestVolumesOfRemovedContainers checks that a disk does not outlive a container
// that was removed by somebody else.
func TestVolumesOfRemovedContainers(t *testing.T) {
	slow(t)
	d := newDock(t, tinyImage, small)
	volumes := func() int {
		all, err := d.Engine.Volumes(t.Context(), map[string]string{labelState: d.id})
		if err != nil {
			t.Fatal(err)
		}
		return len(all)
	}
	rob := func() *box {
		c := newCellIn(t, d)
		if out, err := exec.Command("docker", "rm", "-f", c.box.ContainerID).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		if volumes() != 1 {
			t.Fatalf("%d volumes: docker removes them now?", volumes())
		}
		return c.box
	}
	b := rob()
	if err := d.Cleanup(t.Context(), b.TaskUUID); err != nil || volumes() != 0 {
		t.Errorf("after the end of the task %d are left, %v", volumes(), err)
	}
	b = rob()
	if err := d.removeFolder(b); err != nil {
		t.Fatal(err)
	}
	if _, err := d.CleanupStale(t.Context()); err != nil || volumes() != 0 {
		t.Errorf("after the sweep %d are left, %v", volumes(), err)
	}
}

func newCellIn(t *testing.T, d *Manager) *cell { return prepared(t, d, Task{ID: unique("cell")}) }

// TestImageVariables checks that an image does not change how the guest works,
// and how many files a process may have open.
func TestImageVariables(t *testing.T) {
	slow(t)
	e := openEngine(t, tinyImage)
	tag := "hako-test-variables:" + unique("v")
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	_ = addFile(w, "Dockerfile",
		[]byte("FROM "+tinyImage+"\nENV GODEBUG=gctrace=1 GOGC=1 GOMEMLIMIT=1 GOTRACEBACK=crash OTHER=kept\n"))
	w.Close()
	if err := e.Build(t.Context(), engine.Build{Context: &b, Tags: []string{tag}, Network: "none"}, nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.RemoveImage(context.Background(), tag) })
	c := newCell(t, tag, small)
	x, err := c.dock.Engine.Inspect(t.Context(), c.box.ContainerID)
	if err != nil {
		t.Fatal(err)
	}
	environ, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(x.PID), "environ"))
	if err != nil {
		lacking(t, err.Error())
	}
	all := strings.Split(string(environ), "\x00")
	for _, want := range append([]string{"OTHER=kept"}, plainRuntime...) {
		if !slices.Contains(all, want) {
			t.Errorf("process 1 has no %q: %q", want, all)
		}
	}
	if got := c.must(t, "ulimit -Sn; ulimit -Hn"); got != "4096\n4096\n" {
		t.Errorf("open files: %q", got)
	}
}
