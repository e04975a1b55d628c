package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// A bindMount is a part of the old file tree in the new one.
type bindMount struct {
	at  string // path in the new tree
	fd  int    // detached copy
	dir bool
}

const (
	readOnly = unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV
	writable = unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV
)

// mounts replaces the file tree: by the system's programs, the root, and its own /tmp, /proc and /dev.
func (o *setup) mounts(r *Report) error {
	// Nothing of this may be visible outside.
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make mounts private: %w", err)
	}
	t := &mountTree{top: o.Temp}
	mounts, err := o.bindMounts()
	if err != nil {
		return err
	}
	steps := []func() error{
		t.begin,
		t.links,
		func() error { return t.attachAll(mounts) },
		o.accountFiles(t),
		t.devices,
		t.processes(r),
		t.pivot,
		t.freeze,
		func() error { return o.protect() },
		func() error { return o.hide() },
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// bindMounts detaches copies of all mounts of the new tree.
func (o *setup) bindMounts() ([]bindMount, error) {
	var list []bindMount
	add := func(from, at string, attr uint64) error {
		l, err := detach(from, at, attr)
		if err == nil {
			list = append(list, l)
		}
		return err
	}
	for _, path := range systemPaths() {
		if isLink(path) || slices.Contains(made, path) || !o.Network && slices.Contains(networkSettings, path) {
			continue
		}
		if err := add(path, path, readOnly); err != nil {
			return nil, err
		}
	}
	for _, path := range slices.Concat(o.Readable, devices) {
		if slices.Contains(devices, path) {
			if err := add(path, path, unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NOEXEC); err != nil {
				return nil, err
			}
			continue
		}
		if err := add(path, path, readOnly); err != nil {
			return nil, err
		}
	}
	if err := add(o.Temp, "/tmp", writable); err != nil {
		return nil, err
	}
	return list, add(o.Root, o.Root, writable)
}

func isLink(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode()&os.ModeSymlink != 0
}

// detach copies the mounts at a path.
func detach(from, at string, attr uint64) (bindMount, error) {
	info, err := os.Stat(from)
	if err != nil {
		return bindMount{}, err
	}
	fd, err := unix.OpenTree(unix.AT_FDCWD, from, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE)
	if err != nil {
		return bindMount{}, fmt.Errorf("copy mount %s: %w", from, err)
	}
	if err := setAttr(fd, attr); err != nil {
		return bindMount{}, fmt.Errorf("restrict mount %s: %w", from, err)
	}
	return bindMount{at, fd, info.IsDir()}, nil
}

func setAttr(fd int, attr uint64) error {
	return unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, &unix.MountAttr{Attr_set: attr})
}

// A mountTree is the new file tree.
type mountTree struct{ top string }

func (t *mountTree) at(path string) string { return t.top + path }

func (t *mountTree) begin() error {
	if err := unix.Mount("hako", t.top, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "size=64m,mode=755"); err != nil {
		return fmt.Errorf("make new root: %w", err)
	}
	return nil
}

// links copies links to directories, like /bin.
func (t *mountTree) links() error {
	for _, path := range systemPaths() {
		if !isLink(path) || slices.Contains(made, path) {
			continue
		}
		target, err := os.Readlink(path)
		if err != nil {
			return err
		}
		if err := t.link(target, path); err != nil {
			return err
		}
	}
	return nil
}

func (t *mountTree) link(target, at string) error {
	if err := os.MkdirAll(filepath.Dir(t.at(at)), 0o755); err != nil {
		return err
	}
	err := os.Symlink(target, t.at(at))
	if errors.Is(err, os.ErrExist) {
		return nil
	}
	return err
}

// attachAll attaches the mounts, outer ones first.
func (t *mountTree) attachAll(mounts []bindMount) error {
	slices.SortStableFunc(mounts, func(a, b bindMount) int { return strings.Count(a.at, "/") - strings.Count(b.at, "/") })
	for _, l := range mounts {
		err := t.attach(l)
		if err == nil && l.at == "/tmp" {
			err = t.freezeParents(mounts)
		}
		if err != nil {
			return fmt.Errorf("place %s: %w", l.at, err)
		}
	}
	return nil
}

// freezeParents creates the mount points below /tmp, and makes their parent directories read-only: otherwise a
// program could move the root away.
func (t *mountTree) freezeParents(mounts []bindMount) error {
	tops := map[string]bool{}
	for _, l := range mounts {
		if rest, below := strings.CutPrefix(l.at, "/tmp/"); below {
			if err := t.place(l); err != nil {
				return err
			}
			top, _, _ := strings.Cut(rest, "/")
			tops["/tmp/"+top] = true
		}
	}
	for top := range tops {
		l, err := detach(t.at(top), top, readOnly)
		if err == nil {
			err = unix.MoveMount(l.fd, "", unix.AT_FDCWD, t.at(top), unix.MOVE_MOUNT_F_EMPTY_PATH)
			unix.Close(l.fd)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (t *mountTree) attach(l bindMount) error {
	defer unix.Close(l.fd)
	err := t.place(l)
	if err != nil {
		if _, there := os.Stat(t.at(l.at)); there == nil {
			err = nil // it is in another mount, which was attached before
		}
	}
	if err != nil {
		return err
	}
	return unix.MoveMount(l.fd, "", unix.AT_FDCWD, t.at(l.at), unix.MOVE_MOUNT_F_EMPTY_PATH)
}

// place creates a mount point.
func (t *mountTree) place(l bindMount) error {
	if l.dir {
		return os.MkdirAll(t.at(l.at), 0o755)
	}
	if err := os.MkdirAll(filepath.Dir(t.at(l.at)), 0o755); err != nil {
		return err
	}
	return t.write(l.at, "")
}

func (t *mountTree) write(at, text string) error {
	if err := os.MkdirAll(filepath.Dir(t.at(at)), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(t.at(at), os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// accountFiles writes the sandbox's own account files: other accounts of this machine are hidden.
func (o *setup) accountFiles(t *mountTree) func() error {
	return func() error {
		uid, gid := strconv.Itoa(os.Getuid()), strconv.Itoa(os.Getgid())
		passwd, group := "nobody:x:65534:65534:nobody:/:/usr/sbin/nologin\n", "nogroup:x:65534:\n"
		name := "user"
		if uid == "0" {
			name = "root"
		}
		texts := map[string]string{
			"/etc/passwd":        name + ":x:" + uid + ":" + gid + ":" + name + ":/tmp/home:/bin/sh\n" + passwd,
			"/etc/group":         name + ":x:" + gid + ":\n" + group,
			"/etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\nnetworks: files\nprotocols: files\nservices: files\n",
			"/etc/hosts":         "127.0.0.1 localhost hako\n::1 localhost\n",
		}
		for at, text := range texts {
			if at == "/etc/hosts" && o.Network {
				continue
			}
			if err := t.write(at, text); err != nil {
				return err
			}
		}
		return nil
	}
}

func (t *mountTree) devices() error {
	for at, target := range map[string]string{"/dev/fd": "/proc/self/fd", "/dev/stdin": "/proc/self/fd/0",
		"/dev/stdout": "/proc/self/fd/1", "/dev/stderr": "/proc/self/fd/2"} {
		if err := t.link(target, at); err != nil {
			return err
		}
	}
	shm := t.at("/dev/shm")
	if err := os.MkdirAll(shm, 0o777); err != nil {
		return err
	}
	return unix.Mount("shm", shm, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "size=64m,mode=1777")
}

// masked are files of /proc that reveal, or do, too much if the sandbox runs as root.
var masked = []string{"kcore", "keys", "key-users", "kallsyms", "sysrq-trigger", "timer_list", "sched_debug",
	"config.gz", "kpagecount", "kpageflags"}

// processes mounts a /proc with only the processes of the sandbox. Some containers do not permit it; then there is no
// /proc.
func (t *mountTree) processes(r *Report) func() error {
	return func() error {
		proc := t.at("/proc")
		if err := os.MkdirAll(proc, 0o555); err != nil {
			return err
		}
		if err := unix.Mount("proc", proc, "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
			r.Missing = append(r.Missing, "/proc: "+err.Error())
			return nil
		}
		for _, name := range masked {
			if _, err := os.Lstat(proc + "/" + name); err != nil {
				continue
			}
			if err := unix.Mount("/dev/null", proc+"/"+name, "", unix.MS_BIND, ""); err != nil {
				return fmt.Errorf("mask /proc/%s: %w", name, err)
			}
		}
		return unix.MountSetattr(unix.AT_FDCWD, proc, 0, &unix.MountAttr{Attr_set: readOnly | unix.MOUNT_ATTR_NOEXEC})
	}
}

func (t *mountTree) pivot() error {
	if err := unix.Chdir(t.top); err != nil {
		return err
	}
	if err := unix.PivotRoot(".", "."); err != nil {
		return fmt.Errorf("change root: %w", err)
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return fmt.Errorf("leave old root: %w", err)
	}
	return unix.Chdir("/")
}

// freeze makes the new tree itself read-only.
func (t *mountTree) freeze() error {
	return unix.MountSetattr(unix.AT_FDCWD, "/", 0, &unix.MountAttr{Attr_set: readOnly})
}
