package text

import (
	"errors"
	"io"

	"hako/shell"
	"hako/shell/command/internal/cli"
	"hako/shell/stream"
	"hako/shell/vfs"
)

// checkOrder reports the first line that is not where it belongs.
func (s *sorter) checkOrder(c *shell.Call, name string) error {
	in, done, err := cli.OpenOperand(c, name)
	if err != nil {
		return c.Fail(2, "cannot read: %s: %s", name, vfs.Reason(err))
	}
	defer done()
	var last []byte
	n := 0
	errDisorder := errors.New("disorder")
	err = cli.EachLine(in.Reader, s.end, func(line []byte, _ bool) error {
		n++
		if n > 1 {
			if order := s.compareLines(last, line); order > 0 || order == 0 && s.unique {
				if s.check == 'c' {
					c.Warn("%s:%d: disorder: %s", name, n, line)
				}
				return errDisorder
			}
		}
		last = append(last[:0], line...)
		return nil
	})
	if err == errDisorder {
		return shell.Status(1)
	}
	return err
}

// mergeInput is one sorted file with its first line that is not yet printed.
type mergeInput struct {
	in   *stream.Reader
	line []byte
	end  byte
	over bool
}

func (m *mergeInput) advance() error {
	line, err := m.in.Record(m.end)
	if err == io.EOF {
		m.over = true
		return nil
	}
	if err != nil {
		return err
	}
	if n := len(line); n > 0 && line[n-1] == m.end {
		line = line[:n-1]
	}
	m.line = line
	return nil
}

// mergeFiles prints sorted inputs as one. Only -o makes it hold its result,
// since the output may be one of the inputs.
func (s *sorter) mergeFiles(c *shell.Call, names []string) error {
	if s.output != "" {
		return s.sortFiles(c, names)
	}
	var inputs []*mergeInput
	for _, name := range names {
		in, done, err := cli.OpenOperand(c, name)
		if err != nil {
			return c.Fail(2, "cannot read: %s: %s", name, vfs.Reason(err))
		}
		defer done()
		m := &mergeInput{in: in.Reader, end: s.end}
		if err := m.advance(); err != nil {
			return err
		}
		inputs = append(inputs, m)
	}
	return s.mergeTo(c.Stdout, inputs)
}

func (s *sorter) mergeTo(w *stream.Writer, inputs []*mergeInput) error {
	var last []byte
	printed := false
	for {
		m := s.least(inputs)
		if m == nil {
			return w.Err()
		}
		if !s.unique || !printed || s.compareKeys(last, m.line) != 0 {
			w.Write(m.line)
			w.WriteByte(s.end)
			printed = true
			if s.unique {
				last = append(last[:0], m.line...)
			}
		}
		if err := m.advance(); err != nil {
			return err
		}
		if err := w.Err(); err != nil {
			return err
		}
	}
}

func (s *sorter) least(inputs []*mergeInput) (least *mergeInput) {
	for _, m := range inputs {
		if !m.over && (least == nil || s.compareLines(m.line, least.line) < 0) {
			least = m
		}
	}
	return least
}
