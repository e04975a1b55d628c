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

// A findFile is a file that the expression is evaluated for.
type findFile struct {
	path  string // as it is printed
	root  string // the operand it was found under
	abs   string
	depth int
	fi    fs.FileInfo
	prune bool
}

// A findExpr tests one file, or acts on it.
type findExpr func(*findFile) bool

var errFindQuit = errors.New("quit")

func runFind(ctx context.Context, c *shell.Call) (err error) {
	f := &finder{c: c, ctx: ctx, maxDepth: -1, now: c.Now(), regexType: "emacs"}
	paths, words := f.operands(c.Args)
	if f.expr, err = f.parse(words); err != nil {
		return c.Fail(1, "%v", err)
	}
	err = cli.Try(func() {
		for _, p := range paths {
			f.search(p)
		}
	})
	if err != nil && err != errFindQuit {
		return err
	}
	defer cli.Catch(&err)
	for _, b := range f.batches {
		b.flush()
	}
	return cli.StatusOr(cli.BoolInt(f.warned), nil)
}

// operands splits the words into leading options, paths and the expression.
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

func (f *finder) search(name string) {
	fi, err := f.look(f.c.Path(name), f.followOperands || strings.HasSuffix(name, "/"))
	if err == nil {
		err = mustDir(name, fi)
	}
	if name == "" {
		err = fs.ErrNotExist
	}
	if err != nil {
		f.warn(name, err)
		return
	}
	f.visit(&findFile{path: name, root: name, abs: f.c.Path(name), fi: fi}, nil)
}

// look is lstat, or stat for links that are not broken.
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

// visit evaluates the expression for a file and what is below it. above are the
// directories on the way: with -L a link may lead back to one of them.
func (f *finder) visit(file *findFile, parents []fs.FileInfo) {
	cli.CheckStopped(f.ctx, f.c)
	cli.Check(f.c.Stdout.Err())
	if f.follow && file.fi.IsDir() && cli.IndexFile(parents, file.fi) >= 0 {
		f.warned = true
		f.c.Warn("File system loop detected; %s is part of the same file system loop as %s.",
			cli.QuoteCurly(file.path), cli.QuoteCurly(loopStart(file, parents)))
		return
	}
	tested := file.depth >= f.minDepth
	if tested && !f.depthFirst {
		f.expr(file)
	}
	f.descend(file, parents)
	if tested && f.depthFirst {
		f.expr(file)
	}
}

// loopStart is the path of the directory a looping link leads back to.
func loopStart(file *findFile, parents []fs.FileInfo) string {
	up := len(parents) - cli.IndexFile(parents, file.fi)
	p := file.path
	for ; up > 0; up-- {
		p = cli.Dir(p)
	}
	return p
}

func (f *finder) descend(file *findFile, parents []fs.FileInfo) {
	if !file.fi.IsDir() || file.prune && !f.depthFirst || f.maxDepth >= 0 && file.depth >= f.maxDepth {
		return
	}
	list, err := f.c.FS.ReadDir(file.abs)
	if err != nil {
		f.warn(file.path, err)
		return
	}
	parents = append(slices.Clip(parents), file.fi)
	for _, e := range list {
		abs, path := cli.Join(file.abs, e.Name()), cli.Join(file.path, e.Name())
		fi, err := f.look(abs, f.follow)
		if err != nil {
			f.warn(path, err)
			continue
		}
		f.visit(&findFile{path: path, root: file.root, abs: abs, depth: file.depth + 1, fi: fi}, parents)
	}
}

// name is the last part of the path, "/" for the root.
func (file *findFile) name() string { return cli.Base(file.path) }

// below is the path without the operand it was found under.
func (file *findFile) below() string {
	return strings.TrimPrefix(strings.TrimPrefix(file.path, file.root), "/")
}
