package vfs

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"hako/run/fault"
)

// Stat describes the file a name leads to.
func (t *FS) Stat(name string) (Info, error) { return t.stat("stat", name, true) }

// Lstat is Stat without following a symbolic link at the end.
func (t *FS) Lstat(name string) (Info, error) { return t.stat("lstat", name, false) }

func (t *FS) stat(op, name string, follow bool) (Info, error) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	p, err := t.find(name, follow)
	p.info.name = path.Base(name)
	return p.info, wrap(op, name, err)
}

// find is resolve for names that must exist.
func (t *FS) find(name string, follow bool) (place, error) {
	p, err := t.resolve(name, follow)
	if err == nil && !p.exists {
		err = fs.ErrNotExist
	}
	return p, err
}

// ReadDir returns the entries of a directory, sorted by name.
func (t *FS) ReadDir(name string) ([]fs.DirEntry, error) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	p, err := t.find(name, true)
	if err != nil {
		return nil, wrap("readdir", name, err)
	}
	infos, err := t.list(p)
	entries := make([]fs.DirEntry, len(infos))
	for i, info := range infos {
		entries[i] = info
	}
	return entries, wrap("readdir", name, err)
}

// list returns what the backend has, overlaid with what was granted there.
func (t *FS) list(p place) ([]Info, error) {
	infos, err := p.g.b.list(p.rel)
	if err != nil || len(t.grants) == 1 {
		return infos, err
	}
	for at, g := range t.grants {
		if at == "/" || path.Dir(at) != p.path {
			continue
		}
		name := path.Base(at)
		i, found := slices.BinarySearchFunc(infos, name,
			func(e Info, name string) int { return strings.Compare(e.name, name) })
		if found {
			infos = slices.Delete(infos, i, i+1)
		}
		if info, err := g.b.lstat(g.base); err == nil {
			info.name = name
			infos = slices.Insert(infos, i, info)
		}
	}
	return infos, nil
}

// Open opens a file. The flags are those of package os, and [Binary]. A
// directory can be opened for reading, but only to be asked what it is.
func (t *FS) Open(name string, flag int, perm fs.FileMode) (*File, error) {
	if flag&(os.O_WRONLY|os.O_RDWR) == 0 {
		flag &^= os.O_TRUNC
	}
	f, err := t.openLocked(name, flag, perm)
	if refused(err) {
		t.report("refused", name, 0)
	}
	return f, wrap("open", name, err)
}

func (t *FS) openLocked(name string, flag int, perm fs.FileMode) (*File, error) {
	if flag&(os.O_CREATE|os.O_TRUNC) == 0 {
		t.mu.RLock()
		defer t.mu.RUnlock()
	} else {
		t.mu.Lock()
		defer t.mu.Unlock()
	}
	return t.open(name, flag, perm)
}

// refused reports whether a file is there, or could be, but is not to be had.
func refused(err error) bool {
	kind := fault.KindOf(err)
	return errors.Is(err, fs.ErrPermission) || errors.Is(err, ErrReadOnly) || errors.Is(err, errNotGranted) ||
		kind == fault.Denied || kind == fault.TooLarge
}

func (t *FS) open(name string, flag int, perm fs.FileMode) (*File, error) {
	if err := t.env.limiter.Err(); err != nil {
		return nil, err
	}
	create, exclusive := flag&os.O_CREATE != 0, flag&os.O_EXCL != 0
	if create && endsInSlash(name) {
		return nil, ErrIsDir // no way to make one
	}
	p, err := t.resolve(name, !(create && exclusive))
	if err != nil {
		return nil, err
	}
	writing := flag&(os.O_WRONLY|os.O_RDWR) != 0
	switch {
	case !p.exists && !create:
		return nil, fs.ErrNotExist
	case p.exists && create && exclusive:
		return nil, fs.ErrExist
	case p.exists && p.info.IsDir() && (writing || create):
		return nil, ErrIsDir
	case p.exists && p.info.IsDir():
		return newFile(t, p, name, flag, dirHandle{p.info}), nil
	}
	if writing || !p.exists {
		if err := t.mayChange(p); err != nil {
			return nil, err
		}
	}
	if !p.exists {
		if err := t.env.entry(p); err != nil {
			return nil, err
		}
	}
	h, err := p.g.b.open(p.rel, opening{t.env, name, flag, perm})
	if err != nil {
		return nil, err
	}
	return newFile(t, p, name, flag, h), nil
}

// change finds where a new or existing name leads, not following a link at the
// end, and has it changed if that is granted.
func (t *FS) change(op, name string, exists bool, f func(p place, b changer) error) error {
	t.mu.Lock()
	err := t.changeLocked(name, exists, false, f)
	t.mu.Unlock()
	if refused(err) {
		t.report("refused", name, 0)
	}
	return wrap(op, name, err)
}

func (t *FS) changeLocked(name string, exists, follow bool, f func(p place, b changer) error) error {
	p, err := t.resolve(name, follow)
	switch {
	case err != nil:
		return err
	case exists && !p.exists:
		return fs.ErrNotExist
	case !exists && p.exists:
		return fs.ErrExist
	}
	if err := t.mayChange(p); err != nil {
		return err
	}
	if !exists {
		if err := t.env.entry(p); err != nil {
			return err
		}
	}
	return f(p, p.g.b.(changer))
}

// Mkdir makes a directory.
func (t *FS) Mkdir(name string, perm fs.FileMode) error {
	return t.change("mkdir", name, false, func(p place, b changer) error { return b.mkdir(p.rel, perm) })
}

// Symlink makes a symbolic link that says target.
func (t *FS) Symlink(target, name string) error {
	return t.change("symlink", name, false, func(p place, b changer) error {
		switch {
		case target == "":
			return fs.ErrNotExist
		case len(target) > maxPath:
			return errNameTooLong
		}
		return b.symlink(target, p.rel)
	})
}

// Link gives a file a second name.
func (t *FS) Link(old, new string) error {
	return t.change("link", new, false, func(to place, b changer) error {
		from, err := t.find(old, false)
		switch {
		case err != nil:
			return err
		case from.info.IsDir():
			return errNotGranted
		case from.g.b != to.g.b:
			return ErrCrossDevice
		case t.mayChange(from) != nil: // a name where it can be written would be a way around this
			return ErrReadOnly
		}
		return b.link(from.rel, to.rel)
	})
}

// Remove removes a file or an empty directory.
func (t *FS) Remove(name string) error {
	var gone place
	err := t.change("remove", name, true, func(p place, b changer) error {
		if t.holdsGrant(p.path) {
			return errBusy
		}
		gone = p
		return b.remove(p.rel)
	})
	if err == nil && !gone.info.IsDir() {
		t.report("removed", gone.path, gone.info.size)
	}
	return err
}

// Rename moves a file or directory to another name.
func (t *FS) Rename(old, new string) error {
	var from, to place
	err := t.change("rename", old, true, func(p place, b changer) (err error) {
		from = p
		if to, err = t.resolve(new, false); err != nil {
			return err
		}
		if err := t.renamable(from, to); err != nil || from.path == to.path {
			return err
		}
		return b.rename(from.rel, to.rel)
	})
	if err == nil && from.path != to.path {
		t.report("removed", from.path, 0)
		t.report("written", to.path, from.info.length())
	}
	return err
}

func (t *FS) renamable(from, to place) error {
	switch {
	case from.path == to.path:
		return nil
	case within(to.path, from.path):
		return ErrInvalid
	case within(from.path, to.path):
		return ErrNotEmpty
	case from.g.b != to.g.b:
		return ErrCrossDevice
	case t.holdsGrant(from.path) || t.holdsGrant(to.path):
		return errBusy
	}
	return t.mayChange(to)
}

// Readlink returns what a symbolic link says.
func (t *FS) Readlink(name string) (string, error) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	p, err := t.find(name, false)
	if err == nil && p.info.mode&fs.ModeSymlink == 0 {
		err = ErrInvalid
	}
	if err != nil {
		return "", wrap("readlink", name, err)
	}
	target, err := p.g.b.readlink(p.rel)
	return target, wrap("readlink", name, err)
}

// Realpath returns the name without symbolic links in it. If only the last
// element is missing, it returns the name together with [fs.ErrNotExist].
func (t *FS) Realpath(name string) (string, error) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	p, err := t.find(name, true)
	return p.path, wrap("realpath", name, err)
}

// Chmod changes permissions.
func (t *FS) Chmod(name string, mode fs.FileMode) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return wrap("chmod", name,
		t.changeLocked(name, true, true, func(p place, b changer) error { return b.chmod(p.rel, mode) }))
}

// Chtimes changes times. A zero time is left as it is.
func (t *FS) Chtimes(name string, atime, mtime time.Time) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return wrap("chtimes", name,
		t.changeLocked(name, true, true, func(p place, b changer) error { return b.chtimes(p.rel, atime, mtime) }))
}
