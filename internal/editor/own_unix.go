//go:build unix

package editor

import (
	"io/fs"
	"os"
	"syscall"
)

// nonblock keeps an open from waiting for the other end of a named pipe that
// was put in a file's place.
const nonblock = syscall.O_NONBLOCK

// keepOwner gives a new file the owner and group of the old one as far as the system
// lets us: usually only the group, and only to one's own groups.
func keepOwner(f *os.File, old fs.FileInfo) {
	st, ok := old.Sys().(*syscall.Stat_t)
	if !ok {
		return
	}
	if f.Chown(int(st.Uid), int(st.Gid)) != nil {
		_ = f.Chown(-1, int(st.Gid))
	}
}
