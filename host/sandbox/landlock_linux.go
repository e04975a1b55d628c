package sandbox

import (
	"errors"
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// landlockABI returns the kernel's Landlock version, or zero.
func landlockABI() int {
	n, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0
	}
	return int(n)
}

const (
	mayRead = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR
	// No devices, not even in the root.
	mayWrite = unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE |
		unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG | unix.LANDLOCK_ACCESS_FS_MAKE_SOCK |
		unix.LANDLOCK_ACCESS_FS_MAKE_FIFO | unix.LANDLOCK_ACCESS_FS_MAKE_SYM | refer | truncate
	onFiles = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_READ_FILE | truncate | ioctl
	all     = mayRead | mayWrite | unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK | ioctl

	refer    = unix.LANDLOCK_ACCESS_FS_REFER     // since version 2
	truncate = unix.LANDLOCK_ACCESS_FS_TRUNCATE  // since version 3
	ioctl    = unix.LANDLOCK_ACCESS_FS_IOCTL_DEV // since version 5
)

// handled returns the rights that a version supports.
func handled(abi int) (rights uint64) {
	rights = all
	for _, r := range []struct {
		right uint64
		since int
	}{{refer, 2}, {truncate, 3}, {ioctl, 5}} {
		if abi < r.since {
			rights &^= r.right
		}
	}
	return rights
}

// rulesetAttr is the kernel's struct, as of version 6.
type rulesetAttr struct{ files, network, scoped uint64 }

// applyLandlock restricts this thread and its children to what is granted.
func (o *setup) applyLandlock(r *Report) error {
	if o.Network && o.ABI < 6 {
		r.Missing = append(r.Missing,
			"abstract sockets: this kernel lets programs with a network reach those of other programs")
	}
	if !o.Namespaces && o.ABI < 6 {
		r.Missing = append(r.Missing, "signals: this kernel lets programs end other processes of the user")
	}
	if o.ABI == 0 {
		return nil
	}
	attr := rulesetAttr{files: handled(o.ABI)}
	size := unsafe.Sizeof(attr.files)
	if o.ABI >= 4 {
		size += unsafe.Sizeof(attr.network)
		if !o.Network && !o.Namespaces {
			attr.network = unix.LANDLOCK_ACCESS_NET_BIND_TCP | unix.LANDLOCK_ACCESS_NET_CONNECT_TCP
		}
	}
	if o.ABI >= 6 {
		size += unsafe.Sizeof(attr.scoped)
		attr.scoped = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL
	}
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), size, 0)
	if errno != 0 {
		return errno
	}
	defer unix.Close(int(fd))
	for _, g := range o.grants() {
		if err := g.add(int(fd), attr.files); err != nil {
			return fmt.Errorf("%s: %w", g.path, err)
		}
	}
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, fd, 0, 0); errno != 0 {
		return errno
	}
	return nil
}

// A grant is a path and the rights for everything below it.
type grant struct {
	path   string
	rights uint64
}

// grants lists the grants of the plan.
func (o *setup) grants() []grant {
	var list []grant
	for _, path := range systemPaths() {
		list = append(list, grant{path, mayRead})
	}
	for _, path := range o.Readable {
		list = append(list, grant{path, mayRead})
	}
	for _, path := range devices {
		list = append(list, grant{path, unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | ioctl})
	}
	temp := o.Temp
	if o.Namespaces {
		temp = "/tmp"
		list = append(list, grant{"/proc", mayRead}, grant{"/dev", unix.LANDLOCK_ACCESS_FS_READ_DIR},
			grant{"/dev/shm", mayRead | mayWrite}, grant{"/", unix.LANDLOCK_ACCESS_FS_READ_DIR})
	} else {
		for _, path := range harmlessProc {
			list = append(list, grant{path, unix.LANDLOCK_ACCESS_FS_READ_FILE})
		}
	}
	return append(list, grant{temp, mayRead | mayWrite}, grant{o.Root, mayRead | mayWrite})
}

// add adds a rule. A missing path needs none.
func (g grant) add(ruleset int, known uint64) error {
	fd, err := unix.Open(g.path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	var info unix.Stat_t
	if err := unix.Fstat(fd, &info); err != nil {
		return err
	}
	rights := g.rights & known
	if info.Mode&unix.S_IFMT != unix.S_IFDIR {
		rights &= onFiles
	}
	beneath := unix.LandlockPathBeneathAttr{Allowed_access: rights, Parent_fd: int32(fd)}
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(ruleset), unix.LANDLOCK_RULE_PATH_BENEATH,
		uintptr(unsafe.Pointer(&beneath)), 0, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}
