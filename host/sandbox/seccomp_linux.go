package sandbox

import (
	"errors"
	"os"
	"runtime"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"
)

// denied are the system calls that no program in a cage needs and that reach into other processes, the kernel, or
// past the walls: io_uring and vsock would go round this very filter.
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

// changes are the calls that change a file by its name without opening it, which Landlock does not see. Without
// mounts of our own they are refused: there is no telling whether the file lies in the root.
var changes = []uintptr{
	unix.SYS_FCHMODAT, unix.SYS_FCHMODAT2, unix.SYS_FCHOWNAT, unix.SYS_SETXATTR, unix.SYS_LSETXATTR,
	unix.SYS_REMOVEXATTR, unix.SYS_LREMOVEXATTR, sysSetxattrat, sysRemovexattrat, sysFileSetattr,
}

// openChanges are the calls that change an open file without writing to it. What was opened for reading may be ours
// and yet not in the root. The call that sets times is not among them: hardly a program would work.
var openChanges = []uintptr{unix.SYS_FCHMOD, unix.SYS_FCHOWN, unix.SYS_FSETXATTR, unix.SYS_FREMOVEXATTR}

// looks are the calls that read what a file carries besides its contents, by its name, which Landlock does not see.
// Without mounts of our own they are answered as by a file system that has no such thing.
var looks = []uintptr{unix.SYS_GETXATTR, unix.SYS_LGETXATTR, unix.SYS_LISTXATTR, unix.SYS_LLISTXATTR, sysGetxattrat,
	sysListxattrat, sysFileGetattr}

// watches are the calls that report what happens to a file or directory, by its name, which Landlock does not see
// either. Programs that get none look themselves from time to time.
var watches = []uintptr{unix.SYS_INOTIFY_INIT1, unix.SYS_INOTIFY_ADD_WATCH}

// shared are the calls by which processes share memory under names that are no
// files. Without a namespace for it, those of the whole machine are meant.
var shared = []uintptr{
	unix.SYS_SHMGET, unix.SYS_SHMAT, unix.SYS_SHMCTL, unix.SYS_MSGGET, unix.SYS_MSGSND, unix.SYS_MSGRCV, unix.SYS_MSGCTL,
	unix.SYS_SEMGET, unix.SYS_SEMOP, unix.SYS_SEMTIMEDOP, unix.SYS_SEMCTL, unix.SYS_MQ_OPEN, unix.SYS_MQ_UNLINK,
}

// Calls that are newer than our tables, with the number they have everywhere.
const (
	sysSetxattrat    = 463
	sysGetxattrat    = 464
	sysListxattrat   = 465
	sysRemovexattrat = 466
	sysFileGetattr   = 468
	sysFileSetattr   = 469
)

// newSpaces are the flags of clone that make namespaces; in one of its own a program would have capabilities again.
const newSpaces = unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNS | unix.CLONE_NEWNET | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP

// Where a filter finds things, see struct seccomp_data. Arguments are 64 bits
// wide, but the kernel uses the low half of those that we look at, so we must too.
const (
	atNumber = 0
	atArch   = 4
	atArgs   = 16
)

// A program for the kernel, put together from steps that each either answer or
// fall through to the next with the call's number loaded.
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

// refuse answers a call, whatever its arguments.
func (p *program) refuse(number uintptr, errno unix.Errno) {
	p.add(ifEqual, uint32(number), 0, 1)
	p.fail(errno)
}

// arg returns the place of the low, and of the high half of an argument.
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

// setuidBits are the bits of a mode that lend the rights of the owner, or of the group, to whoever runs the file. A
// program of the user's own could be left in the root for others of the machine.
const setuidBits = unix.S_ISUID | unix.S_ISGID

// makes are the bits of the flags of open with which the mode counts; without them it may be anything.
const makes = unix.O_CREAT | unix.O_TMPFILE&^unix.O_DIRECTORY

// modes are the calls that give a file a mode, with the argument it is.
var modes = []modeCall{{unix.SYS_FCHMOD, 1}, {unix.SYS_FCHMODAT, 2}, {unix.SYS_FCHMODAT2, 2}, {unix.SYS_MKNODAT, 2}}

type modeCall struct {
	number uintptr
	arg    uint32
}

// opens are the calls that make a file if their flags say so.
var opens = []openCall{{unix.SYS_OPENAT, 2, 3}}

type openCall struct {
	number      uintptr
	flags, mode uint32
}

// refuseSetuid refuses modes that lend rights. Those of openat2 cannot be seen from here;
// programs fall back to openat.
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

// filter has the kernel refuse what the cage must not do.
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
	p.refuse(unix.SYS_CLONE3, unix.ENOSYS) // its flags cannot be seen from here; programs fall back to clone
	p.whenBits(unix.SYS_CLONE, 0, unix.EPERM, newSpaces)
	p.when(unix.SYS_IOCTL, 1, unix.EPERM, unix.TIOCSTI, unix.TIOCLINUX, unix.TIOCSCTTY)
	for _, number := range slices.Concat(denied, deniedHere) {
		p.refuse(number, unix.EPERM)
	}
	p.refuseSetuid()
	// The limits of another process: with no time at all the helper that starts programs would be killed.
	p.unless(unix.SYS_PRLIMIT64, 0, unix.EPERM, 0)
	if !o.Namespaces {
		o.refuseShared(&p)
	}
	o.sockets(&p)
	p.add(answer, unix.SECCOMP_RET_ALLOW, 0, 0)
	return p
}

// refuseShared refuses what reaches beyond the cage where there is no wall of namespaces round it.
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
	// A priority or a processor of another process, or of all processes of the user.
	for _, number := range []uintptr{unix.SYS_SCHED_SETAFFINITY, unix.SYS_SCHED_SETSCHEDULER, unix.SYS_SCHED_SETPARAM,
		unix.SYS_SCHED_SETATTR} {
		p.unless(number, 0, unix.EPERM, 0)
	}
	p.unless(unix.SYS_SETPRIORITY, 0, unix.EPERM, unix.PRIO_PROCESS)
	p.unless(unix.SYS_SETPRIORITY, 1, unix.EPERM, 0)
	p.unless(unix.SYS_IOPRIO_SET, 0, unix.EPERM, ioprioProcess)
	p.unless(unix.SYS_IOPRIO_SET, 1, unix.EPERM, 0)
}

// ioprioProcess is for ioprio_set what PRIO_PROCESS is for setpriority.
const ioprioProcess = 1

// ownsMore reports whether files that may only be read can belong to the user of
// the cage, who may then change more of them than their contents.
func (o *setup) ownsMore() bool { return os.Getuid() == 0 || len(o.Readable) > 0 }

// sockets permits the kinds of sockets that cannot leave the cage. Without a
// file tree of our own a local socket could lead to any service of the machine.
func (o *setup) sockets(p *program) {
	var families []uint32
	if o.Namespaces {
		families = append(families, unix.AF_UNIX, unix.AF_NETLINK)
	}
	if o.Namespaces || o.Network {
		families = append(families, unix.AF_INET, unix.AF_INET6)
	}
	p.unless(unix.SYS_SOCKET, 0, unix.EAFNOSUPPORT, families...)
	// Raw sockets need a capability that nobody has; packet sockets are
	// another family; of netlink only the list of interfaces is needed.
	p.netlink()
}

// netlink permits of that family the protocol that lists interfaces.
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
