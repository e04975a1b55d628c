//go:build unix

package vfs

import (
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// renameAt moves a file from one open directory to another.
func renameAt(_ *dirBackend, from, to atName, _, _ string) error {
	return withDirs(from, to, func(old, new int) error { return unix.Renameat(old, from.name, new, to.name) })
}

// linkAt gives a file a second name, and a symbolic link too: it is not followed.
func linkAt(_ *dirBackend, from, to atName, _, _ string) error {
	return withDirs(from, to, func(old, new int) error { return unix.Linkat(old, from.name, new, to.name, 0) })
}

func withDirs(from, to atName, f func(old, new int) error) error {
	old, err := from.dir.Open(".")
	if err != nil {
		return err
	}
	defer old.Close()
	new, err := to.dir.Open(".")
	if err != nil {
		return err
	}
	defer new.Close()
	err = f(int(old.Fd()), int(new.Fd()))
	runtime.KeepAlive([]*os.File{old, new})
	return err
}
