package text

import (
	"context"
	"math"
	"strconv"
	"strings"

	"hako/shell"
	"hako/shell/command/internal/cli"
	"hako/shell/regex"
)

var Nl = shell.Command{Name: "nl", Run: runNl}

type numberer struct {
	ctx              context.Context
	memory           cli.Memory // the patterns
	styles           [3]nlStyle // header, body, footer
	section          int
	format           string
	width            int64
	sep              string
	start, step, now int64
	blanks, join     int64
	mark             string
	continuous       bool
}

type nlStyle struct {
	kind byte
	re   *regex.Regexp
}

func runNl(ctx context.Context, c *shell.Call) error {
	n := numberer{ctx: ctx, memory: cli.Memory{C: c}, styles: [3]nlStyle{{kind: 'n'}, {kind: 't'}, {kind: 'n'}},
		section: 1, format: "rn", width: 6, sep: "\t", start: 1, step: 1, join: 1, mark: `\:`}
	defer n.memory.Release()
	style := func(section int, name string) func(string) error {
		return func(text string) error { return n.style(c, section, name, text) }
	}
	names, err := cli.Parse(c, cli.Flags{
		"b": style(1, "body"), "h": style(0, "header"), "f": style(2, "footer"), "s": &n.sep, "p": &n.continuous,
		"n": func(format string) error {
			if format != "ln" && format != "rn" && format != "rz" {
				return cli.Misuse(c, "invalid line numbering format: ‘%s’", format)
			}
			n.format = format
			return nil
		},
		"d": func(mark string) {
			if n.mark = mark; len(mark) == 1 {
				n.mark += ":"
			}
		},
		"w": cli.NumberInRange(&n.width, 1, math.MaxInt32, "invalid line number field width: ‘%s’"),
		"l": cli.NumberInRange(&n.join, 1, math.MaxInt32, "invalid line number of blank lines: ‘%s’"),
		"v": cli.Number(&n.start, math.MinInt64, math.MaxInt64, "invalid starting line number: ‘%s’"),
		"i": cli.Number(&n.step, math.MinInt64, math.MaxInt64, "invalid line number increment: ‘%s’"),
	})
	if err != nil {
		return err
	}
	if err := c.Limiter.Fits(n.width); err != nil {
		return err
	}
	n.now = n.start
	return cli.Each(c, c.Inputs(names), func(in shell.Input) error {
		return cli.EachLine(in.Reader, '\n', func(line []byte, _ bool) error { return n.line(c, line) })
	})
}

func (n *numberer) style(c *shell.Call, section int, name, text string) error {
	switch {
	case text == "a" || text == "t" || text == "n":
		n.styles[section] = nlStyle{kind: text[0]}
		return nil
	case strings.HasPrefix(text, "p"):
		re, err := regex.Compile(text[1:], n.memory.Bound(n.ctx, regex.Options{}))
		if err != nil {
			return c.Fail(1, "%v", err)
		}
		n.styles[section] = nlStyle{'p', re}
		return nil
	}
	return cli.Misuse(c, "invalid %s numbering style: ‘%s’", name, text)
}

func (n *numberer) line(c *shell.Call, line []byte) error {
	if section, ok := n.page(string(line)); ok {
		n.section = section
		if !n.continuous {
			n.now = n.start
		}
		c.Stdout.WriteByte('\n')
		return c.Stdout.Err()
	}
	if n.chosen(line) {
		n.number(c)
	} else {
		pad(c, ' ', int(n.width)+len(n.sep))
	}
	c.Stdout.Write(line)
	c.Stdout.WriteByte('\n')
	return c.Stdout.Err()
}

// page reports whether the line begins a section of a logical page, and which one.
func (n *numberer) page(line string) (section int, ok bool) {
	if n.mark == "" || !strings.HasPrefix(line, n.mark) {
		return 0, false
	}
	switch line {
	case n.mark + n.mark + n.mark:
		return 0, true
	case n.mark + n.mark:
		return 1, true
	case n.mark:
		return 2, true
	}
	return 0, false
}

func (n *numberer) chosen(line []byte) bool {
	style := n.styles[n.section]
	switch style.kind {
	case 'a':
		if len(line) > 0 || n.join == 1 {
			n.blanks = 0
			return true
		}
		n.blanks++
		if n.blanks == n.join {
			n.blanks = 0
			return true
		}
		return false
	case 't':
		return len(line) > 0
	case 'p':
		return style.re.Match(line)
	}
	return false
}

func (n *numberer) number(c *shell.Call) {
	digits := strconv.FormatInt(n.now, 10)
	gap := int(n.width) - len(digits)
	switch n.format {
	case "rn":
		pad(c, ' ', gap)
	case "rz":
		if digits[0] == '-' {
			c.Stdout.WriteByte('-')
			digits = digits[1:]
		}
		pad(c, '0', gap)
	}
	c.Stdout.WriteString(digits)
	if n.format == "ln" {
		pad(c, ' ', gap)
	}
	c.Stdout.WriteString(n.sep)
	n.now += n.step
}

// pad writes b n times without holding all of them in memory.
func pad(c *shell.Call, b byte, n int) {
	for ; n > 0 && c.Stdout.Err() == nil; n-- {
		c.Stdout.WriteByte(b)
	}
}
