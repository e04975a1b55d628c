package cli

import (
	"io/fs"
	"slices"

	"hako/shell"
	"hako/shell/vfs"
)

func NotDirReason(err error) string {
	if err == nil {
		err = vfs.ErrNotDir
	}
	return vfs.Reason(err)
}

func IsDir(c *shell.Call, abs string) bool {
	fi, err := c.FS.Stat(abs)
	return err == nil && fi.IsDir()
}

// TypeLetter is the first column of ls -l.
func TypeLetter(m fs.FileMode) byte {
	switch {
	case m.IsDir():
		return 'd'
	case m&fs.ModeSymlink != 0:
		return 'l'
	case m&fs.ModeCharDevice != 0:
		return 'c'
	case m&fs.ModeDevice != 0:
		return 'b'
	case m&fs.ModeNamedPipe != 0:
		return 'p'
	case m&fs.ModeSocket != 0:
		return 's'
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

// FileKind names the kind of a file as stat does.
func FileKind(fi fs.FileInfo) string {
	switch TypeLetter(fi.Mode()) {
	case 'd':
		return "directory"
	case 'l':
		return "symbolic link"
	case 'c':
		return "character special file"
	case 'b':
		return "block special file"
	case 'p':
		return "fifo"
	case 's':
		return "socket"
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

// IndexFile finds a file among others, -1 if it is not there.
func IndexFile(list []fs.FileInfo, fi fs.FileInfo) int {
	return slices.IndexFunc(list, func(o fs.FileInfo) bool { return SameFile(o, fi) })
}
