package sandbox

import "golang.org/x/sys/unix"

const (
	auditArch    = unix.AUDIT_ARCH_AARCH64
	otherNumbers = 0
	bigEndian    = false
)

var (
	deniedHere  = []uintptr{unix.SYS_KEXEC_FILE_LOAD}
	changesHere []uintptr
	watchesHere []uintptr
	modesHere   []modeCall
	opensHere   []openCall
)
