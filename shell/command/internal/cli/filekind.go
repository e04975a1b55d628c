package cli

import (
	"io/fs"
	"slices"

	"hako/shell"
	"hako/shell/vfs"
)

// NotDirReason returns the reason why a name is not a directory; err is that of Stat.
func NotDirReason(err error) string {
	if err == nil {
		err = vfs.ErrNotDir
	}
	return vfs.Reason(err)
}

// IsDir reports whether a path leads to a directory.
func IsDir(c *shell.Call, abs string) bool {
	fi, err := c.FS.Stat(abs)
	return err == nil && fi.IsDir()
}

// fileTypes are the types of files other than regular ones. A character device has both
// bits of a device.
var fileTypes = []struct {
	mode   fs.FileMode
	letter byte
	name   string
}{
	{fs.ModeDir, 'd', "directory"}, {fs.ModeSymlink, 'l', "symbolic link"},
	{fs.ModeCharDevice, 'c', "character special file"}, {fs.ModeDevice, 'b', "block special file"},
	{fs.ModeNamedPipe, 'p', "fifo"}, {fs.ModeSocket, 's', "socket"},
}

// TypeLetter returns the first character of a line of ls -l.
func TypeLetter(m fs.FileMode) byte {
	for _, t := range fileTypes {
		if m&t.mode != 0 {
			return t.letter
		}
	}
	return '-'
}

// UnixMode is the twelve permission bits as chmod counts them.
func UnixMode(m fs.FileMode) uint32 {
	bits := uint32(m.Perm())
	for i, flag := range []fs.FileMode{fs.ModeSticky, fs.ModeSetgid, fs.ModeSetuid} {
		if m&flag != 0 {
			bits |= 0o1000 << i
		}
	}
	return bits
}

// FileMode is the reverse of [UnixMode].
func FileMode(bits uint32) fs.FileMode {
	m := fs.FileMode(bits & 0o777)
	for i, flag := range []fs.FileMode{fs.ModeSticky, fs.ModeSetgid, fs.ModeSetuid} {
		if bits&(0o1000<<i) != 0 {
			m |= flag
		}
	}
	return m
}

// ModeText is the mode as ls -l prints it.
func ModeText(m fs.FileMode) string {
	b := []byte("-rwxrwxrwx")
	b[0] = TypeLetter(m)
	bits := UnixMode(m)
	for i := range 9 {
		if bits&(0o400>>i) == 0 {
			b[i+1] = '-'
		}
	}
	for i, at := range []int{9, 6, 3} {
		letters := "TSS" // without the permission to execute
		if b[at] == 'x' {
			letters = "tss"
		}
		if bits&(0o1000<<i) != 0 {
			b[at] = letters[i]
		}
	}
	return string(b)
}

// FileKind returns the type of a file as stat names it.
func FileKind(fi fs.FileInfo) string {
	for _, t := range fileTypes {
		if fi.Mode()&t.mode != 0 {
			return t.name
		}
	}
	if fi.Size() == 0 {
		return "regular empty file"
	}
	return "regular file"
}

// SameFile reports whether two names lead to one file.
func SameFile(a, b fs.FileInfo) bool {
	x, ok1 := a.(vfs.Info)
	y, ok2 := b.(vfs.Info)
	return ok1 && ok2 && vfs.SameFile(x, y)
}

// IndexFile returns the index of a file in a list, or -1.
func IndexFile(list []fs.FileInfo, fi fs.FileInfo) int {
	return slices.IndexFunc(list, func(o fs.FileInfo) bool { return SameFile(o, fi) })
}
