package text

import (
	"bytes"
	"context"
	"math"
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
	f := folder{width: 80, out: c.Stdout}
	names, err := cli.Parse(c, cli.Flags{
		"s": &f.blanks, "b": &f.bytes,
		"w": cli.NumberInRange(&f.width, 1, math.MaxInt, "invalid number of columns: ‘%s’"),
	})
	if err != nil {
		return err
	}
	return cli.MapLines(c, c.Inputs(names), f.line)
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
			if cut := bytes.LastIndexAny(line[:n], " \t") + 1; cut > 0 {
				n = cut
			}
		}
		f.out.Write(line[:n])
		f.out.WriteByte('\n')
		line = line[n:]
	}
}

// fit returns how many bytes of the line fit into the width: at least one character.
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

// plainRun returns how many bytes at the start of b take one column each.
func plainRun(b []byte) int {
	for i, c := range b {
		if c < ' ' || c >= utf8.RuneSelf {
			return i
		}
	}
	return len(b)
}

// after returns the column after the first character of b, and its length.
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
