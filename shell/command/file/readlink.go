package file

import (
	"context"
	"errors"
	"io/fs"

	"hako/shell"
	"hako/shell/vfs"
)

var Readlink = shell.Command{Name: "readlink", Run: runReadlink}

func runReadlink(ctx context.Context, c *shell.Call) error {
	opts, operands, err := c.Options()
	if err != nil {
		return err
	}
	r, end, canonical, verbose := &pathResolver{c: c}, "\n", false, false
	for _, o := range opts {
		switch o.Name {
		case "f", "e", "m":
			canonical = true
			if r.mode = o.Name[0]; r.mode == 'f' {
				r.mode = 0
			}
		case "n":
			end = ""
		case "z":
			end = "\x00"
		case "v":
			verbose = true
		}
	}
	if len(operands) == 0 {
		return c.UsageError(errors.New("missing operand"))
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
	if failed {
		return shell.Status(1)
	}
	return nil
}

func readlinkOne(r *pathResolver, name string, canonical bool) (string, error) {
	if canonical {
		return r.resolve(name)
	}
	fi, err := lookAt(r.c, name, false)
	if err != nil {
		return "", err
	}
	if fi.Mode()&fs.ModeSymlink == 0 {
		return "", vfs.ErrInvalid
	}
	return r.c.FS.Readlink(r.c.Path(name))
}
