//go:build unix

package host

import (
	"os"
	"syscall"
)

// lockFile takes the lock unless somebody has it.
func lockFile(f *os.File) bool {
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil
}
