package text

import (
	"bytes"
	"context"
	"fmt"

	"hako/shell"
	"hako/shell/command/internal/cli"
	"hako/shell/vfs"
)

var Comm = shell.Command{Name: "comm", Run: runComm}

type commState struct {
	hide   [3]bool
	check  string // "", "always", "never"
	sep    string
	end    byte
	total  bool
	counts [3]int
	c      *shell.Call
	sides  [2]commSide
}

// A commSide is one of the two files.
type commSide struct {
	lineCursor
	prev       []byte // the line before
	seen       bool   // there is one
	disordered bool
}

func runComm(ctx context.Context, c *shell.Call) error {
	s := commState{sep: "\t", end: '\n', c: c}
	names, err := cli.Parse(c, cli.Flags{
		"1": &s.hide[0], "2": &s.hide[1], "3": &s.hide[2], "output-delimiter": &s.sep, "total": &s.total,
		"check-order": cli.Set(&s.check, "always"), "nocheck-order": cli.Set(&s.check, "never"),
		"z": cli.Set(&s.end, 0),
	})
	if err != nil {
		return err
	}
	ins, done, err := openBoth(c, names)
	if err != nil {
		return err
	}
	defer done()
	for i, in := range ins {
		s.sides[i].lineCursor = lineCursor{in: in.Reader, end: s.end}
	}
	return report(c, s.compare())
}

// openBoth opens the two operands that a command requires. The caller calls done.
func openBoth(c *shell.Call, names []string) (ins [2]shell.Input, done func(), err error) {
	switch len(names) {
	case 0:
		return ins, nil, cli.Misuse(c, "missing operand")
	case 1:
		return ins, nil, cli.Misuse(c, "missing operand after ‘%s’", names[0])
	case 2:
	default:
		return ins, nil, cli.Misuse(c, "extra operand ‘%s’", names[2])
	}
	closers := [2]func(){func() {}, func() {}}
	done = func() { closers[0](); closers[1]() }
	for i, name := range names {
		in, closer, err := cli.OpenOperand(c, name)
		if err != nil {
			done()
			return ins, nil, c.Fail(1, "%s: %s", name, vfs.Reason(err))
		}
		ins[i], closers[i] = in, closer
	}
	return ins, done, nil
}

func (s *commState) compare() (err error) {
	defer cli.Catch(&err)
	a, b := &s.sides[0], &s.sides[1]
	for order := 0; ; {
		if order <= 0 {
			s.advance(0)
		}
		if order >= 0 {
			s.advance(1)
		}
		switch {
		case a.over && b.over:
			s.finish()
			return s.c.Stdout.Err()
		case a.over:
			order = 1
		case b.over:
			order = -1
		default:
			order = bytes.Compare(a.line, b.line)
		}
		switch {
		case order < 0:
			s.print(0, a.line)
		case order > 0:
			s.print(1, b.line)
		default:
			s.print(2, b.line)
		}
		cli.Check(s.c.Stdout.Err())
	}
}

func (s *commState) print(column int, line []byte) {
	s.counts[column]++
	if s.hide[column] {
		return
	}
	for i := range column {
		if !s.hide[i] {
			s.c.Stdout.WriteString(s.sep)
		}
	}
	s.c.Stdout.Write(line)
	s.c.Stdout.WriteByte(s.end)
}

// advance reads the next line of a file and checks the order.
func (s *commState) advance(i int) {
	side := &s.sides[i]
	side.prev = append(side.prev[:0], side.line...)
	side.next()
	if !side.over && s.check != "never" && side.seen && !side.disordered && bytes.Compare(side.prev, side.line) > 0 {
		side.disordered = true
		if s.check == "always" {
			fail(1, "file %d is not in sorted order", i+1)
		}
		s.c.Warn("file %d is not in sorted order", i+1)
	}
	side.seen = true
}

func (s *commState) finish() {
	if s.total {
		fmt.Fprintf(s.c.Stdout, "%d%s%d%s%d%stotal%c", s.counts[0], s.sep, s.counts[1], s.sep, s.counts[2], s.sep, s.end)
	}
	if s.sides[0].disordered || s.sides[1].disordered {
		fail(1, "input is not in sorted order")
	}
}
