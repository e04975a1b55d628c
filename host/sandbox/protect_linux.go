package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// protect makes parts of the root read-only: a hook that is written into .git/hooks today runs outside of the sandbox
// tomorrow.
func (o *setup) protect() error {
	root, err := unix.Open(o.Root, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(root)
	held := map[string]bool{}
	for _, name := range o.Protect {
		if err = errors.Join(pin(root, name, held), cover(root, name, readOnly)); err != nil {
			return fmt.Errorf("protect %s: %w", name, err)
		}
	}
	// Hidden paths must not be moved away either: hako finds its audit log by name.
	for _, path := range o.Hide {
		if name, below := strings.CutPrefix(path, o.Root+"/"); below {
			if err := pin(root, name, held); err != nil {
				return fmt.Errorf("protect %s: %w", name, err)
			}
		}
	}
	return nil
}

// pin mounts the parent directories of a name over themselves: a mount point cannot be moved away and replaced.
func pin(root int, name string, held map[string]bool) (err error) {
	for i, c := range name {
		if c == '/' && !held[name[:i]] {
			held[name[:i]] = true
			err = errors.Join(err, cover(root, name[:i], writable))
		}
	}
	return err
}

// cover mounts a file or directory over itself. Links are skipped: they could be changed, and lead anywhere. A file
// in the place of a directory, like .git of a linked worktree, is made read-only.
func cover(root int, name string, attr uint64) error {
	fd, err := unix.Openat2(root, name, &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS})
	if err != nil {
		return nil // it does not exist, or is a link
	}
	defer unix.Close(fd)
	var info unix.Stat_t
	if err := unix.Fstat(fd, &info); err != nil {
		return err
	}
	if info.Mode&unix.S_IFMT != unix.S_IFDIR {
		attr = readOnly
	}
	copied, err := unix.OpenTree(fd, "", unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_EMPTY_PATH|unix.AT_RECURSIVE)
	if err != nil {
		return err
	}
	defer unix.Close(copied)
	if err := setAttr(copied, attr); err != nil {
		return err
	}
	return unix.MoveMount(copied, "", fd, "", unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH)
}

// hide covers what is in the root but not for programs. The target of a link is covered only if it is granted: a link
// in the root must not hide system directories.
func (o *setup) hide() error {
	for _, path := range o.Hide {
		real, err := filepath.EvalSymlinks(path)
		if err != nil || !o.grantedHere(real) {
			continue
		}
		info, err := os.Lstat(real)
		switch {
		case err != nil:
			continue
		case info.IsDir():
			err = unix.Mount("hako", real, "tmpfs", unix.MS_RDONLY|unix.MS_NOSUID|unix.MS_NODEV, "size=4k,mode=555")
		case info.Mode().IsRegular():
			err = unix.Mount("/dev/null", real, "", unix.MS_BIND, "")
		}
		if err != nil {
			return fmt.Errorf("hide %s: %w", path, err)
		}
	}
	return nil
}

// grantedHere reports whether a path is below a granted one.
func (o *setup) grantedHere(path string) bool {
	return slices.ContainsFunc(append(o.Readable, o.Root),
		func(dir string) bool { return strings.HasPrefix(path, dir+"/") })
}
