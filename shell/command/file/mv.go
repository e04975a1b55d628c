package file

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"hako/shell"
	"hako/shell/command/internal/cli"
	"hako/shell/vfs"
)

var Mv = shell.Command{Name: "mv", Run: runMv}

func runMv(ctx context.Context, c *shell.Call) (err error) {
	defer cli.Catch(&err)
	t := &transfer{c: c, ctx: ctx, recursive: true, preserve: true, follow: 'P'}
	operands, err := t.parse()
	if err != nil {
		return err
	}
	sources, dest, dir, err := t.destination(operands)
	if err != nil {
		return err
	}
	for _, src := range sources {
		to := dest
		if dir {
			to = cli.Join(dest, cli.Base(src))
		}
		t.move(src, to)
	}
	return nil
}

func (t *transfer) move(src, dst string) {
	c := t.c
	cli.CheckStopped(t.ctx, c)
	fi, err := c.FS.Lstat(c.Path(src))
	if err == nil {
		err = mustDirLink(c, src, fi)
	}
	from, to, last := c.Path(src), c.Path(dst), cli.Base(src)
	switch {
	case err != nil:
		c.Warn("cannot stat %s: %s", cli.Quote(src), vfs.Reason(err))
	case last == "." || last == "..":
		c.Warn("cannot move %s to %s: Device or resource busy", cli.Quote(src), cli.Quote(dst))
	case fi.IsDir() && strings.HasPrefix(to+"/", from+"/"):
		c.Warn("cannot move %s to a subdirectory of itself, %s", cli.Quote(src), cli.Quote(dst))
	case t.mayMove(src, dst, fi):
		if err := c.FS.Rename(from, to); err != nil {
			t.moveByCopy(src, dst, err)
		} else {
			t.printMoved(src, dst)
		}
	}
}

// mustDirLink accepts "link/" only for a link to a directory.
func mustDirLink(c *shell.Call, name string, fi fs.FileInfo) error {
	if to, err := c.FS.Stat(c.Path(name)); err == nil {
		return mustDir(name, to)
	}
	return mustDir(name, fi)
}

// mayMove is mayReplace on the names themselves: a link is replaced, not followed.
func (t *transfer) mayMove(src, dst string, fi fs.FileInfo) bool {
	old, err := t.c.FS.Lstat(t.c.Path(dst))
	if err != nil {
		if strings.HasSuffix(dst, "/") && !fi.IsDir() {
			t.c.Warn("cannot move %s to %s: Not a directory", cli.Quote(src), cli.Quote(dst))
			return false
		}
		return true
	}
	if cli.SameFile(old, fi) && t.c.Path(src) == t.c.Path(dst) {
		t.c.Warn("%s and %s are the same file", cli.Quote(src), cli.Quote(dst))
		return false
	}
	if fi.Mode().IsRegular() && cli.SameFile(old, fi) {
		return true // two names of one file: the rename drops one
	}
	return t.mayReplaceName(src, dst, fi, old) && (!t.backup || t.clearDestination(dst, old))
}

// mayReplaceName decides by the kinds of the two files and the options of cp and mv.
func (t *transfer) mayReplaceName(src, dst string, fi, old fs.FileInfo) bool {
	switch {
	case fi.IsDir() && !old.IsDir():
		t.c.Warn("cannot overwrite non-directory %s with directory %s", cli.Quote(dst), cli.Quote(src))
	case !fi.IsDir() && old.IsDir():
		t.c.Warn("cannot overwrite directory %s with non-directory", cli.Quote(dst))
	case t.noClobber, t.update && !fi.ModTime().After(old.ModTime()):
	case t.ask:
		fmt.Fprintf(t.c.Stderr, "%s: overwrite %s? ", t.c.Name, cli.Quote(dst))
	default:
		return true
	}
	return false
}

func (t *transfer) printMoved(src, dst string) {
	if t.verbose {
		fmt.Fprintf(t.c.Stdout, "renamed %s -> %s\n", cli.Quote(src), cli.Quote(dst))
	}
}

// moveByCopy is for what cannot be renamed because it lies on another mount.
func (t *transfer) moveByCopy(src, dst string, why error) {
	c := t.c
	if !errors.Is(why, vfs.ErrCrossDevice) {
		c.Warn("cannot move %s to %s: %s", cli.Quote(src), cli.Quote(dst), vfs.Reason(why))
		cli.CheckStopped(t.ctx, c)
		return
	}
	quiet := &transfer{c: c, ctx: t.ctx, recursive: true, preserve: true, follow: 'P'}
	failed := c.Failed()
	quiet.copy(src, dst, true, nil)
	if c.Failed() && !failed {
		return
	}
	if err := c.FS.RemoveAll(c.Path(src)); err != nil {
		c.Warn("cannot remove %s: %s", cli.Quote(src), vfs.Reason(err))
		cli.CheckStopped(t.ctx, c)
		return
	}
	t.printMoved(src, dst)
}
