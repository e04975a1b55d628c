package vfs

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"hako/run/fault"
)

// dirBackend is the backend of a real directory.
type dirBackend struct {
	env  *env
	root *os.Root
	key  string // tells its files from those of other directories
	guard
}

func openDirBackend(e *env, real string) (*dirBackend, error) {
	dir, err := filepath.Abs(real)
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		return nil, grantFault(real, "", "name a directory that exists", translate(err))
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, grantFault(real, "", "name a directory that can be read", translate(err))
	}
	return &dirBackend{e, root, dir, newGuard(e.protect, dir)}, nil
}

func grantFault(real, why, hint string, cause error) error {
	kind := fault.Invalid
	if errors.Is(cause, fs.ErrNotExist) {
		kind = fault.NotFound
	}
	if cause != nil {
		why = strings.ToLower(Reason(cause))
	}
	return &fault.Error{Kind: kind, Op: "grant", Subject: real, Why: why, Hint: hint}
}

// local refuses names that mean more to the host than to us.
func local(rel string) error {
	if filepath.Separator != '/' && strings.ContainsAny(rel, `\:`) {
		return fs.ErrNotExist
	}
	return nil
}

func (r *dirBackend) lstat(rel string) (Info, error) {
	if err := local(rel); err != nil {
		return Info{}, err
	}
	info, err := r.root.Lstat(rel)
	if err != nil {
		return Info{}, translate(err)
	}
	return realInfo(info.Name(), info), nil
}

func (r *dirBackend) readlink(rel string) (string, error) {
	target, err := r.root.Readlink(rel)
	return filepath.ToSlash(target), translate(err)
}

func (r *dirBackend) list(rel string) ([]Info, error) {
	// With "/." it must be a directory: a FIFO in its place would be waited for.
	sub, err := r.root.OpenRoot(rel + "/.")
	if err != nil {
		return nil, translate(err)
	}
	defer sub.Close()
	dir, err := sub.Open(".")
	if err != nil {
		return nil, translate(err)
	}
	defer dir.Close()
	var infos []Info
	for err == nil {
		var names []string
		names, err = dir.Readdirnames(1000)
		for _, name := range names { // not File.Readdir: it may look by the full name
			if info, err := sub.Lstat(name); err == nil {
				infos = append(infos, realInfo(name, info))
			}
		}
		if err == nil {
			err = r.env.limiter.Fits(int64(len(infos)) * entryCost)
		}
	}
	if err == io.EOF {
		err = nil
	}
	slices.SortFunc(infos, func(a, b Info) int { return strings.Compare(a.name, b.name) })
	return infos, translate(err)
}

func (r *dirBackend) open(rel string, how opening) (handle, error) {
	if err := local(rel); err != nil {
		return nil, err
	}
	if how.flag&(os.O_WRONLY|os.O_RDWR|os.O_CREATE) == 0 {
		return how.env.openReal(r.root, rel, r.key+"/"+rel, how)
	}
	if err := r.replace("write", rel); err != nil {
		return nil, err
	}
	at, err := r.atName(rel)
	if err != nil {
		return nil, err
	}
	defer at.close()
	_, missing := at.dir.Lstat(at.name)
	h, err := how.env.openReal(at.dir, at.name, r.key+"/"+rel, how)
	if err != nil || missing == nil {
		return h, err
	}
	if err := r.again("write", rel, at, func() error { return at.dir.Remove(at.name) }); err != nil {
		return nil, errors.Join(err, h.Close())
	}
	return h, nil
}

func (r *dirBackend) mkdir(rel string, perm fs.FileMode) error {
	if err := r.write("make directory", rel); err != nil {
		return err
	}
	return r.at(rel, func(s atName) error {
		if err := s.dir.Mkdir(s.name, perm.Perm()); err != nil {
			return err
		}
		return r.again("make directory", rel, s, func() error { return s.dir.Remove(s.name) })
	})
}

// symlink makes a link, and looks again where it lies: a directory that somebody
// else moved meanwhile may have taken it to where its target leads out.
func (r *dirBackend) symlink(target, rel string) error {
	if !staysInside(target, rel) {
		return errNotGranted
	}
	if err := r.replace("link", rel); err != nil {
		return err
	}
	return r.at(rel, func(s atName) error {
		if err := s.dir.Symlink(target, s.name); err != nil {
			return err
		}
		made, err := s.dir.Lstat(s.name)
		if err != nil {
			return err
		}
		if now, err := r.root.Lstat(rel); err != nil || !os.SameFile(made, now) {
			return errors.Join(errBusy, s.dir.Remove(s.name))
		}
		return r.again("link", rel, s, func() error { return s.dir.Remove(s.name) })
	})
}

func (r *dirBackend) link(old, new string) error {
	if err := r.replace("link", old); err != nil { // by the other name it could be written
		return err
	}
	return r.move("link", old, new, linkAt)
}

func (r *dirBackend) rename(old, new string) error { return r.move("move", old, new, renameAt) }

// move gives a file another name, and looks at it again there: what was looked at
// before may have been exchanged for something else meanwhile.
func (r *dirBackend) move(op, old, new string, do func(r *dirBackend, from, to atName, old, new string) error) error {
	for _, rel := range []string{old, new} {
		if err := r.replace(op, rel); err != nil {
			return err
		}
	}
	if err := r.mayMove(op, old, new); err != nil {
		return err
	}
	if err := r.between(old, new, func(from, to atName) error {
		if err := do(r, from, to, old, new); err != nil {
			return err
		}
		return r.again(op, new, to, func() error {
			if op == "link" {
				return to.dir.Remove(to.name)
			}
			return renameAt(r, to, from, new, old)
		})
	}); err != nil {
		return err
	}
	return r.cutLinks(old, new)
}

func (r *dirBackend) remove(rel string) error {
	if err := r.replace("remove", rel); err != nil {
		return err
	}
	return r.at(rel, func(s atName) error { return s.dir.Remove(s.name) })
}

// chmod never sets the bits that would lend somebody else's rights.
func (r *dirBackend) chmod(rel string, mode fs.FileMode) error {
	if err := r.write("change mode", rel); err != nil {
		return err
	}
	return r.at(rel, func(s atName) error { return s.dir.Chmod(s.name, mode.Perm()) })
}

func (r *dirBackend) chtimes(rel string, atime, mtime time.Time) error {
	if err := r.write("change times", rel); err != nil {
		return err
	}
	return r.at(rel, func(s atName) error { return s.dir.Chtimes(s.name, atime, mtime) })
}

// staysInside reports whether a symbolic link at rel with that target leads
// into the directory on the host too. One that leads out would be a trap for
// whoever follows it there later. A ".." after another name is not trusted:
// that name may become a link.
func staysInside(target, rel string) bool {
	if filepath.IsAbs(target) || strings.HasPrefix(target, "/") || strings.ContainsAny(target, `\`) {
		return false
	}
	depth, down := strings.Count(rel, "/"), false
	for part := range strings.SplitSeq(target, "/") {
		switch {
		case part == ".." && (down || depth == 0):
			return false
		case part == "..":
			depth--
		case part != "" && part != ".":
			down = true
		}
	}
	return true
}

// leadsOut reports whether a symbolic link that leads into the directory from old
// leads out of it from new.
func leadsOut(target, old, new string) bool {
	return staysInside(target, old) && !staysInside(target, new)
}

// mayMove refuses to move a symbolic link to where it leads out of the
// directory, and to move a directory with such a link, or something protected,
// in it.
func (r *dirBackend) mayMove(op, old, new string) error {
	info, err := r.lstat(old)
	if err != nil {
		return err
	}
	if info.mode&fs.ModeSymlink != 0 {
		target, err := r.readlink(old)
		if err == nil && leadsOut(target, old, new) {
			err = errNotGranted
		}
		return err
	}
	if !info.IsDir() {
		return nil
	}
	if err := r.env.limiter.Err(); err != nil { // a large tree takes time
		return err
	}
	entries, err := r.list(old)
	for _, e := range entries {
		if err != nil {
			break
		}
		from, to := old+"/"+e.name, new+"/"+e.name
		if err = errors.Join(r.replace(op, from), r.replace(op, to)); err == nil {
			err = r.mayMove(op, from, to)
		}
	}
	return err
}

// cutLinks removes links from what was moved that lead out from there: one that
// was made while it was being moved.
func (r *dirBackend) cutLinks(old, new string) error {
	info, err := r.lstat(new)
	if err != nil {
		return nil // moved on; whoever did that looks too
	}
	if info.mode&fs.ModeSymlink != 0 {
		if target, err := r.readlink(new); err != nil || !leadsOut(target, old, new) {
			return nil
		}
		return errors.Join(errNotGranted, r.at(new, func(s atName) error { return s.dir.Remove(s.name) }))
	}
	if !info.IsDir() || strings.Count(new, "/") >= strings.Count(old, "/") {
		return nil
	}
	entries, err := r.list(new)
	for _, e := range entries {
		err = errors.Join(err, r.cutLinks(old+"/"+e.name, new+"/"+e.name))
	}
	return err
}
