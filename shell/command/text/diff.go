package text

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"time"

	"hako/run/fault"
	"hako/shell"
	"hako/shell/command/internal/cli"
	"hako/shell/regex"
	"hako/shell/vfs"
)

var Diff = shell.Command{Name: "diff", Run: runDiff}

// A differ is one run of diff.
type differ struct {
	c *shell.Call

	style                                      byte // 'n', 'u', 'c', 'y', 'e'
	context                                    int
	brief, same, recursive, newFile, text      bool
	loose, fold, allSpace, spaceChange         bool
	trailingSpace, tabs, blankLines, stripCR   bool
	noCommon, leftColumn, initialTab, oneSided bool
	function, ignoreLines                      *regex.Regexp
	labels, exclude                            []string
	width                                      int
	words                                      string // the options as given, for headers in directories
	title                                      string // printed before the differences of a file in a directory
	held                                       int64
}

func runDiff(ctx context.Context, c *shell.Call) error {
	d := &differ{c: c, style: 'n', context: 3, width: 130}
	words := c.Args
	c.Args = splitCounts(words)
	operands, err := d.parse(ctx)
	if err != nil {
		return err
	}
	defer d.release(0)
	d.words = optionWords(words, operands)
	switch {
	case len(operands) == 0 || len(operands) == 1 && operands[0] == "-":
		return d.pipedPair(ctx)
	case len(operands) == 1:
		return cli.Misuse(c, "missing operand after '%s'", operands[0])
	case len(operands) > 2:
		return cli.Misuse(c, "extra operand '%s'", operands[2])
	}
	return d.operands(ctx, operands[0], operands[1])
}

// splitCounts lets -U and -C have their number behind them or as the next word,
// and -3 stand for -U3, which getopt cannot know.
func splitCounts(args []string) []string {
	var out []string
	for i := 0; i < len(args); i++ {
		a := args[i]
		switch {
		case a == "--":
			return append(out, args[i:]...)
		case (a == "-U" || a == "-C") && i+1 < len(args):
			a += args[i+1]
			i++
		case len(a) > 1 && a[0] == '-' && strings.Trim(a[1:], "0123456789") == "":
			a = "-U" + a[1:]
		}
		out = append(out, a)
	}
	return out
}

// optionWords is the command line without its operands.
func optionWords(args, operands []string) string {
	words := slices.Clone(args)
	for _, o := range slices.Backward(operands) {
		for i, w := range slices.Backward(words) {
			if w == o {
				words = slices.Delete(words, i, i+1)
				break
			}
		}
	}
	text := ""
	for _, w := range words {
		if strings.ContainsAny(w, " \t*?[]'\"$\\|&;<>()") {
			w = cli.Quote(w)
		}
		text += " " + w
	}
	return text
}

func (d *differ) parse(ctx context.Context) (operands []string, err error) {
	operands, err = cli.Parse(d.c, cli.Flags{
		"q": &d.brief, "s": &d.same, "r": &d.recursive, "N": &d.newFile, "a": &d.text, "i": &d.fold, "w": &d.allSpace,
		"b": &d.spaceChange, "Z": &d.trailingSpace, "E": &d.tabs, "B": &d.blankLines, "strip-trailing-cr": &d.stripCR,
		"T": &d.initialTab, "suppress-common-lines": &d.noCommon, "left-column": &d.leftColumn,
		"unidirectional-new-file": &d.oneSided, "L": &d.labels, "x": &d.exclude, "n S l": cli.Unavailable,
		"u c y e": func(o cli.Option) error { d.style = o.Name[0]; return nil },
		"normal":  cli.Set(&d.style, 'n'),
		"U C":     d.contextLines,
		"X": func(name string) error {
			text, err := d.c.FS.ReadFile(d.c.Path(name))
			if err != nil {
				return fmt.Errorf("%s: %s", name, vfs.Reason(err))
			}
			d.exclude = append(d.exclude, strings.Fields(string(text))...)
			return nil
		},
		"p": func() error {
			if d.style == 'n' {
				d.style = 'c'
			}
			return d.pattern(ctx, &d.function, "^[[:alpha:]$_]")
		},
		"F": func(text string) error { return d.pattern(ctx, &d.function, text) },
		"I": func(text string) error { return d.pattern(ctx, &d.ignoreLines, text) },
		"W": func(text string) error {
			n, err := strconv.Atoi(text)
			if err != nil || n < 1 {
				return cli.Misuse(d.c, "invalid width '%s'", text)
			}
			d.width = min(n, 1<<16)
			return nil
		},
	})
	d.loose = d.fold || d.allSpace || d.spaceChange || d.trailingSpace || d.tabs || d.stripCR
	return operands, err
}

// contextLines is -U and -C.
func (d *differ) contextLines(o cli.Option) error {
	d.style = o.Name[0] | 0x20
	if o.Value == "" {
		return nil
	}
	n, err := strconv.Atoi(o.Value)
	if err != nil || n < 0 {
		return cli.Misuse(d.c, "invalid context length '%s'", o.Value)
	}
	d.context = min(n, 1<<30)
	return nil
}

// pattern compiles a pattern that lives until the command ends.
func (d *differ) pattern(ctx context.Context, to **regex.Regexp, text string) (err error) {
	*to, err = regex.Compile(text, regex.Options{Done: ctx.Done(), Hold: d.hold})
	if err != nil && fault.KindOf(err) == fault.Other {
		return fmt.Errorf("%s: Invalid regular expression", text)
	}
	return err
}

// operands compares two names: files, directories, or a file with the one of
// the same name in a directory.
func (d *differ) operands(ctx context.Context, one, two string) error {
	infos := [2]fs.FileInfo{}
	trouble := false
	for i, name := range []string{one, two} {
		fi, err := d.stat(name)
		if err != nil && !d.newFile {
			d.c.WarnFile(name, err)
			trouble = true
		}
		infos[i] = fi
	}
	if trouble || infos[0] == nil && infos[1] == nil {
		return shell.Status(2)
	}
	isDir := [2]bool{infos[0] != nil && infos[0].IsDir(), infos[1] != nil && infos[1].IsDir()}
	switch {
	case isDir[0] && isDir[1]:
		return d.dirs(ctx, one, two, nil)
	case isDir[0] && !shell.IsStdin(two) && infos[1] != nil:
		one = cli.Join(one, cli.Base(two))
	case isDir[1] && !shell.IsStdin(one) && infos[0] != nil:
		two = cli.Join(two, cli.Base(one))
	}
	return d.pair(ctx, one, two)
}

func (d *differ) stat(name string) (fs.FileInfo, error) {
	if shell.IsStdin(name) {
		return d.c.FS.Stat("/dev/null")
	}
	fi, err := d.c.FS.Stat(d.c.Path(name))
	if err != nil {
		return nil, err
	}
	return fi, nil
}

// pair compares two files; what is missing counts as empty if -N says so.
func (d *differ) pair(ctx context.Context, one, two string) error {
	defer d.release(d.held)
	var files [2]*diffFile
	for i, name := range []string{one, two} {
		f := &diffFile{name: name, time: time.Unix(0, 0)}
		files[i] = f
		if err := d.read(f); err != nil {
			if e := cli.Stopped(ctx, d.c); e != nil {
				return e
			}
			d.c.WarnFile(name, err)
			return shell.Status(2)
		}
	}
	d.applyLabels(&files)
	return d.report(ctx, &files)
}

func (d *differ) read(f *diffFile) error {
	if shell.IsStdin(f.name) {
		f.time = d.c.Now()
		return d.load(f, d.c.Stdin)
	}
	file, err := d.c.OpenBytes(f.name)
	if err != nil {
		if _, e := d.c.FS.Stat(d.c.Path(f.name)); e != nil && d.newFile {
			return nil
		}
		return err
	}
	defer file.Close()
	if file.IsDir() {
		return vfs.ErrIsDir
	}
	if fi, err := file.Stat(); err == nil {
		f.time = fi.ModTime()
	}
	return d.load(f, file)
}

// report prints the differences between two loaded files.
func (d *differ) report(ctx context.Context, files *[2]*diffFile) error {
	a, b := files[0], files[1]
	equal := bytes.Equal(a.data, b.data)
	if !equal && !d.text && (a.binary() || b.binary()) {
		fmt.Fprintf(d.c.Stdout, "Binary files %s and %s differ\n", a.name, b.name)
		return errDiffer
	}
	if !equal && d.brief && !d.loose && !d.blankLines && d.ignoreLines == nil {
		return d.differ(a, b)
	}
	var list []change
	if !equal || d.style == 'y' {
		var err error
		if list, err = d.changes(ctx, files); err != nil {
			return err
		}
	}
	real := slices.ContainsFunc(list, func(c change) bool { return !c.ignored })
	switch {
	case real && d.brief:
		return d.differ(a, b)
	case !real && d.same:
		fmt.Fprintf(d.c.Stdout, "Files %s and %s are identical\n", a.name, b.name)
		return nil
	case !real && d.style != 'y':
		return nil
	}
	p := &diffPrinter{d: d, out: d.c.Stdout, a: a, b: b}
	if err := p.print(list); err != nil || !real {
		return err
	}
	return errDiffer
}

func (d *differ) differ(a, b *diffFile) error {
	fmt.Fprintf(d.c.Stdout, "Files %s and %s differ\n", a.name, b.name)
	return errDiffer
}
