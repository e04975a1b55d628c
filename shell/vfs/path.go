package vfs

import (
	"io/fs"
	"path"
	"strings"
)

// maxLinks is how many symbolic links a name may lead through.
const maxLinks = 40

// place is where a name leads: the grant that covers it and the name there.
// No element of path is a symbolic link but, if that was asked for, the last.
type place struct {
	path   string
	g      *grant
	rel    string
	exists bool // if not, the directory it would be in does
	info   Info
	n      *node // set if it exists and is in memory
}

func (t *FS) top() place {
	p := place{path: "/", g: t.grants["/"]}
	p.rel = p.g.base
	p.look()
	return p
}

// look finds out what is at p.
func (p *place) look() (err error) {
	if m, ok := p.g.b.(*memory); !ok {
		p.info, err = p.g.b.lstat(p.rel)
	} else if p.n, err = m.walk(p.rel); err == nil {
		p.info = p.n.info(path.Base(p.rel))
	}
	p.exists = err == nil
	return err
}

// resolve finds out where a name leads. What a slash follows must be a
// directory if it exists. The caller holds the lock.
func (t *FS) resolve(name string, follow bool) (place, error) {
	slash := endsInSlash(name)
	p, err := t.lead(name, follow || slash)
	if slash && err == nil && p.exists && !p.info.IsDir() {
		return place{}, ErrNotDir
	}
	return p, err
}

func endsInSlash(name string) bool { return len(name) > 1 && name[len(name)-1] == '/' }

// lead is resolve for names without a slash at the end.
func (t *FS) lead(name string, follow bool) (place, error) {
	if len(name) > maxPath {
		return place{}, errNameTooLong
	}
	if strings.IndexByte(name, 0) >= 0 || !path.IsAbs(name) {
		return place{}, ErrInvalid
	}
	cur, rest := t.start(path.Clean(name))
	for links := 0; rest != ""; {
		var part string
		part, rest, _ = strings.Cut(rest, "/")
		rest = strings.TrimLeft(rest, "/")
		switch {
		case part == "" || part == ".":
			continue
		case !cur.info.IsDir():
			return place{}, ErrNotDir
		case part == "..":
			cur = t.above(cur)
			continue
		}
		next, err := t.step(cur, part)
		switch {
		case err != nil:
			return place{}, err
		case !next.exists && rest != "":
			return place{}, fs.ErrNotExist
		case !next.exists:
			return next, nil
		case next.info.mode&fs.ModeSymlink == 0 || !follow && rest == "":
			cur = next
			continue
		}
		if links++; links > maxLinks {
			return place{}, ErrLoop
		}
		if cur, rest, err = t.jump(cur, next, rest); err != nil {
			return place{}, err
		}
	}
	return cur, nil
}

// jump follows the symbolic link at link, which is an entry of dir.
func (t *FS) jump(dir, link place, rest string) (place, string, error) {
	if err := t.env.limiter.Err(); err != nil { // long ways through many links take time
		return dir, "", err
	}
	target, err := link.g.b.readlink(link.rel)
	if err == nil && len(target) > maxPath {
		err = errNameTooLong
	}
	if err != nil {
		return dir, "", err
	}
	if path.IsAbs(target) {
		dir = t.top()
	}
	return dir, target + "/" + rest, nil
}

// start returns a place to resolve from and the rest of the name. In the
// memory tree most names have no symbolic link in them, and their directory is
// found at once.
func (t *FS) start(name string) (place, string) {
	i := strings.LastIndexByte(name, '/')
	if i > 0 {
		p := t.covering(name[:i])
		if m, ok := p.g.b.(*memory); ok {
			if n, err := m.walk(p.rel); err == nil && n.kind.IsDir() {
				p.n, p.exists, p.info = n, true, n.info(path.Base(p.rel))
				return p, name[i+1:]
			}
		}
	}
	return t.top(), name[1:]
}

// covering returns the place of a name that has no symbolic links in it.
func (t *FS) covering(name string) place {
	at := "/"
	if len(t.grants) > 1 {
		for at = name; t.grants[at] == nil; {
			at = path.Dir(at)
		}
	}
	g := t.grants[at]
	rel := strings.TrimPrefix(name[len(at):], "/")
	switch {
	case rel == "":
		rel = g.base
	case g.base != ".":
		rel = g.base + "/" + rel
	}
	return place{path: name, g: g, rel: rel}
}

// above returns the directory that p is in. There is nothing above the top.
func (t *FS) above(p place) place {
	up := t.covering(path.Dir(p.path))
	up.look()
	return up
}

// step returns the place of an entry of the directory cur.
func (t *FS) step(cur place, part string) (place, error) {
	if len(part) > maxName {
		return place{}, errNameTooLong
	}
	next := cur.entry(part)
	if g := t.grants[next.path]; g != nil {
		next.g, next.rel = g, g.base
	} else if cur.n != nil {
		if next.n = cur.n.children[part]; next.n != nil {
			next.info, next.exists = next.n.info(part), true
		}
		return next, nil
	} else if len(t.grants) > 1 && t.shadows(next.path) {
		return next, nil
	}
	err := next.look()
	if isMissing(err) {
		err = nil
	}
	next.info.name = part
	return next, err
}

// entry names an entry of a directory.
func (p place) entry(part string) place {
	dir := p.path
	if dir == "/" {
		dir = ""
	}
	next := place{path: dir + "/" + part, g: p.g, rel: part}
	if p.rel != "." && strings.HasSuffix(p.path, p.rel) { // share the string
		next.rel = next.path[len(next.path)-len(p.rel)-1-len(part):]
	} else if p.rel != "." {
		next.rel = p.rel + "/" + part
	}
	return next
}

// shadows reports whether the name is another spelling of a grant's. On hosts
// that ignore case it would be a way around the grant.
func (t *FS) shadows(name string) bool {
	for at := range t.grants {
		if strings.EqualFold(at, name) {
			return true
		}
	}
	return false
}

// holdsGrant reports whether something granted is at or below the path.
func (t *FS) holdsGrant(name string) bool {
	for at := range t.grants {
		if at == name || within(at, name) {
			return true
		}
	}
	return false
}

// within reports whether name lies below dir.
func within(name, dir string) bool {
	return strings.HasPrefix(name, strings.TrimSuffix(dir, "/")+"/") && name != dir
}
