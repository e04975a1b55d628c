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

var Mkdir = shell.Command{Name: "mkdir", Run: runMkdir}

type dirMaker struct {
	c                *shell.Call
	parents, verbose bool
	mode             uint32
}

func runMkdir(ctx context.Context, c *shell.Call) error {
	m := &dirMaker{c: c, mode: 0o777 &^ umask}
	operands, err := parseOperands(c, cli.Flags{"p": &m.parents, "v": &m.verbose, "m": func(v string) error {
		change, err := parseMode(v)
		if err != nil {
			return fmt.Errorf("invalid mode %s", cli.QuoteCurly(v))
		}
		m.mode = change.apply(0o777, true, umask)
		return nil
	}}, "missing operand")
	if err != nil {
		return err
	}
	return eachOperand(ctx, c, operands, func(name string) {
		if at, err := m.make(name); err != nil {
			c.Warn("cannot create directory %s: %s", cli.QuoteCurly(at), vfs.Reason(err))
		}
	})
}

// make creates a directory; at is the directory that could not be created.
func (m *dirMaker) make(name string) (at string, err error) {
	if m.parents {
		if at, err := m.makeParents(name); err != nil {
			return at, err
		}
		if cli.IsDir(m.c, m.c.Path(name)) {
			return "", nil
		}
	}
	return name, m.one(name, m.mode)
}

// makeParents creates the parents of name, with the default mode.
func (m *dirMaker) makeParents(name string) (at string, err error) {
	name = strings.TrimRight(name, "/")
	for i := 1; i < len(name); i++ {
		if name[i] != '/' || name[i-1] == '/' || cli.IsDir(m.c, m.c.Path(name[:i])) {
			continue
		}
		err := m.one(name[:i], 0o777&^umask)
		if errors.Is(err, fs.ErrExist) {
			err = vfs.ErrNotDir
		}
		if err != nil {
			return name[:i], err
		}
	}
	return "", nil
}

func (m *dirMaker) one(name string, mode uint32) error {
	if name == "" {
		return vfs.ErrInvalid
	}
	abs := m.c.Path(name)
	if err := m.c.FS.Mkdir(abs, cli.FileMode(mode)); err != nil {
		return err
	}
	m.c.FS.Chmod(abs, cli.FileMode(mode))
	if m.verbose {
		fmt.Fprintf(m.c.Stdout, "mkdir: created directory %s\n", cli.Quote(name))
	}
	return nil
}
