package conversation

import (
	"errors"
	"os"
	"time"

	"hako/internal/ownerfile"
	"hako/run/fault"
)

// lockTimeout is how long to wait for a lock: as long as another process may take to write.
const lockTimeout = 250 * time.Millisecond

var errBusy = errors.New("another process has it open")

// lock locks a conversation. The lock is a separate file, because saving replaces the conversation; unlock removes it.
func lock(name, path string) (unlock func(), err error) {
	for {
		f, err := ownerfile.Open(path, os.O_CREATE|os.O_RDWR)
		if err != nil {
			return nil, err
		}
		if err := lockWithTimeout(f); err != nil {
			return nil, &fault.Error{Kind: fault.Unavailable, Op: "open conversation", Subject: name, Err: err,
				Hint: "wait until it is done, or take another name"}
		}
		if !isCurrent(path, f) {
			release(f)
			continue // its last holder has just removed it
		}
		return func() {
			os.Remove(path) // before unlocking: afterwards it could belong to another process
			release(f)
		}, nil
	}
}

// lockWithTimeout locks the file with a timeout. ownerfile.Lock blocks, so it runs in a goroutine; a late lock is
// released.
func lockWithTimeout(f *os.File) error {
	got := make(chan error, 1)
	go func() { got <- ownerfile.Lock(f) }()
	timer := time.NewTimer(lockTimeout)
	defer timer.Stop()
	select {
	case err := <-got:
		if err != nil {
			f.Close()
		}
		return err
	case <-timer.C:
		go func() {
			if <-got == nil {
				ownerfile.Unlock(f)
			}
			f.Close()
		}()
		return errBusy
	}
}

func release(f *os.File) {
	ownerfile.Unlock(f)
	f.Close()
}

// isCurrent reports whether path is still the name of f.
func isCurrent(path string, f *os.File) bool {
	there, err := os.Stat(path)
	if err != nil {
		return false
	}
	ours, err := f.Stat()
	return err == nil && os.SameFile(there, ours)
}
