package sandbox

import (
	"errors"
	"os"
	"runtime"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"
)

// denied are system calls that no program needs and that reach other processes, the kernel, or beyond the sandbox:
// io_uring and vsock would bypass this filter.
var denied = []uintptr{
	unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_KCMP, unix.SYS_PIDFD_GETFD,
	unix.SYS_PROCESS_MADVISE,
	unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER,
	unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY,
	unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_CHROOT, unix.SYS_MOUNT_SETATTR, unix.SYS_MOVE_MOUNT,
	unix.SYS_OPEN_TREE,
	unix.SYS_FSOPEN, unix.SYS_FSCONFIG, unix.SYS_FSMOUNT, unix.SYS_FSPICK,
	unix.SYS_UNSHARE, unix.SYS_SETNS,
	unix.SYS_BPF, unix.SYS_USERFAULTFD, unix.SYS_PERF_EVENT_OPEN, unix.SYS_FANOTIFY_INIT, unix.SYS_FANOTIFY_MARK,
	unix.SYS_NAME_TO_HANDLE_AT, unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_LOOKUP_DCOOKIE,
	unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE, unix.SYS_KEXEC_LOAD, unix.SYS_REBOOT,
	unix.SYS_SWAPON, unix.SYS_SWAPOFF, unix.SYS_ACCT, unix.SYS_QUOTACTL, unix.SYS_QUOTACTL_FD, unix.SYS_SYSLOG,
	unix.SYS_VHANGUP,
	unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME, unix.SYS_ADJTIMEX, unix.SYS_CLOCK_ADJTIME, unix.SYS_SETHOSTNAME,
	unix.SYS_SETDOMAINNAME,
	unix.SYS_MIGRATE_PAGES, unix.SYS_MOVE_PAGES, unix.SYS_NFSSERVCTL,
}

// changes are calls that change a file by name without opening it, which Landlock does not check. Without mounts they
// are refused, because the file may be outside of the root.
var changes = []uintptr{
	unix.SYS_FCHMODAT, unix.SYS_FCHMODAT2, unix.SYS_FCHOWNAT, unix.SYS_SETXATTR, unix.SYS_LSETXATTR,
	unix.SYS_REMOVEXATTR, unix.SYS_LREMOVEXATTR, sysSetxattrat, sysRemovexattrat, sysFileSetattr,
}

// openChanges are calls that change an open file without writing to it. A file opened for reading may belong to the
// user and not be in the root. Setting times is allowed: hardly a program would work without.
var openChanges = []uintptr{unix.SYS_FCHMOD, unix.SYS_FCHOWN, unix.SYS_FSETXATTR, unix.SYS_FREMOVEXATTR}

// looks are calls that read extended attributes by name, which Landlock does not check. Without mounts they are
// answered as by a file system without attributes.
var looks = []uintptr{unix.SYS_GETXATTR, unix.SYS_LGETXATTR, unix.SYS_LISTXATTR, unix.SYS_LLISTXATTR, sysGetxattrat,
	sysListxattrat, sysFileGetattr}

// watches are calls that watch a file by name, which Landlock does not check either. Programs fall back to polling.
var watches = []uintptr{unix.SYS_INOTIFY_INIT1, unix.SYS_INOTIFY_ADD_WATCH}

// shared are calls for System V IPC and message queues. Without an IPC namespace they would reach those of the whole
// machine.
var shared = []uintptr{
	unix.SYS_SHMGET, unix.SYS_SHMAT, unix.SYS_SHMCTL, unix.SYS_MSGGET, unix.SYS_MSGSND, unix.SYS_MSGRCV, unix.SYS_MSGCTL,
	unix.SYS_SEMGET, unix.SYS_SEMOP, unix.SYS_SEMTIMEDOP, unix.SYS_SEMCTL, unix.SYS_MQ_OPEN, unix.SYS_MQ_UNLINK,
}

// Calls that are newer than package unix; the numbers are the same on all architectures.
const (
	sysSetxattrat    = 463
	sysGetxattrat    = 464
	sysListxattrat   = 465
	sysRemovexattrat = 466
	sysFileGetattr   = 468
	sysFileSetattr   = 469
)

// newSpaces are the flags of clone that create namespaces; in a user namespace a program would have capabilities
// again.
const newSpaces = unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNS | unix.CLONE_NEWNET | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP

// Offsets in struct seccomp_data. Arguments are 64 bits wide, but the kernel uses only the low half of those that are
// checked here.
const (
	atNumber = 0
	atArch   = 4
	atArgs   = 16
)

// A program is a BPF program of steps that each either return or continue with the call's number loaded.
type program []unix.SockFilter

func (p *program) add(code uint16, k uint32, jt, jf uint8) {
	*p = append(*p, unix.SockFilter{Code: code, K: k, Jt: jt, Jf: jf})
}

const (
	loadWord = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
	ifEqual  = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
	ifBits   = unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K
	ifAbove  = unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K
	answer   = unix.BPF_RET | unix.BPF_K
)

func (p *program) fail(errno unix.Errno) {
	p.add(answer, unix.SECCOMP_RET_ERRNO|uint32(errno), 0, 0)
}

// refuse refuses a call, whatever its arguments.
func (p *program) refuse(number uintptr, errno unix.Errno) {
	p.add(ifEqual, uint32(number), 0, 1)
	p.fail(errno)
}

// arg returns the offsets of the low and high half of an argument.
func arg(n uint32) (low, high uint32) {
	low, high = atArgs+8*n, atArgs+8*n+4
	if bigEndian {
		low, high = high, low
	}
	return low, high
}

// unless refuses a call whose argument is none of the values.
func (p *program) unless(number uintptr, n uint32, errno unix.Errno, values ...uint32) {
	p.add(ifEqual, uint32(number), 0, uint8(len(values)+3))
	low, _ := arg(n)
	p.add(loadWord, low, 0, 0)
	for i, v := range values {
		p.add(ifEqual, v, uint8(len(values)-i), 0)
	}
	p.fail(errno)
	p.add(loadWord, atNumber, 0, 0)
}

// when refuses a call whose argument is one of the values.
func (p *program) when(number uintptr, n uint32, errno unix.Errno, values ...uint32) {
	for _, v := range values {
		p.add(ifEqual, uint32(number), 0, 4)
		low, _ := arg(n)
		p.add(loadWord, low, 0, 0)
		p.add(ifEqual, v, 0, 1)
		p.fail(errno)
		p.add(loadWord, atNumber, 0, 0)
	}
}

// whenBits refuses a call whose argument has one of the bits.
func (p *program) whenBits(number uintptr, n uint32, errno unix.Errno, bits uint32) {
	p.add(ifEqual, uint32(number), 0, 4)
	low, _ := arg(n)
	p.add(loadWord, low, 0, 0)
	p.add(ifBits, bits, 0, 1)
	p.fail(errno)
	p.add(loadWord, atNumber, 0, 0)
}

// whenSet refuses a call whose argument, a pointer, is not nil.
func (p *program) whenSet(number uintptr, n uint32, errno unix.Errno) {
	p.add(ifEqual, uint32(number), 0, 6)
	low, high := arg(n)
	p.add(loadWord, low, 0, 0)
	p.add(ifEqual, 0, 0, 2)
	p.add(loadWord, high, 0, 0)
	p.add(ifEqual, 0, 1, 0)
	p.fail(errno)
	p.add(loadWord, atNumber, 0, 0)
}

// setuidBits are the setuid and setgid bits. Otherwise a program could leave a setuid file in the root for other
// users.
const setuidBits = unix.S_ISUID | unix.S_ISGID

// makes are the flags of open that make the mode significant.
const makes = unix.O_CREAT | unix.O_TMPFILE&^unix.O_DIRECTORY

// modes are calls that set a mode, with the index of that argument.
var modes = []modeCall{{unix.SYS_FCHMOD, 1}, {unix.SYS_FCHMODAT, 2}, {unix.SYS_FCHMODAT2, 2}, {unix.SYS_MKNODAT, 2}}

type modeCall struct {
	number uintptr
	arg    uint32
}

// opens are calls that may create a file, depending on their flags.
var opens = []openCall{{unix.SYS_OPENAT, 2, 3}}

type openCall struct {
	number      uintptr
	flags, mode uint32
}

// refuseSetuid refuses modes with setuid bits. The arguments of openat2 are in memory; programs fall back to openat.
func (p *program) refuseSetuid() {
	p.refuse(unix.SYS_OPENAT2, unix.ENOSYS)
	for _, c := range slices.Concat(modes, modesHere) {
		p.whenBits(c.number, c.arg, unix.EPERM, setuidBits)
	}
	for _, c := range slices.Concat(opens, opensHere) {
		p.add(ifEqual, uint32(c.number), 0, 6)
		low, _ := arg(c.flags)
		p.add(loadWord, low, 0, 0)
		p.add(ifBits, makes, 0, 3)
		low, _ = arg(c.mode)
		p.add(loadWord, low, 0, 0)
		p.add(ifBits, setuidBits, 0, 1)
		p.fail(unix.EPERM)
		p.add(loadWord, atNumber, 0, 0)
	}
}

// filter installs the filter.
func (o *setup) filter(r *Report) error {
	if auditArch == 0 {
		return errors.New("there is no filter for " + runtime.GOARCH)
	}
	p := o.program()
	prog := unix.SockFprog{Len: uint16(len(p)), Filter: &p[0]}
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&prog)))
	if errno != 0 {
		return errno
	}
	r.Seccomp = true
	return nil
}

func (o *setup) program() program {
	var p program
	p.add(loadWord, atArch, 0, 0)
	p.add(ifEqual, auditArch, 1, 0)
	p.add(answer, unix.SECCOMP_RET_KILL_PROCESS, 0, 0) // the numbers of another architecture mean other calls
	p.add(loadWord, atNumber, 0, 0)
	if otherNumbers != 0 {
		p.add(ifAbove, otherNumbers, 0, 1)
		p.fail(unix.ENOSYS)
	}
	p.refuse(unix.SYS_CLONE3, unix.ENOSYS) // its flags are in memory; programs fall back to clone
	p.whenBits(unix.SYS_CLONE, 0, unix.EPERM, newSpaces)
	p.when(unix.SYS_IOCTL, 1, unix.EPERM, unix.TIOCSTI, unix.TIOCLINUX, unix.TIOCSCTTY)
	for _, number := range slices.Concat(denied, deniedHere) {
		p.refuse(number, unix.EPERM)
	}
	p.refuseSetuid()
	// Limits of another process: a CPU limit of zero would kill the helper.
	p.unless(unix.SYS_PRLIMIT64, 0, unix.EPERM, 0)
	if !o.Namespaces {
		o.refuseShared(&p)
	}
	o.sockets(&p)
	p.add(answer, unix.SECCOMP_RET_ALLOW, 0, 0)
	return p
}

// refuseShared refuses what reaches beyond a sandbox without namespaces.
func (o *setup) refuseShared(p *program) {
	for _, number := range slices.Concat(changes, changesHere, shared) {
		p.refuse(number, unix.EPERM)
	}
	for _, number := range looks {
		p.refuse(number, unix.EOPNOTSUPP)
	}
	for _, number := range slices.Concat(watches, watchesHere) {
		p.refuse(number, unix.ENOSYS)
	}
	p.whenSet(unix.SYS_UTIMENSAT, 1, unix.EPERM)
	if o.ownsMore() {
		for _, number := range openChanges {
			p.refuse(number, unix.EPERM)
		}
	}
	// Priority and CPU affinity of other processes.
	for _, number := range []uintptr{unix.SYS_SCHED_SETAFFINITY, unix.SYS_SCHED_SETSCHEDULER, unix.SYS_SCHED_SETPARAM,
		unix.SYS_SCHED_SETATTR} {
		p.unless(number, 0, unix.EPERM, 0)
	}
	p.unless(unix.SYS_SETPRIORITY, 0, unix.EPERM, unix.PRIO_PROCESS)
	p.unless(unix.SYS_SETPRIORITY, 1, unix.EPERM, 0)
	p.unless(unix.SYS_IOPRIO_SET, 0, unix.EPERM, ioprioProcess)
	p.unless(unix.SYS_IOPRIO_SET, 1, unix.EPERM, 0)
}

// ioprioProcess is IOPRIO_WHO_PROCESS.
const ioprioProcess = 1

// ownsMore reports whether read-only files can belong to the user, who could then change their metadata.
func (o *setup) ownsMore() bool { return os.Getuid() == 0 || len(o.Readable) > 0 }

// sockets allows only sockets that cannot leave the sandbox. Without its own file tree, a local socket could reach
// any service of the machine.
func (o *setup) sockets(p *program) {
	var families []uint32
	if o.Namespaces {
		families = append(families, unix.AF_UNIX, unix.AF_NETLINK)
	}
	if o.Namespaces || o.Network {
		families = append(families, unix.AF_INET, unix.AF_INET6)
	}
	p.unless(unix.SYS_SOCKET, 0, unix.EAFNOSUPPORT, families...)
	// Raw sockets need a capability that nobody has; packet sockets are another family; of netlink only the list of
	// interfaces is needed.
	p.netlink()
}

// netlink allows only NETLINK_ROUTE.
func (p *program) netlink() {
	p.add(ifEqual, unix.SYS_SOCKET, 0, 6)
	low, _ := arg(0)
	p.add(loadWord, low, 0, 0)
	p.add(ifEqual, unix.AF_NETLINK, 0, 3)
	low, _ = arg(2)
	p.add(loadWord, low, 0, 0)
	p.add(ifEqual, unix.NETLINK_ROUTE, 1, 0)
	p.fail(unix.EAFNOSUPPORT)
	p.add(loadWord, atNumber, 0, 0)
}
