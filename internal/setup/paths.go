package setup

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Within resolves a name relative to dir.
func Within(dir, name string) string {
	if !filepath.IsAbs(name) {
		name = filepath.Join(filepath.FromSlash(dir), name)
	}
	return filepath.ToSlash(filepath.Clean(name))
}

// Resolve follows the links in a path as far as it exists. A dangling last link is followed, too, since writing
// to it creates its target.
func Resolve(path string) string { return resolveLinks(path, 40) }

func resolveLinks(path string, hops int) string {
	if real, err := filepath.EvalSymlinks(path); err == nil || hops == 0 {
		return cmp.Or(real, path)
	}
	dir := filepath.Dir(path)
	if dir == path {
		return path
	}
	dir = resolveLinks(dir, hops-1)
	target, err := os.Readlink(filepath.Join(dir, filepath.Base(path)))
	switch {
	case err != nil:
		return filepath.Join(dir, filepath.Base(path))
	case filepath.IsAbs(target):
		return resolveLinks(target, hops-1)
	}
	return resolveLinks(filepath.Join(dir, target), hops-1)
}

// ReasonOf removes the operation and path from an error of package os.
func ReasonOf(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}
