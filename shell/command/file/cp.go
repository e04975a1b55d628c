package file

import (
	"context"
	"path"
	"strings"

	"hako/shell"
	"hako/shell/command/internal/cli"
	"hako/shell/vfs"
)

var Cp = shell.Command{Name: "cp", Run: runCp}

func runCp(ctx context.Context, c *shell.Call) (err error) {
	defer cli.Catch(&err)
	t := &transfer{c: c, ctx: ctx}
	operands, err := t.parse()
	if err != nil {
		return err
	}
	sources, dest, dir, err := t.destination(operands)
	if err != nil {
		return err
	}
	if t.parents && !dir {
		return cli.Misuse(c, "with --parents, the destination must be a directory")
	}
	for _, src := range sources {
		to := dest
		if dir {
			to = t.inside(src, dest)
		}
		t.copy(src, to, true, nil)
	}
	return nil
}

// inside is the destination of a source in a directory.
func (t *transfer) inside(src, dest string) string {
	if !t.parents {
		return cli.Join(dest, cli.Base(src))
	}
	to := cli.Join(dest, strings.Trim(src, "/"))
	if err := t.c.FS.MkdirAll(path.Dir(t.c.Path(to)), 0o755); err != nil {
		cli.Check(t.c.Fail(1, "cannot make directory %s: %s", cli.Quote(path.Dir(to)), vfs.Reason(err)))
	}
	return to
}

// parse reads the options of cp and mv.
func (t *transfer) parse() ([]string, error) {
	return cli.Parse(t.c, cli.Flags{
		"r R": &t.recursive, "p preserve": &t.preserve, "no-preserve": cli.Set(&t.preserve, false),
		"a": func() { t.recursive, t.preserve, t.follow = true, true, 'P' },
		"f": func() { t.force, t.ask = true, false },
		"i": func() { t.ask, t.noClobber = true, false },
		"n": func() { t.noClobber, t.ask = true, false },
		"L": cli.Set(&t.follow, 'L'), "P d": cli.Set(&t.follow, 'P'), "H": cli.Set(&t.follow, 'H'),
		"u update": &t.update, "v": &t.verbose, "b backup": &t.backup, "l": &t.hardLink, "s": &t.symLink,
		"t": &t.targetDir, "T": &t.noTargetDir, "parents": &t.parents, "remove-destination": &t.replace,
	})
}
