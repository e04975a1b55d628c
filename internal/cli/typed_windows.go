package cli

import (
	"os"

	"golang.org/x/sys/windows"
)

// dropInput drops what a console has received and nobody has read. What is no
// console stays as it is.
func dropInput(f *os.File) { _ = windows.FlushConsoleInputBuffer(windows.Handle(f.Fd())) }
