//go:build unix

package app

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"hako/internal/lazyregexp"
	"hako/internal/ownerfile"
)

// partName matches the names of temporary files.
var partName = lazyregexp.New(`^\.hako-[0-9a-f]{8}\.part$`)

// maxSwept is the maximum number of entries that are inspected.
const maxSwept = 10_000

// sweepParts removes temporary files of dead processes, whose locks are gone.
func sweepParts(dir string) {
	d, err := os.Open(dir)
	if err != nil {
		return
	}
	defer d.Close()
	entries, _ := d.ReadDir(maxSwept)
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
	if err == nil && info.Mode().IsRegular() && sameUser(info) && ownerfile.TryLock(f) && inPlace(f) {
		os.Remove(path)
	}
}

// sameUser reports whether a file belongs to this user; root may clean up for all.
func sameUser(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && (int(st.Uid) == os.Geteuid() || os.Geteuid() == 0)
}

// keepOwner copies owner and group of the replaced file, as far as permitted.
func keepOwner(temp *os.File, old fs.FileInfo) {
	if st, ok := old.Sys().(*syscall.Stat_t); ok {
		_ = temp.Chown(int(st.Uid), int(st.Gid))
	}
}
