//go:build unix && !linux

package worker

import (
	"runtime/debug"
	"syscall"
)

func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// limitMemory has the collector work harder: there is no limit of the system that
// a Go program can live with.
func limitMemory(memory int64) error {
	debug.SetMemoryLimit(memory)
	return nil
}

func residentOf(int) int64 { return 0 }
