package text

import (
	"bytes"
	"cmp"
	"context"

	"hako/shell"
	"hako/shell/command/internal/cli"
	"hako/shell/regex"
	"hako/shell/vfs"
)

var Tac = shell.Command{Name: "tac", Run: runTac}

// A reverser is one call of tac.
type reverser struct {
	sep           []byte
	before, regex bool
	re            *regex.Regexp
}

func runTac(ctx context.Context, c *shell.Call) error {
	t := reverser{sep: []byte{'\n'}}
	names, err := cli.Parse(c, cli.Flags{
		"b": &t.before, "r": &t.regex, "s": func(sep string) { t.sep = []byte(cmp.Or(sep, "\x00")) },
	})
	if err != nil {
		return err
	}
	if t.regex {
		held := &cli.Memory{C: c}
		defer held.Release()
		if t.re, err = regex.Compile(string(t.sep), held.Bound(ctx, regex.Options{})); err != nil {
			return c.Fail(1, "%v", err)
		}
	}
	failed := func(name string, err error) {
		if err == vfs.ErrIsDir {
			c.Warn("%s: read error: Invalid argument", name)
			return
		}
		c.Warn("failed to open %s for reading: %s", cli.Quote(name), vfs.Reason(err))
	}
	return cli.Each(c, cli.Inputs(c, names, c.Open, failed), func(in shell.Input) error { return t.reverse(ctx, c, in) })
}

func (t *reverser) reverse(ctx context.Context, c *shell.Call, in shell.Input) error {
	if !t.regex && !t.before && len(t.sep) == 1 {
		return t.blocks(c, in)
	}
	data, err := cli.ReadAll(c, in.Reader)
	defer func() { c.Limiter.Hold(-int64(cap(data))) }()
	if err != nil {
		return err
	}
	return t.records(ctx, c, data)
}

// blocks reverses lines, which is the common case.
func (t *reverser) blocks(c *shell.Call, in shell.Input) error {
	store := &lineStore{limiter: c.Limiter, end: t.sep[0], bare: true}
	defer store.free()
	if err := store.loadInput(in); err != nil {
		return err
	}
	lines, err := store.index(newSortWorkers())
	if err != nil {
		return err
	}
	for i := len(lines) - 1; i >= 0; i-- {
		if _, err := c.Stdout.Write(store.withEnd(lines[i])); err != nil {
			return err
		}
	}
	return nil
}

// records reverses records with any separator.
func (t *reverser) records(ctx context.Context, c *shell.Call, data []byte) error {
	cuts := []int{0}
	poll := cli.Poll{Ctx: ctx}
	for pos := 0; pos < len(data); {
		start, end := t.find(data, pos)
		if start < 0 {
			break
		}
		cut := end
		if t.before {
			cut = start
		}
		if cut > cuts[len(cuts)-1] && cut < len(data) {
			cuts = append(cuts, cut)
		}
		pos = max(end, pos+1)
		if err := poll.Err(); err != nil {
			return err
		}
	}
	for i := len(cuts) - 1; i >= 0; i-- {
		c.Stdout.Write(data[cuts[i]:])
		data = data[:cuts[i]]
	}
	return c.Stdout.Err()
}

func (t *reverser) find(data []byte, from int) (start, end int) {
	if t.re != nil {
		return t.re.FindSpan(data, from)
	}
	i := bytes.Index(data[from:], t.sep)
	if i < 0 {
		return -1, -1
	}
	return from + i, from + i + len(t.sep)
}
