package usage

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestTree(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "sub", "file")
	os.MkdirAll(filepath.Dir(file), 0o755)
	if err := os.WriteFile(file, make([]byte, 1_000_000), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"again", "and again"} {
		if err := os.Link(file, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	os.Symlink("/", filepath.Join(dir, "elsewhere"))
	for i := range 3 * handful {
		os.WriteFile(filepath.Join(dir, "empty"+strings.Repeat("x", i%50)+string(rune('a'+i/50))), nil, 0o644)
	}
	got, err := Tree(t.Context(), dir)
	if err != nil || got < 1_000_000 || got > 1_200_000 {
		t.Errorf("%d, %v", got, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Tree(ctx, dir); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if got, err := Tree(t.Context(), filepath.Join(dir, "nothing")); got != 0 || err != nil {
		t.Error(got, err)
	}
}

// TestTreeDeep hides a file behind a path that is longer than the system takes.
func TestTreeDeep(t *testing.T) {
	dir := t.TempDir()
	deep := func(levels int) {
		at, err := unix.Open(dir, unix.O_DIRECTORY, 0)
		name := strings.Repeat("n", 200)
		for range levels {
			_ = unix.Mkdirat(at, name, 0o755)
			next, _ := unix.Openat(at, name, unix.O_DIRECTORY, 0)
			unix.Close(at)
			at = next
		}
		fd, err2 := unix.Openat(at, "file", unix.O_CREAT|unix.O_WRONLY, 0o644)
		if err != nil || err2 != nil {
			t.Fatal(err, err2)
		}
		unix.Write(fd, make([]byte, 1_000_000))
		unix.Close(fd)
		unix.Close(at)
	}
	deep(50)
	if got, err := Tree(t.Context(), dir); err != nil || got < 1_000_000 {
		t.Errorf("%d, %v", got, err)
	}
	deep(mostDeep + 1)
	if _, err := Tree(t.Context(), dir); !errors.Is(err, ErrDeep) {
		t.Error(err)
	}
}

func TestRoom(t *testing.T) {
	r := Room(t.TempDir())
	if r.Size <= 0 || r.Used <= 0 || r.Used > r.Size || r.Free > r.Size {
		t.Errorf("%+v", r)
	}
	if OwnFileSystem(t.TempDir(), 0) {
		t.Error("a directory was taken for a file system")
	}
	if !OwnFileSystem("/proc", 1<<40) {
		t.Error("a file system was taken for a directory")
	}
}
