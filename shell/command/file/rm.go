package file

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"hako/shell"
	"hako/shell/command/internal/cli"
	"hako/shell/vfs"
)

var Rm = shell.Command{Name: "rm", Run: runRm}

type remover struct {
	c                                 *shell.Call
	ctx                               context.Context
	recursive, force, dirs, ask, once bool
	verbose                           bool
}

func runRm(ctx context.Context, c *shell.Call) (err error) {
	defer cli.Catch(&err)
	r := &remover{c: c, ctx: ctx}
	operands, err := cli.Parse(c, cli.Flags{
		"r R": &r.recursive, "d": &r.dirs, "I": &r.once, "v": &r.verbose,
		"f":             func() { r.force, r.ask, r.once = true, false, false },
		"i interactive": func(v string) { r.ask, r.force = v != "never" && v != "no", false },
	})
	if err != nil {
		return err
	}
	if len(operands) == 0 && !r.force {
		return cli.Misuse(c, "missing operand")
	}
	if r.once && (len(operands) > 3 || r.recursive) {
		_, err := fmt.Fprintf(c.Stderr, "rm: remove %d argument%s%s? ", len(operands), cli.Plural(len(operands)),
			map[bool]string{true: " recursively"}[r.recursive])
		return err
	}
	for _, name := range operands {
		r.operand(name)
	}
	return nil
}

func (r *remover) operand(name string) {
	fi, err := stat(r.c, name, false)
	last := cli.Base(name)
	switch {
	case err != nil && r.force && errors.Is(err, fs.ErrNotExist):
	case err != nil:
		r.c.Warn("cannot remove %s: %s", cli.Quote(name), vfs.Reason(err))
	case fi.IsDir() && !r.recursive && !r.dirs:
		r.c.Warn("cannot remove %s: Is a directory", cli.Quote(name))
	case last == "." || last == "..":
		r.c.Warn("refusing to remove '.' or '..' directory: skipping %s", cli.Quote(name))
	case r.c.Path(name) == "/":
		r.c.Warn("it is dangerous to operate recursively on '/'")
		r.c.Warn("there is no way round this failsafe")
	default:
		r.remove(name, fi)
	}
}

func (r *remover) remove(name string, fi fs.FileInfo) {
	cli.CheckStopped(r.ctx, r.c)
	if fi.IsDir() && r.recursive {
		if r.ask {
			r.question("descend into directory", name)
			return
		}
		r.contents(name)
	}
	if r.ask {
		r.question("remove "+cli.FileKind(fi), name)
		return
	}
	if err := r.c.FS.Remove(r.c.Path(name)); err != nil {
		r.c.Warn("cannot remove %s: %s", cli.Quote(name), vfs.Reason(err))
		cli.CheckStopped(r.ctx, r.c)
		return
	}
	if r.verbose {
		fmt.Fprintf(r.c.Stdout, "removed %s%s\n", map[bool]string{true: "directory "}[fi.IsDir()], cli.Quote(name))
	}
	cli.Check(r.c.Stdout.Err())
}

// question prints a question that nobody answers, which means no.
func (r *remover) question(what, name string) {
	_, err := fmt.Fprintf(r.c.Stderr, "rm: %s %s? ", what, cli.Quote(name))
	cli.Check(err)
}

func (r *remover) contents(name string) {
	list, err := r.c.FS.ReadDir(r.c.Path(name))
	if err != nil {
		r.c.Warn("cannot remove %s: %s", cli.Quote(name), vfs.Reason(err))
	}
	for _, e := range list {
		if fi, err := e.Info(); err == nil {
			r.remove(cli.Join(name, e.Name()), fi)
		}
	}
}
