//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package jobs

import (
	"os"
	"syscall"
)

// tryLock takes the lock of a file unless somebody has it. It goes with the
// process, however that ends.
func tryLock(f *os.File) bool {
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil
}
