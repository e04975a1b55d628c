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

// A filePath is a resolved path.
type filePath struct {
	rel  string      // from the root, with links resolved; "." is the root itself
	info fs.FileInfo // nil means that nothing exists there
}

// maxLinks is the maximum number of symbolic links in a path.
const maxLinks = 40

func (e *Editor) at() string { return path.Clean("/" + e.At) }

// find resolves a path name by name, because [os.Root] refuses links with absolute targets, and those of callers are
// relative to At. The result is opened through [os.Root], which detects a directory that is replaced by a link
// meanwhile.
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
			"did you mean "+path.Join(e.at(), path.Clean("/"+c.displayPath()))+"?")
	}
	names, ok := cutPrefix(split(c.Path), split(e.at()))
	if !ok {
		return nil, c.outsideError(e.at())
	}
	return names, nil
}

// split returns the names in a path, including "..", which can only be resolved after the name before it.
func split(p string) []string {
	return slices.DeleteFunc(strings.Split(p, "/"), func(name string) bool { return name == "" || name == "." })
}

func cutPrefix(names, prefix []string) ([]string, bool) {
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
		if err := checkName(c, name); err != nil {
			return here, err
		}
		if name == ".." {
			if len(done) == 0 {
				return here, c.outsideError(e.at())
			}
			done, names = done[:len(done)-1], names[1:]
			continue
		}
		rel := strings.Join(append(slices.Clone(done), name), "/")
		info, err := e.Root.Lstat(rel)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return e.missingPath(c, done, names)
		case err != nil:
			return here, e.osError(c, "", err)
		case info.Mode()&fs.ModeSymlink != 0:
			if links++; links > maxLinks {
				return here, c.refuse(fault.Invalid, "the path goes through too many symbolic links", "name the file itself")
			}
			if done, names, err = e.link(c, done, rel, names[1:]); err != nil {
				return here, err
			}
		case len(names) > 1 && !info.IsDir():
			return here, c.underFileError(name)
		default:
			done, names = append(done, name), names[1:]
		}
	}
	return e.endOfPath(c, done)
}

// endOfPath inspects the end of a path, whose last name may have been "..".
func (e *Editor) endOfPath(c *Call, done []string) (filePath, error) {
	p := filePath{rel: "."}
	if len(done) > 0 {
		p.rel = strings.Join(done, "/")
	}
	info, err := e.Root.Lstat(p.rel)
	if err != nil {
		return p, e.osError(c, "", err)
	}
	p.info = info
	return p, nil
}

// missingPath returns a path that does not exist. It must not contain "..".
func (e *Editor) missingPath(c *Call, done, names []string) (filePath, error) {
	for _, name := range names {
		if name == ".." {
			return filePath{}, c.notFoundError()
		}
		if err := checkName(c, name); err != nil {
			return filePath{}, err
		}
	}
	return filePath{rel: strings.Join(slices.Concat(done, names), "/")}, nil
}

// link inserts the target of a symbolic link into the path.
func (e *Editor) link(c *Call, done []string, rel string, rest []string) (before, after []string, err error) {
	target, err := e.Root.Readlink(rel)
	if err != nil {
		return nil, nil, e.osError(c, "", err)
	}
	target = filepath.ToSlash(target)
	names := split(target)
	if path.IsAbs(target) || filepath.IsAbs(target) {
		inside, ok := cutPrefix(names, split(e.at()))
		if !ok {
			return nil, nil, c.outsideError(e.at())
		}
		done, names = nil, inside
	}
	return done, slices.Concat(names, rest), nil
}

// checkName rejects names with a special meaning on Windows, such as drives and streams.
func checkName(c *Call, name string) error {
	if filepath.Separator != '/' && strings.ContainsAny(name, `\:`) {
		return c.refuse(fault.Invalid, `a name in the path has \ or : in it`, "part names with /")
	}
	return nil
}

func (c *Call) underFileError(name string) error {
	if c.Command != create {
		return c.notFoundError()
	}
	return c.refuse(fault.Invalid, name+" is a file, not a directory", "choose another path")
}
