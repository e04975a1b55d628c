package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// restrictSelf drops everything that the plan does not grant: for the process (mounts, limits) or for the calling
// thread, which starts all programs.
func (o *setup) restrictSelf() (Report, error) {
	r := Report{Landlock: o.ABI, TempDir: o.Temp}
	// If memory runs out, the kernel kills these programs first.
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte("1000"), 0)
	steps := []struct {
		name string
		do   func(*Report) error
	}{
		{"namespaces", o.setUpNamespaces},
		{"limits", o.limit},
		{"privileges", o.dropCapabilities},
		{"landlock", o.applyLandlock},
		{"seccomp", o.filter},
	}
	for _, s := range steps {
		if err := s.do(&r); err != nil {
			return r, fmt.Errorf("%s: %w", s.name, err)
		}
	}
	r.Level = level(o.Namespaces, o.ABI > 0)
	return r, nil
}

func level(namespaces, landlock bool) Level {
	switch {
	case namespaces && landlock:
		return Full
	case namespaces:
		return NamespacesOnly
	case landlock:
		return LandlockOnly
	}
	return None
}

// setUpNamespaces sets up the namespaces of the helper.
func (o *setup) setUpNamespaces(r *Report) error {
	if !o.Namespaces {
		// Adopt orphans, so that sweep finds them.
		return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
	}
	r.Spaces = []string{"user", "pid", "mount", "ipc", "uts"}
	if !o.Network {
		r.Spaces = append(r.Spaces, "net")
		if err := loopback(); err != nil {
			r.Missing = append(r.Missing, "loopback network: "+err.Error())
		}
	}
	if err := unix.Sethostname([]byte("hako")); err != nil {
		return fmt.Errorf("host name: %w", err)
	}
	r.TempDir = "/tmp"
	return o.mounts(r)
}

// loopback brings the sandbox's loopback interface up.
func loopback() error {
	s, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(s)
	req, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	req.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	return unix.IoctlIfreq(s, unix.SIOCSIFFLAGS, req)
}

// limit sets resource limits.
func (o *setup) limit(*Report) error {
	for _, l := range []struct {
		what  int
		value int64
	}{
		// RLIMIT_DATA does not count untouched mappings: runtimes reserve far more than they use.
		{unix.RLIMIT_DATA, o.Limits.Memory},
		{unix.RLIMIT_NPROC, o.Limits.Processes},
		{unix.RLIMIT_NOFILE, o.Limits.Files},
		{unix.RLIMIT_FSIZE, o.Limits.FileSize},
	} {
		if l.value == 0 {
			continue
		}
		if l.what == unix.RLIMIT_NPROC && !o.Namespaces {
			l.value += tasksOf(os.Getuid()) // without a user namespace, all threads of the user count
		}
		if err := lower(l.what, uint64(l.value)); err != nil {
			return err
		}
	}
	return lower(unix.RLIMIT_CORE, 0)
}

// tasksOf counts the threads of a user.
func tasksOf(uid int) (n int64) {
	procs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range procs {
		info, err := os.Stat(dir)
		if err != nil {
			continue
		}
		if st, ok := info.Sys().(*syscall.Stat_t); ok && int(st.Uid) == uid {
			tasks, _ := os.ReadDir(dir + "/task")
			n += int64(len(tasks))
		}
	}
	return n
}

// lower sets a limit unless it is lower already.
func lower(what int, value uint64) error {
	var old unix.Rlimit
	if err := unix.Getrlimit(what, &old); err != nil {
		return err
	}
	value = min(value, old.Max)
	return unix.Setrlimit(what, &unix.Rlimit{Cur: value, Max: value})
}

// lastCap is beyond the last capability.
const lastCap = 63

// dropCapabilities drops every capability for good.
func (o *setup) dropCapabilities(*Report) error {
	// Programs in the sandbox must not inspect this process.
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return err
	}
	for c := range uintptr(lastCap + 1) {
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0); err != nil && err != unix.EINVAL &&
			!(err == unix.EPERM && os.Geteuid() != 0) {
			return err
		}
	}
	head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	if err := unix.Capset(&head, &none[0]); err != nil {
		return err
	}
	// No child gains capabilities by exec.
	return unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
}
