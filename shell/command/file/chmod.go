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

var Chmod = shell.Command{Name: "chmod", Run: runChmod}

type modeSetter struct {
	c                         *shell.Call
	ctx                       context.Context
	change                    modeChange
	recursive, verbose, terse bool
	quiet                     bool
}

func runChmod(ctx context.Context, c *shell.Call) error {
	args, mode := cutDashMode(c.Args)
	call := *c
	call.Args = args
	opts, operands, err := call.Options()
	if err != nil {
		return err
	}
	m := &modeSetter{c: c, ctx: ctx}
	for _, o := range opts {
		switch o.Name {
		case "R":
			m.recursive = true
		case "v":
			m.verbose = true
		case "c":
			m.terse = true
		case "f":
			m.quiet = true
		case "reference":
			fi, err := c.FS.Stat(c.Path(o.Value))
			if err != nil {
				return c.Fail(1, "failed to get attributes of %s: %s", cli.Quote(o.Value), vfs.Reason(err))
			}
			mode = fmt.Sprintf("%05o", unixMode(fi.Mode()))
		}
	}
	if mode == "" && len(operands) > 0 {
		mode, operands = operands[0], operands[1:]
		if len(operands) == 0 {
			return c.UsageError(fmt.Errorf("missing operand after %s", cli.QuoteCurly(mode)))
		}
	}
	if len(operands) == 0 {
		return c.UsageError(errors.New("missing operand"))
	}
	if m.change, err = parseMode(mode); err != nil {
		return c.UsageError(fmt.Errorf("invalid mode: %s", cli.QuoteCurly(mode)))
	}
	for _, name := range operands {
		if err := m.operand(name); err != nil {
			return err
		}
	}
	return nil
}

// cutDashMode takes a mode such as -x or -w,g-r, which looks like an option,
// out of the words.
func cutDashMode(args []string) (rest []string, mode string) {
	for i, a := range args {
		if a == "--" {
			break
		}
		if len(a) > 1 && a[0] == '-' && strings.IndexByte("rwxXstugo", a[1]) >= 0 {
			if _, err := parseMode(a); err == nil {
				return append(append([]string{}, args[:i]...), args[i+1:]...), a
			}
		}
	}
	return args, ""
}

func (m *modeSetter) operand(name string) error {
	fi, err := lookAt(m.c, name, true)
	if err != nil {
		if !m.quiet {
			m.c.Warn("cannot access %s: %s", cli.Quote(name), vfs.Reason(err))
			return nil
		}
		return shell.Status(1)
	}
	return m.set(name, fi)
}

func (m *modeSetter) set(name string, fi fs.FileInfo) error {
	if err := cli.Stopped(m.ctx, m.c); err != nil {
		return err
	}
	old := unixMode(fi.Mode())
	mode := m.change.apply(old, fi.IsDir(), umask)
	if err := m.c.FS.Chmod(m.c.Path(name), goMode(mode)); err != nil {
		if !m.quiet {
			m.c.Warn("changing permissions of %s: %s", cli.Quote(name), vfs.Reason(err))
		}
	} else {
		m.say(name, old, mode)
	}
	if fi.IsDir() && m.recursive {
		return m.below(name)
	}
	return nil
}

func (m *modeSetter) below(name string) error {
	list, err := m.c.FS.ReadDir(m.c.Path(name))
	if err != nil {
		m.c.Warn("cannot read directory %s: %s", cli.Quote(name), vfs.Reason(err))
		return nil
	}
	for _, e := range list {
		fi, err := e.Info()
		if err != nil || fi.Mode()&fs.ModeSymlink != 0 {
			continue
		}
		if err := m.set(cli.Join(name, e.Name()), fi); err != nil {
			return err
		}
	}
	return nil
}

func (m *modeSetter) say(name string, old, mode uint32) {
	text := func(bits uint32) string { return fmt.Sprintf("%04o (%s)", bits, modeText(goMode(bits))[1:]) }
	switch {
	case old != mode && (m.verbose || m.terse):
		fmt.Fprintf(m.c.Stdout, "mode of %s changed from %s to %s\n", cli.Quote(name), text(old), text(mode))
	case m.verbose:
		fmt.Fprintf(m.c.Stdout, "mode of %s retained as %s\n", cli.Quote(name), text(old))
	}
}
