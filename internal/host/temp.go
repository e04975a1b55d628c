package host

import (
	"os"
	"path/filepath"
	"strings"

	"hako/internal/fault"
)

// A tempDir is the temporary directory of a sandbox. A lock tells whether its
// owner lives: what a killed process left is removed by the next.
type tempDir struct {
	base string
	path string
	lock *os.File
}

const tempPrefix = "hako-host-"

func newTempDir() (*tempDir, error) {
	sweepTemp()
	base, err := os.MkdirTemp("", "."+tempPrefix) // under its own name once it is locked
	if err != nil {
		return nil, &fault.Error{Op: "make temporary directory", Err: err, Hint: "make room in " + os.TempDir() + ", or set TMPDIR"}
	}
	if base, err = filepath.EvalSymlinks(base); err != nil {
		return nil, err
	}
	t := &tempDir{base: base, path: filepath.Join(base, "tmp")}
	if t.lock, err = os.OpenFile(filepath.Join(base, "lock"), os.O_CREATE|os.O_RDWR, 0o600); err == nil {
		lockFile(t.lock)
		err = t.rename()
	}
	if err == nil {
		err = os.MkdirAll(filepath.Join(t.path, "home"), 0o700)
	}
	if err != nil {
		t.remove()
		return nil, err
	}
	return t, nil
}

// rename gives the directory the name by which the sweep knows it: nobody can
// take it for an abandoned one before it is locked.
func (t *tempDir) rename() error {
	base := filepath.Join(filepath.Dir(t.base), strings.TrimPrefix(filepath.Base(t.base), "."))
	if err := os.Rename(t.base, base); err != nil {
		return err
	}
	t.base, t.path = base, filepath.Join(base, "tmp")
	return nil
}

func (t *tempDir) remove() {
	if t.lock != nil {
		t.lock.Close()
	}
	removeAll(t.base)
}

// removeAll removes a tree, also where a program took away the right to.
func removeAll(dir string) {
	if os.RemoveAll(dir) == nil {
		return
	}
	filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if d != nil && d.IsDir() {
			_ = os.Chmod(path, 0o700)
		}
		return nil
	})
	_ = os.RemoveAll(dir)
}

// sweepTemp removes what killed processes left.
func sweepTemp() {
	left, _ := filepath.Glob(filepath.Join(os.TempDir(), tempPrefix+"*"))
	for _, dir := range left {
		lock, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR, 0)
		if err != nil {
			continue // somebody else's, or just being made
		}
		if lockFile(lock) {
			removeAll(dir)
		}
		lock.Close()
	}
}
