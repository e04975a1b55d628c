package conversation

import (
	"errors"
	"os"
	"time"

	"hako/internal/ownerfile"
	"hako/run/fault"
)

// patience is how long a lock is waited for: as long as another process may
// take to write its last words.
const patience = 250 * time.Millisecond

var errBusy = errors.New("another process has it open")

// lock takes the lock of a conversation. It is a file of its own, as the
// conversation is replaced when it is saved, and it is gone when unlocked.
func lock(name, path string) (unlock func(), err error) {
	for {
		f, err := ownerfile.Open(path, os.O_CREATE|os.O_RDWR)
		if err != nil {
			return nil, err
		}
		if err := hold(f); err != nil {
			return nil, &fault.Error{Kind: fault.Unavailable, Op: "open conversation", Subject: name, Err: err,
				Hint: "wait until it is done, or take another name"}
		}
		if !stands(path, f) {
			release(f)
			continue // we got the lock that its last holder has just removed
		}
		return func() {
			os.Remove(path) // before it is free, or it could be somebody else's
			release(f)
		}, nil
	}
}

// hold locks the file, or closes it if somebody else keeps it. A lock can only
// be waited for without end, so that is done aside; one that comes too late is
// given back.
func hold(f *os.File) error {
	got := make(chan error, 1)
	go func() { got <- ownerfile.Lock(f) }()
	timer := time.NewTimer(patience)
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

// release unlocks and closes the file.
func release(f *os.File) {
	ownerfile.Unlock(f)
	f.Close()
}

// stands tells whether path still is the name of f.
func stands(path string, f *os.File) bool {
	there, err := os.Stat(path)
	if err != nil {
		return false
	}
	ours, err := f.Stat()
	return err == nil && os.SameFile(there, ours)
}
