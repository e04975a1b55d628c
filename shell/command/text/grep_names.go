package text

import (
	"context"
	"path"
	"strings"

	"hako/shell"
	"hako/shell/command/internal/cli"
	"hako/shell/vfs"
)

// grepNames selects the files to search, and whether their names are shown.
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
		shown := name
		switch {
		case name == "-":
			shown = g.label
		case bare && n.recurse:
			shown = ""
		}
		var err error
		if shell.IsStdin(name) {
			err = g.search(ctx, &grepStream{g.c, g.c.Stdin, g.end}, shown)
		} else {
			err = n.walk(ctx, g, name, shown, true)
		}
		if err != nil || g.quiet && g.matched {
			return err
		}
	}
	return nil
}

// walk searches a file, or a directory with -r. shown is its name in the output. Operands
// that are links are followed, other links only with -R.
func (n *grepNames) walk(ctx context.Context, g *grepper, name, shown string, operand bool) error {
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	stat := g.c.FS.Lstat
	if operand || n.follow {
		stat = g.c.FS.Stat
	}
	info, err := stat(g.c.Path(name))
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
	f, err := g.c.OpenBytes(name)
	if err != nil {
		g.unusable(name, err)
		return nil
	}
	defer f.Close()
	return g.search(ctx, &grepFile{c: g.c, file: f, end: g.end}, shown)
}

func (n *grepNames) walkDir(ctx context.Context, g *grepper, name, shown string) error {
	if strings.Count(name, "/") > 200 { // a loop of links: the tree is never so deep
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

// wants reports whether --include and --exclude select a file.
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
