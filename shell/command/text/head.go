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

// headTail holds what head and tail have in common.
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
	opts, names, err := c.Options()
	if err != nil {
		return err
	}
	h := headTail{n: 10, end: '\n'}
	for _, o := range opts {
		if err := h.set(c, o); err != nil {
			return err
		}
	}
	return h.each(c, names, h.head)
}

func (h *headTail) set(c *shell.Call, o cli.Option) error {
	switch o.Name {
	case "q":
		h.quiet, h.verbose = true, false
	case "v":
		h.verbose, h.quiet = true, false
	case "z":
		h.end = 0
	case "n", "c":
		text := o.Value
		h.sign = 0
		if text != "" && (text[0] == '-' || text[0] == '+') {
			h.sign, text = text[0], text[1:]
		}
		h.bytes = o.Name == "c"
		var ok bool
		if h.n, ok = cli.ParseAmount(text); !ok {
			return c.Fail(1, "invalid number of %s: %s", map[bool]string{true: "bytes", false: "lines"}[h.bytes],
				cli.QuoteCurly(o.Value))
		}
	}
	return nil
}

// each opens the operands, prints their headings and calls f.
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
	for in := range cli.Inputs(c, names, open, failed) {
		h.heading(c, in.Name)
		if err := cli.Finish(c, f(c, in)); err != nil {
			return err
		}
	}
	return nil
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
