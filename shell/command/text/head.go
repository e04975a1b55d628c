package text

import (
	"bytes"
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
	n        int64
	bytes    bool
	sign     byte // as written before the number, or 0
	end      byte
	quiet    bool
	verbose  bool
	headings int
}

func runHead(ctx context.Context, c *shell.Call) error {
	c.Args = cli.ExpandDigits(c.Args, "-n")
	h := headTail{n: 10, end: '\n'}
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

func (h *headTail) head(c *shell.Call, in shell.Input) error {
	switch {
	case h.sign == '-':
		return h.allButLast(c, in)
	case h.bytes:
		return headBytes(c, in, h.n)
	}
	return headLines(c, in, h.n, h.end)
}

// headLines copies n lines and leaves the rest unread.
func headLines(c *shell.Call, in shell.Input, n int64, end byte) error {
	for n > 0 {
		b, err := in.Chunk()
		if err != nil {
			return cli.NotEOF(err)
		}
		have := int64(bytes.Count(b, []byte{end}))
		if have >= n {
			cut := afterLines(b, end, n)
			_, err = c.Stdout.Write(b[:cut])
			in.Unread(b, len(b)-cut)
			return err
		}
		n -= have
		if _, err := c.Stdout.Write(b); err != nil {
			return err
		}
	}
	return nil
}

func headBytes(c *shell.Call, in shell.Input, n int64) error {
	for n > 0 {
		b, err := in.Chunk()
		if err != nil {
			return cli.NotEOF(err)
		}
		take := min(n, int64(len(b)))
		if _, err := c.Stdout.Write(b[:take]); err != nil {
			return err
		}
		in.Unread(b, len(b)-int(take))
		n -= take
	}
	return nil
}

// allButLast copies everything but the last n lines or bytes.
func (h *headTail) allButLast(c *shell.Call, in shell.Input) error {
	l := tailBuffer{gauge: c.Limiter, end: h.end}
	defer l.free()
	if err := l.fill(in.Reader, func() error { return h.release(c, &l) }); err != nil {
		return err
	}
	if h.bytes {
		return l.writeBytes(c.Stdout, 0, max(0, l.size-h.n))
	}
	return l.writeLines(c.Stdout, l.total()-h.n)
}

// release prints the leading blocks that cannot belong to the last n.
func (h *headTail) release(c *shell.Call, l *tailBuffer) error {
	for len(l.blocks) > 1 {
		first := l.blocks[0]
		if h.bytes && l.size-int64(len(first.data)) < h.n || !h.bytes && l.lines-first.lines < h.n {
			break
		}
		if _, err := c.Stdout.Write(first.data); err != nil {
			return err
		}
		l.drop()
	}
	return nil
}
