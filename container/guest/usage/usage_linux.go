// Package usage measures a container: memory and CPU time from control groups, disk space from the file system.
//
// The rule to keep: what the system does not report is zero, never a guess and never an error.
package usage

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Groups is the path of the container's control groups.
const Groups = "/sys/fs/cgroup"

// A Usage is what the kernel counts for a container.
type Usage struct {
	Memory, MemoryLimit int64
	CPU                 time.Duration // since the start
}

// Group reads the usage from control groups version 2 or 1.
func Group(root string) Usage {
	u := Usage{Memory: number(root, "memory.current", "memory/memory.usage_in_bytes"), MemoryLimit: MemoryLimit(root)}
	u.CPU = time.Duration(number(root, "cpuacct/cpuacct.usage"))
	if micros := entry(root, "cpu.stat", "usage_usec"); micros > 0 {
		u.CPU = time.Duration(micros) * time.Microsecond
	}
	return u
}

// MemoryLimit returns the memory limit of the container.
func MemoryLimit(root string) int64 {
	limit := number(root, "memory.max", "memory/memory.limit_in_bytes")
	if limit >= 1<<62 {
		return 0 // version 1 has a large number for none
	}
	return limit
}

// Kills counts the out-of-memory kills in the container. Its files stay open: they are read before and after every
// command.
type Kills struct{ files []*os.File }

// OpenKills opens the existing counters.
func OpenKills(root string) Kills {
	var k Kills
	for _, name := range []string{"memory.events", "memory/memory.oom_control"} {
		if f, err := os.Open(filepath.Join(root, name)); err == nil {
			k.files = append(k.files, f)
		}
	}
	return k
}

func (k Kills) Count() (total int64) {
	var text [1 << 10]byte // they are much shorter
	for _, f := range k.files {
		n, _ := f.ReadAt(text[:], 0)
		total += valueOf(string(text[:n]), "oom_kill")
	}
	return total
}

// Close closes the files.
func (k Kills) Close() {
	for _, f := range k.files {
		_ = f.Close()
	}
}

// number reads the first file that exists.
func number(root string, names ...string) int64 {
	for _, name := range names {
		if text, err := os.ReadFile(filepath.Join(root, name)); err == nil {
			return parse(string(text))
		}
	}
	return 0
}

// entry reads the number after a key in a file.
func entry(root, name, key string) int64 {
	text, _ := os.ReadFile(filepath.Join(root, name))
	return valueOf(string(text), key)
}

func valueOf(text, key string) int64 {
	for line := range strings.Lines(text) {
		if value, is := strings.CutPrefix(line, key+" "); is {
			return parse(value)
		}
	}
	return 0
}

func parse(text string) int64 {
	n, _ := strconv.ParseInt(strings.TrimSpace(text), 10, 64) // "max" is none
	return n
}

// OwnMemory returns the resident memory of this process.
func OwnMemory() int64 {
	text, _ := os.ReadFile("/proc/self/statm")
	if f := strings.Fields(string(text)); len(f) > 1 {
		return parse(f[1]) * int64(os.Getpagesize())
	}
	return 0
}

// OwnFiles returns the number of open files of this process.
func OwnFiles() int {
	list, _ := os.ReadDir("/proc/self/fd")
	return max(len(list)-1, 0) // without the directory itself
}
