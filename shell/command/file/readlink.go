package file

import (
	"context"

	"hako/shell"
	"hako/shell/command/internal/cli"
	"hako/shell/vfs"
)

var Readlink = shell.Command{Name: "readlink", Run: runReadlink}

func runReadlink(ctx context.Context, c *shell.Call) error {
	r, end, canonical, verbose := &pathResolver{c: c}, "\n", false, false
	operands, err := parseOperands(c, cli.Flags{
		"f": func() { canonical, r.mode = true, 0 },
		"e": func() { canonical, r.mode = true, 'e' },
		"m": func() { canonical, r.mode = true, 'm' },
		"n": cli.Set(&end, ""), "z": cli.Set(&end, "\x00"), "v": &verbose,
	}, "missing operand")
	if err != nil {
		return err
	}
	if end == "" && len(operands) > 1 {
		c.Warn("ignoring --no-newline with multiple arguments")
		end = "\n"
	}
	failed := false
	for _, name := range operands {
		text, err := readlinkOne(r, name, canonical)
		if err == nil {
			c.Stdout.WriteString(text + end)
			continue
		}
		failed = true
		if verbose {
			c.WarnFile(name, err)
		}
	}
	return cli.StatusOr(cli.BoolInt(failed), nil)
}

func readlinkOne(r *pathResolver, name string, canonical bool) (string, error) {
	if canonical {
		return r.resolve(name)
	}
	fi, err := stat(r.c, name, false)
	if err != nil {
		return "", err
	}
	if !isLink(fi) {
		return "", vfs.ErrInvalid
	}
	return r.c.FS.Readlink(r.c.Path(name))
}
