package vfs

import (
	"io"
	"io/fs"
	"os"
	"path"
	"sync/atomic"
)

// A File is an open file. It is safe for concurrent use; its position is
// shared by all users, as with a descriptor.
type File struct {
	t             *FS
	h             handle
	name          string // as it was opened by
	path          string // where it is
	flag          int
	kind          fs.FileMode
	read, written atomic.Int64
	closed        atomic.Bool
}

func newFile(t *FS, p place, name string, flag int, h handle) *File {
	return &File{t: t, h: h, name: name, path: p.path, flag: flag, kind: p.info.mode.Type()}
}

// Name returns the name the file was opened by.
func (f *File) Name() string { return f.name }

// IsDir reports whether it is a directory.
func (f *File) IsDir() bool { return f.kind.IsDir() }

// IsRegular reports whether it is a file like most: neither directory nor device.
func (f *File) IsRegular() bool { return f.kind == 0 }

// Stat describes the file.
func (f *File) Stat() (Info, error) {
	if f.closed.Load() {
		return Info{}, wrap("stat", f.name, fs.ErrClosed)
	}
	info, err := f.h.info()
	info.name = path.Base(f.name)
	return info, wrap("stat", f.name, err)
}

// Size returns the length in bytes; zero for what has none.
func (f *File) Size() int64 {
	info, err := f.Stat()
	if err != nil {
		return 0
	}
	return info.length()
}

// Read implements [io.Reader].
func (f *File) Read(p []byte) (int, error) {
	if err := f.may(os.O_WRONLY); err != nil {
		return 0, wrap("read", f.name, err)
	}
	n, err := f.h.Read(p)
	f.read.Add(int64(n))
	if err == nil || err == io.EOF {
		return n, err
	}
	return n, wrap("read", f.name, translate(err))
}

// ReadAt implements [io.ReaderAt].
func (f *File) ReadAt(p []byte, off int64) (int, error) {
	if err := f.may(os.O_WRONLY); err != nil {
		return 0, wrap("read", f.name, err)
	}
	if off < 0 {
		return 0, wrap("read", f.name, ErrInvalid)
	}
	n, err := f.h.ReadAt(p, off)
	f.read.Add(int64(n))
	switch {
	case err == nil && n < len(p):
		return n, io.EOF
	case err == nil || err == io.EOF:
		return n, err
	}
	return n, wrap("read", f.name, translate(err))
}

// Write implements [io.Writer].
func (f *File) Write(p []byte) (int, error) {
	if err := f.may(os.O_RDONLY); err != nil {
		return 0, wrap("write", f.name, err)
	}
	n, err := f.h.Write(p)
	f.written.Add(int64(n))
	if err != nil {
		err = wrap("write", f.name, translate(err))
	}
	return n, err
}

// may refuses a file that is closed or was opened in the given mode only, and
// everything once the script has gone over a limit.
func (f *File) may(not int) error {
	switch {
	case f.closed.Load():
		return fs.ErrClosed
	case f.flag&(os.O_RDONLY|os.O_WRONLY|os.O_RDWR) == not:
		return errBadFile
	case f.IsDir():
		return ErrIsDir
	}
	return f.t.env.limiter.Err()
}

// Seek implements [io.Seeker].
func (f *File) Seek(off int64, whence int) (int64, error) {
	if f.closed.Load() {
		return 0, wrap("seek", f.name, fs.ErrClosed)
	}
	n, err := f.h.Seek(off, whence)
	return n, wrap("seek", f.name, translate(err))
}

// Truncate makes the file the given number of bytes long.
func (f *File) Truncate(size int64) error {
	err := f.may(os.O_RDONLY)
	if err == nil && size < 0 {
		err = ErrInvalid
	}
	if err == nil {
		err = f.h.Truncate(size)
	}
	return wrap("truncate", f.name, translate(err))
}

// Close closes the file and reports what was done with it.
func (f *File) Close() error {
	if f.closed.Swap(true) {
		return wrap("close", f.name, fs.ErrClosed)
	}
	err := f.h.Close()
	if f.kind == 0 {
		f.tell()
	}
	return wrap("close", f.name, translate(err))
}

func (f *File) tell() {
	mode, read, written := f.flag&(os.O_WRONLY|os.O_RDWR), f.read.Load(), f.written.Load()
	if mode == os.O_RDONLY || read > 0 {
		f.t.report("read", f.path, read)
	}
	if mode == os.O_WRONLY || mode == os.O_RDWR && (written > 0 || read == 0) {
		f.t.report("written", f.path, written)
	}
}

// dirHandle is an open directory: there to be asked what it is.
type dirHandle struct{ stat Info }

func (dirHandle) Read([]byte) (int, error)          { return 0, ErrIsDir }
func (dirHandle) Write([]byte) (int, error)         { return 0, ErrIsDir }
func (dirHandle) ReadAt([]byte, int64) (int, error) { return 0, ErrIsDir }
func (dirHandle) Seek(int64, int) (int64, error)    { return 0, nil }
func (dirHandle) Truncate(int64) error              { return ErrIsDir }
func (dirHandle) Close() error                      { return nil }
func (h dirHandle) info() (Info, error)             { return h.stat, nil }
