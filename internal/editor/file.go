package editor

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"hako/run/fault"
)

// An openFile is a file in its directory, which stays the same even if the names that led to it change.
type openFile struct {
	e      *Editor
	c      *Call
	dir    *os.Root
	name   string
	rel    string      // from the editor's root
	info   fs.FileInfo // of the file that was read; nil before
	unlock func()
}

// enter opens the directory of a file. The "." at the end matters: without it, a named pipe that replaced the
// directory would be opened and block.
func (e *Editor) enter(c *Call, p filePath) (*openFile, error) {
	dir, err := e.Root.OpenRoot(path.Dir(p.rel) + "/.")
	if err != nil {
		return nil, e.osError(c, "", err)
	}
	return &openFile{e: e, c: c, dir: dir, name: path.Base(p.rel), rel: p.rel, unlock: func() {}}, nil
}

// enterLocked is enter with a lock that keeps other editors out of the directory.
func (e *Editor) enterLocked(ctx context.Context, c *Call, p filePath) (*openFile, error) {
	s, err := e.enter(c, p)
	if err != nil {
		return nil, err
	}
	f, err := s.dir.Open(".")
	if err == nil {
		s.unlock, err = lock(ctx, f)
	}
	if err == nil {
		return s, nil
	}
	s.close()
	if errors.Is(err, errBusy) {
		return nil, c.refuse(fault.Unavailable, "another editor has been at work in this directory for some time",
			"try again")
	}
	return nil, e.osError(c, "its directory cannot be opened", err)
}

var errBusy = errors.New("busy")

func (s *openFile) close() {
	s.unlock()
	s.dir.Close()
}

// read returns a regular file of acceptable size. A file to be changed is opened for writing too: a read-only file
// must not be replaced just because its directory is writable.
func (s *openFile) read(flag int) ([]byte, error) {
	before, err := s.dir.Lstat(s.name)
	if err != nil {
		return nil, s.e.osError(s.c, "", err)
	}
	if err := s.regular(before); err != nil {
		return nil, err
	}
	f, err := s.open(before, flag)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return s.contents(f)
}

// open opens the file that was inspected, not one that replaced it.
func (s *openFile) open(before fs.FileInfo, flag int) (*os.File, error) {
	f, err := s.dir.OpenFile(s.name, flag|nonblock, 0)
	if err != nil {
		return nil, s.e.osError(s.c, "it cannot be opened", err)
	}
	after, err := f.Stat()
	if err != nil {
		err = s.e.osError(s.c, "", err)
	} else if err = s.regular(after); err == nil && !os.SameFile(before, after) {
		err = s.c.changedError()
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	s.info = after
	return f, nil
}

// contents reads a file that may be growing.
func (s *openFile) contents(f *os.File) ([]byte, error) {
	raw := make([]byte, s.info.Size()+1)
	n, err := io.ReadFull(f, raw)
	if err == nil {
		return nil, s.c.changedError()
	}
	if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, s.e.osError(s.c, "it cannot be read", err)
	}
	return raw[:n:n], nil
}

// regular rejects what is not a regular file, or too large.
func (s *openFile) regular(info fs.FileInfo) error {
	what := ""
	switch mode := info.Mode(); {
	case mode.IsRegular():
		return s.checkSize(info.Size())
	case mode.IsDir():
		return s.c.directoryError()
	case mode&fs.ModeNamedPipe != 0:
		what = "a named pipe"
	case mode&fs.ModeSocket != 0:
		what = "a socket"
	case mode&fs.ModeDevice != 0:
		what = "a device"
	default:
		what = "a special file"
	}
	return s.c.refuse(fault.Invalid, "it is "+what+", not a regular file", "copy what it gives into a regular file first")
}

func (c *Call) directoryError() error {
	return c.refuse(fault.Invalid, "it is a directory, and those can only be viewed", "name a file in it")
}

func (s *openFile) checkSize(size int64) error {
	if limit := cmp.Or(s.e.MaxFile, defaultMaxFile); size > limit {
		return s.c.refuse(fault.TooLarge, fmt.Sprintf("%d bytes are more than the %d that can be edited", size, limit),
			"use commands that work on parts, such as head, tail, grep and sed")
	}
	return nil
}

// load reads and parses the file. A known encoding stays in force until somebody else changes the file.
func (s *openFile) load(flag int) (*document, error) {
	raw, err := s.read(flag)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(raw)
	d := parse(raw, s.e.memory.charset(s.rel, sum))
	d.sum = sum
	if d.binary() {
		return nil, s.c.refuse(fault.Invalid, "the file is not text", "convert it first, or look at it with xxd or od")
	}
	return d, nil
}

// replace replaces the file that was read.
func (s *openFile) replace(raw []byte) error {
	temp, err := s.temp(raw, 0o600, func(f *os.File) error {
		keepOwner(f, s.info)
		// Without setuid and setgid, which writing would also clear.
		return f.Chmod(s.info.Mode().Perm())
	})
	if err != nil {
		return err
	}
	if err = s.checkUnchanged(); err == nil {
		if err = s.dir.Rename(temp, s.name); err == nil {
			return nil
		}
		err = s.e.osError(s.c, "it cannot be replaced", err)
	}
	_ = s.dir.Remove(temp)
	return err
}

// checkUnchanged checks once more that the file is the one that was read: other programs ignore the lock.
func (s *openFile) checkUnchanged() error {
	now, err := s.dir.Lstat(s.name)
	if err != nil || !os.SameFile(now, s.info) || now.Size() != s.info.Size() || !now.ModTime().Equal(s.info.ModTime()) {
		return s.c.changedError()
	}
	return nil
}

// temp writes a temporary file in the directory and returns its name.
func (s *openFile) temp(raw []byte, mode fs.FileMode, finish func(*os.File) error) (string, error) {
	name := ".hako-edit-" + strings.ToLower(rand.Text())
	f, err := s.dir.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return "", s.e.osError(s.c, "its directory cannot be written", err)
	}
	_, err = f.Write(raw)
	if err == nil {
		err = finish(f)
	}
	if err == nil {
		err = f.Sync() // otherwise a crash could leave an empty file
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		_ = s.dir.Remove(name)
		return "", s.e.osError(s.c, "it cannot be written", err)
	}
	return name, nil
}

// create creates the file atomically, without replacing another.
func (s *openFile) create(raw []byte) error {
	temp, err := s.temp(raw, 0o666, func(*os.File) error { return nil })
	if err != nil {
		return err
	}
	err = s.dir.Link(temp, s.name)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return s.createWithoutLink(temp)
	}
	_ = s.dir.Remove(temp)
	if err != nil {
		return s.c.existsError()
	}
	return nil
}

// createWithoutLink is for file systems without hard links: it creates an empty file first.
func (s *openFile) createWithoutLink(temp string) error {
	f, err := s.dir.OpenFile(s.name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err == nil {
		f.Close()
		if err = s.dir.Rename(temp, s.name); err == nil {
			return nil
		}
		_ = s.dir.Remove(s.name)
	}
	_ = s.dir.Remove(temp)
	if errors.Is(err, fs.ErrExist) {
		return s.c.existsError()
	}
	return s.e.osError(s.c, "it cannot be made", err)
}
