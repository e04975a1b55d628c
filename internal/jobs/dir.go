package jobs

import (
	"crypto/rand"
	"os"
	"path/filepath"
	"strings"
	"time"

	"hako/internal/fault"
	"hako/internal/private"
)

// A privateDir is the directory of a desk. A lock tells whether its owner lives:
// what a killed process left is removed by the next.
type privateDir struct {
	path string
	lock *os.File // nil where there are no locks: then it is never taken for abandoned
}

const (
	ownPrefix = "hako-jobs-"
	newPrefix = "hako-new-jobs-" // of one that is not locked yet
	lockName  = "lock"
)

// stillborn is how old a directory is that its maker will not finish any more.
const stillborn = time.Hour

// makeDir makes a new directory that only its owner can look into. It has its
// name once it is locked and not before: nobody can mistake it for abandoned.
func makeDir(in string) (*privateDir, error) {
	if in == "" {
		in = os.TempDir()
	}
	err := os.MkdirAll(in, 0o700)
	if err == nil {
		sweep(in)
		var d *privateDir
		if d, err = newDir(in); err == nil {
			return d, nil
		}
	}
	return nil, &fault.Error{Kind: fault.Unavailable, Op: "open jobs", Subject: in, Why: "no directory for outputs can be made there", Err: cause(err),
		Hint: "name one that can be written"}
}

func newDir(in string) (*privateDir, error) {
	fresh, err := os.MkdirTemp(in, newPrefix+"*")
	if err != nil {
		return nil, err
	}
	d := &privateDir{path: filepath.Join(in, ownPrefix+strings.ToLower(rand.Text()))}
	if err = d.hold(filepath.Join(fresh, lockName)); err == nil {
		err = os.Rename(fresh, d.path)
	}
	if err != nil {
		d.path = fresh
		_ = d.remove()
		return nil, err
	}
	return d, nil
}

// hold takes the lock. A file system without locks is no reason to stop.
func (d *privateDir) hold(name string) error {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	if tryLock(f) {
		d.lock = f
		return nil
	}
	f.Close()
	return os.Remove(name)
}

// remove removes everything and only then gives the lock back.
func (d *privateDir) remove() error {
	err := os.RemoveAll(d.path)
	if d.lock != nil {
		d.lock.Close()
	}
	return err
}

// sweep removes what killed processes left. What cannot be removed is left to
// the next.
func sweep(in string) {
	entries, _ := os.ReadDir(in)
	for _, e := range entries {
		dir := filepath.Join(in, e.Name())
		switch {
		case strings.HasPrefix(e.Name(), ownPrefix):
			removeAbandoned(dir)
		case strings.HasPrefix(e.Name(), newPrefix):
			if info, err := e.Info(); err == nil && time.Since(info.ModTime()) > stillborn {
				removeAbandoned(dir)
				_ = os.Remove(dir) // its maker did not even come to the lock
			}
		}
	}
}

// removeAbandoned removes a directory of ours whose lock nobody holds.
func removeAbandoned(dir string) {
	lock, err := private.Open(filepath.Join(dir, lockName), os.O_RDWR)
	if err != nil {
		return // somebody else's, or without a lock
	}
	defer lock.Close()
	if tryLock(lock) {
		_ = os.RemoveAll(dir)
	}
}
