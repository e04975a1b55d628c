//go:build darwin || freebsd || netbsd || openbsd || dragonfly

package term

import (
	"os"

	"golang.org/x/sys/unix"
)

// received is FREAD of <sys/fcntl.h>: the queue of what was typed.
const received = 1

// dropInput drops unread input of a terminal. It does nothing for other files.
func dropInput(f *os.File) { _ = unix.IoctlSetPointerInt(int(f.Fd()), unix.TIOCFLUSH, received) }

// unread returns 0: the number is unknown here.
func unread(*os.File) int { return 0 }

// enableSequences does nothing: terminals support escape sequences.
func enableSequences(*os.File) {}
