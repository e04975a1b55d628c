//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly || windows)

package term

import "os"

// dropInput does nothing: what was typed ahead on these systems is not known.
func dropInput(*os.File) {}

// unread is not known of pipes on these systems.
func unread(*os.File) int { return 0 }

// enableSequences does nothing: terminals know escape sequences.
func enableSequences(*os.File) {}
