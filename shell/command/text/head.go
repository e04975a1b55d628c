package text

import (
	"context"
	"fmt"
	"strings"

	"hako/shell"
	"hako/shell/command/internal/cli"
	"hako/shell/vfs"
)

var Head = shell.Command{Name: "head", Run: runHead}

// headTail is the state that head and tail share.
type headTail struct {
	unit
	n        int64
	sign     byte // before the number, or 0
	quiet    bool
	verbose  bool
	headings int
}

func runHead(ctx context.Context, c *shell.Call) error {
	c.Args = cli.ExpandDigits(c.Args, "-n")
	h := headTail{n: 10, unit: unit{end: '\n'}}
	names, err := cli.Parse(c, cli.Flags{
		"n c": h.setCount, "q": h.setQuiet, "v": h.setVerbose, "z": cli.Set(&h.end, 0),
	})
	if err != nil {
		return err
	}
	return h.each(c, names, h.head)
}

func (h *headTail) setQuiet()   { h.quiet, h.verbose = true, false }
func (h *headTail) setVerbose() { h.quiet, h.verbose = false, true }

// setCount is -n and -c.
func (h *headTail) setCount(o cli.Option) error {
	text, what := o.Value, "lines"
	if h.bytes = o.Name == "c"; h.bytes {
		what = "bytes"
	}
	h.sign = 0
	if text != "" && (text[0] == '-' || text[0] == '+') {
		h.sign, text = text[0], text[1:]
	}
	var ok bool
	if h.n, ok = cli.ParseAmount(text); !ok {
		return fmt.Errorf("invalid number of %s: ‘%s’", what, o.Value)
	}
	return nil
}

// each opens the operands, prints their headings and calls f with them.
func (h *headTail) each(c *shell.Call, names []string, f func(*shell.Call, shell.Input) error) error {
	h.verbose = h.verbose || len(names) > 1 && !h.quiet
	open := c.Open
	if h.bytes {
		open = c.OpenBytes
	}
	failed := func(name string, err error) {
		if err == vfs.ErrIsDir {
			h.heading(c, name)
			c.Warn("error reading %s: %s", cli.Quote(name), vfs.Reason(err))
			return
		}
		c.Warn("cannot open %s for reading: %s", cli.Quote(name), vfs.Reason(err))
	}
	return cli.Each(c, cli.Inputs(c, names, open, failed), func(in shell.Input) error {
		h.heading(c, in.Name)
		return f(c, in)
	})
}

func (h *headTail) heading(c *shell.Call, name string) {
	if !h.verbose {
		return
	}
	if name == "-" {
		name = "standard input"
	}
	fmt.Fprintf(c.Stdout, "%s==> %s <==\n", strings.Repeat("\n", min(1, h.headings)), name)
	h.headings++
}

// head copies the first n units and leaves the rest unread.
func (h *headTail) head(c *shell.Call, in shell.Input) error {
	if h.sign == '-' {
		return h.allButLast(c, in)
	}
	for n := h.n; n > 0; {
		b, err := in.Chunk()
		if err != nil {
			return cli.NotEOF(err)
		}
		have, cut := h.count(b), len(b)
		if have >= n {
			cut = h.after(b, n)
		}
		n -= have
		if _, err := c.Stdout.Write(b[:cut]); err != nil {
			return err
		}
		in.Unread(b, len(b)-cut)
	}
	return nil
}

// allButLast copies everything except the last n units.
func (h *headTail) allButLast(c *shell.Call, in shell.Input) error {
	l := tailBuffer{unit: h.unit, limiter: c.Limiter}
	defer l.free()
	printFirst := func() error { // the blocks that cannot belong to the last n
		for len(l.blocks) > 1 && l.units-l.blocks[0].units >= h.n {
			if _, err := c.Stdout.Write(l.blocks[0].data); err != nil {
				return err
			}
			l.drop()
		}
		return nil
	}
	if err := l.fill(in.Reader, printFirst); err != nil {
		return err
	}
	return l.writeFirst(c.Stdout, l.total()-h.n)
}
