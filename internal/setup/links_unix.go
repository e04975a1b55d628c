//go:build unix

package setup

import (
	"io/fs"
	"syscall"
)

// linkCount tells how many names a file has.
func linkCount(info fs.FileInfo) int {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(s.Nlink)
	}
	return 1
}
