package text

import (
	"context"
	"strconv"

	"hako/shell"
	"hako/shell/command/internal/cli"
)

var Cat = shell.Command{Name: "cat", Run: runCat}

// A catState is the options of one call and what is kept from line to line.
type catState struct {
	number, numberFull, squeeze, ends, tabs, visible bool

	line    int
	empties int  // empty lines in a row
	inLine  bool // the last file ended without a newline
}

func runCat(ctx context.Context, c *shell.Call) error {
	var s catState
	names, err := cli.Parse(c, cli.Flags{
		"n": &s.number, "b": &s.numberFull, "s": &s.squeeze, "E": &s.ends, "T": &s.tabs, "v": &s.visible,
		"A": []*bool{&s.visible, &s.ends, &s.tabs}, "e": []*bool{&s.visible, &s.ends}, "t": []*bool{&s.visible, &s.tabs},
	})
	if err != nil {
		return err
	}
	copyInput := s.copy
	if s == (catState{}) {
		copyInput = pour
	}
	return cli.Each(c, c.Inputs(names), func(in shell.Input) error { return copyInput(c, in) })
}

// pour copies the rest of an input. A file is read directly into the buffer of
// standard output.
func pour(c *shell.Call, in shell.Input) error {
	if in.File != nil {
		_, err := c.Stdout.ReadFrom(in.File)
		return err
	}
	_, err := in.WriteTo(c.Stdout)
	return err
}

func (s *catState) copy(c *shell.Call, in shell.Input) error {
	return cli.EachLine(in.Reader, '\n', func(line []byte, ended bool) error {
		if !s.inLine && !s.begin(c, len(line) == 0 && ended) {
			return nil
		}
		s.body(c, line)
		s.inLine = !ended
		if ended {
			if s.ends {
				c.Stdout.WriteByte('$')
			}
			c.Stdout.WriteByte('\n')
		}
		return c.Stdout.Err()
	})
}

// begin writes the number of a new line. It reports false if -s drops the line.
func (s *catState) begin(c *shell.Call, empty bool) bool {
	s.empties++
	if !empty {
		s.empties = 0
	}
	if s.squeeze && s.empties > 1 {
		return false
	}
	if s.numberFull && !empty || s.number && !s.numberFull {
		s.line++
		c.Stdout.Write(padNumber(nil, s.line, 6))
		c.Stdout.WriteByte('\t')
	}
	return true
}

func (s *catState) body(c *shell.Call, line []byte) {
	if !s.visible && !s.tabs && !s.ends {
		c.Stdout.Write(line)
		return
	}
	for i, b := range line {
		switch {
		case b == '\t' && s.tabs:
			c.Stdout.WriteString("^I")
		case b == '\r' && s.ends && !s.visible && i == len(line)-1:
			c.Stdout.WriteString("^M")
		case b == '\t' || !s.visible:
			c.Stdout.WriteByte(b)
		default:
			c.Stdout.WriteString(visible(b))
		}
	}
}

// visible returns a byte in the notation of cat -v.
func visible(b byte) string {
	text := ""
	if b >= 0x80 {
		text, b = "M-", b&0x7f
	}
	switch {
	case b < ' ':
		return text + "^" + string(b+'@')
	case b == 0x7f:
		return text + "^?"
	}
	return text + string(b)
}

// padNumber appends n, right-aligned in width columns.
func padNumber(b []byte, n, width int) []byte {
	var digits [20]byte
	d := strconv.AppendInt(digits[:0], int64(n), 10)
	for i := len(d); i < width; i++ {
		b = append(b, ' ')
	}
	return append(b, d...)
}
