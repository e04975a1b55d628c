package term

import (
	"os"

	"golang.org/x/sys/windows"
)

// dropInput drops unread input of a console. It does nothing for other files.
func dropInput(f *os.File) { _ = windows.FlushConsoleInputBuffer(windows.Handle(f.Fd())) }

// unread returns 0: the number is unknown here.
func unread(*os.File) int { return 0 }

// enableSequences enables escape sequences of a console.
func enableSequences(f *os.File) {
	var mode uint32
	if windows.GetConsoleMode(windows.Handle(f.Fd()), &mode) == nil {
		_ = windows.SetConsoleMode(windows.Handle(f.Fd()), mode|windows.ENABLE_VIRTUAL_TERMINAL_PROCESSING)
	}
}
