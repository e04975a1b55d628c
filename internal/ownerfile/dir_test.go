package ownerfile

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"
)

const ownPrefix, newPrefix = "hako-test-", newDirPrefix + "hako-test-"

// made makes a directory that stands beside others.
func made(t *testing.T, in string) *Dir {
	t.Helper()
	d, err := MakeDir(in, ownPrefix)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// killed leaves a directory as kill -9 does: the system takes the lock, and nobody
// removes anything.
func killed(t *testing.T, d *Dir) string {
	t.Helper()
	if err := os.WriteFile(filepath.Join(d.Path, "output"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	d.lock.Close()
	return d.Path
}

func names(t *testing.T, dir string) (all []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}

func TestAbandonedDirectoriesAreSwept(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("without locks nothing is known to be abandoned")
	}
	in := t.TempDir()
	living, dead := made(t, in), killed(t, made(t, in))
	next := made(t, in)
	if got := names(t, in); len(got) != 2 || slices.Contains(got, filepath.Base(dead)) {
		t.Errorf("left: %q", got)
	}
	for _, d := range []*Dir{living, next} {
		if _, err := os.Stat(d.Path); err != nil {
			t.Error(err)
		}
		if err := d.Remove(); err != nil {
			t.Error(err)
		}
	}
	if got := names(t, in); len(got) != 0 {
		t.Errorf("left: %q", got)
	}
}

// Only what is known to be ours and abandoned is swept.
func TestSweepIsCareful(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("without locks nothing is known to be abandoned")
	}
	in, other := t.TempDir(), filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(other, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	long := time.Now().Add(-2 * abandonedAge)
	keep := map[string]bool{}
	for name, c := range map[string]struct {
		lock string // empty means none, link a link
		mode os.FileMode
		old  bool
		keep bool
	}{
		ownPrefix + "nolock": {"", 0o700, true, true}, // somebody's who has no locks
		ownPrefix + "link":   {"link", 0o700, true, true},
		ownPrefix + "open":   {"file", 0o777, true, true}, // anybody could have put it there
		ownPrefix + "dead":   {"file", 0o700, false, false},
		newPrefix + "young":  {"file", 0o700, false, true}, // just being made
		newPrefix + "bare":   {"", 0o700, false, true},
		newPrefix + "old":    {"file", 0o700, true, false},
		newPrefix + "none":   {"", 0o700, true, false},
		"hako-host-1":        {"file", 0o700, true, true},
	} {
		dir := filepath.Join(in, name)
		lock := filepath.Join(dir, lockName)
		err := os.Mkdir(dir, 0o700)
		switch {
		case err != nil:
		case c.lock == "link":
			err = os.Symlink(other, lock)
		case c.lock == "file":
			err = os.WriteFile(lock, nil, 0o600)
		}
		if err == nil {
			err = os.Chmod(dir, c.mode)
		}
		if err == nil && c.old {
			err = os.Chtimes(dir, long, long)
		}
		if err != nil {
			t.Fatal(err)
		}
		keep[name] = c.keep
	}
	sweep(in, ownPrefix)
	left := names(t, in)
	for name, want := range keep {
		if slices.Contains(left, name) != want {
			t.Errorf("%s: kept is %v", name, !want)
		}
	}
}

// While a directory is being made it has another name, and once it has its own
// it is locked: those made at the same time leave each other alone.
func TestDirsMadeAtTheSameTime(t *testing.T) {
	in := t.TempDir()
	dirs := make(chan *Dir, 20)
	for range cap(dirs) {
		go func() {
			d, err := MakeDir(in, ownPrefix)
			if err != nil {
				t.Error(err)
			}
			dirs <- d
		}()
	}
	var all []*Dir
	for range cap(dirs) {
		all = append(all, <-dirs)
	}
	for _, d := range all {
		if _, err := os.Stat(d.Path); err != nil {
			t.Error(err)
		}
	}
	for _, d := range all {
		if err := d.Remove(); err != nil {
			t.Error(err)
		}
	}
}

// TestRemoveFollowsNoLink has links in a directory that lead out of it, some of
// them where a directory was when it was listed.
func TestRemoveFollowsNoLink(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links need rights there")
	}
	in, out := t.TempDir(), t.TempDir()
	closed := filepath.Join(out, "closed")
	file := filepath.Join(closed, "file")
	for _, err := range []error{os.Mkdir(closed, 0o755), os.WriteFile(file, nil, 0o644), os.Chmod(closed, 0o555)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { _ = os.Chmod(closed, 0o755) })
	d := made(t, in)
	for _, dir := range []string{"a", "a/b"} {
		if err := os.Mkdir(filepath.Join(d.Path, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, link := range []string{"l", "a/l", "a/b/l"} {
		if err := os.Symlink(closed, filepath.Join(d.Path, link)); err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range []string{"a/b", "a"} {
		if err := os.Chmod(filepath.Join(d.Path, dir), 0); err != nil {
			t.Fatal(err)
		}
	}
	swapping, end := make(chan struct{}), make(chan struct{})
	go func() { // a program that is still there
		defer close(end)
		a, b := filepath.Join(d.Path, "x"), filepath.Join(d.Path, "y")
		for {
			select {
			case <-swapping:
				return
			default:
				_ = os.Mkdir(a, 0o700)
				_ = os.Rename(a, b)
				_ = os.Symlink(closed, a)
				_ = os.Remove(a)
				_ = os.Remove(b)
			}
		}
	}()
	for range 50 {
		makeRemovable(rootOf(t, in), filepath.Base(d.Path))
	}
	close(swapping)
	<-end
	if err := d.Remove(); err != nil {
		t.Error(err)
	}
	info, err := os.Stat(closed)
	if err != nil || info.Mode().Perm() != 0o555 {
		t.Errorf("what a link leads to was changed: %v, %v", info, err)
	}
	if _, err := os.Stat(file); err != nil {
		t.Error(err)
	}
}

func rootOf(t *testing.T, dir string) *os.Root {
	t.Helper()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	return root
}
