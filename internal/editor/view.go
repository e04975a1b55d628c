package editor

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"strings"

	"hako/internal/text"
	"hako/run/fault"
)

func (e *Editor) view(ctx context.Context, c *Call, p filePath) (string, error) {
	if p.info == nil {
		return "", c.notFoundError()
	}
	if p.info.IsDir() {
		return e.list(ctx, c, p)
	}
	s, err := e.enter(c, p)
	if err != nil {
		return "", err
	}
	defer s.close()
	d, err := s.load(os.O_RDONLY)
	if err != nil {
		return "", err
	}
	n := d.lines()
	first, last, err := c.lines(n)
	if err != nil {
		return "", err
	}
	e.memory.setSeen(p.rel, d.sum, d.set)
	return d.page(first, last, cmp.Or(e.MaxView, defaultMaxView)), nil
}

// lines returns the requested lines of a file with n lines.
func (c *Call) lines(n int) (first, last int, err error) {
	if len(c.ViewRange) == 0 {
		return 1, n, nil
	}
	bad := func(why string) (int, int, error) {
		return 0, 0, c.refuse(fault.Invalid, fmt.Sprintf("view_range %v makes no sense: %s", c.ViewRange, why),
			"give [first, last] counted from 1, with -1 for the last line of the file")
	}
	if len(c.ViewRange) != 2 {
		return bad("it must be two whole numbers")
	}
	first, last = c.ViewRange[0], c.ViewRange[1]
	if last == -1 {
		last = n
	}
	switch {
	case n == 0:
		return bad("the file is empty")
	case first < 1 || first > n:
		return bad(fmt.Sprintf("the first line must be from 1 to %d, as the file has %d", n, n))
	case last < first || last > n:
		return bad(fmt.Sprintf("the last line must be from %d to %d, as the file has %d", first, n, n))
	}
	return first, last, nil
}

// page returns the lines with their numbers, and notes about what the lines do not show.
func (d *document) page(first, last, budget int) string {
	var b strings.Builder
	if len(d.text) == 0 {
		b.WriteString("[the file is empty]\n")
	}
	shown := d.show(&b, first, last, budget)
	if shown < last {
		fmt.Fprintf(&b, "[clipped after line %d; to go on, view with \"view_range\": [%d, %d]]\n", shown, shown+1, last)
	}
	if n := d.lines(); shown == n && d.noFinalNewline() {
		b.WriteString("[no line end at the end of the file]\n")
	}
	if d.crlf {
		b.WriteString("[lines end in CRLF; edits keep that, so write plain line ends]\n")
	}
	if d.mixed {
		b.WriteString("[some lines end in CRLF, with ␍ for the CR; edits take line ends as they are written]\n")
	}
	if d.set != plainUTF8 {
		fmt.Fprintf(&b, "[the file is in %s; edits keep that]\n", d.set.name)
	}
	if d.bom > 0 {
		b.WriteString("[the file begins with a byte order mark; edits keep it]\n")
	}
	return b.String()
}

// maxLine is how many bytes of a line are shown.
const maxLine = 4000

// show writes lines with their numbers until the budget is used up, at least one, and returns the last one.
func (d *document) show(b *strings.Builder, first, last, budget int) (shown int) {
	rest := d.text[d.start(first):]
	end := b.Len() + budget
	for n := first; n <= last; n++ {
		line, after, _ := bytes.Cut(rest, []byte("\n"))
		if d.crlf {
			line = bytes.TrimSuffix(line, []byte("\r"))
		}
		shownLine := shorten(line, maxLine, fmt.Sprintf(" … [the line has %d bytes; cut -c shows the rest]", len(line)))
		if n > first && b.Len()+len(shownLine)+lineOverhead > end {
			return n - 1
		}
		fmt.Fprintf(b, "%6d\t%s\n", n, shownLine)
		rest = after
	}
	return last
}

// lineOverhead is about the size of a line number and line end.
const lineOverhead = 8

// shorten shortens a line and makes invisible characters visible: source code may pretend to be other code.
func shorten(line []byte, most int, mark string) string {
	if len(line) <= most {
		return text.ForRecord(string(line))
	}
	return text.ForRecord(text.Prefix(string(line[:most+1]), most)) + mark
}
