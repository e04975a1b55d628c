package term

import (
	"os"

	"golang.org/x/sys/windows"
)

// dropInput drops what a console has received and nobody has read. What is no
// console stays as it is.
func dropInput(f *os.File) { _ = windows.FlushConsoleInputBuffer(windows.Handle(f.Fd())) }

// unread is not known of the end of a pipe to which one writes.
func unread(*os.File) int { return 0 }

// enableSequences has a console take escape sequences for what they are. One that
// never did was not changed by them either.
func enableSequences(f *os.File) {
	var mode uint32
	if windows.GetConsoleMode(windows.Handle(f.Fd()), &mode) == nil {
		_ = windows.SetConsoleMode(windows.Handle(f.Fd()), mode|windows.ENABLE_VIRTUAL_TERMINAL_PROCESSING)
	}
}
