package usage

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// ErrDeep means that directories are nested too deep.
var ErrDeep = errors.New("directories are nested too deep to be measured")

// A Space is the size of a file system in bytes.
type Space struct{ Size, Used, Free int64 }

// mountRoot parses /proc/self/mountinfo. It returns which part of its file system is mounted at a directory; "" means
// none.
func mountRoot(text, dir string) string {
	root := ""
	for line := range strings.Lines(text) {
		if f := strings.Fields(line); len(f) > 4 && unescape(f[4]) == dir {
			root = unescape(f[3]) // the last mount is on top
		}
	}
	return root
}

// unescape decodes the octal escapes of paths.
func unescape(path string) string {
	for at := 0; ; at++ {
		i := strings.IndexByte(path[at:], '\\')
		if i < 0 || len(path) < at+i+4 {
			return path
		}
		at += i
		if n, err := strconv.ParseUint(path[at+1:at+4], 8, 8); err == nil {
			path = path[:at] + string([]byte{byte(n)}) + path[at+4:]
		}
	}
}

// OwnFileSystem reports whether a directory is a whole file system no larger than limit, so that the kernel enforces
// it. A limit of zero means any size.
func OwnFileSystem(dir string, limit int64) bool {
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil || mountRoot(string(text), dir) != "/" {
		return false
	}
	return limit == 0 || Room(dir).Size <= limit+limit/16 // the size may be rounded up
}

// Bytes formats a number of bytes.
func Bytes(n int64) string {
	for _, unit := range []string{"GB", "MB", "KB"} {
		size := map[string]int64{"GB": 1 << 30, "MB": 1 << 20, "KB": 1 << 10}[unit]
		if n >= size {
			return strings.TrimSuffix(fmt.Sprintf("%.1f", float64(n)/float64(size)), ".0") + " " + unit
		}
	}
	return fmt.Sprintf("%d bytes", n)
}

// Tree returns the disk usage of the files below a directory. Hard links are counted in equal parts. It skips
// unreadable directories and other file systems. The error is that of ctx, or [ErrDeep].
//
// It walks by descriptors and reads names in batches: long paths must not hide anything, nor large directories take
// much memory.
func Tree(ctx context.Context, dir string) (int64, error) {
	w := walk{ctx: ctx}
	var st unix.Stat_t
	if unix.Stat(dir, &st) != nil {
		return 0, nil
	}
	w.device = st.Dev
	w.total = st.Blocks * 512
	err := w.enter(unix.AT_FDCWD, dir, 0)
	return w.total, err
}

type walk struct {
	ctx    context.Context
	device uint64
	total  int64
}

const (
	mostDeep = 256 // every level is an open file
	handful  = 256
)

func (w *walk) enter(at int, name string, depth int) error {
	if depth == mostDeep {
		return ErrDeep
	}
	fd, err := unix.Openat(at, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	dir := os.NewFile(uintptr(fd), name)
	defer dir.Close()
	for {
		names, err := dir.Readdirnames(handful)
		for _, name := range names {
			if err := w.count(fd, name, depth); err != nil {
				return err
			}
		}
		if err != nil || w.ctx.Err() != nil { // usually io.EOF
			return w.ctx.Err()
		}
	}
}

// count adds one entry of a directory, and what is below it.
func (w *walk) count(at int, name string, depth int) error {
	var st unix.Stat_t
	if unix.Fstatat(at, name, &st, unix.AT_SYMLINK_NOFOLLOW) != nil || st.Dev != w.device {
		return nil
	}
	size := st.Blocks * 512
	if st.Mode&unix.S_IFMT == unix.S_IFDIR {
		w.total += size
		return w.enter(at, name, depth+1)
	}
	w.total += size / max(int64(st.Nlink), 1)
	return nil
}

// Room returns the size of the file system of a directory.
func Room(dir string) Space {
	var st unix.Statfs_t
	if unix.Statfs(dir, &st) != nil {
		return Space{}
	}
	block := int64(st.Bsize)
	return Space{Size: int64(st.Blocks) * block, Used: int64(st.Blocks-st.Bfree) * block, Free: int64(st.Bavail) * block}
}
