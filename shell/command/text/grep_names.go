package text

import (
	"context"
	"io/fs"
	"path"
	"strings"

	"hako/shell"
	"hako/shell/command/internal/cli"
	"hako/shell/vfs"
)

// grepNames decides which files grep searches, and whether it names them.
type grepNames struct {
	recurse, follow, skipDirs    bool
	show, hide                   bool
	include, exclude, excludeDir []string
}

// each searches the operands in turn.
func (n *grepNames) each(ctx context.Context, g *grepper, names []string) error {
	n.recurse = n.recurse || n.follow
	bare := len(names) == 0
	if bare {
		names = []string{"-"}
		if n.recurse {
			names = []string{"."}
		}
	}
	n.show = n.show || !n.hide && (len(names) > 1 || n.recurse)
	for _, name := range names {
		var err error
		switch {
		case name == "-":
			err = g.search(ctx, &grepStream{g.c, g.c.Stdin, g.end}, g.label)
		case shell.IsStdin(name):
			err = g.search(ctx, &grepStream{g.c, g.c.Stdin, g.end}, name)
		case bare && n.recurse:
			err = n.walk(ctx, g, name, "", true)
		default:
			err = n.walk(ctx, g, name, name, true)
		}
		if err != nil || g.quiet && g.matched {
			return err
		}
	}
	return nil
}

// walk searches a file, or a directory if that is wanted; shown is its name in
// the output. An operand is followed if it is a link, other links only by -R.
func (n *grepNames) walk(ctx context.Context, g *grepper, name, shown string, operand bool) error {
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	info, err := n.stat(g, name, operand)
	switch {
	case err != nil:
		g.unusable(name, err)
		return nil
	case info.IsDir() && n.recurse:
		if matchesAny(n.excludeDir, name) {
			return nil
		}
		return n.walkDir(ctx, g, name, shown)
	case info.IsDir():
		if !n.skipDirs {
			g.unusable(name, vfs.ErrIsDir)
		}
		return nil
	case !operand && !info.Mode().IsRegular(), !n.wants(name):
		return nil
	}
	return n.file(ctx, g, name, shown)
}

func (n *grepNames) stat(g *grepper, name string, operand bool) (fs.FileInfo, error) {
	if operand || n.follow {
		return g.c.FS.Stat(g.c.Path(name))
	}
	return g.c.FS.Lstat(g.c.Path(name))
}

func (n *grepNames) walkDir(ctx context.Context, g *grepper, name, shown string) error {
	if strings.Count(name, "/") > 200 { // a loop of links; the tree itself is never so deep
		g.unusable(name, vfs.ErrLoop)
		return nil
	}
	entries, err := g.c.FS.ReadDir(g.c.Path(name))
	if err != nil {
		g.unusable(name, err)
		return nil
	}
	for _, e := range entries {
		if err := n.walk(ctx, g, cli.Join(name, e.Name()), joinShown(shown, e.Name()), false); err != nil {
			return err
		}
		if g.quiet && g.matched {
			return nil
		}
	}
	return nil
}

func joinShown(dir, name string) string {
	if dir == "" {
		return name
	}
	return strings.TrimRight(dir, "/") + "/" + name
}

// wants applies --include and --exclude.
func (n *grepNames) wants(name string) bool {
	return !matchesAny(n.exclude, name) && (len(n.include) == 0 || matchesAny(n.include, name))
}

func matchesAny(patterns []string, name string) bool {
	for _, p := range patterns {
		if cli.Fnmatch(p, path.Base(name), false) || strings.Contains(p, "/") && cli.Fnmatch(p, name, false) {
			return true
		}
	}
	return false
}

func (n *grepNames) file(ctx context.Context, g *grepper, name, shown string) error {
	f, err := g.c.OpenBytes(name)
	if err != nil {
		g.unusable(name, err)
		return nil
	}
	defer f.Close()
	return g.search(ctx, &grepFile{c: g.c, file: f, end: g.end}, shown)
}
