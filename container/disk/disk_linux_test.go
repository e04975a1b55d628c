package disk

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"hako/internal/testload"
	"hako/run/fault"
)

// TestMain is the process that is killed where a test starts it.
func TestMain(m *testing.M) {
	if dir := os.Getenv("DISK_TO_BE_KILLED_IN"); dir != "" {
		d, err := New(context.Background(), dir, 64<<20)
		if err == nil {
			fmt.Println(d.Device())
		}
		fmt.Println(err)
		select {}
	}
	os.Exit(m.Run())
}

func needDisks(t testing.TB) {
	t.Helper()
	if err := Possible(); err != nil {
		skip(t, err.Error())
	}
}

func needEngine(t testing.TB) {
	t.Helper()
	if out, err := exec.Command("docker", "image", "inspect", "hako-tiny:1").CombinedOutput(); err != nil {
		skip(t, "no engine, or no image hako-tiny:1: "+string(out))
	}
}

func skip(t testing.TB, why string) {
	t.Helper()
	if os.Getenv("HAKO_REQUIRE_TOOLS") == "1" {
		t.Fatal(why)
	}
	t.Skip(why)
}

func newDisk(t testing.TB, size int64) *Disk {
	t.Helper()
	needDisks(t)
	d, err := New(t.Context(), t.TempDir(), size)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

func ready(t testing.TB, d *Disk) {
	t.Helper()
	if err := d.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// behind returns what the kernel says is behind a device, or "".
func behind(device string) string {
	text, _ := os.ReadFile("/sys/block/" + filepath.Base(device) + "/loop/backing_file")
	return strings.TrimSpace(string(text))
}

// gone waits until the device has let go of our file: the kernel does it a
// moment after the last user.
func gone(t testing.TB, device, dir string) {
	t.Helper()
	for deadline := time.Now().Add(testload.Bound(10 * time.Second)); strings.HasPrefix(behind(device), dir); time.Sleep(
		5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s still has %s", device, behind(device))
		}
	}
}

func mounted(t *testing.T, d *Disk) string {
	t.Helper()
	dir := t.TempDir()
	if err := unix.Mount(d.Device(), dir, "ext4", unix.MS_NOSUID|unix.MS_NODEV, "noinit_itable"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Unmount(dir, unix.MNT_DETACH) })
	return dir
}

func TestDisk(t *testing.T) {
	d := newDisk(t, 64<<20)
	ready(t, d)
	if names, _ := filepath.Glob(filepath.Dir(behind(d.Device())) + "/*"); len(names) > 0 {
		t.Errorf("the file has a name: %v", names)
	}
	dir := mounted(t, d)
	var st unix.Stat_t
	var fs unix.Statfs_t
	if unix.Stat(dir, &st) != nil || st.Uid != 1000 || st.Gid != 1000 {
		t.Errorf("it belongs to %d:%d", st.Uid, st.Gid)
	}
	if unix.Statfs(dir, &fs) != nil || fs.Files < 8000 || fs.Blocks*uint64(fs.Bsize) > 64<<20 ||
		fs.Bavail*uint64(fs.Bsize) < 55<<20 {
		t.Errorf("%d inodes, %d of %d blocks of %d", fs.Files, fs.Bavail, fs.Blocks, fs.Bsize)
	}
	dev, home := d.Device(), behind(d.Device())
	d.Close()
	if err := os.WriteFile(dir+"/a", []byte("still there"), 0o600); err != nil {
		t.Error("closed, but mounted:", err)
	}
	unix.Unmount(dir, 0)
	gone(t, dev, home)
}

// TestSparse checks that an empty disk costs next to nothing, and stays so while
// it is mounted. It puts one together by hand to be left with its file.
func TestSparse(t *testing.T) {
	needDisks(t)
	file, err := unnamedFile(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if err := file.Truncate(10 << 30); err != nil {
		t.Fatal(err)
	}
	device, err := attach(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	defer device.Close()
	program, _ := formatter()
	if err := format(t.Context(), program, device.Name()); err != nil {
		t.Fatal(err)
	}
	d := &Disk{device: device}
	if d.Options()["o"] != "nosuid,nodev,noinit_itable" || d.Options()["type"] != "ext4" ||
		d.Options()["device"] != device.Name() {
		t.Error(d.Options())
	}
	dir := mounted(t, d)
	if err := os.WriteFile(dir+"/a", nil, 0o600); err != nil {
		t.Error(err)
	}
	unix.Sync()
	var st unix.Stat_t
	if err := unix.Fstat(int(file.Fd()), &st); err != nil || st.Blocks*512 > 2<<20 {
		t.Errorf("an empty disk takes %d bytes: %v", st.Blocks*512, err)
	}
}

func TestClosedUnused(t *testing.T) {
	d := newDisk(t, 64<<20)
	dev, home := d.Device(), behind(d.Device())
	d.Close() // while it is being made
	d.Close()
	gone(t, dev, home)
	if err := d.Ready(t.Context()); err == nil {
		t.Log("it was made before it could be closed")
	}
}

// TestUnlinked checks the way for file systems without nameless files.
func TestUnlinked(t *testing.T) {
	dir := t.TempDir()
	file, err := unlinked(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if list, _ := os.ReadDir(dir); len(list) != 0 {
		t.Error(list)
	}
	if _, err := file.WriteString("usable"); err != nil {
		t.Error(err)
	}
	if _, err := unlinked(dir + "/none"); err == nil {
		t.Error("there is no such directory")
	}
}

// TestMany checks that disks made at the same time get different devices.
func TestMany(t *testing.T) {
	needDisks(t)
	var mu sync.Mutex
	devices := map[string]bool{}
	var all sync.WaitGroup
	for range 12 {
		dir := t.TempDir()
		all.Go(func() {
			d, err := New(t.Context(), dir, smallest)
			if err != nil {
				t.Error(err)
				return
			}
			t.Cleanup(func() { d.Close() })
			if err := d.Ready(t.Context()); err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			if devices[d.Device()] {
				t.Errorf("%s twice", d.Device())
			}
			devices[d.Device()] = true
		})
	}
	all.Wait()
}

func TestRefused(t *testing.T) {
	if _, err := New(t.Context(), t.TempDir(), smallest-1); fault.KindOf(err) != fault.Invalid || fault.Hint(err) == "" {
		t.Error(err)
	}
	needDisks(t)
	if _, err := New(t.Context(), filepath.Join(t.TempDir(), "none"), smallest); fault.KindOf(err) != fault.Unavailable ||
		fault.Hint(err) == "" {
		t.Error(err)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := New(over, t.TempDir(), smallest); err == nil {
		t.Error("nobody waits for it")
	}
	if err := format(t.Context(), "/usr/sbin/mkfs.ext4", "/dev/null"); fault.Hint(err) == "" ||
		!strings.Contains(err.Error(), "/dev/null") {
		t.Error(err)
	}
}

// TestReadyGivesUp checks that waiting ends with its context.
func TestReadyGivesUp(t *testing.T) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	d := &Disk{done: make(chan struct{}), device: null}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if err := d.Ready(over); fault.KindOf(err) != fault.Timeout {
		t.Error(err)
	}
}

// TestKilled kills the process that makes disks, at any moment: no device and no
// file stays.
func TestKilled(t *testing.T) {
	needDisks(t)
	for i := range 20 {
		dir := t.TempDir()
		cmd := exec.Command("/proc/self/exe")
		cmd.Env = append(os.Environ(), "DISK_TO_BE_KILLED_IN="+dir)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(i) * time.Millisecond) // the moments are the test
		cmd.Process.Kill()
		cmd.Wait()
		nothingLeft(t, dir)
	}
}

func nothingLeft(t *testing.T, dir string) {
	t.Helper()
	devices, _ := filepath.Glob("/sys/block/loop*")
	for _, d := range devices {
		gone(t, d, dir)
	}
	if list, _ := os.ReadDir(dir); len(list) > 0 {
		t.Errorf("left: %v", list)
	}
}

// TestVolume is what all this is for: a container fills its disk and gets no
// more, and with the container everything is gone.
func TestVolume(t *testing.T) {
	needEngine(t)
	d := newDisk(t, 32<<20)
	name := fmt.Sprintf("hako-test-disk-%d", os.Getpid())
	o := d.Options()
	docker(t, "volume", "create", "--driver", "local", "--label", "hako-test=disk", "--opt", "type="+o["type"], "--opt",
		"device="+o["device"], "--opt", "o="+o["o"], name)
	t.Cleanup(func() {
		exec.Command("docker", "rm", "-f", name).Run()
		exec.Command("docker", "volume", "rm", "-f", name).Run()
	})
	docker(t, "create", "--name", name, "--network", "none", "--user", "1000:1000", "--mount", "type=volume,source="+name+
		",target=/workspace,volume-nocopy",
		"hako-tiny:1", "/bin/sh", "-c", "/bin/busybox dd if=/dev/zero of=/workspace/x bs=1M count=64; /bin/sleep 60")
	ready(t, d)
	docker(t, "start", name)
	dev, home := d.Device(), behind(d.Device())
	d.Close()
	for deadline := time.Now().Add(testload.Bound(20 * time.Second)); ; time.Sleep(20 * time.Millisecond) {
		if strings.Contains(docker(t, "logs", name), "No space left on device") {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("no end of the disk: ", docker(t, "logs", name))
		}
	}
	if behind(dev) != home {
		t.Error("the device went away under the container")
	}
	docker(t, "rm", "-f", name)
	gone(t, dev, home)
}

func docker(t *testing.T, args ...string) string {
	t.Helper()
	var out bytes.Buffer
	cmd := exec.Command("docker", args...)
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		t.Fatalf("docker %s: %v: %s", args[0], err, &out)
	}
	return out.String()
}

func BenchmarkNew(b *testing.B) {
	needDisks(b)
	dir := b.TempDir()
	for b.Loop() {
		d, err := New(b.Context(), dir, 10<<30)
		if err != nil {
			b.Fatal(err)
		}
		ready(b, d)
		b.StopTimer()
		d.Close()
		b.StartTimer()
	}
}
