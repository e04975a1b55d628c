package ownerfile

import (
	"os"

	"golang.org/x/sys/windows"
)

// lockOffset is beyond the end of any file: Windows makes a locked range unreadable for others.
const lockOffset = 1 << 30

// Lock waits until no other process, and no other handle of this process, holds the file.
func Lock(f *os.File) error {
	at := &windows.Overlapped{OffsetHigh: lockOffset}
	return windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK, 0, 1, 0, at)
}

func Unlock(f *os.File) error {
	return windows.UnlockFileEx(windows.Handle(f.Fd()), 0, 1, 0, &windows.Overlapped{OffsetHigh: lockOffset})
}

// TryLock returns false: nothing counts as abandoned here.
func TryLock(*os.File) bool { return false }
