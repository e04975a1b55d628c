//go:build unix

package setup

import (
	"io/fs"
	"syscall"
)

// linkCount returns the number of hard links of a file, as far as the system tells.
func linkCount(info fs.FileInfo) int {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(s.Nlink)
	}
	return 1
}
