package editor

import (
	"errors"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"hako/run/fault"
)

// A filePath is what a path leads to.
type filePath struct {
	rel  string      // from the root, with all links followed; "." is the root itself
	info fs.FileInfo // nil means that nothing is there
}

// mostLinks is how many symbolic links one path may go through.
const mostLinks = 40

func (e *Editor) at() string { return path.Clean("/" + e.At) }

// find follows a path. It does so itself, name by name, because [os.Root] knows
// no links with absolute targets and the callers' world begins elsewhere; what
// is found is opened through [os.Root] all the same, which keeps out whoever
// exchanges a directory for a link meanwhile.
func (e *Editor) find(c *Call) (filePath, error) {
	if e.Root == nil {
		return filePath{}, c.refuse(fault.Denied, "no directory is open for editing", "")
	}
	names, err := e.below(c)
	if err != nil {
		return filePath{}, err
	}
	return e.follow(c, names)
}

// below returns the names of a path from the root on.
func (e *Editor) below(c *Call) ([]string, error) {
	switch {
	case strings.ContainsRune(c.Path, 0):
		return nil, c.refuse(fault.Invalid, "the path has a NUL in it", "leave it out")
	case strings.HasPrefix(c.Path, "/"):
	case e.Relative:
		return split(c.Path), nil
	default:
		return nil, c.refuse(fault.Invalid, "the path is not absolute",
			"did you mean "+path.Join(e.at(), path.Clean("/"+c.shown()))+"?")
	}
	names, ok := cut(split(c.Path), split(e.at()))
	if !ok {
		return nil, c.outside(e.at())
	}
	return names, nil
}

// split returns the names in a path, ".." among them: what it undoes is only
// known when the name before it was followed.
func split(p string) []string {
	return slices.DeleteFunc(strings.Split(p, "/"), func(name string) bool { return name == "" || name == "." })
}

func cut(names, prefix []string) ([]string, bool) {
	if len(names) < len(prefix) || !slices.Equal(names[:len(prefix)], prefix) {
		return nil, false
	}
	return names[len(prefix):], true
}

func (e *Editor) follow(c *Call, names []string) (filePath, error) {
	var done []string
	links := 0
	here := filePath{rel: "."}
	for len(names) > 0 {
		name := names[0]
		if err := local(c, name); err != nil {
			return here, err
		}
		if name == ".." {
			if len(done) == 0 {
				return here, c.outside(e.at())
			}
			done, names = done[:len(done)-1], names[1:]
			continue
		}
		rel := strings.Join(append(slices.Clone(done), name), "/")
		info, err := e.Root.Lstat(rel)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return e.nothing(c, done, names)
		case err != nil:
			return here, e.failed(c, "", err)
		case info.Mode()&fs.ModeSymlink != 0:
			if links++; links > mostLinks {
				return here, c.refuse(fault.Invalid, "the path goes through too many symbolic links", "name the file itself")
			}
			if done, names, err = e.link(c, done, rel, names[1:]); err != nil {
				return here, err
			}
		case len(names) > 1 && !info.IsDir():
			return here, c.underFile(name)
		default:
			done, names = append(done, name), names[1:]
		}
	}
	return e.there(c, done)
}

// there looks at the end of a path again: the last step may have been "..".
func (e *Editor) there(c *Call, done []string) (filePath, error) {
	p := filePath{rel: "."}
	if len(done) > 0 {
		p.rel = strings.Join(done, "/")
	}
	info, err := e.Root.Lstat(p.rel)
	if err != nil {
		return p, e.failed(c, "", err)
	}
	p.info = info
	return p, nil
}

// nothing is the place where a path ends before its last name. Only what is
// made anew may be there, and no ".." can be followed through it.
func (e *Editor) nothing(c *Call, done, names []string) (filePath, error) {
	for _, name := range names {
		if name == ".." {
			return filePath{}, c.missing()
		}
		if err := local(c, name); err != nil {
			return filePath{}, err
		}
	}
	return filePath{rel: strings.Join(slices.Concat(done, names), "/")}, nil
}

// link puts the target of a symbolic link into the path.
func (e *Editor) link(c *Call, done []string, rel string, rest []string) (before, after []string, err error) {
	target, err := e.Root.Readlink(rel)
	if err != nil {
		return nil, nil, e.failed(c, "", err)
	}
	target = filepath.ToSlash(target)
	names := split(target)
	if path.IsAbs(target) || filepath.IsAbs(target) {
		inside, ok := cut(names, split(e.at()))
		if !ok {
			return nil, nil, c.outside(e.at())
		}
		done, names = nil, inside
	}
	return done, slices.Concat(names, rest), nil
}

// local refuses names that mean more to the system than to us, as drives and
// streams do.
func local(c *Call, name string) error {
	if filepath.Separator != '/' && strings.ContainsAny(name, `\:`) {
		return c.refuse(fault.Invalid, `a name in the path has \ or : in it`, "part names with /")
	}
	return nil
}

func (c *Call) underFile(name string) error {
	if c.Command != create {
		return c.missing()
	}
	return c.refuse(fault.Invalid, name+" is a file, not a directory", "choose another path")
}
