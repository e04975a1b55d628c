package cage

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// protect makes parts of the root unchangeable: what is written into .git/hooks
// today runs outside of the cage tomorrow.
func (o *order) protect() error {
	root, err := unix.Open(o.Root, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(root)
	for _, name := range o.Protect {
		if err := freezeName(root, name); err != nil {
			return fmt.Errorf("protect %s: %w", name, err)
		}
	}
	return nil
}

// freezeName mounts a file or directory over itself, read-only. A link is left
// alone: it could be changed to lead elsewhere, and what it leads to may be anything.
func freezeName(root int, name string) error {
	fd, err := unix.Openat2(root, name, &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS})
	if err != nil {
		return nil // it is not there, or not as it should be
	}
	defer unix.Close(fd)
	copied, err := unix.OpenTree(fd, "", unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_EMPTY_PATH|unix.AT_RECURSIVE)
	if err != nil {
		return err
	}
	defer unix.Close(copied)
	if err := setAttr(copied, frozen); err != nil {
		return err
	}
	return unix.MoveMount(copied, "", fd, "", unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH)
}

// hide covers what lies in the root but is not for programs.
func (o *order) hide() error {
	for _, path := range o.Hide {
		info, err := os.Lstat(path)
		switch {
		case err != nil:
			continue
		case info.IsDir():
			err = unix.Mount("hako", path, "tmpfs", unix.MS_RDONLY|unix.MS_NOSUID|unix.MS_NODEV, "size=4k,mode=555")
		case info.Mode().IsRegular():
			err = unix.Mount("/dev/null", path, "", unix.MS_BIND, "")
		}
		if err != nil {
			return fmt.Errorf("hide %s: %w", path, err)
		}
	}
	return nil
}
