package host

import (
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"hako/internal/protect"
)

// newProtection finds what to protect below the root.
func newProtection(root string, names []string) *protection {
	p := &protection{root: root}
	git := false
	for _, name := range names {
		if top, _, _ := strings.Cut(name, "/"); protect.SameName(top, ".git") {
			git = true
		} else {
			p.names = append(p.names, name)
		}
	}
	top, err := openRoot(root)
	if err != nil || !git {
		return p
	}
	defer top.close()
	p.watchGit("")
	p.search(top)
	return p
}

// watchGit adds the repository of a directory.
func (p *protection) watchGit(dir string) {
	p.names = append(p.names, path.Join(dir, ".git"))
	p.watchEntries(path.Join(dir, ".git"))
}

// watchEntries adds the sensitive entries of a git directory.
func (p *protection) watchEntries(dir string) {
	for _, name := range protect.GitNames() {
		if at := path.Join(dir, name); !slices.Contains(p.names, at) {
			p.names = append(p.names, at)
		}
	}
}

// search finds repositories below the root, and git directories with other names: of submodules, linked worktrees and
// bare repositories.
func (p *protection) search(top *dirs) {
	queue := []string{"."}
	for n := 0; len(queue) > 0 && n < mostSearched; n++ {
		dir := queue[0]
		queue = queue[1:]
		entries := top.list(dir)
		has := map[string]bool{}
		for _, e := range entries {
			has[e.Name()] = true
		}
		if has["HEAD"] && has["objects"] && has["refs"] || has["HEAD"] && has["commondir"] {
			p.watchEntries(dir)
		}
		for _, e := range entries {
			at := path.Join(dir, e.Name())
			switch {
			case protect.SameName(e.Name(), ".git"):
				if at != ".git" {
					p.watchGit(dir)
				}
				if e.IsDir() {
					queue = append(queue, at)
				}
			case e.IsDir() && !(path.Base(dir) == ".git" && e.Name() != "modules" && e.Name() != "worktrees"):
				queue = append(queue, at)
			}
		}
	}
}

// snapshot records the state of everything protected.
func (p *protection) snapshot() {
	top, err := openRoot(p.root)
	if err != nil {
		return
	}
	defer top.close()
	old, room := p.kept, mostKept
	p.kept = map[string]savedFile{}
	for _, name := range p.names {
		top.each(name, func(at string, s stamp) {
			if was, ok := old[at]; ok && was.stamp == s {
				p.kept[at] = was
			} else if now, ok := top.look(at); ok {
				if room -= len(now.text); room < 0 {
					now.text, now.whole = "", false
				}
				p.kept[at] = now
			}
		})
	}
}

// restore undoes changes of programs, and reports them.
func (p *protection) restore(complain io.Writer) {
	top, err := openRoot(p.root)
	if err != nil {
		return
	}
	defer top.close()
	for _, name := range p.names {
		var changed []string
		top.each(name, func(at string, s stamp) {
			if was, ok := p.kept[at]; !ok || was.stamp != s {
				changed = append(changed, at)
			}
		})
		p.restoreChanged(top, name, changed, complain)
	}
}

func (p *protection) restoreChanged(top *dirs, name string, changed []string, complain io.Writer) {
	aside := ""
	for _, at := range changed {
		if aside != "" && strings.HasPrefix(at, aside+"/") {
			continue // it was moved with its directory
		}
		now, there := top.look(at)
		was := p.kept[at]
		if !there || now.what == aDir && (was.what == aDir || was.what == 0 && (at != name || isGit(at))) ||
			acceptable(at, now, was) {
			continue
		}
		moved, err := top.moveAside(at)
		if err == nil && was.what != 0 && was.what != aDir { // a directory was moved, and still exists
			err = top.restore(at, was)
		}
		if aside = at; complain != nil {
			report(complain, at, moved, err)
		}
	}
}

func report(w io.Writer, at, moved string, err error) {
	if err != nil {
		fmt.Fprintf(w, "hako: %s was changed and cannot be put right: %v\nhako: hint: look at it before you use git, an editor or hako there\n", at, err)
		return
	}
	fmt.Fprintf(w, "hako: moved %s to %s: git, an editor or hako would use it outside of the sandbox\nhako: hint: look at it, and put it in place yourself if it is as you want it\n", at, moved)
}

// dirs accesses files below a directory without following links, also during concurrent changes.
type dirs struct{ fd int }

func openRoot(root string) (*dirs, error) {
	fd, err := unix.Open(root, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	return &dirs{fd}, err
}

func (d *dirs) close() { unix.Close(d.fd) }

func (d *dirs) open(at string, flags uint64) (int, error) {
	return unix.Openat2(d.fd, at,
		&unix.OpenHow{Flags: flags | unix.O_CLOEXEC, Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS})
}

// in opens the parent directory of a path and calls f with it.
func (d *dirs) in(at string, f func(dir int, name string) error) error {
	fd, err := d.open(path.Dir(at), unix.O_PATH|unix.O_DIRECTORY)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return f(fd, path.Base(at))
}

func (d *dirs) list(at string) []os.DirEntry {
	fd, err := d.open(at, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return nil
	}
	f := os.NewFile(uintptr(fd), at)
	defer f.Close()
	entries, _ := f.ReadDir(-1)
	return entries
}

// each calls f for a path, and for everything below it.
func (d *dirs) each(at string, f func(at string, s stamp)) {
	var st unix.Stat_t
	if d.in(at, func(dir int, name string) error {
		return unix.Fstatat(dir, name, &st,
			unix.AT_SYMLINK_NOFOLLOW)
	}) != nil {
		return
	}
	f(at, stampOf(&st))
	if st.Mode&unix.S_IFMT != unix.S_IFDIR || !deep(at) {
		return
	}
	for _, e := range d.list(at) { // all of them: a program could choose which come last
		d.each(path.Join(at, e.Name()), f)
	}
}

func stampOf(st *unix.Stat_t) stamp {
	s := stamp{ino: st.Ino, dev: uint64(st.Dev), mode: st.Mode}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR { // the contents of a directory are checked separately
		s.size, s.sec, s.nsec = st.Size, int64(st.Ctim.Sec), int64(st.Ctim.Nsec)
	}
	return s
}

// look reads the state of a file.
func (d *dirs) look(at string) (k savedFile, there bool) {
	var st unix.Stat_t
	err := d.in(at, func(dir int, name string) error {
		if err := unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
			return err
		}
		k = savedFile{what: aOther, perm: st.Mode & 0o777, stamp: stampOf(&st)}
		switch st.Mode & unix.S_IFMT {
		case unix.S_IFDIR:
			k.what = aDir
		case unix.S_IFLNK:
			buf := make([]byte, unix.PathMax)
			n, err := unix.Readlinkat(dir, name, buf)
			k.what, k.target, k.whole = aLink, string(buf[:max(n, 0)]), err == nil
		case unix.S_IFREG:
			k.what = aFile
			k.text, k.whole = d.read(at)
		}
		return nil
	})
	return k, err == nil
}

func (d *dirs) read(at string) (string, bool) {
	fd, err := d.open(at, unix.O_RDONLY|unix.O_NONBLOCK)
	if err != nil {
		return "", false
	}
	f := os.NewFile(uintptr(fd), at)
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return "", false
	}
	text, err := io.ReadAll(io.LimitReader(f, largestKept+1))
	return string(text), err == nil && len(text) <= largestKept
}

// moveAside renames a file so that no program uses it.
func (d *dirs) moveAside(at string) (moved string, err error) {
	for n := 1; n < 100; n++ {
		moved = at + asideSuffix
		if n > 1 {
			moved = fmt.Sprintf("%s%s-%d", at, asideSuffix, n)
		}
		err = d.in(at, func(dir int, name string) error {
			return unix.Renameat2(dir, name, dir, path.Base(moved), unix.RENAME_NOREPLACE)
		})
		if err != unix.EEXIST {
			break
		}
	}
	return moved, err
}

// restore restores the state of a file.
func (d *dirs) restore(at string, was savedFile) error {
	return d.in(at, func(dir int, name string) error {
		switch {
		case was.what == aLink && was.whole:
			return unix.Symlinkat(was.target, dir, name)
		case was.what != aFile || !was.whole:
			return fmt.Errorf("it was too large, or not a file, and is not kept")
		}
		fd, err := unix.Openat(dir, name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, was.perm)
		if err != nil {
			return err
		}
		f := os.NewFile(uintptr(fd), at)
		defer f.Close()
		if _, err := f.WriteString(was.text); err != nil {
			return err
		}
		return f.Chmod(os.FileMode(was.perm))
	})
}
