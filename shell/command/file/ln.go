package file

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"

	"hako/shell"
	"hako/shell/command/internal/cli"
	"hako/shell/vfs"
)

var Ln = shell.Command{Name: "ln", Run: runLn}

type linker struct {
	c                                         *shell.Call
	symbolic, force, noDir, relative, verbose bool
	noInto, backup, ask                       bool
	into                                      string
}

func runLn(ctx context.Context, c *shell.Call) error {
	opts, operands, err := c.Options()
	if err != nil {
		return err
	}
	l := &linker{c: c}
	for _, o := range opts {
		l.option(o)
	}
	targets, dest, dir, err := l.places(operands)
	if err != nil {
		return err
	}
	for _, target := range targets {
		name := dest
		if dir {
			name = cli.Join(dest, cli.Base(target))
		}
		l.link(target, name)
		if err := cli.Stopped(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

func (l *linker) option(o cli.Option) {
	switch o.Name {
	case "s":
		l.symbolic = true
	case "f":
		l.force = true
	case "n":
		l.noDir = true
	case "r":
		l.relative = true
	case "v":
		l.verbose = true
	case "t":
		l.into = o.Value
	case "T":
		l.noInto = true
	case "b", "backup":
		l.backup = true
	case "i":
		l.ask = true
	}
}

func (l *linker) places(operands []string) (targets []string, dest string, dir bool, err error) {
	c := l.c
	switch {
	case len(operands) == 0:
		return nil, "", false, c.UsageError(errors.New("missing file operand"))
	case l.into != "":
		if !cli.IsDir(c, c.Path(l.into)) {
			_, err := c.FS.Stat(c.Path(l.into))
			return nil, "", false, c.Fail(1, "target directory %s: %s", cli.Quote(l.into), cli.NotDirReason(err))
		}
		return operands, l.into, true, nil
	case l.noInto && len(operands) != 2:
		return nil, "", false, c.UsageError(fmt.Errorf("missing destination file operand after %s", cli.Quote(operands[0])))
	case len(operands) == 1:
		return operands, ".", true, nil
	}
	last := len(operands) - 1
	dest = operands[last]
	fi, err := lookAt(c, dest, !l.noDir)
	dir = err == nil && fi.IsDir() && !l.noInto
	if !dir && last > 1 {
		return nil, "", false, c.Fail(1, "target %s: %s", cli.Quote(dest), cli.NotDirReason(err))
	}
	return operands[:last], dest, dir, nil
}

func (l *linker) link(target, name string) {
	c := l.c
	kind := "hard"
	if l.symbolic {
		kind = "symbolic"
	} else {
		fi, err := c.FS.Lstat(c.Path(target))
		if err != nil {
			c.Warn("failed to access %s: %s", cli.Quote(target), vfs.Reason(err))
			return
		}
		if fi.IsDir() {
			c.Warn("%s: hard link not allowed for directory", target)
			return
		}
	}
	if l.symbolic && l.relative {
		target = relativePath(resolveMissing(c, path.Dir(c.Path(name))), resolveMissing(c, c.Path(target)))
	}
	if !l.makeRoom(target, name) {
		return
	}
	var err error
	if l.symbolic {
		err = c.FS.Symlink(target, c.Path(name))
	} else {
		err = c.FS.Link(c.Path(target), c.Path(name))
	}
	if err != nil {
		c.Warn("failed to create %s link %s: %s", kind, cli.Quote(name), vfs.Reason(err))
		return
	}
	if l.verbose {
		fmt.Fprintf(c.Stdout, "%s %s %s\n", cli.Quote(name), map[bool]string{true: "->", false: "=>"}[l.symbolic],
			cli.Quote(target))
	}
}

// makeRoom removes what is in the way if that was asked for.
func (l *linker) makeRoom(target, name string) bool {
	c := l.c
	old, err := c.FS.Lstat(c.Path(name))
	if err != nil || !l.force && !l.backup && !l.ask {
		return true
	}
	if l.ask && !l.force {
		fmt.Fprintf(c.Stderr, "ln: replace %s? ", cli.Quote(name))
		return false
	}
	if c.Path(target) == c.Path(name) && !l.symbolic {
		c.Warn("%s and %s are the same file", cli.Quote(target), cli.Quote(name))
		return false
	}
	if old.IsDir() {
		c.Warn("%s: cannot overwrite directory", name)
		return false
	}
	if l.backup {
		err = c.FS.Rename(c.Path(name), c.Path(name)+"~")
	} else {
		err = c.FS.Remove(c.Path(name))
	}
	if err != nil {
		c.Warn("cannot remove %s: %s", cli.Quote(name), vfs.Reason(err))
	}
	return err == nil
}

// relativePath is how to get from one directory to a path.
func relativePath(from, to string) string {
	a, b := strings.Split(strings.Trim(from, "/"), "/"), strings.Split(strings.Trim(to, "/"), "/")
	if from == "/" {
		a = nil
	}
	if to == "/" {
		b = nil
	}
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	words := make([]string, 0, len(a)+len(b))
	for range a {
		words = append(words, "..")
	}
	if words = append(words, b...); len(words) == 0 {
		return "."
	}
	return strings.Join(words, "/")
}
