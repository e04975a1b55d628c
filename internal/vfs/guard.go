package vfs

import (
	"path/filepath"
	"strings"

	"hako/internal/fault"
	"hako/internal/protect"
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
func (g guard) write(op, rel string) error {
	if name := g.names.Match(g.before + rel); name != "" {
		return guarded(op, rel, name)
	}
	return nil
}

// replace refuses to change, move, remove or make what is protected, or what
// protected names lie in: with .git the hooks in it would move, and a file or
// link of that name leads to hooks elsewhere.
func (g guard) replace(op, rel string) error {
	if err := g.write(op, rel); err != nil {
		return err
	}
	if g.names.Holds(g.before + rel) {
		return guarded(op, rel, rel)
	}
	return nil
}

func guarded(op, rel, name string) error {
	return &fault.Error{Kind: fault.Denied, Op: op, Subject: rel, Why: name + " is protected, since git, an editor or hako would run or believe it later, outside of this sandbox",
		Hint: "write it under another name, and have a person look at it and put it in place"}
}
