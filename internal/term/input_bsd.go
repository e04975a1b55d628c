//go:build darwin || freebsd || netbsd || openbsd || dragonfly

package term

import (
	"os"

	"golang.org/x/sys/unix"
)

// received is FREAD of <sys/fcntl.h>: the queue of what was typed.
const received = 1

// dropInput drops what a terminal has received and nobody has read. What is no
// terminal stays as it is.
func dropInput(f *os.File) { _ = unix.IoctlSetPointerInt(int(f.Fd()), unix.TIOCFLUSH, received) }

// unread is not known of the end of a pipe to which one writes.
func unread(*os.File) int { return 0 }

// enableSequences does nothing: terminals know escape sequences.
func enableSequences(*os.File) {}
