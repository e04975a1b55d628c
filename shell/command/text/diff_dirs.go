package text

import (
	"context"
	"fmt"
	"io/fs"
	"slices"

	"hako/shell"
	"hako/shell/command/internal/cli"
	"hako/shell/vfs"
)

// dirs compares two directories name by name. above are the directories on the
// way, so that links which lead back end.
func (d *differ) dirs(ctx context.Context, one, two string, above []fs.FileInfo) error {
	if fi, err := d.c.FS.Stat(d.c.Path(one)); err == nil {
		if cli.IndexFile(above, fi) >= 0 {
			return d.c.Fail(2, "%s: recursive directory loop", one)
		}
		above = append(slices.Clip(above), fi)
	}
	var names []string
	lists := [2]map[string]bool{}
	worst := 0
	for i, dir := range []string{one, two} {
		lists[i] = make(map[string]bool)
		list, err := d.c.FS.ReadDir(d.c.Path(dir))
		if err != nil && !d.newFile {
			d.c.WarnFile(dir, err)
			worst = 2
		}
		for _, e := range list {
			if !d.excluded(e.Name()) {
				lists[i][e.Name()] = true
				names = append(names, e.Name())
			}
		}
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if err := cli.Stopped(ctx, d.c); err != nil {
			return err
		}
		err := d.entry(ctx, one, two, name, [2]bool{lists[0][name], lists[1][name]}, above)
		status, ok := err.(shell.Status)
		if err != nil && !ok {
			return err
		}
		worst = max(worst, int(status))
	}
	return cli.StatusOr(worst, d.c.Stdout.Err())
}

func (d *differ) excluded(name string) bool {
	return slices.ContainsFunc(d.exclude, func(p string) bool { return cli.Fnmatch(p, name, false) })
}

// entry compares what both directories have under one name.
func (d *differ) entry(ctx context.Context, one, two, name string, has [2]bool, above []fs.FileInfo) error {
	out := d.c.Stdout
	if has[0] != has[1] && !d.newFile && !(d.oneSided && has[1]) {
		dir := one
		if has[1] {
			dir = two
		}
		fmt.Fprintf(out, "Only in %s: %s\n", dir, name)
		return errDiffer
	}
	a, b := cli.Join(one, name), cli.Join(two, name)
	fa, ea := d.stat(a)
	fb, eb := d.stat(b)
	for _, missing := range []struct {
		has  bool
		name string
		err  error
	}{{has[0], a, ea}, {has[1], b, eb}} {
		if missing.has && missing.err != nil {
			d.c.Warn("%s: %s", missing.name, vfs.Reason(missing.err))
			return shell.Status(2)
		}
	}
	dirA, dirB := fa != nil && fa.IsDir(), fb != nil && fb.IsDir()
	switch {
	case (dirA || fa == nil) && (dirB || fb == nil) && (dirA || dirB):
		if d.recursive {
			return d.dirs(ctx, a, b, above)
		}
		fmt.Fprintf(out, "Common subdirectories: %s and %s\n", a, b)
		return nil
	case dirA || dirB:
		fmt.Fprintf(out, "File %s is a %s while file %s is a %s\n", a, cli.FileKind(fa), b, cli.FileKind(fb))
		return errDiffer
	}
	return d.titled(ctx, a, b)
}

// titled compares two files of directories; the difference gets a line with the
// command that would show it.
func (d *differ) titled(ctx context.Context, a, b string) error {
	sub := *d
	sub.held = 0
	sub.title = fmt.Sprintf("diff%s %s %s\n", d.words, a, b)
	return sub.pair(ctx, a, b)
}
