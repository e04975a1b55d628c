package text

import (
	"bytes"
	"context"
	"fmt"
	"io"
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
	context                                              bool // asked for, be it of no lines
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
	opts, names, err := c.Options()
	if err != nil {
		return err
	}
	for _, o := range opts {
		if err := g.option(o); err != nil {
			return g.fail(err)
		}
	}
	if !g.given {
		if len(names) == 0 {
			fmt.Fprintf(c.Stderr, "Usage: %s [OPTION]... PATTERNS [FILE]...\nTry '%s --help' for more information.\n", c.Name,
				c.Name)
			return shell.Status(2)
		}
		g.patterns, names = strings.Split(names[0], "\n"), names[1:]
	}
	if err := g.compile(); err != nil {
		return g.fail(err)
	}
	return g.run(ctx, names)
}

// fail prints what is wrong with the call.
func (g *grepper) fail(err error) error {
	if _, ok := err.(shell.Status); ok || fault.KindOf(err) == fault.Exhausted {
		return err
	}
	return g.c.Fail(2, "%v", err)
}

// flag returns the switch that an option without a value sets.
func (g *grepper) flag(name string) *bool {
	return map[string]*bool{
		"w": &g.how.Word, "x": &g.how.WholeLine, "v": &g.invert, "c": &g.count, "n": &g.numbers, "b": &g.offsets,
		"l": &g.list, "L": &g.listOthers, "o": &g.only, "q": &g.quiet, "s": &g.silent, "a": &g.text,
		"I": &g.skipBinary, "Z": &g.nulNames, "T": &g.tab, "i": &g.how.Fold, "y": &g.how.Fold,
		"r": &g.names.recurse, "R": &g.names.follow,
	}[name]
}

var grepSyntaxes = map[string]regex.Syntax{"E": regex.ERE, "F": regex.Fixed, "G": regex.BRE, "P": regex.Perl}

func (g *grepper) option(o cli.Option) (err error) {
	if f := g.flag(o.Name); f != nil {
		*f = true
		return nil
	}
	if s, ok := grepSyntaxes[o.Name]; ok {
		g.how.Syntax = s
		return nil
	}
	switch o.Name {
	case "e":
		g.patterns, g.given = append(g.patterns, strings.Split(o.Value, "\n")...), true
	case "f":
		return g.patternFile(o.Value)
	case "no-ignore-case":
		g.how.Fold = false
	case "H", "h":
		g.names.show, g.names.hide = o.Name == "H", o.Name == "h"
	case "m":
		if g.limit, err = strconv.Atoi(o.Value); err != nil {
			return fmt.Errorf("invalid max count")
		}
	case "A", "B", "C":
		return g.contextOption(o)
	case "group-separator", "no-group-separator":
		g.separator, g.noSeparator = o.Value, o.Name == "no-group-separator"
	case "include", "exclude", "exclude-dir", "exclude-from":
		return g.names.glob(g.c, o)
	case "color":
		g.color = o.Value == "always"
	case "binary-files":
		g.text, g.skipBinary = o.Value == "text", o.Value == "without-match"
	case "z":
		g.end = 0
	case "label":
		g.label = o.Value
	case "d":
		g.names.recurse = g.names.recurse || o.Value == "recurse"
		g.names.skipDirs = o.Value == "skip"
	default:
		if len(o.Name) == 1 && o.Name[0] >= '0' && o.Name[0] <= '9' {
			g.around = min(max(g.around, 0)*10+int(o.Name[0]-'0'), 1<<30)
		}
	}
	return nil
}

func (g *grepper) contextOption(o cli.Option) error {
	n, err := strconv.ParseUint(o.Value, 10, 64)
	if err != nil && strings.Trim(o.Value, "0123456789") != "" || o.Value == "" {
		return fmt.Errorf("%s: invalid context length argument", o.Value)
	}
	lines := int(min(n, 1<<30))
	*map[string]*int{"A": &g.after, "B": &g.before, "C": &g.around}[o.Name] = lines
	return nil
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

// hasLine tells a file with one empty line from an empty file.
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

// run searches the operands and makes the exit status.
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
		g.c.Stdout.Flush()                                                       // so that messages stand where they belong
		fmt.Fprintf(g.c.Stderr, "%s: %s: %s\n", g.c.Name, name, vfs.Reason(err)) // not Warn: -q may still succeed
	}
}
