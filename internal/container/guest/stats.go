package guest

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"hako/internal/container/guest/nursery"
	"hako/internal/fault"
)

// Stats tell what the container uses. What the system does not tell is zero.
type Stats struct {
	Processes   int           `json:"processes"` // without the guest
	Running     int           `json:"running"`   // commands and jobs
	Memory      int64         `json:"memory"`
	MemoryLimit int64         `json:"memory_limit"`
	CPU         time.Duration `json:"cpu"`            // since the start
	Disk        int64         `json:"disk,omitempty"` // of the directory of commands, if it was asked for
	Guest       GuestStats    `json:"guest"`
}

// GuestStats tell what the guest itself uses.
type GuestStats struct {
	Memory     int64 `json:"memory"`
	Files      int   `json:"files"`
	Goroutines int   `json:"goroutines"`
	Links      int   `json:"connections"`
}

func (s *server) stats(ctx context.Context, disk bool) (Stats, error) {
	got := groupStats("/sys/fs/cgroup")
	got.Processes, got.Running = s.nursery.Count(), int(s.running.Load())
	got.Guest = GuestStats{Memory: ownMemory(), Files: ownFiles(), Goroutines: runtime.NumGoroutine()}
	s.mu.Lock()
	got.Guest.Links = len(s.links)
	s.mu.Unlock()
	var err error
	if disk {
		got.Disk, err = s.site.diskUse(ctx)
	}
	return got, err
}

// groupStats reads what the kernel counts for the container, in the layout of
// control groups version 2 or 1.
func groupStats(root string) Stats {
	var s Stats
	s.Memory = number(root, "memory.current", "memory/memory.usage_in_bytes")
	s.MemoryLimit = number(root, "memory.max", "memory/memory.limit_in_bytes")
	if s.MemoryLimit >= 1<<62 {
		s.MemoryLimit = 0 // version 1 has a number for none
	}
	s.CPU = time.Duration(number(root, "cpuacct/cpuacct.usage"))
	text, _ := os.ReadFile(filepath.Join(root, "cpu.stat"))
	for line := range strings.Lines(string(text)) {
		if micros, is := strings.CutPrefix(line, "usage_usec "); is {
			s.CPU = time.Duration(parseNumber(micros)) * time.Microsecond
		}
	}
	return s
}

// number reads the first of the files that there is.
func number(root string, names ...string) int64 {
	for _, name := range names {
		if text, err := os.ReadFile(filepath.Join(root, name)); err == nil {
			return parseNumber(string(text))
		}
	}
	return 0
}

func parseNumber(text string) int64 {
	n, _ := strconv.ParseInt(strings.TrimSpace(text), 10, 64) // "max" is none
	return n
}

// ownMemory is how much memory the guest has in use.
func ownMemory() int64 {
	text, _ := os.ReadFile("/proc/self/statm")
	if f := strings.Fields(string(text)); len(f) > 1 {
		return parseNumber(f[1]) * int64(os.Getpagesize())
	}
	return 0
}

func ownFiles() int {
	list, _ := os.ReadDir("/proc/self/fd")
	return max(len(list)-1, 0) // without the one that it was read by
}

// diskUse adds up what lies in the directory of commands. It looks in the place
// of their user, who may have locked root out.
func (s site) diskUse(ctx context.Context) (total int64, err error) {
	denied := nursery.As(s.uid, s.gid, func() {
		err = filepath.WalkDir(s.dir, func(_ string, d os.DirEntry, err error) error {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err != nil {
				return nil // what cannot be looked into is not counted
			}
			if info, err := d.Info(); err == nil {
				total += allocated(info)
			}
			return nil
		})
	})
	if denied != nil {
		return 0, denied
	}
	if err != nil {
		return 0, &fault.Error{Kind: fault.Timeout, Op: "measure", Subject: s.dir, Why: "nobody waited for it", Err: err}
	}
	return total, nil
}
