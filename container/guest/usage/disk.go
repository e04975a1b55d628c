package usage

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// ErrDeep says that directories lie too deep in each other to be measured.
var ErrDeep = errors.New("directories are nested too deep to be measured")

// A Space is a file system as the system sees it, in bytes.
type Space struct{ Size, Used, Free int64 }

// mountRoot reads the text of /proc/self/mountinfo. It tells which part of its
// file system a directory shows; "" means that nothing is mounted there.
func mountRoot(text, dir string) string {
	root := ""
	for line := range strings.Lines(text) {
		if f := strings.Fields(line); len(f) > 4 && unescape(f[4]) == dir {
			root = unescape(f[3]) // of several the last one is on top
		}
	}
	return root
}

// unescape undoes what the kernel does to blanks and the like in paths.
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

// OwnFileSystem tells whether a directory is the whole of a file system that is
// no larger than limit: then the system keeps the limit, and nobody else has to.
// A limit of zero means that any size will do.
func OwnFileSystem(dir string, limit int64) bool {
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil || mountRoot(string(text), dir) != "/" {
		return false
	}
	return limit == 0 || Room(dir).Size <= limit+limit/16 // somebody may have rounded up
}

// Bytes spells a number of bytes for people.
func Bytes(n int64) string {
	for _, unit := range []string{"GB", "MB", "KB"} {
		size := map[string]int64{"GB": 1 << 30, "MB": 1 << 20, "KB": 1 << 10}[unit]
		if n >= size {
			return strings.TrimSuffix(fmt.Sprintf("%.1f", float64(n)/float64(size)), ".0") + " " + unit
		}
	}
	return fmt.Sprintf("%d bytes", n)
}
