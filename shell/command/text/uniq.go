package text

import (
	"bytes"
	"cmp"
	"context"
	"slices"

	"hako/shell"
	"hako/shell/command/internal/cli"
	"hako/shell/stream"
	"hako/shell/vfs"
)

var Uniq = shell.Command{Name: "uniq", Run: runUniq}

type uniqState struct {
	count, onlyRepeated, onlyUnique, all, fold bool
	allMode                                    string // how -D separates groups
	group                                      string // how --group does; empty without it
	fields, chars, width                       int64
	end                                        byte

	out    *stream.Writer
	prev   []byte // the line that the next one is compared with
	kept   []byte // buffer of prev between blocks
	times  int
	groups int
}

func runUniq(ctx context.Context, c *shell.Call) error {
	c.Args = cli.ExpandDigits(c.Args, "-f")
	u := uniqState{end: '\n', width: -1, allMode: "none", out: c.Stdout}
	names, err := cli.Parse(c, cli.Flags{
		"c": &u.count, "d": &u.onlyRepeated, "u": &u.onlyUnique, "i": &u.fold, "D": &u.all, "z": cli.Set(&u.end, 0),
		"all-repeated": func(mode string) { u.all, u.allMode = true, cmp.Or(mode, u.allMode) },
		"group": func(mode string) error {
			u.group = cmp.Or(mode, "separate")
			if !slices.Contains([]string{"separate", "prepend", "append", "both"}, u.group) {
				return cli.Misuse(c, "invalid argument ‘%s’ for ‘--group’", mode)
			}
			return nil
		},
		"f": cli.Number(&u.fields, 0, 1<<62-1, "%s: invalid number of fields to skip"),
		"s": cli.Number(&u.chars, 0, 1<<62-1, "%s: invalid number of bytes to skip"),
		"w": cli.Number(&u.width, 0, 1<<62-1, "%s: invalid number of bytes to compare"),
	})
	if err != nil {
		return err
	}
	switch {
	case len(names) > 2:
		return cli.Misuse(c, "extra operand %s", cli.QuoteCurly(names[2]))
	case u.group != "" && (u.count || u.onlyRepeated || u.all || u.onlyUnique):
		return cli.Misuse(c, "--group is mutually exclusive with -c/-d/-D/-u")
	case u.all && u.count:
		return cli.Misuse(c, "printing all duplicated lines and repeat counts is meaningless")
	case len(names) == 0:
		names = []string{"-"}
	}
	return u.files(c, names)
}

func (u *uniqState) files(c *shell.Call, names []string) error {
	in, done, err := cli.OpenOperand(c, names[0])
	if err == vfs.ErrIsDir {
		return c.Fail(1, "error reading %s", cli.Quote(names[0]))
	}
	if err != nil {
		return c.Fail(1, "%s: %s", names[0], vfs.Reason(err))
	}
	defer done()
	if len(names) == 2 && names[1] != "-" {
		f, err := c.Create(names[1])
		if err != nil {
			return c.Fail(1, "%s: %s", names[1], vfs.Reason(err))
		}
		defer f.Close()
		u.out = stream.NewWriter(f)
		defer u.out.Release()
	}
	if err := u.scan(in.Reader); err != nil {
		return err
	}
	if u.groups > 0 && (u.group == "append" || u.group == "both") {
		u.out.WriteByte(u.end)
	}
	return u.out.Flush()
}

// scan compares within blocks; it copies only the last line of a block.
func (u *uniqState) scan(in *stream.Reader) error {
	for {
		block, err := in.Records(u.end)
		if err != nil {
			if u.times > 0 {
				u.flush()
			}
			return cli.NotEOF(err)
		}
		for len(block) > 0 {
			var line []byte
			line, block, _ = cli.CutLine(block, u.end)
			u.see(line)
		}
		u.kept = append(u.kept[:0], u.prev...)
		u.prev = u.kept
		if err := u.out.Err(); err != nil {
			return err
		}
	}
}

func (u *uniqState) see(line []byte) {
	if u.times > 0 && u.same(line, u.prev) {
		u.times++
		switch {
		case u.all:
			u.printAll(line)
		case u.group != "":
			u.print(line)
		}
		return
	}
	if u.times > 0 {
		u.flush()
	}
	if u.group != "" {
		u.openGroup(line)
	}
	u.prev, u.times = line, 1
}

func (u *uniqState) same(a, b []byte) bool {
	if u.fields|u.chars != 0 || u.width >= 0 {
		a, b = u.key(a), u.key(b)
	}
	if u.fold {
		return len(a) == len(b) && equalFoldASCII(a, b)
	}
	return bytes.Equal(a, b)
}

func (u *uniqState) key(line []byte) []byte {
	for f := u.fields; f > 0 && len(line) > 0; f-- {
		line = bytes.TrimLeft(line, " \t")
		if i := bytes.IndexAny(line, " \t"); i >= 0 {
			line = line[i:]
		} else {
			line = nil
		}
	}
	line = line[min(u.chars, int64(len(line))):]
	if u.width >= 0 {
		line = line[:min(u.width, int64(len(line)))]
	}
	return line
}

// printAll prints a repeated line for -D, after the first line of its group.
func (u *uniqState) printAll(line []byte) {
	if u.times == 2 {
		if u.allMode == "prepend" || u.allMode == "separate" && u.groups > 0 {
			u.out.WriteByte(u.end)
		}
		u.groups++
		u.print(u.prev)
	}
	u.print(line)
}

// openGroup prints the first line of a group for --group.
func (u *uniqState) openGroup(line []byte) {
	if u.groups > 0 || u.group == "prepend" || u.group == "both" {
		u.out.WriteByte(u.end)
	}
	u.groups++
	u.print(line)
}

func (u *uniqState) print(line []byte) {
	u.out.Write(line)
	u.out.WriteByte(u.end)
}

func (u *uniqState) flush() {
	if u.all || u.group != "" || u.onlyRepeated && u.times == 1 || u.onlyUnique && u.times > 1 {
		return
	}
	if u.count {
		u.out.Write(append(padNumber(make([]byte, 0, 24), u.times, 7), ' '))
	}
	u.print(u.prev)
}

func equalFoldASCII(a, b []byte) bool {
	for i := range a {
		if lowerASCII(a[i]) != lowerASCII(b[i]) {
			return false
		}
	}
	return true
}

func lowerASCII(b byte) byte {
	if b >= 'A' && b <= 'Z' {
		return b + 'a' - 'A'
	}
	return b
}
