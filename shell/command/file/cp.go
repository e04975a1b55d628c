package file

import (
	"context"
	"fmt"
	"path"
	"strings"

	"hako/shell"
	"hako/shell/command/internal/cli"
	"hako/shell/vfs"
)

var Cp = shell.Command{Name: "cp", Run: runCp}

func runCp(ctx context.Context, c *shell.Call) error {
	opts, operands, err := c.Options()
	if err != nil {
		return err
	}
	t := &transfer{c: c, ctx: ctx}
	for _, o := range opts {
		t.option(o)
	}
	sources, dest, dir, err := t.places(operands)
	if err != nil {
		return err
	}
	if t.parents && !dir {
		return c.UsageError(fmt.Errorf("with --parents, the destination must be a directory"))
	}
	for _, src := range sources {
		to := dest
		if dir {
			if to, err = t.inside(src, dest); err != nil {
				return err
			}
		}
		if err := t.copy(src, to, true, nil); err != nil {
			return err
		}
	}
	return nil
}

// inside is where in a directory a source ends up.
func (t *transfer) inside(src, dest string) (string, error) {
	if !t.parents {
		return cli.Join(dest, cli.Base(src)), nil
	}
	to := cli.Join(dest, strings.Trim(src, "/"))
	if err := t.c.FS.MkdirAll(path.Dir(t.c.Path(to)), 0o755); err != nil {
		return "", t.c.Fail(1, "cannot make directory %s: %s", cli.Quote(path.Dir(to)), vfs.Reason(err))
	}
	return to, nil
}

func (t *transfer) option(o cli.Option) {
	switch o.Name {
	case "r", "R":
		t.recursive = true
	case "a":
		t.recursive, t.preserve, t.follow = true, true, 'P'
	case "p", "preserve":
		t.preserve = true
	case "no-preserve":
		t.preserve = false
	case "d":
		t.follow = 'P'
	case "f":
		t.force, t.ask = true, false
	case "i":
		t.ask, t.noClobber = true, false
	case "n":
		t.noClobber, t.ask = true, false
	case "u", "update":
		t.update = true
	case "v":
		t.verbose = true
	case "b", "backup":
		t.backup = true
	case "l":
		t.hardLink = true
	case "s":
		t.symLink = true
	case "L", "P", "H":
		t.follow = o.Name[0]
	case "t":
		t.into = o.Value
	case "T":
		t.noInto = true
	case "parents":
		t.parents = true
	case "remove-destination":
		t.replace = true
	}
}
