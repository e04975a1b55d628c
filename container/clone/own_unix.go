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

// openToOthers reports whether others may write to a directory. A sticky one is
// open too: they cannot remove what is there, but add to it.
func openToOthers(about os.FileInfo) bool { return about.Mode().Perm()&0o022 != 0 }

// share marks a file as in use together with others who do so too; whoever wants
// it for himself alone does not get it until all have closed it.
func share(f *os.File) error {
	for {
		if err := syscall.Flock(int(f.Fd()), syscall.LOCK_SH); err != syscall.EINTR {
			return err
		}
	}
}
