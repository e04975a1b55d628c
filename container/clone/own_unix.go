//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package clone

import (
	"os"
	"syscall"
)

// ours reports whether a file belongs to the user who runs hako.
func ours(about os.FileInfo) bool {
	st, ok := about.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Geteuid()
}

// openToOthers reports whether others may write to a directory. A sticky directory counts: others can add files to
// it.
func openToOthers(about os.FileInfo) bool { return about.Mode().Perm()&0o022 != 0 }

// share takes a shared lock on a file.
func share(f *os.File) error {
	for {
		if err := syscall.Flock(int(f.Fd()), syscall.LOCK_SH); err != syscall.EINTR {
			return err
		}
	}
}
