package worker

import (
	"fmt"
	"os"
	"runtime/debug"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// attributes puts a worker into its own process group: Ctrl-C is for the server, which ends its workers in order.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// limitMemory bounds what this process may allocate from now on. The runtime reserves address space that it never
// uses, so the limit is on writable memory. Only the soft limit is lowered: programs of the host runner have their
// own limits.
func limitMemory(memory int64) error {
	debug.SetMemoryLimit(memory)
	data, err := dataSize()
	if err != nil {
		return err
	}
	var l unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_DATA, &l); err != nil {
		return err
	}
	l.Cur = min(uint64(data+memory+memory/4), l.Max)
	if err := unix.Setrlimit(unix.RLIMIT_DATA, &l); err != nil {
		return err
	}
	return unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{})
}

// dataSize returns the size of the writable memory of this process.
func dataSize() (int64, error) {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		var kilobytes int64
		if n, _ := fmt.Sscanf(line, "VmData: %d kB", &kilobytes); n == 1 {
			return kilobytes << 10, nil
		}
	}
	return 0, fmt.Errorf("/proc/self/status has no VmData")
}

// residentOf returns the private resident memory of a process.
func residentOf(pid int) int64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return 0
	}
	var size, resident, shared int64
	if n, _ := fmt.Sscan(string(text), &size, &resident, &shared); n != 3 {
		return 0
	}
	return (resident - shared) * int64(os.Getpagesize())
}
