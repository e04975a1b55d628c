package text

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"hako/run/fault"
	"hako/shell"
	"hako/shell/command/internal/cli"
	"hako/shell/regex"
	"hako/shell/vfs"
)

var Grep = shell.Command{Name: "grep", Run: runGrep}

var Egrep = shell.Command{Name: "egrep", Run: runGrep}

var Fgrep = shell.Command{Name: "fgrep", Run: runGrep}

// A grepper is one call of grep.
type grepper struct {
	c  *shell.Call
	re *regex.Regexp

	patterns []string
	given    bool // by -e or -f
	how      regex.Options
	names    grepNames

	invert, count, list, listOthers, only, quiet, silent bool
	numbers, offsets, color, text, skipBinary            bool
	nulNames, tab                                        bool
	end                                                  byte // of a line
	limit                                                int  // lines per file; negative is no limit
	before, after, around                                int
	context                                              bool // context was requested, even of 0 lines
	noSeparator                                          bool
	separator                                            string // between groups of lines
	label                                                string

	matched bool // anything, in any file
	grouped bool // a group was printed, in any file
	failed  bool
}

func runGrep(ctx context.Context, c *shell.Call) error {
	g := &grepper{c: c, end: '\n', limit: -1, before: -1, after: -1, around: -1, separator: "--",
		label: "(standard input)"}
	held := &cli.Memory{C: c}
	defer held.Release()
	g.how = held.Bound(ctx, regex.Options{LooseParen: true})
	switch c.Name {
	case "egrep":
		g.how.Syntax = regex.ERE
	case "fgrep":
		g.how.Syntax = regex.Fixed
	}
	names, err := g.parse()
	if err != nil {
		return err
	}
	if !g.given {
		if len(names) == 0 {
			fmt.Fprintf(c.Stderr, "Usage: %s [OPTION]... PATTERNS [FILE]...\nTry '%s --help' for more information.\n", c.Name,
				c.Name)
			return shell.Status(2)
		}
		g.patterns, names = strings.Split(names[0], "\n"), names[1:]
	}
	if err := g.compile(); fault.KindOf(err) == fault.Exhausted {
		return err
	} else if err != nil {
		return c.Fail(2, "%v", err)
	}
	return g.run(ctx, names)
}

// parse sets the options and returns the operands.
func (g *grepper) parse() (operands []string, err error) {
	return cli.Parse(g.c, cli.Flags{
		"w": &g.how.Word, "x": &g.how.WholeLine, "v": &g.invert, "c": &g.count, "n": &g.numbers, "b": &g.offsets,
		"l": &g.list, "L": &g.listOthers, "o": &g.only, "q": &g.quiet, "s": &g.silent, "a": &g.text,
		"I": &g.skipBinary, "Z": &g.nulNames, "T": &g.tab, "i y": &g.how.Fold, "r": &g.names.recurse,
		"R": &g.names.follow, "label": &g.label, "include": &g.names.include, "exclude": &g.names.exclude,
		"no-ignore-case": cli.Set(&g.how.Fold, false), "z": cli.Set(&g.end, 0),
		"E": cli.Set(&g.how.Syntax, regex.ERE), "F": cli.Set(&g.how.Syntax, regex.Fixed),
		"G": cli.Set(&g.how.Syntax, regex.BRE), "P": cli.Set(&g.how.Syntax, regex.Perl),
		"e": func(list string) { g.patterns, g.given = append(g.patterns, strings.Split(list, "\n")...), true },
		"f": g.patternFile,
		"H": func() { g.names.show, g.names.hide = true, false },
		"h": func() { g.names.show, g.names.hide = false, true },
		"m": cli.Number(&g.limit, math.MinInt, math.MaxInt, "invalid max count"),
		"A": contextLength(&g.after), "B": contextLength(&g.before), "C": contextLength(&g.around),
		"0 1 2 3 4 5 6 7 8 9": func(o cli.Option) error {
			g.around = min(max(g.around, 0)*10+int(o.Name[0]-'0'), 1<<30)
			return nil
		},
		"group-separator":    func(text string) { g.separator, g.noSeparator = text, false },
		"no-group-separator": cli.Set(&g.noSeparator, true),
		"exclude-dir": func(p string) {
			g.names.excludeDir = append(g.names.excludeDir, strings.TrimRight(p, "/"))
		},
		"exclude-from": func(name string) error {
			data, err := g.c.FS.ReadFile(g.c.Path(name))
			if err != nil {
				return fmt.Errorf("%s: %s", name, vfs.Reason(err))
			}
			g.names.exclude = append(g.names.exclude, strings.Fields(string(data))...)
			return nil
		},
		"color":        func(when string) { g.color = when == "always" },
		"binary-files": func(kind string) { g.text, g.skipBinary = kind == "text", kind == "without-match" },
		"d": func(action string) {
			g.names.recurse = g.names.recurse || action == "recurse"
			g.names.skipDirs = action == "skip"
		},
	})
}

// contextLength returns a binding for a number of context lines, however large.
func contextLength(to *int) func(string) error {
	return func(text string) error {
		if text == "" || strings.Trim(text, "0123456789") != "" {
			return fmt.Errorf("%s: invalid context length argument", text)
		}
		n, _ := strconv.ParseInt(text, 10, 31)
		*to = int(n)
		return nil
	}
}

// patternFile reads patterns, one per line.
func (g *grepper) patternFile(name string) error {
	var data []byte
	var err error
	if shell.IsStdin(name) {
		data, err = io.ReadAll(io.LimitReader(g.c.Stdin, g.c.Limiter.Limits().Memory/8))
	} else {
		data, err = g.c.FS.ReadFile(g.c.Path(name))
	}
	if err != nil {
		return fmt.Errorf("%s: %s", name, vfs.Reason(err))
	}
	g.given = true
	data = bytes.TrimSuffix(data, []byte("\n"))
	if len(data) > 0 || err == nil && g.hasLine(name) {
		g.patterns = append(g.patterns, strings.Split(string(data), "\n")...)
	}
	return nil
}

// hasLine distinguishes a file with one empty line from an empty file.
func (g *grepper) hasLine(name string) bool {
	info, err := g.c.FS.Stat(g.c.Path(name))
	return err == nil && info.Size() > 0
}

func (g *grepper) compile() (err error) {
	if g.around >= 0 {
		if g.before < 0 {
			g.before = g.around
		}
		if g.after < 0 {
			g.after = g.around
		}
	}
	g.context = g.before >= 0 || g.after >= 0
	g.before, g.after = max(g.before, 0), max(g.after, 0)
	if g.quiet || g.list || g.listOthers || g.count {
		g.before, g.after, g.context = 0, 0, false
	}
	if len(g.patterns) == 0 { // an empty file of patterns matches nothing
		g.how.Syntax, g.how.WholeLine = regex.Fixed, true
		g.patterns = []string{"\x00\n"}
	}
	g.how.Multi = g.patterns[1:]
	g.re, err = regex.Compile(g.patterns[0], g.how)
	return err
}

// run searches the operands and returns the exit status.
func (g *grepper) run(ctx context.Context, names []string) error {
	if err := g.names.each(ctx, g, names); err != nil {
		return err
	}
	if err := g.re.Err(); err != nil {
		return g.c.Fail(2, "%v", err)
	}
	switch {
	case g.failed && !(g.quiet && g.matched):
		return shell.Status(2)
	case g.matched:
		return nil
	}
	return shell.Status(1)
}

// unusable reports a file that could not be read.
func (g *grepper) unusable(name string, err error) {
	g.failed = true
	if !g.silent {
		g.c.Stdout.Flush()                                                       // to keep the order of output and messages
		fmt.Fprintf(g.c.Stderr, "%s: %s: %s\n", g.c.Name, name, vfs.Reason(err)) // not Warn: -q may still succeed
	}
}
