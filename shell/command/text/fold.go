package text

import (
	"context"
	"strconv"
	"unicode/utf8"

	"hako/shell"
	"hako/shell/command/internal/cli"
	"hako/shell/stream"
)

var Fold = shell.Command{Name: "fold", Run: runFold}

type folder struct {
	width         int
	blanks, bytes bool
	out           *stream.Writer
}

func runFold(ctx context.Context, c *shell.Call) error {
	c.Args = cli.ExpandDigits(c.Args, "-w")
	opts, names, err := c.Options()
	if err != nil {
		return err
	}
	f := folder{width: 80, out: c.Stdout}
	for _, o := range opts {
		switch o.Name {
		case "w":
			if f.width, err = strconv.Atoi(o.Value); err != nil || f.width < 1 {
				return c.Fail(1, "invalid number of columns: %s%s", cli.QuoteCurly(o.Value), rangeWords(err == nil))
			}
		case "s":
			f.blanks = true
		case "b":
			f.bytes = true
		}
	}
	for in := range c.Inputs(names) {
		err := cli.EachLine(in.Reader, '\n', func(line []byte, ended bool) error {
			f.line(line)
			if ended {
				f.out.WriteByte('\n')
			}
			return f.out.Err()
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// line prints one line in pieces.
func (f *folder) line(line []byte) {
	for {
		n := f.fit(line)
		if n == len(line) {
			f.out.Write(line)
			return
		}
		if f.blanks {
			if cut := lastBlank(line[:n]); cut > 0 {
				n = cut
			}
		}
		f.out.Write(line[:n])
		f.out.WriteByte('\n')
		line = line[n:]
	}
}

// fit is how many bytes of the line fit into the width: at least one character.
func (f *folder) fit(line []byte) int {
	pos := plainRun(line[:min(len(line), f.width)])
	column := pos
	for pos < len(line) {
		next, size := f.after(column, line[pos:])
		if next > f.width && pos > 0 {
			return pos
		}
		column = next
		pos += size
	}
	return pos
}

// plainRun is how many bytes at the start of b take a column each.
func plainRun(b []byte) int {
	for i, c := range b {
		if c < ' ' || c >= utf8.RuneSelf {
			return i
		}
	}
	return len(b)
}

// after is the column behind the first character of b, and its length.
func (f *folder) after(column int, b []byte) (next, size int) {
	if f.bytes {
		return column + 1, 1
	}
	switch b[0] {
	case '\t':
		return column + 8 - column%8, 1
	case '\b':
		return max(0, column-1), 1
	case '\r':
		return 0, 1
	}
	if b[0] < utf8.RuneSelf {
		return column + 1, 1
	}
	r, size := utf8.DecodeRune(b)
	if r == utf8.RuneError && size == 1 {
		return column + 1, 1
	}
	return column + cli.RuneWidth(r), size
}

// lastBlank is the position after the last blank of b, or 0.
func lastBlank(b []byte) int {
	for i := len(b); i > 0; i-- {
		if isBlank(b[i-1]) {
			return i
		}
	}
	return 0
}
