package text

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"hako/shell"
	"hako/shell/command/internal/cli"
	"hako/shell/stream"
)

var Cmp = shell.Command{Name: "cmp", Run: runCmp}

type byteDiff struct {
	c                   *shell.Call
	silent, list, chars bool
	limit               int64
	skip                [2]int64
	names               [2]string
}

func runCmp(ctx context.Context, c *shell.Call) error {
	d := &byteDiff{c: c, limit: -1}
	operands, err := cli.Parse(c, cli.Flags{
		"s": &d.silent, "l": &d.list, "b": &d.chars,
		"n": func(text string) error { return d.bytes(&d.limit, text, "bytes") },
		"i": func(text string) error {
			first, second, two := strings.Cut(text, ":")
			if !two {
				second = first
			}
			if err := d.bytes(&d.skip[0], first, "ignore-initial"); err != nil {
				return err
			}
			return d.bytes(&d.skip[1], second, "ignore-initial")
		},
	})
	if err != nil {
		return err
	}
	if err := d.operands(operands); err != nil {
		return err
	}
	return cli.StatusOr(d.run(ctx))
}

// bytes reads a number of bytes for an option.
func (d *byteDiff) bytes(to *int64, text, option string) error {
	n, ok := cli.ParseBytes(text)
	if !ok {
		return cli.Misuse(d.c, "invalid --%s value '%s'", option, text)
	}
	*to = n
	return nil
}

func (d *byteDiff) operands(words []string) error {
	switch {
	case len(words) == 0:
		return cli.Misuse(d.c, "missing operand after '%s'", d.c.Name)
	case len(words) > 4:
		return cli.Misuse(d.c, "extra operand '%s'", words[4])
	}
	d.names = [2]string{words[0], "-"}
	if len(words) > 1 {
		d.names[1] = words[1]
	}
	for i, w := range words[min(2, len(words)):] {
		if err := d.bytes(&d.skip[i], w, "ignore-initial"); err != nil {
			return err
		}
	}
	return nil
}

// run compares the files and returns the exit status.
func (d *byteDiff) run(ctx context.Context) (status int, err error) {
	defer cli.Catch(&err)
	var in [2]*stream.Reader
	for i, name := range d.names {
		r, done, err := cli.OpenWith(d.c, name, d.c.OpenBytes)
		if err != nil {
			if !d.silent {
				d.c.WarnFile(name, err)
			}
			return 2, nil
		}
		defer done()
		in[i] = r.Reader
		for skip := d.skip[i]; skip > 0; {
			b := chunk(r.Reader)
			if b == nil {
				break
			}
			n := min(skip, int64(len(b)))
			r.Unread(b, len(b)-int(n))
			skip -= n
		}
	}
	return d.compare(ctx, in), nil
}

// compare compares the inputs chunk by chunk.
func (d *byteDiff) compare(ctx context.Context, in [2]*stream.Reader) int {
	var part [2][]byte
	at, line, last, differ := int64(0), int64(1), byte('\n'), false
	for d.limit < 0 || at < d.limit {
		cli.CheckStopped(ctx, d.c)
		for i := range part {
			if len(part[i]) == 0 {
				part[i] = chunk(in[i])
			}
		}
		n := min(len(part[0]), len(part[1]))
		if d.limit >= 0 {
			n = int(min(int64(n), d.limit-at))
		}
		if n == 0 {
			return d.ended(part, at, line, last, differ)
		}
		a, b := part[0][:n], part[1][:n]
		if !bytes.Equal(a, b) {
			if !d.list {
				d.first(a, b, at, line)
				return 1
			}
			differ = true
			d.all(a, b, at)
		}
		line += int64(bytes.Count(a, []byte("\n")))
		last = a[n-1]
		at += int64(n)
		part[0], part[1] = part[0][n:], part[1][n:]
	}
	return cli.BoolInt(differ)
}

// first reports the first difference.
func (d *byteDiff) first(a, b []byte, at, line int64) {
	if d.silent {
		return
	}
	i := 0
	for a[i] == b[i] {
		i++
	}
	line += int64(bytes.Count(a[:i], []byte("\n")))
	text := ""
	if d.chars {
		text = fmt.Sprintf(" is %3o %s %3o %s", a[i], visible(a[i]), b[i], visible(b[i]))
	}
	fmt.Fprintf(d.c.Stdout, "%s %s differ: byte %d, line %d%s\n", d.names[0], d.names[1], at+int64(i)+1, line, text)
}

// all reports all differences.
func (d *byteDiff) all(a, b []byte, at int64) {
	for i := range a {
		switch {
		case a[i] == b[i]:
		case d.chars:
			fmt.Fprintf(d.c.Stdout, "%d %3o %-4s %3o %s\n", at+int64(i)+1, a[i], visible(a[i]), b[i], visible(b[i]))
		default:
			fmt.Fprintf(d.c.Stdout, "%d %3o %3o\n", at+int64(i)+1, a[i], b[i])
		}
	}
	cli.Check(d.c.Stdout.Err())
}

// ended returns the exit status when at least one input has no more bytes.
func (d *byteDiff) ended(part [2][]byte, at, line int64, last byte, differ bool) int {
	short := 0
	if len(part[0]) > 0 {
		short = 1
	}
	switch {
	case len(part[1-short]) == 0 && !differ:
		return 0
	case len(part[1-short]) == 0, d.silent:
	case at == 0:
		d.c.Warn("EOF on %s which is empty", d.names[short])
	case d.list:
		d.c.Warn("EOF on %s after byte %d", d.names[short], at)
	case last == '\n':
		d.c.Warn("EOF on %s after byte %d, line %d", d.names[short], at, line-1)
	default:
		d.c.Warn("EOF on %s after byte %d, in line %d", d.names[short], at, line)
	}
	return 1
}
