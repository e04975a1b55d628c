package ownerfile

import (
	"crypto/rand"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// A Dir is a temporary directory that only its owner can read. It is locked while its process lives: the next process
// removes abandoned ones.
type Dir struct {
	Path string
	lock *os.File // nil without lock support: then it never counts as abandoned
}

const (
	newDirPrefix = "new-" // prefix of one that is not locked yet
	lockName     = "lock"
)

// abandonedAge is the age of an unlocked directory that counts as abandoned.
const abandonedAge = time.Hour

// MakeDir makes a directory in another, which is created if necessary; empty means that for temporary files. It
// removes abandoned ones with the same prefix. The new directory gets its name only after it is locked, so that
// nobody removes it.
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
	fresh, err := os.MkdirTemp(in, newDirPrefix+prefix+"*")
	if err != nil {
		return nil, err
	}
	d := &Dir{Path: filepath.Join(in, prefix+strings.ToLower(rand.Text()))}
	if err = d.lockFile(filepath.Join(fresh, lockName)); err == nil {
		err = os.Rename(fresh, d.Path)
	}
	if err != nil {
		d.Path = fresh
		_ = d.Remove()
		return nil, err
	}
	return d, nil
}

// lockFile takes the lock. A file system without locks is no error.
func (d *Dir) lockFile(name string) error {
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

// Remove removes the directory and then releases the lock.
func (d *Dir) Remove() error {
	err := removeAll(d.Path)
	if d.lock != nil {
		d.lock.Close()
	}
	return err
}

// removeAll removes a tree, also without permissions. Programs may still create links in it: it follows none.
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
	makeRemovable(above, name)
	return above.RemoveAll(name)
}

// makeRemovable restores the permissions of the directories of a tree.
func makeRemovable(above *os.Root, name string) {
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
		return // replaced meanwhile
	}
	list, err := dir.Open(".")
	if err != nil {
		return
	}
	defer list.Close()
	entries, _ := list.ReadDir(-1)
	for _, e := range entries {
		if e.IsDir() {
			makeRemovable(dir, e.Name())
		}
	}
}

// sweep removes abandoned directories.
func sweep(in, prefix string) {
	entries, _ := os.ReadDir(in)
	for _, e := range entries {
		dir := filepath.Join(in, e.Name())
		switch {
		case strings.HasPrefix(e.Name(), prefix):
			removeAbandoned(dir)
		case strings.HasPrefix(e.Name(), newDirPrefix+prefix):
			if info, err := e.Info(); err == nil && time.Since(info.ModTime()) > abandonedAge {
				removeAbandoned(dir)
				_ = os.Remove(dir) // without a lock file
			}
		}
	}
}

// removeAbandoned removes a directory of this user whose lock nobody holds.
func removeAbandoned(dir string) {
	lock, err := Open(filepath.Join(dir, lockName), os.O_RDWR)
	if err != nil {
		return // of another user, or without a lock
	}
	defer lock.Close()
	if TryLock(lock) {
		_ = removeAll(dir)
	}
}
