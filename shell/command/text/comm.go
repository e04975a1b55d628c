package text

import (
	"bytes"
	"context"
	"fmt"
	"io"

	"hako/shell"
	"hako/shell/command/internal/cli"
	"hako/shell/stream"
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

// commSide is one of the two files.
type commSide struct {
	in         *stream.Reader
	line, prev []byte
	over       bool
	seen       bool
	disordered bool
}

func runComm(ctx context.Context, c *shell.Call) error {
	opts, names, err := c.Options()
	if err != nil {
		return err
	}
	s := commState{sep: "\t", end: '\n', c: c}
	for _, o := range opts {
		switch o.Name {
		case "1", "2", "3":
			s.hide[o.Name[0]-'1'] = true
		case "check-order":
			s.check = "always"
		case "nocheck-order":
			s.check = "never"
		case "output-delimiter":
			s.sep = o.Value
		case "total":
			s.total = true
		case "z":
			s.end = 0
		}
	}
	ins, done, err := openBoth(c, names)
	if err != nil {
		return err
	}
	defer done()
	s.sides[0].in, s.sides[1].in = ins[0].Reader, ins[1].Reader
	return s.compare()
}

// openBoth opens the two operands a command must have. The caller calls done.
func openBoth(c *shell.Call, names []string) (ins [2]shell.Input, done func(), err error) {
	if err := twoOperands(c, names); err != nil {
		return ins, nil, err
	}
	var opened []func()
	done = func() {
		for _, f := range opened {
			f()
		}
	}
	for i, name := range names {
		in, one, err := cli.OpenOperand(c, name)
		if err != nil {
			done()
			return ins, nil, c.Fail(1, "%s: %s", name, vfs.Reason(err))
		}
		ins[i], opened = in, append(opened, one)
	}
	return ins, done, nil
}

// twoOperands complains unless there are exactly two.
func twoOperands(c *shell.Call, names []string) error {
	switch len(names) {
	case 0:
		return cli.Misuse(c, "missing operand")
	case 1:
		return cli.Misuse(c, "missing operand after %s", cli.QuoteCurly(names[0]))
	case 2:
		return nil
	}
	return cli.Misuse(c, "extra operand %s", cli.QuoteCurly(names[2]))
}

func (s *commState) compare() error {
	a, b := &s.sides[0], &s.sides[1]
	if err := s.advance(0); err != nil {
		return err
	}
	if err := s.advance(1); err != nil {
		return err
	}
	for !a.over || !b.over {
		order := 0
		switch {
		case a.over:
			order = 1
		case b.over:
			order = -1
		default:
			order = bytes.Compare(a.line, b.line)
		}
		if err := s.step(order); err != nil {
			return err
		}
	}
	return s.finish()
}

func (s *commState) step(order int) error {
	column, line := 2, s.sides[1].line
	switch {
	case order < 0:
		column, line = 0, s.sides[0].line
	case order > 0:
		column = 1
	}
	s.print(column, line)
	if order <= 0 {
		if err := s.advance(0); err != nil {
			return err
		}
	}
	if order >= 0 {
		if err := s.advance(1); err != nil {
			return err
		}
	}
	return s.c.Stdout.Err()
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

func (s *commState) advance(i int) error {
	side := &s.sides[i]
	side.prev = append(side.prev[:0], side.line...)
	line, err := side.in.Record(s.end)
	if err == io.EOF {
		side.over = true
		return nil
	}
	if err != nil {
		return err
	}
	side.line = bytes.TrimSuffix(line, []byte{s.end})
	if s.check != "never" && side.seen && !side.disordered && bytes.Compare(side.prev, side.line) > 0 {
		return s.disorder(i)
	}
	side.seen = true
	return nil
}

func (s *commState) disorder(i int) error {
	s.sides[i].disordered = true
	if s.check == "always" {
		return s.c.Fail(1, "file %d is not in sorted order", i+1)
	}
	s.c.Warn("file %d is not in sorted order", i+1)
	return nil
}

func (s *commState) finish() error {
	if s.total {
		fmt.Fprintf(s.c.Stdout, "%d%s%d%s%d%stotal%c", s.counts[0], s.sep, s.counts[1], s.sep, s.counts[2], s.sep, s.end)
	}
	if s.sides[0].disordered || s.sides[1].disordered {
		return s.c.Fail(1, "input is not in sorted order")
	}
	return s.c.Stdout.Err()
}
