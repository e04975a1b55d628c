package text

import (
	"context"
	"errors"
	"io"
	"strings"

	"hako/shell"
	"hako/shell/command/internal/cli"
	"hako/shell/stream"
)

var Tail = shell.Command{Name: "tail", Run: runTail}

func runTail(ctx context.Context, c *shell.Call) error {
	c.Args = cli.ExpandDigits(c.Args, "-n")
	if a := c.Args; len(a) > 0 && len(a[0]) > 1 && a[0][0] == '+' && strings.Trim(a[0][1:], "0123456789") == "" {
		c.Args = append([]string{"-n"}, a...)
	}
	t := headTail{n: 10, unit: unit{end: '\n'}}
	names, err := cli.Parse(c, cli.Flags{
		"n c": t.setCount, "q": t.setQuiet, "v": t.setVerbose, "z": cli.Set(&t.end, 0),
		"f F follow": func(string) error {
			return errors.New("cannot follow a file: nothing else writes to it while this command runs")
		},
	})
	if err != nil {
		return err
	}
	return t.each(c, names, t.tail)
}

func (t *headTail) tail(c *shell.Call, in shell.Input) error {
	switch {
	case t.sign == '+':
		return t.tailFrom(c, in)
	case t.n == 0:
		return nil
	case in.File != nil && in.File.Size() > 0:
		return t.tailFile(c, in)
	}
	return t.tailStream(c, in)
}

// tailFrom prints everything from unit n on.
func (t *headTail) tailFrom(c *shell.Call, in shell.Input) error {
	for skip := t.n - 1; skip > 0; {
		b, err := in.Chunk()
		if err != nil {
			return cli.NotEOF(err)
		}
		have, cut := t.count(b), len(b)
		if have >= skip {
			cut = t.after(b, skip)
		}
		skip -= have
		in.Unread(b, len(b)-cut)
	}
	_, err := in.WriteTo(c.Stdout)
	return err
}

// tailFile searches the start of the output backwards from the end of the file.
func (t *headTail) tailFile(c *shell.Call, in shell.Input) error {
	size := in.File.Size()
	start := max(0, size-t.n)
	if !t.bytes {
		var err error
		if start, err = t.lineStart(in, size); err != nil {
			return err
		}
	}
	if _, err := in.File.Seek(start, io.SeekStart); err != nil {
		return err
	}
	_, err := c.Stdout.ReadFrom(in.File)
	return err
}

// lineStart returns where the last n lines begin.
func (t *headTail) lineStart(in shell.Input, size int64) (int64, error) {
	buf := stream.Get()
	defer func() { stream.Put(buf) }()
	left := t.n
	for pos := size; pos > 0; {
		n := min(pos, int64(cap(buf)))
		pos -= n
		b := buf[:n]
		if _, err := in.File.ReadAt(b, pos); err != nil && err != io.EOF {
			return 0, err
		}
		if pos+n == size && b[n-1] == t.end {
			b = b[:n-1] // the terminator of the last line starts no line
		}
		have := t.count(b)
		if have >= left {
			return pos + int64(t.after(b, have-left+1)), nil
		}
		left -= have
	}
	return 0, nil
}

// tailStream keeps no more of a stream than may be printed.
func (t *headTail) tailStream(c *shell.Call, in shell.Input) error {
	l := tailBuffer{unit: t.unit, limiter: c.Limiter}
	defer l.free()
	trim := func() error {
		for len(l.blocks) > 1 && l.units-l.blocks[0].units > t.n {
			l.drop()
		}
		return nil
	}
	if err := l.fill(in.Reader, trim); err != nil {
		return err
	}
	return l.writeFrom(c.Stdout, max(0, l.total()-t.n))
}
