package term

import (
	"os"

	"golang.org/x/sys/unix"
)

// dropInput drops unread input of a terminal. It does nothing for other files.
func dropInput(f *os.File) { _ = unix.IoctlSetInt(int(f.Fd()), unix.TCFLSH, unix.TCIFLUSH) }

// unread returns the number of bytes in a pipe that were not read yet.
func unread(pipe *os.File) int {
	n, err := unix.IoctlGetInt(int(pipe.Fd()), unix.TIOCINQ)
	if err != nil {
		return 0
	}
	return n
}

// enableSequences does nothing: terminals support escape sequences.
func enableSequences(*os.File) {}
