//go:build unix

package main

import (
	"os"
	"syscall"
)

// peakMemory returns the most memory that a process had, in bytes.
func peakMemory(p *os.ProcessState) int64 {
	if u, ok := p.SysUsage().(*syscall.Rusage); ok {
		return u.Maxrss << 10
	}
	return 0
}
