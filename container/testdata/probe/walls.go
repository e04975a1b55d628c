package main

import (
	"net"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// tryWalls tries what more than the system call filter prevents.
func tryWalls() {
	for _, path := range []string{
		"/proc/sysrq-trigger", "/proc/sys/kernel/core_pattern", "/proc/sys/kernel/hostname", "/proc/sys/vm/drop_caches",
		"/proc/sys/net/ipv4/ip_forward",
		"/proc/1/oom_score_adj", "/proc/1/mem", "/proc/1/comm", "/sys/kernel/uevent_helper",
		"/sys/fs/cgroup/memory/memory.limit_in_bytes",
		"/sys/fs/cgroup/cgroup.procs", "/sys/power/state", "/sys/kernel/mm/ksm/run", "/etc/passwd", "/bin/probe",
		"/.hako/hako-guest", "/usr/probe",
	} {
		report("write "+path, tryWrite(path))
	}
	for _, path := range []string{
		"/proc/kcore", "/proc/kmsg", "/proc/1/mem", "/proc/1/environ", "/proc/1/root/etc", "/proc/1/cwd", "/proc/1/fd",
		"/proc/1/maps", "/dev/mem", "/dev/kmsg",
		"/dev/loop0", "/dev/loop-control", "/dev/vda", "/dev/sda", "/dev/fuse", "/dev/kvm", "/dev/net/tun", "/dev/vsock",
		"/var/run/docker.sock", "/run/docker.sock",
		"/run/containerd/containerd.sock", "/run/hako/guest.sock", "/proc/timer_list", "/proc/keys", "/sys/firmware",
		"/proc/scsi", "/proc/acpi",
	} {
		report("read "+path, tryRead(path))
	}
	for _, path := range []string{"/var/run/docker.sock", "/run/docker.sock", "/run/hako/guest.sock",
		"/run/hako/egress.sock"} {
		conn, err := net.Dial("unix", path)
		if err == nil {
			conn.Close()
		}
		report("connect "+path, bare(err))
	}
	for _, n := range []int{unix.PTRACE_ATTACH, unix.PTRACE_SEIZE} {
		_, _, errno := unix.Syscall6(unix.SYS_PTRACE, uintptr(n), 1, 0, 0, 0, 0)
		report(map[int]string{unix.PTRACE_ATTACH: "trace 1", unix.PTRACE_SEIZE: "seize 1"}[n], errno)
	}
	report("signal 1", unix.Kill(1, 0))
	report("become root", unix.Setuid(0))
	report("become another", unix.Setuid(1001))
	report("join group 0", unix.Setgid(0))
	report("groups", unix.Setgroups([]int{0}))
	report("raise hard limit", unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 1 << 20, Max: 1 << 20}))
	report("lower niceness", unix.Setpriority(unix.PRIO_PROCESS, 0, -10))
	report("real time", unix.SchedSetAttr(0, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: 1, Priority: 1}, 0))
	reportNetwork()
}

// bare returns the error number in an error.
func bare(err error) error {
	for err != nil {
		if errno, is := err.(unix.Errno); is {
			return errno
		}
		u, can := err.(interface{ Unwrap() error })
		if !can {
			return err
		}
		err = u.Unwrap()
	}
	return nil
}

func tryWrite(path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o600)
	if err == nil {
		f.Close()
	}
	return bare(err)
}

// tryRead reads a byte, or a name. An empty file or directory hides what the host has there.
func tryRead(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return bare(err)
	}
	defer f.Close()
	if names, err := f.Readdirnames(1); err == nil && len(names) > 0 {
		return nil
	}
	if n, err := f.Read(make([]byte, 1)); n == 0 {
		if err = bare(err); err != nil && err.Error() != "EOF" && err != unix.EISDIR {
			return err
		}
		return empty{}
	}
	return nil
}

type empty struct{}

func (empty) Error() string { return "empty" }

// reportNetwork prints the network configuration.
func reportNetwork() {
	all, _ := net.Interfaces()
	var names []string
	for _, i := range all {
		names = append(names, i.Name)
	}
	report("interfaces", word(strings.Join(names, " ")))
	for _, file := range []string{"/proc/net/route", "/proc/net/arp"} {
		text, _ := os.ReadFile(file)
		lines := strings.Split(strings.TrimSpace(string(text)), "\n")
		report("entries of "+file, word(strings.Join(lines[1:], "; ")))
	}
	for _, address := range []string{"192.0.2.1:80", "[2001:db8::1]:80", "169.254.169.254:80", "172.17.0.1:2375"} {
		conn, err := net.Dial("tcp", address)
		if err == nil {
			conn.Close()
		}
		report("connect "+address, bare(err))
	}
	conn, err := net.Dial("udp", "192.0.2.1:53")
	if err == nil {
		conn.Close()
	}
	report("send to 192.0.2.1:53", bare(err))
}

// word is a text that is printed as it is.
type word string

func (w word) Error() string { return string(w) }
