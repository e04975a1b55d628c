package text

import (
	"fmt"
	"io/fs"
	"maps"
	"slices"

	"hako/shell/command/internal/cli"
	"hako/shell/vfs"
)

// dirs compares two directories name by name. above are the parent directories, to detect
// links that lead back.
func (d *differ) dirs(one, two string, above []fs.FileInfo) (status int) {
	if fi, err := d.c.FS.Stat(d.c.Path(one)); err == nil {
		if cli.IndexFile(above, fi) >= 0 {
			d.c.Warn("%s: recursive directory loop", one)
			return 2
		}
		above = append(slices.Clip(above), fi)
	}
	has := map[string][2]bool{}
	for i, dir := range []string{one, two} {
		list, err := d.c.FS.ReadDir(d.c.Path(dir))
		if err != nil && !d.newFile {
			d.c.WarnFile(dir, err)
			status = 2
		}
		for _, e := range list {
			if !d.excluded(e.Name()) {
				sides := has[e.Name()]
				sides[i] = true
				has[e.Name()] = sides
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(has)) {
		cli.CheckStopped(d.ctx, d.c)
		status = max(status, d.entry(one, two, name, has[name], above))
	}
	cli.Check(d.c.Stdout.Err())
	return status
}

func (d *differ) excluded(name string) bool {
	return slices.ContainsFunc(d.exclude, func(p string) bool { return cli.Fnmatch(p, name, false) })
}

// entry compares the files that two directories have under one name.
func (d *differ) entry(one, two, name string, has [2]bool, above []fs.FileInfo) int {
	out := d.c.Stdout
	if has[0] != has[1] && !d.newFile && !(d.oneSided && has[1]) {
		dir := one
		if has[1] {
			dir = two
		}
		fmt.Fprintf(out, "Only in %s: %s\n", dir, name)
		return 1
	}
	a, b := cli.Join(one, name), cli.Join(two, name)
	fa, errA := d.stat(a)
	fb, errB := d.stat(b)
	switch {
	case has[0] && errA != nil:
		return d.reportFile(a, errA)
	case has[1] && errB != nil:
		return d.reportFile(b, errB)
	}
	dirA, dirB := isDirInfo(fa), isDirInfo(fb)
	switch {
	case (dirA || fa == nil) && (dirB || fb == nil) && (dirA || dirB):
		if d.recursive {
			return d.dirs(a, b, above)
		}
		fmt.Fprintf(out, "Common subdirectories: %s and %s\n", a, b)
		return 0
	case dirA || dirB:
		fmt.Fprintf(out, "File %s is a %s while file %s is a %s\n", a, cli.FileKind(fa), b, cli.FileKind(fb))
		return 1
	}
	d.title = fmt.Sprintf("diff%s %s %s\n", d.words, a, b) // the command that shows the difference
	return d.pair(a, b)
}

func (d *differ) reportFile(name string, err error) int {
	d.c.Warn("%s: %s", name, vfs.Reason(err))
	return 2
}
