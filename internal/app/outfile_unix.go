//go:build unix

package app

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"hako/internal/lazyregexp"
	yours "hako/internal/ownerfile"
)

// partName is how unfinished files are called, and nothing else is.
var partName = lazyregexp.New(`^\.hako-[0-9a-f]{8}\.part$`)

// mostSwept is how many entries of a folder are looked at for leftovers.
const mostSwept = 10_000

// sweepParts removes the unfinished files in a folder whose makers are gone: their locks went with them. What cannot be removed is left to the
// next.
func sweepParts(dir string) {
	d, err := os.Open(dir)
	if err != nil {
		return
	}
	defer d.Close()
	entries, _ := d.ReadDir(mostSwept)
	for _, e := range entries {
		if e.Type().IsRegular() && partName.Get().MatchString(e.Name()) {
			sweepPart(filepath.Join(dir, e.Name()))
		}
	}
}

func sweepPart(path string) {
	f, err := os.OpenFile(path, os.O_RDWR|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return
	}
	defer f.Close()
	info, err := f.Stat()
	if err == nil && info.Mode().IsRegular() && sameUser(info) && yours.TryLock(f) && inPlace(f) {
		os.Remove(path)
	}
}

// sameUser reports whether a file is this user's; root may clean up for all.
func sameUser(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && (int(st.Uid) == os.Geteuid() || os.Geteuid() == 0)
}

// keepOwner gives a file the owner and group of the one that it replaces, as far
// as this user may.
func keepOwner(temp *os.File, old fs.FileInfo) {
	if st, ok := old.Sys().(*syscall.Stat_t); ok {
		_ = temp.Chown(int(st.Uid), int(st.Gid))
	}
}
