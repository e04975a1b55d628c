package server

import (
	"os"
	"runtime/debug"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// releaseMemory gives back memory: what is free, and pages of our own binary. All of hako was set up before it became
// a guest, and most of it is never needed here; what is comes back from the file by itself.
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

// An memoryArea is a piece of our memory.
type memoryArea struct{ begin, size uintptr }

// unmodifiedAreas reads the text of /proc/self/smaps. It returns the areas that are exactly what the file has: mapped
// for reading alone, and without any page of their own. One that a linker wrote to before it was locked has such
// pages, and would not come back as it was.
func unmodifiedAreas(text, binary string) []memoryArea {
	var found []memoryArea
	inside := false // the last area found is the one whose lines we read
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

// readOnly reads the first line about an area: whether it is of the binary, and for reading alone.
func readOnly(f []string, binary string) (memoryArea, bool) {
	if len(f) != 6 || f[5] != binary || f[1] != "r-xp" && f[1] != "r--p" {
		return memoryArea{}, false
	}
	low, high, _ := strings.Cut(f[0], "-")
	begin, err := strconv.ParseUint(low, 16, 64)
	end, errEnd := strconv.ParseUint(high, 16, 64)
	return memoryArea{uintptr(begin), uintptr(end - begin)}, err == nil && errEnd == nil && begin < end
}
