package vfs

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"hako/internal/protect"
	"hako/run/fault"
)

// guard keeps the names in a real directory as they are that programs outside
// believe later: see package protect.
type guard struct {
	names  *protect.Set
	before string // the part of the directory's own path that begins with .git; empty where it has none
}

func newGuard(names *protect.Set, dir string) guard {
	g := guard{names: names}
	parts := strings.Split(filepath.ToSlash(dir), "/")
	for i := len(parts) - 1; i >= 0; i-- {
		if protect.SameName(parts[i], ".git") {
			g.before = strings.Join(parts[i:], "/") + "/"
			break
		}
	}
	return g
}

// write refuses to change what is protected.
func (r *dirBackend) write(op, rel string) error {
	if name := r.names.Match(r.before + rel); name != "" {
		return guarded(op, rel, name)
	}
	if r.names.Git() && r.inRepository(rel) {
		return guarded(op, rel, "a directory of git")
	}
	return nil
}

// gitMarks are what makes a directory one of git, whatever its name, and what git
// believes in it.
var gitMarks = []string{"HEAD", "objects", "refs", "config", "config.worktree", "hooks", "commondir"}

// inRepository reports whether a path is, or lies in, a part of a directory of git
// that is not called .git: of a repository without a worktree, or what would be
// one if it were there.
func (r *dirBackend) inRepository(rel string) bool {
	parts := strings.Split(rel, "/")
	for i, part := range parts {
		is := func(name string) bool { return protect.SameName(part, name) }
		if !slices.ContainsFunc(gitMarks, is) {
			continue
		}
		has := func(name string) bool {
			_, err := r.root.Lstat(strings.Join(append(slices.Clone(parts[:i]), name), "/"))
			return is(name) || err == nil
		}
		if has("HEAD") && (has("objects") && has("refs") || has("commondir")) {
			return true
		}
	}
	return false
}

// again looks once more after a name was made: somebody else may have made the
// rest of a repository meanwhile. Of two who do so at the same time, each looking
// after what it did, at least one sees the other.
func (r *dirBackend) again(op, rel string, s atName, undo func() error) error {
	if !r.names.Git() || !makesRepository(s) {
		return nil
	}
	return errors.Join(guarded(op, rel, "a directory of git"), undo())
}

// makesRepository reports whether a directory is one of git with a name in it. It
// looks into the directory itself, wherever that was moved.
func makesRepository(s atName) bool {
	if !slices.ContainsFunc(gitMarks, func(name string) bool { return protect.SameName(s.name, name) }) {
		return false
	}
	has := func(name string) bool {
		_, err := s.dir.Lstat(name)
		return err == nil
	}
	return has("HEAD") && (has("objects") && has("refs") || has("commondir"))
}

// replace refuses to change, move, remove or make what is protected, or what
// protected names lie in: with .git the hooks in it would move, and a file or
// link of that name leads to hooks elsewhere.
func (r *dirBackend) replace(op, rel string) error {
	if err := r.write(op, rel); err != nil {
		return err
	}
	if r.names.Holds(r.before + rel) {
		return guarded(op, rel, rel)
	}
	return nil
}

func guarded(op, rel, name string) error {
	return &fault.Error{Kind: fault.Denied, Op: op, Subject: rel,
		Why:  name + " is protected, since git, an editor or hako would run or believe it later, outside of this sandbox",
		Hint: "write it under another name, and have a person look at it and put it in place"}
}
