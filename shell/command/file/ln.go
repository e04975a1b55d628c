package file

import (
	"context"
	"fmt"
	"path"
	"path/filepath"

	"hako/shell"
	"hako/shell/command/internal/cli"
	"hako/shell/vfs"
)

var Ln = shell.Command{Name: "ln", Run: runLn}

type linker struct {
	c                                                 *shell.Call
	symbolic, force, noDereference, relative, verbose bool
	noTargetDir, backup, ask                          bool
	targetDir                                         string
}

func runLn(ctx context.Context, c *shell.Call) error {
	l := &linker{c: c}
	operands, err := parseOperands(c, cli.Flags{
		"s": &l.symbolic, "f": &l.force, "n": &l.noDereference, "r": &l.relative, "v": &l.verbose,
		"t": &l.targetDir, "T": &l.noTargetDir,
		"b backup": &l.backup, "i": &l.ask,
	}, "missing file operand")
	if err != nil {
		return err
	}
	targets, dest, dir, err := l.destination(operands)
	if err != nil {
		return err
	}
	return eachOperand(ctx, c, targets, func(target string) {
		name := dest
		if dir {
			name = cli.Join(dest, cli.Base(target))
		}
		l.link(target, name)
	})
}

func (l *linker) destination(operands []string) (targets []string, dest string, dir bool, err error) {
	switch {
	case l.targetDir == "" && l.noTargetDir && len(operands) != 2:
		return nil, "", false, cli.Misuse(l.c, "missing destination file operand after %s", cli.Quote(operands[0]))
	case l.targetDir == "" && len(operands) == 1:
		return operands, ".", true, nil
	}
	return splitOperands(l.c, operands, l.targetDir, l.noTargetDir, !l.noDereference)
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
	if !l.clearDestination(target, name) {
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

// clearDestination removes what is in the way if that was asked for.
func (l *linker) clearDestination(target, name string) bool {
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

// relativePath returns to relative to the directory from; both are absolute.
func relativePath(from, to string) string {
	rel, _ := filepath.Rel(from, to)
	return rel
}
