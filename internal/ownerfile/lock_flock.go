//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package ownerfile

import (
	"os"
	"syscall"
)

// Lock waits until no other process, and no other handle of this process, holds the file. A lock ends with its
// process.
func Lock(f *os.File) error {
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX)
		if err != syscall.EINTR {
			return err
		}
	}
}

func Unlock(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_UN) }

// TryLock takes the lock if it is free, and reports whether it did.
func TryLock(f *os.File) bool {
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil
}
