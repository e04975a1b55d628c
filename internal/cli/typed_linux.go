package cli

import (
	"os"

	"golang.org/x/sys/unix"
)

// dropInput drops what a terminal has received and nobody has read. What is no
// terminal stays as it is.
func dropInput(f *os.File) { _ = unix.IoctlSetInt(int(f.Fd()), unix.TCFLSH, unix.TCIFLUSH) }
