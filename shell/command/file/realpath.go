package file

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"path"
	"strings"

	"hako/shell"
	"hako/shell/command/internal/cli"
	"hako/shell/vfs"
)

var Realpath = shell.Command{Name: "realpath", Run: runRealpath}

type pathResolver struct {
	c        *shell.Call
	mode     byte // 'e' all must exist, 'm' none, 0 all but the last
	asIs     bool
	to, base string
}

func runRealpath(ctx context.Context, c *shell.Call) error {
	r, end, quiet := &pathResolver{c: c}, "\n", false
	operands, err := parseOperands(c, cli.Flags{
		"e": cli.Set(&r.mode, 'e'), "m": cli.Set(&r.mode, 'm'), "s": &r.asIs, "q": &quiet, "z": cli.Set(&end, "\x00"),
		"relative-to":   func(v string) { r.to = resolveMissing(c, c.Path(v)) },
		"relative-base": func(v string) { r.base = resolveMissing(c, c.Path(v)) },
	}, "missing operand")
	if err != nil {
		return err
	}
	failed := false
	for _, name := range operands {
		abs, err := r.resolve(name)
		if err != nil {
			failed = true
			if !quiet {
				c.WarnFile(cmp.Or(name, "''"), err)
			}
			continue
		}
		c.Stdout.WriteString(r.relative(abs) + end)
	}
	return cli.StatusOr(cli.BoolInt(failed), nil)
}

func (r *pathResolver) relative(abs string) string {
	inBase := r.base == "" || abs == r.base || strings.HasPrefix(abs, strings.TrimSuffix(r.base, "/")+"/")
	switch {
	case r.to != "" && inBase:
		return relativePath(r.to, abs)
	case r.to == "" && r.base != "" && inBase:
		return relativePath(r.base, abs)
	}
	return abs
}

// resolve makes a name absolute, following links, in one of the three modes.
func (r *pathResolver) resolve(name string) (string, error) {
	if name == "" {
		return "", fs.ErrNotExist
	}
	abs := r.c.Path(name)
	if r.asIs {
		return abs, nil
	}
	if r.mode == 'm' {
		return resolveMissing(r.c, abs), nil
	}
	real, err := r.c.FS.Realpath(abs)
	if err == nil && strings.HasSuffix(name, "/") && !cli.IsDir(r.c, real) {
		return "", vfs.ErrNotDir
	}
	if err == nil || r.mode == 'e' || !errors.Is(err, fs.ErrNotExist) {
		return real, err
	}
	missing := resolveMissing(r.c, abs)
	if !cli.IsDir(r.c, path.Dir(missing)) {
		return "", err
	}
	return missing, nil
}

// maxLinks limits chains of broken links.
const maxLinks = 40

// resolveMissing is Realpath for paths whose end does not exist.
func resolveMissing(c *shell.Call, abs string) string {
	for range maxLinks {
		real, again := resolveOnce(c, abs)
		if !again {
			return real
		}
		abs = real
	}
	return abs
}

// resolveOnce resolves the part of a path that exists; it stops at a link to
// something missing, whose target then takes its place.
func resolveOnce(c *shell.Call, abs string) (string, bool) {
	rest := ""
	for at := abs; ; at = path.Dir(at) {
		if real, err := c.FS.Realpath(at); err == nil {
			return path.Join(real, rest), false
		}
		if target, err := c.FS.Readlink(at); err == nil {
			if !path.IsAbs(target) {
				target = path.Join(path.Dir(at), target)
			}
			return path.Join(target, rest), true
		}
		if at == "/" {
			return abs, false
		}
		rest = path.Join(path.Base(at), rest)
	}
}
