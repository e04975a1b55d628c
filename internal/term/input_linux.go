package term

import (
	"os"

	"golang.org/x/sys/unix"
)

// dropInput drops what a terminal has received and nobody has read. What is no
// terminal stays as it is.
func dropInput(f *os.File) { _ = unix.IoctlSetInt(int(f.Fd()), unix.TCFLSH, unix.TCIFLUSH) }

// unread is how many bytes of what was written to a pipe nobody has read yet.
func unread(pipe *os.File) int {
	n, err := unix.IoctlGetInt(int(pipe.Fd()), unix.TIOCINQ)
	if err != nil {
		return 0
	}
	return n
}

// enableSequences does nothing: terminals know escape sequences.
func enableSequences(*os.File) {}
