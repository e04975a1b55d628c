package vfs

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// fileBackend is the backend of one real file. Of the directory it is in only this
// name is ever used, and never followed: a symbolic link that takes the
// file's place after the grant is refused.
type fileBackend struct {
	dir  *os.Root
	name string
	key  string
}

func openFileBackend(real string, write bool) (*fileBackend, error) {
	full, err := resolveReal(real, write)
	switch {
	case err != nil && write:
		return nil, grantFault(real, "", "its directory must exist", translate(err))
	case err != nil:
		return nil, grantFault(real, "", "name a file that exists", translate(err))
	}
	if info, err := os.Lstat(full); err == nil && info.IsDir() {
		return nil, grantFault(real, "it is a directory",
			"name the files in it; hako sh takes directories, with --root (to read) or --rw (to write)", nil)
	} else if err == nil && !info.Mode().IsRegular() {
		return nil, grantFault(real, "it is not a regular file", "copy what it gives into a regular file first", nil)
	}
	dir, err := os.OpenRoot(filepath.Dir(full))
	if err != nil {
		return nil, grantFault(real, "", "the directory must exist", translate(err))
	}
	return &fileBackend{dir, filepath.Base(full), full}, nil
}

// resolveReal returns where a real name leads. With create the last element
// may be missing.
func resolveReal(real string, create bool) (string, error) {
	full, err := filepath.Abs(real)
	if err != nil {
		return "", err
	}
	found, err := filepath.EvalSymlinks(full)
	if err == nil || !create || !errors.Is(err, fs.ErrNotExist) {
		return found, err
	}
	if _, lerr := os.Lstat(full); lerr == nil { // a link that leads nowhere
		return "", err
	}
	dir, err := filepath.EvalSymlinks(filepath.Dir(full))
	return filepath.Join(dir, filepath.Base(full)), err
}

func (s *fileBackend) lstat(rel string) (Info, error) {
	info, err := s.dir.Lstat(s.name)
	if err != nil {
		return Info{}, translate(err)
	}
	if !info.Mode().IsRegular() {
		return Info{}, special(s.name, info.Mode())
	}
	return realInfo(s.name, info), nil
}

func (s *fileBackend) readlink(string) (string, error) { return "", ErrInvalid }
func (s *fileBackend) list(string) ([]Info, error)     { return nil, ErrNotDir }

func (s *fileBackend) open(_ string, how opening) (handle, error) {
	return how.env.openReal(s.dir, s.name, s.key, how)
}

func (s *fileBackend) mkdir(string, fs.FileMode) error { return errNotGranted }
func (s *fileBackend) symlink(_, _ string) error       { return errNotGranted }
func (s *fileBackend) link(_, _ string) error          { return errNotGranted }
func (s *fileBackend) rename(_, _ string) error        { return errBusy }
func (s *fileBackend) remove(string) error             { return errBusy }

func (s *fileBackend) chmod(_ string, mode fs.FileMode) error {
	if _, err := s.lstat("."); err != nil {
		return err
	}
	return translate(s.dir.Chmod(s.name, mode.Perm()))
}

func (s *fileBackend) chtimes(_ string, atime, mtime time.Time) error {
	if _, err := s.lstat("."); err != nil {
		return err
	}
	return translate(s.dir.Chtimes(s.name, atime, mtime))
}
