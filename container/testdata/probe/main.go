// Probe tries what a process in a container must, and must not, be able to do. For each it prints a line with the
// kernel's answer.
//
// Every call is harmless even if it is let through: pointers are invalid, numbers do not exist.
package main

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// nowhere is an address that the kernel cannot read.
const nowhere = 1

// A call is a system call with the arguments it is tried with.
type call struct {
	name   string
	number uintptr
	args   [6]uintptr
}

// closed are calls that the filter must refuse, whoever makes them.
var closed = []call{
	{"io_uring_setup", unix.SYS_IO_URING_SETUP, [6]uintptr{1, nowhere}},
	{"io_uring_enter", unix.SYS_IO_URING_ENTER, [6]uintptr{none}},
	{"io_uring_register", unix.SYS_IO_URING_REGISTER, [6]uintptr{none}},
	{"aio setup", unix.SYS_IO_SETUP, [6]uintptr{1, nowhere}},
	{"aio submit", unix.SYS_IO_SUBMIT, [6]uintptr{nowhere, 1, nowhere}},
	{"keyctl", unix.SYS_KEYCTL, [6]uintptr{0, 0xfffffffd, 0}},
	{"add_key", unix.SYS_ADD_KEY, [6]uintptr{nowhere, nowhere, nowhere, 1}},
	{"request_key", unix.SYS_REQUEST_KEY, [6]uintptr{nowhere, nowhere, nowhere}},
	{"bpf", unix.SYS_BPF, [6]uintptr{9999, nowhere, 8}},
	{"perf_event_open", unix.SYS_PERF_EVENT_OPEN, [6]uintptr{nowhere}},
	{"userfaultfd", unix.SYS_USERFAULTFD, [6]uintptr{0xffff}},
	{"fanotify_init", unix.SYS_FANOTIFY_INIT, [6]uintptr{0xffffffff}},
	{"kexec_load", unix.SYS_KEXEC_LOAD, [6]uintptr{0, 1 << 30, nowhere, 0xffff}},
	{"init_module", unix.SYS_INIT_MODULE, [6]uintptr{nowhere, 1, nowhere}},
	{"finit_module", unix.SYS_FINIT_MODULE, [6]uintptr{none, nowhere}},
	{"delete_module", unix.SYS_DELETE_MODULE, [6]uintptr{nowhere}},
	{"mount", unix.SYS_MOUNT, [6]uintptr{nowhere, nowhere, nowhere}},
	{"umount2", unix.SYS_UMOUNT2, [6]uintptr{nowhere}},
	{"pivot_root", unix.SYS_PIVOT_ROOT, [6]uintptr{nowhere, nowhere}},
	{"chroot", unix.SYS_CHROOT, [6]uintptr{nowhere}},
	{"fsopen", unix.SYS_FSOPEN, [6]uintptr{nowhere}},
	{"fsmount", unix.SYS_FSMOUNT, [6]uintptr{none}},
	{"open_tree", unix.SYS_OPEN_TREE, [6]uintptr{none, nowhere}},
	{"move_mount", unix.SYS_MOVE_MOUNT, [6]uintptr{none, nowhere, none, nowhere}},
	{"mount_setattr", unix.SYS_MOUNT_SETATTR, [6]uintptr{none, nowhere}},
	{"unshare users", unix.SYS_UNSHARE, [6]uintptr{unix.CLONE_NEWUSER}},
	{"unshare nothing", unix.SYS_UNSHARE, [6]uintptr{0}},
	{"setns", unix.SYS_SETNS, [6]uintptr{none}},
	{"open_by_handle_at", unix.SYS_OPEN_BY_HANDLE_AT, [6]uintptr{none, nowhere}},
	{"name_to_handle_at", unix.SYS_NAME_TO_HANDLE_AT, [6]uintptr{none, nowhere}},
	{"process_vm_readv", unix.SYS_PROCESS_VM_READV, [6]uintptr{1}},
	{"process_vm_writev", unix.SYS_PROCESS_VM_WRITEV, [6]uintptr{1}},
	{"process_madvise", unix.SYS_PROCESS_MADVISE, [6]uintptr{none}},
	{"pidfd_getfd", unix.SYS_PIDFD_GETFD, [6]uintptr{none}},
	{"kcmp", unix.SYS_KCMP, [6]uintptr{1, 1, 9999}},
	{"mbind", unix.SYS_MBIND, [6]uintptr{0, 0, 9999}},
	{"set_mempolicy", unix.SYS_SET_MEMPOLICY, [6]uintptr{9999}},
	{"move_pages", unix.SYS_MOVE_PAGES, [6]uintptr{0}},
	{"settimeofday", unix.SYS_SETTIMEOFDAY, [6]uintptr{nowhere}},
	{"clock_settime", unix.SYS_CLOCK_SETTIME, [6]uintptr{9999, nowhere}},
	{"adjtimex", unix.SYS_ADJTIMEX, [6]uintptr{nowhere}},
	{"sethostname", unix.SYS_SETHOSTNAME, [6]uintptr{nowhere, 1}},
	{"reboot", unix.SYS_REBOOT, [6]uintptr{0, 0, 0}},
	{"swapon", unix.SYS_SWAPON, [6]uintptr{nowhere}},
	{"acct", unix.SYS_ACCT, [6]uintptr{nowhere}},
	{"quotactl", unix.SYS_QUOTACTL, [6]uintptr{0xffffffff, nowhere}},
	{"syslog", unix.SYS_SYSLOG, [6]uintptr{10}},
	{"mknodat block device", unix.SYS_MKNODAT, [6]uintptr{none, nowhere, unix.S_IFBLK}},
	{"mknodat character device", unix.SYS_MKNODAT, [6]uintptr{none, nowhere, unix.S_IFCHR}},
	{"personality of old programs", unix.SYS_PERSONALITY, [6]uintptr{0x0400000}}, // READ_IMPLIES_EXEC
	{"socket packet", unix.SYS_SOCKET, [6]uintptr{unix.AF_PACKET, unix.SOCK_RAW, 0}},
	{"socket packet, high bits", unix.SYS_SOCKET, [6]uintptr{1<<32 | unix.AF_PACKET, unix.SOCK_RAW, 0}},
	{"socket vsock", unix.SYS_SOCKET, [6]uintptr{unix.AF_VSOCK, unix.SOCK_STREAM, 0}},
	{"socket alg", unix.SYS_SOCKET, [6]uintptr{unix.AF_ALG, unix.SOCK_SEQPACKET, 0}},
	{"socket xdp", unix.SYS_SOCKET, [6]uintptr{unix.AF_XDP, unix.SOCK_RAW, 0}},
	{"socket bluetooth", unix.SYS_SOCKET, [6]uintptr{unix.AF_BLUETOOTH, unix.SOCK_RAW, 0}},
	{"socket can", unix.SYS_SOCKET, [6]uintptr{unix.AF_CAN, unix.SOCK_RAW, 0}},
	{"socket tipc", unix.SYS_SOCKET, [6]uintptr{unix.AF_TIPC, unix.SOCK_STREAM, 0}},
	{"socket raw", unix.SYS_SOCKET, [6]uintptr{unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP}},
	{"socket raw 6", unix.SYS_SOCKET, [6]uintptr{unix.AF_INET6, unix.SOCK_RAW | unix.SOCK_CLOEXEC, unix.IPPROTO_ICMPV6}},
	{"socket sctp", unix.SYS_SOCKET, [6]uintptr{unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_SCTP}},
	{"socket netfilter", unix.SYS_SOCKET, [6]uintptr{unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_NETFILTER}},
	{"socket netlink audit", unix.SYS_SOCKET, [6]uintptr{unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_AUDIT}},
	{"socketpair tipc", unix.SYS_SOCKETPAIR, [6]uintptr{unix.AF_TIPC, unix.SOCK_STREAM, 0, nowhere}},
	{"clone with users", unix.SYS_CLONE,
		[6]uintptr{unix.CLONE_NEWUSER | unix.CLONE_THREAD}}, // which is no clone at all, if it got through
	{"clone with mounts", unix.SYS_CLONE, [6]uintptr{unix.CLONE_NEWNS | unix.CLONE_FS}},
}

// none is no descriptor.
const none = ^uintptr(0)

func main() {
	groups := map[string]func(){"closed": tryClosed, "open": tryOpen, "walls": tryWalls}
	for _, name := range os.Args[1:] {
		groups[name]()
	}
}

func tryClosed() {
	for _, c := range closed {
		_, _, errno := unix.Syscall6(c.number, c.args[0], c.args[1], c.args[2], c.args[3], c.args[4], c.args[5])
		report(c.name, errno)
	}
	_, _, errno := unix.Syscall(unix.SYS_CLONE3, nowhere, 0, 0)
	report("clone3", errno)
}

// report prints the outcome of a try.
func report(name string, err error) {
	word := "ok"
	if errno, is := err.(unix.Errno); is && errno != 0 {
		word = unix.ErrnoName(errno)
	} else if err != nil && !is {
		word = strings.ReplaceAll(err.Error(), "\n", " ")
	}
	fmt.Printf("%s: %s\n", name, word)
}
