package text

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
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
	opts, operands, err := c.Options()
	if err != nil {
		return err
	}
	d := &byteDiff{c: c, limit: -1}
	for _, o := range opts {
		ok := true
		switch o.Name {
		case "s":
			d.silent = true
		case "l":
			d.list = true
		case "b":
			d.chars = true
		case "n":
			d.limit, ok = cli.ParseBytes(o.Value)
		case "i":
			first, second, two := strings.Cut(o.Value, ":")
			d.skip[0], ok = cli.ParseBytes(first)
			if d.skip[1] = d.skip[0]; ok && two {
				d.skip[1], ok = cli.ParseBytes(second)
			}
		}
		if !ok {
			return cmpUsage(c, "invalid --%s value '%s'", map[string]string{"n": "bytes", "i": "ignore-initial"}[o.Name],
				o.Value)
		}
	}
	if err := d.operands(operands); err != nil {
		return err
	}
	return d.run(ctx)
}

func cmpUsage(c *shell.Call, format string, args ...any) error {
	return cli.Misuse(c, format, args...)
}

func (d *byteDiff) operands(words []string) error {
	switch {
	case len(words) == 0:
		return cmpUsage(d.c, "missing operand after '%s'", d.c.Name)
	case len(words) > 4:
		return cmpUsage(d.c, "extra operand '%s'", words[4])
	}
	d.names = [2]string{words[0], "-"}
	if len(words) > 1 {
		d.names[1] = words[1]
	}
	for i, w := range words[min(2, len(words)):] {
		n, ok := cli.ParseBytes(w)
		if !ok {
			return cmpUsage(d.c, "invalid --ignore-initial value '%s'", w)
		}
		d.skip[i] = n
	}
	return nil
}

func (d *byteDiff) run(ctx context.Context) error {
	var in [2]*stream.Reader
	for i, name := range d.names {
		r, done, err := cli.OpenBytes(d.c, name)
		if err != nil {
			if !d.silent {
				d.c.WarnFile(name, err)
			}
			return shell.Status(2)
		}
		defer done()
		in[i] = r
		if err := discard(r, d.skip[i]); err != nil {
			return err
		}
	}
	return d.compare(ctx, in)
}

func discard(r *stream.Reader, n int64) error {
	for n > 0 {
		b, err := r.Chunk()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if int64(len(b)) > n {
			r.Unread(b, len(b)-int(n))
			return nil
		}
		n -= int64(len(b))
	}
	return nil
}

// compare walks both inputs a common piece at a time.
func (d *byteDiff) compare(ctx context.Context, in [2]*stream.Reader) error {
	var part [2][]byte
	at, line, last, differ := int64(0), int64(1), byte('\n'), false
	for d.limit < 0 || at < d.limit {
		if err := cli.Stopped(ctx, d.c); err != nil {
			return err
		}
		for i := range part {
			if len(part[i]) > 0 {
				continue
			}
			b, err := in[i].Chunk()
			if err != nil && !errors.Is(err, io.EOF) {
				return err
			}
			part[i] = b
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
				return d.first(a, b, at, line)
			}
			differ = true
			if err := d.all(a, b, at); err != nil {
				return err
			}
		}
		line += int64(bytes.Count(a, []byte("\n")))
		last = a[n-1]
		at += int64(n)
		part[0], part[1] = part[0][n:], part[1][n:]
	}
	if differ {
		return shell.Status(1)
	}
	return nil
}

func (d *byteDiff) first(a, b []byte, at, line int64) error {
	i := 0
	for a[i] == b[i] {
		i++
	}
	line += int64(bytes.Count(a[:i], []byte("\n")))
	if !d.silent {
		text := ""
		if d.chars {
			text = fmt.Sprintf(" is %3o %s %3o %s", a[i], visible(a[i]), b[i], visible(b[i]))
		}
		fmt.Fprintf(d.c.Stdout, "%s %s differ: byte %d, line %d%s\n", d.names[0], d.names[1], at+int64(i)+1, line, text)
	}
	return shell.Status(1)
}

func (d *byteDiff) all(a, b []byte, at int64) error {
	for i := range a {
		switch {
		case a[i] == b[i]:
		case d.chars:
			fmt.Fprintf(d.c.Stdout, "%d %3o %-4s %3o %s\n", at+int64(i)+1, a[i], visible(a[i]), b[i], visible(b[i]))
		default:
			fmt.Fprintf(d.c.Stdout, "%d %3o %3o\n", at+int64(i)+1, a[i], b[i])
		}
	}
	return d.c.Stdout.Err()
}

// visible writes a byte as cat -v would.
func visible(b byte) string {
	text := ""
	if b >= 128 {
		text, b = "M-", b-128
	}
	switch {
	case b < 32:
		return text + "^" + string(rune(b+64))
	case b == 127:
		return text + "^?"
	}
	return text + string(rune(b))
}

// ended is when at least one input has no more bytes.
func (d *byteDiff) ended(part [2][]byte, at, line int64, last byte, differ bool) error {
	short := -1
	for i := range part {
		if len(part[i]) == 0 && len(part[1-i]) > 0 {
			short = i
		}
	}
	switch {
	case short < 0 && differ:
		return shell.Status(1)
	case short < 0:
		return nil
	case d.silent:
	case at == 0:
		d.c.Warn("EOF on %s which is empty", d.names[short])
	case d.list:
		d.c.Warn("EOF on %s after byte %d", d.names[short], at)
	case last == '\n':
		d.c.Warn("EOF on %s after byte %d, line %d", d.names[short], at, line-1)
	default:
		d.c.Warn("EOF on %s after byte %d, in line %d", d.names[short], at, line)
	}
	return shell.Status(1)
}
