package file

import (
	"context"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"hako/shell"
	"hako/shell/command/internal/cli"
	"hako/shell/vfs"
)

var Chmod = shell.Command{Name: "chmod", Run: runChmod}

type modeSetter struct {
	c                           *shell.Call
	ctx                         context.Context
	change                      modeChange
	recursive, verbose, changes bool
	quiet                       bool
}

func runChmod(ctx context.Context, c *shell.Call) (err error) {
	defer cli.Catch(&err)
	args, mode := cutDashMode(c.Args)
	call := *c
	call.Args = args
	m := &modeSetter{c: c, ctx: ctx}
	operands, err := cli.Parse(&call, cli.Flags{
		"R": &m.recursive, "v": &m.verbose, "c": &m.changes, "f": &m.quiet,
		"reference": func(v string) error {
			fi, err := c.FS.Stat(c.Path(v))
			if err != nil {
				return fmt.Errorf("failed to get attributes of %s: %s", cli.Quote(v), vfs.Reason(err))
			}
			mode = fmt.Sprintf("%05o", cli.UnixMode(fi.Mode()))
			return nil
		},
	})
	if err != nil {
		return err
	}
	if mode == "" && len(operands) > 0 {
		mode, operands = operands[0], operands[1:]
		if len(operands) == 0 {
			return cli.Misuse(c, "missing operand after %s", cli.QuoteCurly(mode))
		}
	}
	if len(operands) == 0 {
		return cli.Misuse(c, "missing operand")
	}
	if m.change, err = parseMode(mode); err != nil {
		return cli.Misuse(c, "invalid mode: %s", cli.QuoteCurly(mode))
	}
	for _, name := range operands {
		m.operand(name)
	}
	return nil
}

// cutDashMode removes a mode such as -x or -w,g-r, which looks like an option,
// from the words.
func cutDashMode(args []string) (rest []string, mode string) {
	for i, a := range args {
		if a == "--" {
			break
		}
		if len(a) > 1 && a[0] == '-' && strings.IndexByte("rwxXstugo", a[1]) >= 0 {
			if _, err := parseMode(a); err == nil {
				return slices.Concat(args[:i], args[i+1:]), a
			}
		}
	}
	return args, ""
}

func (m *modeSetter) operand(name string) {
	fi, err := stat(m.c, name, true)
	switch {
	case err == nil:
		m.set(name, fi)
	case m.quiet:
		cli.Check(shell.Status(1))
	default:
		m.c.Warn("cannot access %s: %s", cli.Quote(name), vfs.Reason(err))
	}
}

func (m *modeSetter) set(name string, fi fs.FileInfo) {
	cli.CheckStopped(m.ctx, m.c)
	old := cli.UnixMode(fi.Mode())
	mode := m.change.apply(old, fi.IsDir(), umask)
	if err := m.c.FS.Chmod(m.c.Path(name), cli.FileMode(mode)); err == nil {
		m.report(name, old, mode)
	} else if !m.quiet {
		m.c.Warn("changing permissions of %s: %s", cli.Quote(name), vfs.Reason(err))
	}
	if !fi.IsDir() || !m.recursive {
		return
	}
	list, err := m.c.FS.ReadDir(m.c.Path(name))
	if err != nil {
		m.c.Warn("cannot read directory %s: %s", cli.Quote(name), vfs.Reason(err))
	}
	for _, e := range list {
		if fi, err := e.Info(); err == nil && !isLink(fi) {
			m.set(cli.Join(name, e.Name()), fi)
		}
	}
}

func (m *modeSetter) report(name string, old, mode uint32) {
	text := func(bits uint32) string { return fmt.Sprintf("%04o (%s)", bits, cli.ModeText(cli.FileMode(bits))[1:]) }
	switch {
	case old != mode && (m.verbose || m.changes):
		fmt.Fprintf(m.c.Stdout, "mode of %s changed from %s to %s\n", cli.Quote(name), text(old), text(mode))
	case m.verbose:
		fmt.Fprintf(m.c.Stdout, "mode of %s retained as %s\n", cli.Quote(name), text(old))
	}
}
