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
	c   *shell.Call
	ctx context.Context

	style                                      byte // 'n', 'u', 'c', 'y', 'e'
	context                                    int
	brief, same, recursive, newFile, text      bool
	loose, fold, allSpace, spaceChange         bool
	trailingSpace, tabs, blankLines, stripCR   bool
	noCommon, leftColumn, initialTab, oneSided bool
	function, ignoreLines                      *regex.Regexp
	labels, exclude                            []string
	width                                      int
	words                                      string // the given options, for the title
	title                                      string // printed before the differences of files in directories
	patterns                                   cli.Memory
	files                                      cli.Memory // of the files that are compared
}

func runDiff(ctx context.Context, c *shell.Call) error {
	d := &differ{c: c, ctx: ctx, style: 'n', context: 3, width: 130, patterns: cli.Memory{C: c}, files: cli.Memory{C: c}}
	defer d.patterns.Release()
	words := c.Args
	c.Args = splitCounts(words)
	operands, err := d.parse()
	if err != nil {
		return err
	}
	d.words = optionWords(words, operands)
	switch {
	case len(operands) == 1 && operands[0] != "-":
		return cli.Misuse(c, "missing operand after '%s'", operands[0])
	case len(operands) > 2:
		return cli.Misuse(c, "extra operand '%s'", operands[2])
	}
	return cli.StatusOr(d.run(operands))
}

// run compares the operands and returns the exit status.
func (d *differ) run(operands []string) (status int, err error) {
	defer cli.Catch(&err)
	if len(operands) < 2 {
		return d.pipedPair(), nil
	}
	return d.operands(operands[0], operands[1]), nil
}

// splitCounts joins -U and -C with their number if that is the next word, and replaces -3
// by -U3. A spec cannot express this.
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

// optionWords returns the command line without its operands.
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

func (d *differ) parse() (operands []string, err error) {
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
			return d.pattern(&d.function, "^[[:alpha:]$_]")
		},
		"F": func(text string) error { return d.pattern(&d.function, text) },
		"I": func(text string) error { return d.pattern(&d.ignoreLines, text) },
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
func (d *differ) pattern(to **regex.Regexp, text string) (err error) {
	*to, err = regex.Compile(text, d.patterns.Bound(d.ctx, regex.Options{}))
	if err != nil && fault.KindOf(err) == fault.Other {
		return fmt.Errorf("%s: Invalid regular expression", text)
	}
	return err
}

// operands compares two names: files, directories, or a file with the file of the same
// name in a directory.
func (d *differ) operands(one, two string) int {
	a, aErr := d.stat(one)
	b, bErr := d.stat(two)
	if !d.newFile && d.reportErrors(one, aErr, two, bErr) || a == nil && b == nil {
		return 2
	}
	switch aDir, bDir := isDirInfo(a), isDirInfo(b); {
	case aDir && bDir:
		return d.dirs(one, two, nil)
	case aDir && !shell.IsStdin(two) && b != nil:
		one = cli.Join(one, cli.Base(two))
	case bDir && !shell.IsStdin(one) && a != nil:
		two = cli.Join(two, cli.Base(one))
	}
	return d.pair(one, two)
}

// reportErrors reports the errors of two files, and whether there were any.
func (d *differ) reportErrors(one string, errOne error, two string, errTwo error) bool {
	if errOne != nil {
		d.c.WarnFile(one, errOne)
	}
	if errTwo != nil {
		d.c.WarnFile(two, errTwo)
	}
	return errOne != nil || errTwo != nil
}

func isDirInfo(fi fs.FileInfo) bool { return fi != nil && fi.IsDir() }

func (d *differ) stat(name string) (fs.FileInfo, error) {
	full := d.c.Path(name)
	if shell.IsStdin(name) {
		full = "/dev/null"
	}
	fi, err := d.c.FS.Stat(full)
	if err != nil {
		return nil, err
	}
	return fi, nil
}

// pair compares two files. With -N a missing file counts as empty.
func (d *differ) pair(one, two string) int {
	defer d.files.Release()
	files := [2]*diffFile{{name: one, time: time.Unix(0, 0)}, {name: two, time: time.Unix(0, 0)}}
	for _, f := range files {
		if err := d.read(f); err != nil {
			cli.CheckStopped(d.ctx, d.c)
			d.c.WarnFile(f.name, err)
			return 2
		}
	}
	return d.report(files)
}

func (d *differ) read(f *diffFile) (err error) {
	if shell.IsStdin(f.name) {
		f.time = d.c.Now()
		f.data, err = d.files.ReadAll(d.c.Stdin)
		return err
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
	f.data, err = d.files.ReadAll(file)
	return err
}

// report prints the differences between two loaded files.
func (d *differ) report(files [2]*diffFile) int {
	for i := range min(2, len(d.labels)) {
		files[i].label = d.labels[i]
	}
	a, b := files[0], files[1]
	equal := bytes.Equal(a.data, b.data)
	if !equal && !d.text && (a.binary() || b.binary()) {
		fmt.Fprintf(d.c.Stdout, "Binary files %s and %s differ\n", a.name, b.name)
		return 1
	}
	var list []change
	differ := !equal
	if exact := !d.loose && !d.blankLines && d.ignoreLines == nil; !equal && !(d.brief && exact) || d.style == 'y' {
		list = d.changes(files)
		differ = slices.ContainsFunc(list, func(c change) bool { return !c.ignored })
	}
	switch {
	case differ && d.brief:
		fmt.Fprintf(d.c.Stdout, "Files %s and %s differ\n", a.name, b.name)
	case !differ && d.same:
		fmt.Fprintf(d.c.Stdout, "Files %s and %s are identical\n", a.name, b.name)
	case differ || d.style == 'y':
		p := &diffPrinter{d: d, out: d.c.Stdout, a: a, b: b}
		cli.Check(p.print(list))
	}
	return cli.BoolInt(differ)
}
