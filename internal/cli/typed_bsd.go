//go:build darwin || freebsd || netbsd || openbsd || dragonfly

package cli

import (
	"os"

	"golang.org/x/sys/unix"
)

// received is FREAD of <sys/fcntl.h>: the queue of what was typed.
const received = 1

// dropInput drops what a terminal has received and nobody has read. What is no
// terminal stays as it is.
func dropInput(f *os.File) { _ = unix.IoctlSetPointerInt(int(f.Fd()), unix.TIOCFLUSH, received) }
