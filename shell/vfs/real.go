package vfs

import (
	"errors"
	"io/fs"
	"os"
	"sync/atomic"

	"hako/run/fault"
)

// openReal opens a real file without ever following a link, waiting for a
// FIFO or touching a device, even if one takes the file's place meanwhile:
// what was opened must be what was looked at, and is emptied only after that.
func (e *env) openReal(root *os.Root, rel, key string, how opening) (handle, error) {
	reading := how.flag&(os.O_WRONLY|os.O_TRUNC) == 0
	before, err := root.Lstat(rel)
	if errors.Is(err, fs.ErrNotExist) && how.flag&os.O_CREATE != 0 {
		return e.createReal(root, rel, how)
	}
	if err != nil {
		return nil, translate(err)
	}
	if !before.Mode().IsRegular() {
		return nil, special(how.name, before.Mode())
	}
	if reading {
		if err := e.readable(how.name, before.Size()); err != nil {
			return nil, err
		}
	}
	f, err := root.OpenFile(rel, how.flag&(os.O_WRONLY|os.O_RDWR|os.O_APPEND)|nonblock, 0)
	if err != nil {
		return nil, translate(err)
	}
	if err := e.admit(f, before, reading, how); err != nil {
		f.Close()
		return nil, err
	}
	if reading {
		e.allow(key, before.Size())
	}
	return e.realHandle(f, how), nil
}

// admit checks an opened file: that it is the one that was looked at, and for
// the strict profile that it is text.
func (e *env) admit(f *os.File, before fs.FileInfo, reading bool, how opening) error {
	after, err := f.Stat()
	switch {
	case err != nil:
		return translate(err)
	case !after.Mode().IsRegular():
		return special(how.name, after.Mode())
	case !os.SameFile(before, after):
		return &fault.Error{Kind: fault.Invalid, Op: "open", Subject: how.name, Why: "another file took its place"}
	case how.flag&os.O_TRUNC != 0:
		return translate(f.Truncate(0))
	case !reading:
		return nil
	}
	if err := e.readable(how.name, after.Size()); err != nil {
		return err
	}
	if !e.strict || how.flag&Binary != 0 {
		return nil
	}
	return sniff(f, how.name)
}

func (e *env) createReal(root *os.Root, rel string, how opening) (handle, error) {
	flag := how.flag&(os.O_WRONLY|os.O_RDWR|os.O_APPEND) | os.O_CREATE | os.O_EXCL | nonblock
	f, err := root.OpenFile(rel, flag, how.perm.Perm())
	if err != nil {
		return nil, translate(err)
	}
	return e.realHandle(f, how), nil
}

func special(name string, mode fs.FileMode) error {
	what := "a special file"
	switch {
	case mode.IsDir():
		return ErrIsDir
	case mode&fs.ModeNamedPipe != 0:
		what = "a named pipe"
	case mode&fs.ModeSocket != 0:
		what = "a socket"
	case mode&fs.ModeDevice != 0:
		what = "a device"
	case mode&fs.ModeSymlink != 0:
		what = "a symbolic link"
	}
	return &fault.Error{Kind: fault.Invalid, Op: "open", Subject: name, Why: "it is " + what + ", not a regular file",
		Hint: "copy what it gives into a regular file first"}
}

// realHandle is an open real file. The position is counted along because the
// limit on file size needs it. What is written counts as output: like that it
// stays when the script is gone.
type realHandle struct {
	*os.File
	env *env
	how opening
	pos atomic.Int64
}

func (e *env) realHandle(f *os.File, how opening) *realHandle {
	h := &realHandle{File: f, env: e, how: how}
	if how.flag&os.O_APPEND != 0 {
		if info, err := f.Stat(); err == nil {
			h.pos.Store(info.Size())
		}
	}
	return h
}

func (h *realHandle) Read(p []byte) (int, error) {
	n, err := h.File.Read(p)
	h.pos.Add(int64(n))
	return n, err
}

func (h *realHandle) Write(p []byte) (int, error) {
	if err := h.env.room("write", h.how.name, h.pos.Load(), int64(len(p))); err != nil {
		return 0, err
	}
	if err := h.env.limiter.Print(int64(len(p))); err != nil {
		return 0, err
	}
	n, err := h.File.Write(p)
	h.pos.Add(int64(n))
	return n, err
}

func (h *realHandle) Seek(off int64, whence int) (int64, error) {
	n, err := h.File.Seek(off, whence)
	if err == nil {
		h.pos.Store(n)
	}
	return n, err
}

func (h *realHandle) Truncate(size int64) error {
	if err := h.env.room("truncate", h.how.name, size, 0); err != nil {
		return err
	}
	return h.File.Truncate(size)
}

func (h *realHandle) info() (Info, error) {
	info, err := h.File.Stat()
	if err != nil {
		return Info{}, translate(err)
	}
	return realInfo(info.Name(), info), nil
}
