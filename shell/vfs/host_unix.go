//go:build unix

package vfs

import (
	"errors"
	"io/fs"
	"syscall"
)

// nonblock keeps an open from waiting for the other end of a FIFO that was
// put in a file's place.
const nonblock = syscall.O_NONBLOCK

var errnos = map[syscall.Errno]error{
	syscall.EISDIR: ErrIsDir, syscall.ENOTDIR: ErrNotDir, syscall.ENOTEMPTY: ErrNotEmpty,
	syscall.ELOOP: ErrLoop, syscall.EROFS: ErrReadOnly, syscall.EPERM: errNotGranted,
	syscall.EXDEV: ErrCrossDevice, syscall.EINVAL: ErrInvalid, syscall.EBUSY: errBusy,
	syscall.ENAMETOOLONG: errNameTooLong, syscall.ENOSPC: errNoSpace, syscall.EBADF: errBadFile,
}

func fromErrno(err error) error {
	var e syscall.Errno
	if errors.As(err, &e) {
		return errnos[e]
	}
	return nil
}

// identity returns what tells two real files apart.
func identity(info fs.FileInfo) (dev, ino uint64, links int) {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(s.Dev), uint64(s.Ino), int(s.Nlink)
	}
	return 1, 0, 1
}
