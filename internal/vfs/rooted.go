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

	"hako/internal/fault"
)

// rooted is the backend of a real directory.
type rooted struct {
	env  *env
	root *os.Root
	key  string // tells its files from those of other directories
}

func openRooted(e *env, real string) (*rooted, error) {
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
	return &rooted{e, root, dir}, nil
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

func (r *rooted) lstat(rel string) (Info, error) {
	if err := local(rel); err != nil {
		return Info{}, err
	}
	info, err := r.root.Lstat(rel)
	if err != nil {
		return Info{}, translate(err)
	}
	return realInfo(info.Name(), info), nil
}

func (r *rooted) readlink(rel string) (string, error) {
	target, err := r.root.Readlink(rel)
	return filepath.ToSlash(target), translate(err)
}

func (r *rooted) list(rel string) ([]Info, error) {
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
			err = r.env.gauge.Fits(int64(len(infos)) * entryCost)
		}
	}
	if err == io.EOF {
		err = nil
	}
	slices.SortFunc(infos, func(a, b Info) int { return strings.Compare(a.name, b.name) })
	return infos, translate(err)
}

func (r *rooted) open(rel string, how opening) (handle, error) {
	if err := local(rel); err != nil {
		return nil, err
	}
	return how.env.openReal(r.root, rel, r.key+"/"+rel, how)
}

func (r *rooted) mkdir(rel string, perm fs.FileMode) error {
	return translate(r.root.Mkdir(rel, perm.Perm()))
}

func (r *rooted) symlink(target, rel string) error {
	if !staysInside(target, rel) {
		return ErrNotGranted
	}
	return translate(r.root.Symlink(target, rel))
}

func (r *rooted) link(old, new string) error {
	if err := r.mayMove(old, new); err != nil {
		return err
	}
	return translate(r.root.Link(old, new))
}

func (r *rooted) rename(old, new string) error {
	if err := r.mayMove(old, new); err != nil {
		return err
	}
	return translate(r.root.Rename(old, new))
}

func (r *rooted) remove(rel string) error { return translate(r.root.Remove(rel)) }

// chmod never sets the bits that would lend somebody else's rights.
func (r *rooted) chmod(rel string, mode fs.FileMode) error {
	return translate(r.root.Chmod(rel, mode.Perm()))
}

func (r *rooted) chtimes(rel string, atime, mtime time.Time) error {
	return translate(r.root.Chtimes(rel, atime, mtime))
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

// mayMove refuses to move a symbolic link to where it leads out of the
// directory, and to move a directory with such a link in it.
func (r *rooted) mayMove(old, new string) error {
	info, err := r.lstat(old)
	if err != nil {
		return err
	}
	if info.mode&fs.ModeSymlink != 0 {
		target, err := r.readlink(old)
		if err == nil && staysInside(target, old) && !staysInside(target, new) {
			err = ErrNotGranted
		}
		return err
	}
	if !info.IsDir() || strings.Count(new, "/") >= strings.Count(old, "/") {
		return nil
	}
	entries, err := r.list(old)
	for _, e := range entries {
		if err != nil {
			break
		}
		err = r.mayMove(old+"/"+e.name, new+"/"+e.name)
	}
	return err
}
