package text

import (
	"hako/shell"
	"hako/shell/command/internal/cli"
	"hako/shell/stream"
	"hako/shell/vfs"
)

// checkOrder reports the first line that is out of order.
func (s *sorter) checkOrder(c *shell.Call, name string) (err error) {
	defer cli.Catch(&err)
	in, done, err := cli.OpenOperand(c, name)
	if err != nil {
		return c.Fail(2, "cannot read: %s: %s", name, vfs.Reason(err))
	}
	defer done()
	l := lineCursor{in: in.Reader, end: s.end}
	l.next()
	var last []byte
	for n := 2; ; n++ {
		last = append(last[:0], l.line...)
		if l.next(); l.over {
			return nil
		}
		if order := s.compareLines(last, l.line); order > 0 || order == 0 && s.unique {
			if s.check == 'c' {
				c.Warn("%s:%d: disorder: %s", name, n, l.line)
			}
			return shell.Status(1)
		}
	}
}

// mergeFiles prints sorted inputs as one. Only with -o it holds the result in memory,
// because the output may be one of the inputs.
func (s *sorter) mergeFiles(c *shell.Call, names []string) (err error) {
	defer cli.Catch(&err)
	if s.output != "" {
		return s.sortFiles(c, names)
	}
	var inputs []*lineCursor
	for _, name := range names {
		in, done, err := cli.OpenOperand(c, name)
		if err != nil {
			return c.Fail(2, "cannot read: %s: %s", name, vfs.Reason(err))
		}
		defer done()
		l := &lineCursor{in: in.Reader, end: s.end}
		l.next()
		inputs = append(inputs, l)
	}
	return s.mergeTo(c.Stdout, inputs)
}

func (s *sorter) mergeTo(w *stream.Writer, inputs []*lineCursor) error {
	var last []byte
	printed := false
	for l := s.least(inputs); l != nil && w.Err() == nil; l = s.least(inputs) {
		if !s.unique || !printed || s.compareKeys(last, l.line) != 0 {
			w.Write(l.line)
			w.WriteByte(s.end)
			printed = true
			if s.unique {
				last = append(last[:0], l.line...)
			}
		}
		l.next()
	}
	return w.Err()
}

// least returns the input whose line sorts first, or nil at the end.
func (s *sorter) least(inputs []*lineCursor) (least *lineCursor) {
	for _, l := range inputs {
		if !l.over && (least == nil || s.compareLines(l.line, least.line) < 0) {
			least = l
		}
	}
	return least
}
