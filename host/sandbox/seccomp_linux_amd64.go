package sandbox

import "golang.org/x/sys/unix"

const (
	auditArch    = unix.AUDIT_ARCH_X86_64
	otherNumbers = 0x40000000 // start of the x32 calls
	bigEndian    = false
)

var (
	deniedHere = []uintptr{unix.SYS_IOPL, unix.SYS_IOPERM, unix.SYS_MODIFY_LDT, unix.SYS_KEXEC_FILE_LOAD, unix.SYS_USELIB,
		unix.SYS_USTAT, unix.SYS_SYSFS}
	watchesHere = []uintptr{unix.SYS_INOTIFY_INIT}
	modesHere   = []modeCall{{unix.SYS_CHMOD, 1}, {unix.SYS_MKNOD, 1}, {unix.SYS_CREAT, 1}}
	opensHere   = []openCall{{unix.SYS_OPEN, 1, 2}}
	changesHere = []uintptr{unix.SYS_CHMOD, unix.SYS_CHOWN, unix.SYS_LCHOWN, unix.SYS_UTIME, unix.SYS_UTIMES,
		unix.SYS_FUTIMESAT}
)
