package server

import (
	"os"
	"runtime/debug"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// releaseMemory returns free memory, and pages of our own binary, to the system. The whole of hako was loaded before
// it became a guest, and most of it is never used; the kernel reloads pages on demand.
func releaseMemory() {
	debug.FreeOSMemory()
	binary, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return
	}
	text, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		return
	}
	for _, a := range unmodifiedAreas(string(text), binary) {
		_, _, _ = unix.Syscall(unix.SYS_MADVISE, a.begin, a.size, unix.MADV_DONTNEED)
	}
}

type memoryArea struct{ begin, size uintptr }

// unmodifiedAreas parses /proc/self/smaps. It returns read-only areas of the binary without private pages: those that
// a linker modified could not be reloaded.
func unmodifiedAreas(text, binary string) []memoryArea {
	var found []memoryArea
	inside := false // the current area is the last in found
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		switch {
		case len(f) >= 5 && strings.Contains(f[0], "-"):
			a, ok := readOnly(f, binary)
			if inside = ok; ok {
				found = append(found, a)
			}
		case inside && len(f) == 3 && (f[0] == "Anonymous:" || f[0] == "Swap:") && f[1] != "0":
			found, inside = found[:len(found)-1], false
		}
	}
	return found
}

// readOnly parses the first line of an area, and reports whether it is a read-only part of the binary.
func readOnly(f []string, binary string) (memoryArea, bool) {
	if len(f) != 6 || f[5] != binary || f[1] != "r-xp" && f[1] != "r--p" {
		return memoryArea{}, false
	}
	low, high, _ := strings.Cut(f[0], "-")
	begin, err := strconv.ParseUint(low, 16, 64)
	end, errEnd := strconv.ParseUint(high, 16, 64)
	return memoryArea{uintptr(begin), uintptr(end - begin)}, err == nil && errEnd == nil && begin < end
}
