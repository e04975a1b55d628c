package vfs

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
)

// MkdirAll makes a directory and those that lead to it.
func (t *FS) MkdirAll(name string, perm fs.FileMode) error {
	info, err := t.Stat(name)
	switch {
	case err == nil && info.IsDir():
		return nil
	case err == nil:
		return wrap("mkdir", name, ErrNotDir)
	case !isMissing(err) || name == "/":
		return err
	}
	if err := t.MkdirAll(path.Dir(name), perm); err != nil {
		return err
	}
	err = t.Mkdir(name, perm)
	if errors.Is(err, fs.ErrExist) { // another stage may have been faster
		if info, serr := t.Stat(name); serr == nil && info.IsDir() {
			return nil
		}
	}
	return err
}

// RemoveAll removes a file, or a directory with all that is in it. It goes on
// after an error and returns the first; that there is no such file is none.
func (t *FS) RemoveAll(name string) error {
	info, err := t.Lstat(name)
	if isMissing(err) {
		return nil
	}
	if err != nil {
		return err
	}
	var first error
	if info.IsDir() {
		entries, err := t.ReadDir(name)
		first = err
		for _, e := range entries {
			if err := t.RemoveAll(path.Join(name, e.Name())); err != nil && first == nil {
				first = err
			}
		}
	}
	if err := t.Remove(name); err != nil && first == nil && !isMissing(err) {
		first = err
	}
	return first
}

// Truncate makes a file the given number of bytes long.
func (t *FS) Truncate(name string, size int64) error {
	f, err := t.Open(name, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Truncate(size), f.Close())
}

// ReadFile returns the contents of a file, if they fit into memory.
func (t *FS) ReadFile(name string) ([]byte, error) {
	f, err := t.Open(name, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	room := f.Size() + 512
	if err := t.env.limiter.Fits(room); err != nil {
		return nil, err
	}
	all := make([]byte, 0, room)
	for {
		n, err := f.Read(all[len(all):cap(all)])
		all = all[:len(all)+n]
		if err == io.EOF {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		if len(all) < cap(all) {
			continue
		}
		if err := t.env.limiter.Fits(2 * int64(cap(all))); err != nil {
			return nil, err
		}
		all = append(make([]byte, 0, 2*cap(all)), all...)
	}
}

// WriteFile makes data the contents of a file.
func (t *FS) WriteFile(name string, data []byte, perm fs.FileMode) error {
	f, err := t.Open(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, perm)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}

// CreateTemp makes a new file in dir, or in /tmp if dir is empty. Its name is
// the pattern with chance in place of the last "*", or at the end.
func (t *FS) CreateTemp(dir, pattern string) (*File, string, error) {
	var f *File
	name, err := t.temp(dir, pattern, func(name string) (err error) {
		f, err = t.Open(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
		return err
	})
	return f, name, err
}

// MkdirTemp is CreateTemp for a directory.
func (t *FS) MkdirTemp(dir, pattern string) (string, error) {
	return t.temp(dir, pattern, func(name string) error { return t.Mkdir(name, 0o700) })
}

func (t *FS) temp(dir, pattern string, create func(name string) error) (string, error) {
	if dir == "" {
		dir = "/tmp"
	}
	if strings.Contains(pattern, "/") {
		return "", wrap("create", pattern, ErrInvalid)
	}
	before, after := pattern, ""
	if i := strings.LastIndexByte(pattern, '*'); i >= 0 {
		before, after = pattern[:i], pattern[i+1:]
	}
	for try := 0; ; try++ {
		name := path.Join(dir, before+t.letters(10)+after)
		if err := create(name); err == nil || try == 100 || !errors.Is(err, fs.ErrExist) {
			return name, err
		}
	}
}

// letters returns n letters and digits chosen by chance.
func (t *FS) letters(n int) string {
	const alphabet = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"
	b := make([]byte, n)
	t.mem.chance.read(b)
	for i, c := range b {
		b[i] = alphabet[c%64]
	}
	return string(b)
}

// ListFiles returns the names of all files there are, sorted; neither
// directories nor devices nor symbolic links.
func (t *FS) ListFiles() []string {
	var names []string
	t.each("/", func(name string, info Info) {
		if info.mode.IsRegular() {
			names = append(names, name)
		}
	})
	return names
}

// each calls f for everything below dir, in the order of names.
func (t *FS) each(dir string, f func(name string, info Info)) {
	entries, _ := t.ReadDir(dir)
	for _, e := range entries {
		name := path.Join(dir, e.Name())
		f(name, e.(Info))
		if e.IsDir() {
			t.each(name, f)
		}
	}
}
