package text

import (
	"context"
	"strconv"
	"strings"

	"hako/shell"
	"hako/shell/command/internal/cli"
	"hako/shell/regex"
)

var Nl = shell.Command{Name: "nl", Run: runNl}

type numberer struct {
	ctx              context.Context
	holding          cli.Memory // the patterns
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
	opts, names, err := c.Options()
	if err != nil {
		return err
	}
	n := numberer{ctx: ctx, holding: cli.Memory{C: c}, styles: [3]nlStyle{{kind: 'n'}, {kind: 't'}, {kind: 'n'}},
		section: 1, format: "rn", width: 6, sep: "\t", start: 1, step: 1, join: 1, mark: `\:`}
	defer n.holding.Release()
	for _, o := range opts {
		if err := n.set(c, o); err != nil {
			return err
		}
	}
	if err := c.Limiter.Fits(n.width); err != nil {
		return err
	}
	n.now = n.start
	for in := range c.Inputs(names) {
		if err := cli.Finish(c, cli.EachLine(in.Reader, '\n',
			func(line []byte, _ bool) error { return n.line(c, line) })); err != nil {
			return err
		}
	}
	return nil
}

func (n *numberer) set(c *shell.Call, o cli.Option) error {
	switch o.Name {
	case "b":
		return n.style(c, 1, "body", o.Value)
	case "h":
		return n.style(c, 0, "header", o.Value)
	case "f":
		return n.style(c, 2, "footer", o.Value)
	case "n":
		if o.Value != "ln" && o.Value != "rn" && o.Value != "rz" {
			return cli.Misuse(c, "invalid line numbering format: %s", cli.QuoteCurly(o.Value))
		}
		n.format = o.Value
	case "s":
		n.sep = o.Value
	case "p":
		n.continuous = true
	case "d":
		n.mark = o.Value
		if len(n.mark) == 1 {
			n.mark += ":"
		}
	case "w":
		return nlNumber(c, o.Value, &n.width, 1, "line number field width")
	case "l":
		return nlNumber(c, o.Value, &n.join, 1, "line number of blank lines")
	case "v":
		return nlNumber(c, o.Value, &n.start, -1<<63, "starting line number")
	case "i":
		return nlNumber(c, o.Value, &n.step, -1<<63, "line number increment")
	}
	return nil
}

func nlNumber(c *shell.Call, text string, to *int64, least int64, what string) error {
	v, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return c.Fail(1, "invalid %s: %s", what, cli.QuoteCurly(text))
	}
	if v < least || least == 1 && v > 1<<31-1 {
		return c.Fail(1, "invalid %s: %s: Numerical result out of range", what, cli.QuoteCurly(text))
	}
	*to = v
	return nil
}

func (n *numberer) style(c *shell.Call, section int, name, text string) error {
	switch {
	case text == "a" || text == "t" || text == "n":
		n.styles[section] = nlStyle{kind: text[0]}
		return nil
	case strings.HasPrefix(text, "p"):
		re, err := regex.Compile(text[1:], n.holding.Bound(n.ctx, regex.Options{}))
		if err != nil {
			return c.Fail(1, "%v", err)
		}
		n.styles[section] = nlStyle{'p', re}
		return nil
	}
	return cli.Misuse(c, "invalid %s numbering style: %s", name, cli.QuoteCurly(text))
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

// page reports whether the line begins a section of a logical page, and which.
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
	case "ln":
		c.Stdout.WriteString(digits)
		pad(c, ' ', gap)
	case "rz":
		if digits[0] == '-' {
			c.Stdout.WriteByte('-')
			digits = digits[1:]
		}
		pad(c, '0', gap)
		c.Stdout.WriteString(digits)
	default:
		pad(c, ' ', gap)
		c.Stdout.WriteString(digits)
	}
	c.Stdout.WriteString(n.sep)
	n.now += n.step
}

// pad writes n times b without ever holding them all.
func pad(c *shell.Call, b byte, n int) {
	for ; n > 0 && c.Stdout.Err() == nil; n-- {
		c.Stdout.WriteByte(b)
	}
}
