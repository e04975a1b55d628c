package file

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"time"

	"hako/shell"
	"hako/shell/command/internal/cli"
	"hako/shell/vfs"
)

var Find = shell.Command{Name: "find", Run: runFind}

// A finder is one run of find.
type finder struct {
	c    *shell.Call
	ctx  context.Context
	expr findExpr

	follow, followOperands bool
	depthFirst             bool
	minDepth, maxDepth     int
	now, dayStart          time.Time
	regexType              string
	batches                []*findBatch
	acted                  bool // an action was given, so -print is not implied
	warned                 bool
}

// A findFile is the file the expression is looking at.
type findFile struct {
	path  string // as it is printed
	root  string // the operand it was found under
	abs   string
	depth int
	fi    fs.FileInfo
	prune bool
}

// A findExpr judges one file. An error ends the search.
type findExpr func(*findFile) (bool, error)

var errFindQuit = errors.New("quit")

func runFind(ctx context.Context, c *shell.Call) error {
	f := &finder{c: c, ctx: ctx, maxDepth: -1, now: c.Now(), regexType: "emacs"}
	paths, words := f.operands(c.Args)
	expr, err := f.parse(words)
	if err != nil {
		c.Warn("%v", err)
		return shell.Status(1)
	}
	f.expr = expr
	for _, p := range paths {
		if err = f.search(p); err != nil {
			break
		}
	}
	if err == errFindQuit {
		err = nil
	}
	for _, b := range f.batches {
		if e := b.flush(); err == nil {
			err = e
		}
	}
	if err == nil {
		err = failedOr(f.warned)
	}
	return err
}

// operands takes the leading options and the paths off the words.
func (f *finder) operands(words []string) (paths, rest []string) {
	for len(words) > 0 && slices.Contains([]string{"-L", "-P", "-H"}, words[0]) {
		f.follow, f.followOperands = words[0] == "-L", words[0] != "-P"
		words = words[1:]
	}
	i := 0
	for i < len(words) && !isFindWord(words[i]) {
		i++
	}
	if i == 0 {
		return []string{"."}, words
	}
	return words[:i], words[i:]
}

func isFindWord(w string) bool {
	return len(w) > 1 && w[0] == '-' || w == "!" || w == "(" || w == ")" || w == ","
}

func (f *finder) search(name string) error {
	fi, err := f.look(f.c.Path(name), f.followOperands || strings.HasSuffix(name, "/"))
	if err == nil {
		err = mustDir(name, fi)
	}
	if err != nil || name == "" {
		if name == "" {
			err = fs.ErrNotExist
		}
		f.warn(name, err)
		return nil
	}
	return f.visit(&findFile{path: name, root: name, abs: f.c.Path(name), fi: fi}, nil)
}

// look is lstat, or stat for links that lead somewhere.
func (f *finder) look(abs string, follow bool) (fs.FileInfo, error) {
	if follow {
		if fi, err := f.c.FS.Stat(abs); err == nil {
			return fi, nil
		}
	}
	return lstat(f.c, abs)
}

func (f *finder) warn(path string, err error) {
	f.warned = true
	f.c.Stdout.Flush() // messages stand where they belong, as GNU's do
	f.c.Warn("%s: %s", cli.QuoteCurly(path), vfs.Reason(err))
}

// visit judges a file and what is below it. above are the directories
// on the way: with -L a link may lead back to one of them.
func (f *finder) visit(file *findFile, above []fs.FileInfo) error {
	if err := cli.Stopped(f.ctx, f.c); err != nil {
		return err
	}
	if err := f.c.Stdout.Err(); err != nil {
		return err
	}
	if f.follow && file.fi.IsDir() && cli.IndexFile(above, file.fi) >= 0 {
		f.warned = true
		f.c.Warn("File system loop detected; %s is part of the same file system loop as %s.",
			cli.QuoteCurly(file.path), cli.QuoteCurly(loopStart(file, above)))
		return nil
	}
	if !f.depthFirst {
		if err := f.judge(file); err != nil {
			return err
		}
	}
	if err := f.descend(file, above); err != nil {
		return err
	}
	if f.depthFirst {
		return f.judge(file)
	}
	return nil
}

// loopStart is the path of the directory a looping link leads back to.
func loopStart(file *findFile, above []fs.FileInfo) string {
	up := len(above) - cli.IndexFile(above, file.fi)
	p := file.path
	for ; up > 0; up-- {
		p = cli.Dir(p)
	}
	return p
}

func (f *finder) judge(file *findFile) error {
	if file.depth < f.minDepth {
		return nil
	}
	_, err := f.expr(file)
	return err
}

func (f *finder) descend(file *findFile, above []fs.FileInfo) error {
	if !file.fi.IsDir() || file.prune && !f.depthFirst || f.maxDepth >= 0 && file.depth >= f.maxDepth {
		return nil
	}
	list, err := f.c.FS.ReadDir(file.abs)
	if err != nil {
		f.warn(file.path, err)
		return nil
	}
	above = append(slices.Clip(above), file.fi)
	for _, e := range list {
		abs := cli.Join(file.abs, e.Name())
		fi, err := f.look(abs, f.follow)
		if err != nil {
			f.warn(cli.Join(file.path, e.Name()), err)
			continue
		}
		next := &findFile{path: cli.Join(file.path, e.Name()), root: file.root, abs: abs, depth: file.depth + 1, fi: fi}
		if err := f.visit(next, above); err != nil {
			return err
		}
	}
	return nil
}

// name is what -name looks at: the last part, "/" for the root.
func (file *findFile) name() string { return cli.Base(file.path) }

// below is the path without the operand it was found under.
func (file *findFile) below() string {
	return strings.TrimPrefix(strings.TrimPrefix(file.path, file.root), "/")
}
