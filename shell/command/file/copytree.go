package file

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"hako/shell"
	"hako/shell/command/internal/cli"
	"hako/shell/vfs"
)

// A transfer is one run of cp or mv: options, the search for the
// destination, and copying of trees.
type transfer struct {
	c   *shell.Call
	ctx context.Context

	recursive, verbose, noClobber, force, update, ask bool
	preserve, parents, replace, backup                bool
	hardLink, symLink                                 bool
	follow                                            byte // 'L' always, 'P' never, 'H' operands only, 0 undecided
	targetDir                                         string
	noTargetDir                                       bool // -T
}

// places splits the operands of cp and mv.
func (t *transfer) destination(operands []string) (sources []string, dest string, dir bool, err error) {
	switch {
	case len(operands) == 0:
		err = cli.Misuse(t.c, "missing file operand")
	case t.targetDir == "" && len(operands) == 1:
		err = cli.Misuse(t.c, "missing destination file operand after %s", cli.Quote(operands[0]))
	case t.targetDir == "" && t.noTargetDir && len(operands) > 2:
		err = cli.Misuse(t.c, "extra operand %s", cli.Quote(operands[2]))
	default:
		return splitOperands(t.c, operands, t.targetDir, t.noTargetDir, true)
	}
	return nil, "", false, err
}

// splitOperands splits operands into sources and destination. into is the
// destination of -t; noInto and follow decide whether the last operand is a
// directory to put the sources in, which dir reports.
func splitOperands(c *shell.Call, operands []string, targetDir string, noTargetDir, follow bool) (
	sources []string, dest string, dir bool, err error) {
	if targetDir != "" {
		if fi, err := stat(c, targetDir, true); err != nil || !fi.IsDir() {
			return nil, "", false, c.Fail(1, "target directory %s: %s", cli.Quote(targetDir), cli.NotDirReason(err))
		}
		return operands, targetDir, true, nil
	}
	last := len(operands) - 1
	sources, dest = operands[:last], operands[last]
	fi, err := stat(c, dest, follow)
	dir = err == nil && fi.IsDir() && !noTargetDir
	if !dir && len(sources) > 1 {
		return nil, "", false, c.Fail(1, "target %s: %s", cli.Quote(dest), cli.NotDirReason(err))
	}
	return sources, dest, dir, nil
}

// copy copies src to dst; top is set for operands, above are the directories
// on the way down.
func (t *transfer) copy(src, dst string, top bool, parents []fs.FileInfo) {
	cli.CheckStopped(t.ctx, t.c)
	fi, err := stat(t.c, src, t.follows(top))
	switch {
	case err != nil:
		t.c.Warn("cannot stat %s: %s", cli.Quote(src), vfs.Reason(err))
		return
	case fi.IsDir() && !t.recursive:
		t.c.Warn("-r not specified; omitting directory %s", cli.Quote(src))
		return
	case t.follow == 'L' && fi.IsDir() && cli.IndexFile(parents, fi) >= 0:
		t.c.Warn("cannot copy cyclic symbolic link %s", cli.Quote(src))
		return
	case !t.mayReplace(src, dst, fi):
		return
	case fi.IsDir():
		t.copyDir(src, dst, fi, append(slices.Clip(parents), fi))
		return
	case isLink(fi):
		err = t.copyLink(src, dst)
	case t.hardLink || t.symLink:
		err = t.link(src, dst)
	default:
		err = t.copyFile(src, dst, fi)
	}
	if err != nil {
		t.c.Warn("%v", err)
	} else {
		t.printCopied(src, dst)
	}
	cli.CheckStopped(t.ctx, t.c)
}

func (t *transfer) printCopied(src, dst string) {
	if t.verbose {
		fmt.Fprintf(t.c.Stdout, "%s -> %s\n", cli.Quote(src), cli.Quote(dst))
	}
}

func (t *transfer) follows(top bool) bool {
	switch t.follow {
	case 'L':
		return true
	case 'P':
		return false
	case 'H':
		return top
	}
	return !t.recursive
}

// mayReplace reports whether an existing destination may be replaced, and warns if not.
func (t *transfer) mayReplace(src, dst string, fi fs.FileInfo) bool {
	old, err := stat(t.c, strings.TrimRight(dst, "/"), false)
	if err != nil {
		return true
	}
	if to, err := t.c.FS.Stat(t.c.Path(dst)); err == nil && !t.replace && !isLink(fi) {
		old = to
	}
	switch {
	case cli.SameFile(old, fi) && !fi.IsDir():
		t.c.Warn("%s and %s are the same file", cli.Quote(src), cli.Quote(dst))
		return false
	case fi.IsDir() && old.IsDir():
		return true
	}
	return t.mayReplaceName(src, dst, fi, old) && t.clearDestination(dst, old)
}

// clearDestination moves or removes what is in the way, if that was asked for.
func (t *transfer) clearDestination(dst string, old fs.FileInfo) bool {
	var err error
	switch {
	case t.backup:
		err = t.c.FS.Rename(t.c.Path(dst), t.c.Path(dst)+"~")
	case t.replace || isLink(old) && t.c.Name == "cp" && t.follow == 'P':
		err = t.c.FS.Remove(t.c.Path(dst))
	case isLink(old) && t.c.Name == "cp" && !t.symLink && !t.hardLink:
		t.c.Warn("not writing through dangling symlink %s", cli.Quote(dst))
		return false
	case t.force && (t.symLink || t.hardLink):
		err = t.c.FS.Remove(t.c.Path(dst))
	}
	if err != nil {
		t.c.Warn("cannot remove %s: %s", cli.Quote(dst), vfs.Reason(err))
	}
	return err == nil
}

func (t *transfer) copyDir(src, dst string, fi fs.FileInfo, parents []fs.FileInfo) {
	c := t.c
	from, to := c.Path(src), c.Path(dst)
	if real, err := c.FS.Realpath(from); err == nil {
		from = real
	}
	if to == from || strings.HasPrefix(to, strings.TrimSuffix(from, "/")+"/") {
		c.Warn("cannot copy a directory, %s, into itself, %s", cli.Quote(src), cli.Quote(dst))
		return
	}
	err := c.FS.Mkdir(to, fi.Mode().Perm()|0o700)
	made := err == nil
	if err != nil && !cli.IsDir(c, to) {
		c.Warn("cannot create directory %s: %s", cli.Quote(dst), vfs.Reason(err))
		cli.CheckStopped(t.ctx, c)
		return
	}
	if made {
		t.printCopied(src, dst)
	}
	list, err := c.FS.ReadDir(c.Path(src))
	if err != nil {
		c.Warn("cannot access %s: %s", cli.Quote(src), vfs.Reason(err))
		cli.CheckStopped(t.ctx, c)
		return
	}
	for _, e := range list {
		t.copy(cli.Join(src, e.Name()), cli.Join(dst, e.Name()), false, parents)
	}
	if made || t.preserve {
		c.FS.Chmod(to, t.newMode(fi))
	}
	t.keepTimes(to, fi)
}

// newMode is the source's mode, without the bits of the umask unless the mode is
// preserved.
func (t *transfer) newMode(fi fs.FileInfo) fs.FileMode {
	if t.preserve {
		return cli.FileMode(cli.UnixMode(fi.Mode()))
	}
	return fi.Mode().Perm() &^ umask
}

func (t *transfer) keepTimes(abs string, fi fs.FileInfo) {
	if t.preserve {
		t.c.FS.Chtimes(abs, fi.ModTime(), fi.ModTime())
	}
}

func (t *transfer) copyLink(src, dst string) error {
	target, err := t.c.FS.Readlink(t.c.Path(src))
	if err == nil {
		if _, e := t.c.FS.Lstat(t.c.Path(dst)); e == nil {
			t.c.FS.Remove(t.c.Path(dst))
		}
		err = t.c.FS.Symlink(target, t.c.Path(dst))
	}
	if err != nil {
		return fmt.Errorf("cannot create symbolic link %s: %s", cli.Quote(dst), vfs.Reason(err))
	}
	return nil
}

func (t *transfer) link(src, dst string) error {
	kind, err := "hard", error(nil)
	if t.symLink {
		kind, err = "symbolic", t.c.FS.Symlink(src, t.c.Path(dst))
	} else {
		err = t.c.FS.Link(t.c.Path(src), t.c.Path(dst))
	}
	if err != nil {
		return fmt.Errorf("cannot create %s link %s to %s: %s", kind, cli.Quote(dst), cli.Quote(src), vfs.Reason(err))
	}
	return nil
}

func (t *transfer) copyFile(src, dst string, fi fs.FileInfo) error {
	c := t.c
	in, err := c.OpenBytes(src)
	if err != nil {
		return fmt.Errorf("cannot open %s for reading: %s", cli.Quote(src), vfs.Reason(err))
	}
	defer in.Close()
	if strings.HasSuffix(dst, "/") {
		return fmt.Errorf("cannot create regular file %s: Not a directory", cli.Quote(dst))
	}
	_, existed := c.FS.Stat(c.Path(dst))
	out, err := c.FS.Open(c.Path(dst), os.O_WRONLY|os.O_CREATE|os.O_TRUNC|vfs.Binary, t.newMode(fi))
	if err != nil {
		return fmt.Errorf("cannot create regular file %s: %s", cli.Quote(dst), vfs.Reason(err))
	}
	_, err = io.Copy(out, in)
	if e := out.Close(); err == nil {
		err = e
	}
	if err != nil {
		return fmt.Errorf("error writing %s: %s", cli.Quote(dst), vfs.Reason(err))
	}
	if t.preserve || existed != nil {
		c.FS.Chmod(c.Path(dst), t.newMode(fi))
	}
	t.keepTimes(c.Path(dst), fi)
	return nil
}
