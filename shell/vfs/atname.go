package vfs

import (
	"io/fs"
	"os"
	"strings"
)

// An atName is a name in a directory that is open: it stays that directory, whatever
// becomes of the names that led there. Everything that changes real files goes by
// an atName. [os.Root] alone keeps an operation in the tree, but follows links that
// somebody else puts in the way meanwhile, and then it changes something else
// than what was judged.
type atName struct {
	dir  *os.Root
	name string
	own  bool // dir is closed with the atName
}

func (s atName) close() {
	if s.own {
		s.dir.Close()
	}
}

// atName opens the directory that rel lies in, without following a link.
func (r *dirBackend) atName(rel string) (atName, error) {
	if err := local(rel); err != nil {
		return atName{}, err
	}
	at := atName{dir: r.root, name: rel}
	for {
		first, rest, more := strings.Cut(at.name, "/")
		if !more {
			return at, nil
		}
		next, err := enter(at.dir, first)
		at.close()
		if err != nil {
			return atName{}, err
		}
		at = atName{next, rest, true}
	}
}

// enter opens a directory that is none by way of a link. With "/." it must be one:
// a FIFO in its place would be waited for.
func enter(dir *os.Root, name string) (*os.Root, error) {
	before, err := dir.Lstat(name)
	switch {
	case err != nil:
		return nil, translate(err)
	case before.Mode()&fs.ModeSymlink != 0:
		return nil, errBusy // it was a directory when the name was resolved
	case !before.IsDir():
		return nil, ErrNotDir
	}
	next, err := dir.OpenRoot(name + "/.")
	if err != nil {
		return nil, translate(err)
	}
	after, err := next.Stat(".")
	if err == nil && os.SameFile(before, after) {
		return next, nil
	}
	next.Close()
	if err == nil {
		err = errBusy
	}
	return nil, translate(err)
}

// at opens the atName of a name and has f change it.
func (r *dirBackend) at(rel string, f func(s atName) error) error {
	s, err := r.atName(rel)
	if err != nil {
		return err
	}
	defer s.close()
	return translate(f(s))
}

// between opens the names of two names and has f change them.
func (r *dirBackend) between(old, new string, f func(from, to atName) error) error {
	return r.at(old, func(from atName) error {
		return r.at(new, func(to atName) error { return f(from, to) })
	})
}
