package main

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// tryOpen does what ordinary programs need.
func tryOpen() {
	for _, try := range []struct {
		name string
		do   func() error
	}{
		{"tcp on loopback", func() error { return listens("tcp", "127.0.0.1:0") }},
		{"udp on loopback", udp},
		{"unix socket", func() error { return listens("unix", filepath.Join(os.TempDir(), "probe.sock")) }},
		{"interfaces", func() error { _, err := net.Interfaces(); return err }},
		{"socket pair", pair},
		{"code that was just written", writableCode},
		{"nameless file", func() error { return opened(unix.MemfdCreate("probe", unix.MFD_CLOEXEC)) }},
		{"inotify", func() error { return opened(unix.InotifyInit1(unix.IN_CLOEXEC)) }},
		{"timerfd", func() error { return opened(unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_CLOEXEC)) }},
		{"signalfd", func() error { return opened(unix.Signalfd(-1, &unix.Sigset_t{}, unix.SFD_CLOEXEC)) }},
		{"fifo", func() error { return made(unix.S_IFIFO) }},
		{"plain file by mknod", func() error { return made(unix.S_IFREG) }},
		{"shared memory", sharedMemory},
		{"same addresses", func() error { return raw(unix.SYS_PERSONALITY, 0x0040000, 0, 0) }},
		{"affinity", func() error { var set unix.CPUSet; return unix.SchedGetaffinity(0, &set) }},
		{"membarrier", func() error { return raw(unix.SYS_MEMBARRIER, 0, 0, 0) }},
		{"landlock", func() error { return raw(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, 1) }},
		{"own filters", func() error { return raw(unix.SYS_SECCOMP, 2, 0, nowhere) }}, // which actions there are
		{"process descriptor", func() error { return opened(unix.PidfdOpen(os.Getpid(), 0)) }},
		{"traced child", traced},
	} {
		report(try.name, try.do())
	}
}

func raw(number, a, b, c uintptr) error {
	if _, _, errno := unix.Syscall(number, a, b, c); errno != 0 && errno != unix.EFAULT {
		return errno
	}
	return nil
}

func opened(fd int, err error) error {
	if err == nil {
		unix.Close(fd)
	}
	return err
}

func listens(network, address string) error {
	os.Remove(address)
	l, err := net.Listen(network, address)
	if err != nil {
		return err
	}
	defer l.Close()
	conn, err := net.Dial(network, l.Addr().String())
	if err == nil {
		conn.Close()
	}
	return err
}

func udp() error {
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err == nil {
		conn.Close()
	}
	return err
}

func pair() error {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err == nil {
		unix.Close(fds[0])
		unix.Close(fds[1])
	}
	return err
}

// writableCode is what every program that compiles while it runs does.
func writableCode() error {
	page, err := unix.Mmap(-1, 0, 4096, unix.PROT_READ|unix.PROT_WRITE|unix.PROT_EXEC, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return err
	}
	defer unix.Munmap(page)
	return unix.Mprotect(page, unix.PROT_READ|unix.PROT_EXEC)
}

func made(kind uint32) error {
	path := filepath.Join(os.TempDir(), "probe.node")
	os.Remove(path)
	defer os.Remove(path)
	return unix.Mknod(path, kind|0o600, 0)
}

func sharedMemory() error {
	id, err := unix.SysvShmGet(unix.IPC_PRIVATE, 4096, unix.IPC_CREAT|0o600)
	if err == nil {
		_, err = unix.SysvShmCtl(id, unix.IPC_RMID, nil)
	}
	return err
}

// traced does what a debugger does.
func traced() error {
	runtime.LockOSThread()
	cmd := exec.Command("/proc/self/exe")
	cmd.SysProcAttr = &syscall.SysProcAttr{Ptrace: true}
	if err := cmd.Start(); err != nil {
		return err
	}
	defer cmd.Process.Kill()
	var status syscall.WaitStatus
	if _, err := syscall.Wait4(cmd.Process.Pid, &status, 0, nil); err != nil {
		return err
	}
	word := make([]byte, 8)
	var regs unix.PtraceRegs
	if err := unix.PtraceGetRegs(cmd.Process.Pid, &regs); err != nil {
		return err
	}
	_, err := unix.PtracePeekData(cmd.Process.Pid, uintptr(regs.PC()), word)
	return err
}
