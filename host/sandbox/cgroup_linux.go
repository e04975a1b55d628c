package sandbox

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// A cgroup limits the number of processes of a sandbox, if the system lets us create one. The limit of RLIMIT_NPROC
// does not apply to root.
type cgroup struct{ dir string }

const cgroupPrefix = "hako-sandbox-"

func newCgroup(pid int, l Limits) *cgroup {
	if l.Processes == 0 {
		return &cgroup{}
	}
	for _, parent := range cgroupParents() {
		removeStaleCgroups(parent)
		f := &cgroup{filepath.Join(parent, cgroupPrefix+strconv.Itoa(pid))}
		if f.raise(pid, l.Processes) == nil {
			return f
		}
		_ = os.Remove(f.dir) // only if it is empty: it may belong to another
	}
	return &cgroup{}
}

// raise creates the group and adds the helper, whose children are in it too. The helper itself needs some processes.
func (f *cgroup) raise(pid int, processes int64) error {
	if err := os.Mkdir(f.dir, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(f.dir+"/pids.max", []byte(strconv.FormatInt(processes+16, 10)), 0); err != nil {
		return err
	}
	return os.WriteFile(f.dir+"/cgroup.procs", []byte(strconv.Itoa(pid)), 0)
}

// kill kills everything in the group, including the helper, and reports whether the system supports that.
func (f *cgroup) kill() bool {
	return f.dir != "" && os.WriteFile(f.dir+"/cgroup.kill", []byte("1"), 0) == nil
}

// remove kills what is left in the group, and removes it. The helper has ended.
func (f *cgroup) remove() {
	if f.dir != "" {
		endGroup(f.dir)
		f.dir = ""
	}
}

// endGroup kills the processes of a group until none is left, and removes it.
func endGroup(dir string) {
	for wait := time.Millisecond; os.Remove(dir) != nil; wait = min(2*wait, slowest) {
		text, err := os.ReadFile(dir + "/cgroup.procs")
		if err != nil || len(text) == 0 && wait == slowest {
			return // it is gone, or another process uses it
		}
		if os.WriteFile(dir+"/cgroup.kill", []byte("1"), 0) != nil {
			for _, word := range strings.Fields(string(text)) {
				if pid, err := strconv.Atoi(word); err == nil && pid > 1 && pid != os.Getpid() {
					_ = unix.Kill(pid, unix.SIGKILL)
				}
			}
		}
		time.Sleep(wait)
	}
}

func (f *cgroup) kinds() []string {
	switch {
	case f.dir != "":
		return []string{"cgroup pids"}
	case os.Geteuid() != 0:
		return []string{"rlimit"}
	}
	return nil
}

// cgroupParents lists where a group can be created: below our own, in version 1 and version 2.
func cgroupParents() []string {
	text, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return nil
	}
	var list []string
	for line := range strings.Lines(string(text)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		switch {
		case len(parts) != 3:
		case parts[1] == "pids":
			list = append(list, filepath.Join("/sys/fs/cgroup/pids", parts[2]))
		case parts[0] == "0":
			list = append(list, filepath.Join("/sys/fs/cgroup", parts[2]))
		}
	}
	return list
}

// removeStaleCgroups removes the groups of sandboxes whose helper has ended.
func removeStaleCgroups(parent string) {
	left, _ := filepath.Glob(filepath.Join(parent, cgroupPrefix+"*"))
	for _, dir := range left {
		pid := strings.TrimPrefix(filepath.Base(dir), cgroupPrefix)
		if _, err := os.Stat("/proc/" + pid); err != nil {
			_ = os.Remove(dir)
		}
	}
}
