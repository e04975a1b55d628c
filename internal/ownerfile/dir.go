package ownerfile

import (
	"crypto/rand"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// A Dir is a temporary directory that only its owner can look into. A lock tells
// whether its maker lives: what a killed process left is removed by the next.
type Dir struct {
	Path string
	lock *os.File // nil where there are no locks: then it is never taken for abandoned
}

const (
	freshMark = "new-" // in the name of one that is not locked yet
	lockName  = "lock"
)

// stillborn is how old a directory is that its maker will not finish any more.
const stillborn = time.Hour

// MakeDir makes a directory in another, which is made too if need be; empty means
// the system's for temporary files. Those of the same prefix that were abandoned
// are removed. It has its name once it is locked and not before: nobody can
// mistake it for one of those.
func MakeDir(in, prefix string) (*Dir, error) {
	if in == "" {
		in = os.TempDir()
	}
	if err := os.MkdirAll(in, 0o700); err != nil {
		return nil, err
	}
	in, err := filepath.EvalSymlinks(in)
	if err != nil {
		return nil, err
	}
	sweep(in, prefix)
	fresh, err := os.MkdirTemp(in, freshMark+prefix+"*")
	if err != nil {
		return nil, err
	}
	d := &Dir{Path: filepath.Join(in, prefix+strings.ToLower(rand.Text()))}
	if err = d.hold(filepath.Join(fresh, lockName)); err == nil {
		err = os.Rename(fresh, d.Path)
	}
	if err != nil {
		d.Path = fresh
		_ = d.Remove()
		return nil, err
	}
	return d, nil
}

// hold takes the lock. A file system without locks is no reason to stop.
func (d *Dir) hold(name string) error {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	if TryLock(f) {
		d.lock = f
		return nil
	}
	f.Close()
	return os.Remove(name)
}

// Remove removes everything and only then gives the lock back.
func (d *Dir) Remove() error {
	err := removeAll(d.Path)
	if d.lock != nil {
		d.lock.Close()
	}
	return err
}

// removeAll removes a tree, also where somebody took away the right to. Programs
// may have put links into it, and may be at work there still: nothing is done
// through a link.
func removeAll(dir string) error {
	above, err := os.OpenRoot(filepath.Dir(dir))
	if err != nil {
		return err
	}
	defer above.Close()
	name := filepath.Base(dir)
	if err = above.RemoveAll(name); err == nil {
		return nil
	}
	openUp(above, name)
	return above.RemoveAll(name)
}

// openUp gives us back the right to change the directories of a tree.
func openUp(above *os.Root, name string) {
	info, err := above.Lstat(name)
	if err != nil || !info.IsDir() {
		return
	}
	_ = above.Chmod(name, 0o700)
	dir, err := above.OpenRoot(name + "/.")
	if err != nil {
		return
	}
	defer dir.Close()
	if now, err := dir.Stat("."); err != nil || !os.SameFile(info, now) {
		return // exchanged meanwhile
	}
	list, err := dir.Open(".")
	if err != nil {
		return
	}
	defer list.Close()
	entries, _ := list.ReadDir(-1)
	for _, e := range entries {
		if e.IsDir() {
			openUp(dir, e.Name())
		}
	}
}

// sweep removes what killed processes left. What cannot be removed is left to
// the next.
func sweep(in, prefix string) {
	entries, _ := os.ReadDir(in)
	for _, e := range entries {
		dir := filepath.Join(in, e.Name())
		switch {
		case strings.HasPrefix(e.Name(), prefix):
			removeAbandoned(dir)
		case strings.HasPrefix(e.Name(), freshMark+prefix):
			if info, err := e.Info(); err == nil && time.Since(info.ModTime()) > stillborn {
				removeAbandoned(dir)
				_ = os.Remove(dir) // its maker did not even come to the lock
			}
		}
	}
}

// removeAbandoned removes a directory of ours whose lock nobody holds.
func removeAbandoned(dir string) {
	lock, err := Open(filepath.Join(dir, lockName), os.O_RDWR)
	if err != nil {
		return // somebody else's, or without a lock
	}
	defer lock.Close()
	if TryLock(lock) {
		_ = removeAll(dir)
	}
}
