package container

import (
	"context"
	"os"
	"path/filepath"

	"hako/internal/ownerfile"
	"hako/run/fault"
)

// lockTask waits until no other process prepares or removes the container of a task. Closing the file releases the
// lock.
func (d *Manager) lockTask(ctx context.Context, task string) (*os.File, error) {
	dir := filepath.Join(d.State, "turns")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	for {
		f, err := os.OpenFile(filepath.Join(dir, task), os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			return nil, err
		}
		if err := lockWithin(ctx, f); err != nil {
			return nil, err
		}
		if current(f) {
			return f, nil
		}
		f.Close() // it was removed while we waited: others wait for a new one
	}
}

// lockWithin locks a file unless ctx ends first. If it fails, it closes the file.
func lockWithin(ctx context.Context, f *os.File) error {
	locked := make(chan error, 1)
	go func() { locked <- ownerfile.Lock(f) }()
	select {
	case err := <-locked:
		if err != nil {
			f.Close()
		}
		return err
	case <-ctx.Done():
		go func() {
			<-locked
			f.Close()
		}()
		return &fault.Error{Kind: fault.Timeout, Op: "wait for task", Subject: filepath.Base(f.Name()),
			Why: "somebody else is preparing or removing its environment", Err: ctx.Err(), Hint: "try again when that is done"}
	}
}

// current reports whether the path of a file still names this file.
func current(f *os.File) bool {
	ours, err := f.Stat()
	if err != nil {
		return false
	}
	named, err := os.Stat(f.Name())
	return err == nil && os.SameFile(ours, named)
}

// removeTaskLock removes the lock file of a task unless it is locked.
func removeTaskLock(path string) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return
	}
	defer f.Close()
	if ownerfile.TryLock(f) && current(f) {
		_ = os.Remove(path)
	}
}
