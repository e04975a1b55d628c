//go:build !unix

package vfs

import (
	"errors"
	"io/fs"
	"syscall"
)

// nonblock is nothing where directories hold no FIFOs.
const nonblock = 0

// notEmpty is ERROR_DIR_NOT_EMPTY of Windows, crossDevice ERROR_NOT_SAME_DEVICE.
const (
	notEmpty    = syscall.Errno(145)
	crossDevice = syscall.Errno(17)
)

func fromErrno(err error) error {
	switch {
	case errors.Is(err, notEmpty):
		return ErrNotEmpty
	case errors.Is(err, crossDevice):
		return ErrCrossDevice
	}
	return nil
}

// identity returns what tells two real files apart; here nothing does.
func identity(fs.FileInfo) (dev, ino uint64, links int) { return 1, 0, 1 }
