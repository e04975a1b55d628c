//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly || windows)

package cli

import "os"

// dropInput does nothing: what was typed ahead on these systems is not known.
func dropInput(*os.File) {}
