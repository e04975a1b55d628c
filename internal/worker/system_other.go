//go:build unix && !linux

package worker

import (
	"runtime/debug"
	"syscall"
)

func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// limitMemory only tunes the garbage collector: a Go program cannot run with the limits of these systems.
func limitMemory(memory int64) error {
	debug.SetMemoryLimit(memory)
	return nil
}

func residentOf(int) int64 { return 0 }
