package jobs

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"hako/internal/run"
)

// opened opens a desk that stands beside others.
func opened(t *testing.T, in string) *Desk {
	t.Helper()
	d, err := Open(Options{Spool: in, New: func(context.Context) (run.Runner, func(), error) { return runner(untilKilled), nil, nil }})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// killed leaves a desk as kill -9 does: the system takes the lock, and nobody
// removes anything.
func killed(t *testing.T, d *Desk) string {
	t.Helper()
	if err := os.WriteFile(filepath.Join(d.dir.path, "output"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	d.dir.lock.Close()
	return d.dir.path
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
	living, dead := opened(t, in), killed(t, opened(t, in))
	next := opened(t, in)
	if got := names(t, in); len(got) != 2 || slices.Contains(got, filepath.Base(dead)) {
		t.Errorf("left: %q", got)
	}
	for _, d := range []*Desk{living, next} {
		if _, err := os.Stat(d.dir.path); err != nil {
			t.Error(err)
		}
		if err := d.Close(); err != nil {
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
	long := time.Now().Add(-2 * stillborn)
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
	sweep(in)
	left := names(t, in)
	for name, want := range keep {
		if slices.Contains(left, name) != want {
			t.Errorf("%s: kept is %v", name, !want)
		}
	}
}

// While a directory is being made it has another name, and once it has its own
// it is locked: desks that open at the same time leave each other alone.
func TestDesksOpenAtTheSameTime(t *testing.T) {
	in := t.TempDir()
	desks := make(chan *Desk, 20)
	for range cap(desks) {
		go func() {
			d, err := Open(Options{Spool: in, New: func(context.Context) (run.Runner, func(), error) { return runner(untilKilled), nil, nil }})
			if err != nil {
				t.Error(err)
			}
			desks <- d
		}()
	}
	var all []*Desk
	for range cap(desks) {
		all = append(all, <-desks)
	}
	for _, d := range all {
		if _, err := os.Stat(d.dir.path); err != nil {
			t.Error(err)
		}
	}
	for _, d := range all {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestBusy(t *testing.T) {
	d := desk(t, Options{}, untilKilled)
	if d.Busy() {
		t.Error("busy before anything began")
	}
	h := start(t, d, "x")
	if !d.Busy() {
		t.Error("not busy while a job runs")
	}
	if _, err := d.Kill(t.Context(), h); err != nil || d.Busy() {
		t.Errorf("busy after the end: %v", err)
	}
}
