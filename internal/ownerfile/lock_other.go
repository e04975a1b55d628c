//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly || windows)

package ownerfile

import (
	"errors"
	"io/fs"
	"os"
	"time"
)

// patience is after what time the holder of a lock counts as dead.
const patience = 10 * time.Second

// Lock waits until no other process holds the file. These systems have no advisory locks, so a second file is created
// exclusively.
func Lock(f *os.File) error {
	name := f.Name() + ".lock"
	for end := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		l, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL, 0o600)
		if err == nil {
			return l.Close()
		}
		if !errors.Is(err, fs.ErrExist) {
			return err
		}
		if time.Now().After(end) {
			os.Remove(name)
		}
	}
}

func Unlock(f *os.File) error { return os.Remove(f.Name() + ".lock") }

// TryLock returns false: nothing counts as abandoned here.
func TryLock(*os.File) bool { return false }
