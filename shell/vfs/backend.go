package vfs

import (
	"io"
	"io/fs"
	"time"
)

// A backend holds files. Names are relative to it, slash-separated and free of
// "..", with "." for its top; no element but the last is a symbolic link, and
// the last is never followed.
type backend interface {
	lstat(rel string) (Info, error)
	readlink(rel string) (string, error)
	list(rel string) ([]Info, error)
	open(rel string, how opening) (handle, error)
}

// A changer is a backend whose files can come, go and change.
type changer interface {
	backend
	mkdir(rel string, perm fs.FileMode) error
	symlink(target, rel string) error
	link(old, new string) error
	rename(old, new string) error
	remove(rel string) error
	chmod(rel string, mode fs.FileMode) error
	chtimes(rel string, atime, mtime time.Time) error
}

// opening says how a file is to be opened.
type opening struct {
	env  *env   // of the tree that opens: a real file is shared with its forks, their limiters are not
	name string // as the user wrote it, for errors
	flag int
	perm fs.FileMode
}

// A handle is an open file of a backend, with a position of its own.
type handle interface {
	io.ReadWriteSeeker
	io.ReaderAt
	io.Closer
	Truncate(size int64) error
	info() (Info, error)
}

// An Info describes a file. It implements [fs.FileInfo] and [fs.DirEntry].
type Info struct {
	name     string
	size     int64
	mode     fs.FileMode
	mtime    time.Time
	dev, ino uint64
	links    int
}

// Name returns the last element of the path.
func (i Info) Name() string { return i.name }

// Size returns the length in bytes; for a symbolic link, of its target.
func (i Info) Size() int64 { return i.size }

// Mode returns type and permissions.
func (i Info) Mode() fs.FileMode { return i.mode }

// ModTime returns when the contents last changed.
func (i Info) ModTime() time.Time { return i.mtime }

// IsDir reports whether it is a directory.
func (i Info) IsDir() bool { return i.mode.IsDir() }

// Sys returns nil: there is nothing of the host to be had.
func (i Info) Sys() any { return nil }

// Type returns the type bits of the mode.
func (i Info) Type() fs.FileMode { return i.mode.Type() }

// Info returns i itself.
func (i Info) Info() (fs.FileInfo, error) { return i, nil }

// Inode returns a number that hard links to one file share.
func (i Info) Inode() uint64 { return i.ino }

// Links returns the number of names the file has.
func (i Info) Links() int { return i.links }

// SameFile reports whether a and b describe one file.
func SameFile(a, b Info) bool { return a.ino == b.ino && a.dev == b.dev && a.ino != 0 }

func realInfo(name string, info fs.FileInfo) Info {
	dev, ino, links := identity(info)
	return Info{name: name, size: info.Size(), mode: info.Mode(), mtime: info.ModTime(), dev: dev, ino: ino, links: links}
}

// length is the size of a regular file, and zero for all others.
func (i Info) length() int64 {
	if i.mode.IsRegular() {
		return i.size
	}
	return 0
}
