package ownerfile

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"time"
)

// A LockedFile is locked by this process until it is released or the process ends.
type LockedFile struct{ file *os.File }

// Hold creates and locks a file with text in it.
func Hold(path string, text []byte) (*LockedFile, error) {
	f, err := Open(path, os.O_CREATE|os.O_EXCL|os.O_RDWR)
	if err != nil {
		return nil, err
	}
	TryLock(f)
	if _, err := f.Write(text); err != nil {
		return nil, errors.Join(refuse(path, "", "", err), os.Remove(path), f.Close())
	}
	return &LockedFile{f}, nil
}

// Release removes the file.
func (h *LockedFile) Release() error { return errors.Join(os.Remove(h.file.Name()), h.file.Close()) }

// Look reads a locked file; left reports whether its process is gone. Without lock support, it is if the file is older
// than most.
func Look(path string, most time.Duration) (text []byte, left bool, err error) {
	f, err := Open(path, os.O_RDWR)
	if err != nil {
		return nil, false, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, false, refuse(path, "", "", err)
	}
	text, err = io.ReadAll(f)
	return text, TryLock(f) || time.Since(info.ModTime()) > most, err
}

// Forget removes a file of a dead process; a missing one is no error.
func Forget(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return refuse(path, "", "", err)
	}
	return nil
}
