//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly || windows)

package term

import "os"

// dropInput does nothing: these systems do not offer it.
func dropInput(*os.File) {}

// unread returns 0: the number is unknown here.
func unread(*os.File) int { return 0 }

// enableSequences does nothing: terminals support escape sequences.
func enableSequences(*os.File) {}
