//go:build unix

package ownerfile

import (
	"io/fs"
	"os"
	"syscall"
)

const noFollowFlag = syscall.O_NOFOLLOW

func hasMode(mode fs.FileMode, bits fs.FileMode) bool { return mode.Perm()&bits != 0 }

func ownedByUser(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return !ok || int(st.Uid) == os.Geteuid()
}

func ownedByRoot(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && st.Uid == 0
}
