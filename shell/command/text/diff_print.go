package text

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"hako/shell/command/internal/cli"
	"hako/shell/command/internal/datetime"
	"hako/shell/stream"
	"hako/shell/strftime"
)

// A diffPrinter writes the changes between two files in one of the styles.
type diffPrinter struct {
	d    *differ
	out  *stream.Writer
	a, b *diffFile
}

func (p *diffPrinter) print(list []change) error {
	p.out.WriteString(p.d.title)
	switch p.d.style {
	case 'u':
		p.hunks(list, "---", "+++", p.unified)
	case 'c':
		p.hunks(list, "***", "---", p.contextual)
	case 'y':
		p.sideBySide(list)
	case 'e':
		p.edScript(list)
	default:
		p.normal(list)
	}
	return p.out.Err()
}

// rangeText writes lines from..to (half open) as "3" or "3,5".
func rangeText(from, to int) string {
	if to-from <= 1 {
		return fmt.Sprint(to)
	}
	return fmt.Sprintf("%d,%d", from+1, to)
}

func (p *diffPrinter) normal(list []change) {
	for _, c := range list {
		if c.ignored {
			continue
		}
		letter := "c"
		switch {
		case c.a0 == c.a1:
			letter = "a"
		case c.b0 == c.b1:
			letter = "d"
		}
		fmt.Fprintf(p.out, "%s%s%s\n", rangeText(c.a0, c.a1), letter, rangeText(c.b0, c.b1))
		p.lines("< ", p.a.lines[c.a0:c.a1])
		if letter == "c" {
			p.out.WriteString("---\n")
		}
		p.lines("> ", p.b.lines[c.b0:c.b1])
		if p.out.Err() != nil {
			return
		}
	}
}

// lines writes lines with a prefix, and says if the last lacks its newline.
func (p *diffPrinter) lines(prefix string, lines [][]byte) {
	if p.d.initialTab {
		prefix = strings.TrimSuffix(prefix, " ") + "\t"
	}
	for _, line := range lines {
		p.out.WriteString(prefix)
		p.out.Write(line)
		if line[len(line)-1] != '\n' {
			p.out.WriteString("\n\\ No newline at end of file\n")
		}
	}
}

// edScript writes commands for ed, from the end so that numbers stay true.
func (p *diffPrinter) edScript(list []change) {
	for _, c := range slices.Backward(list) {
		switch {
		case c.ignored:
		case c.b0 == c.b1:
			fmt.Fprintf(p.out, "%sd\n", rangeText(c.a0, c.a1))
		default:
			letter := "c"
			if c.a0 == c.a1 {
				letter = "a"
			}
			fmt.Fprintf(p.out, "%s%s\n", rangeText(c.a0, c.a1), letter)
			for _, line := range p.b.lines[c.b0:c.b1] {
				p.out.Write(line)
			}
			p.out.WriteString(".\n")
		}
	}
}

func (p *diffPrinter) header(mark string, f *diffFile) {
	if f.label != "" {
		fmt.Fprintf(p.out, "%s %s\n", mark, f.label)
		return
	}
	stamp := strftime.Format(f.time.In(datetime.ZoneOrUTC(p.d.c)), "%Y-%m-%d %H:%M:%S.%N %z")
	fmt.Fprintf(p.out, "%s %s\t%s\n", mark, f.name, stamp)
}

// hunks groups changes whose surroundings touch and prints each group.
func (p *diffPrinter) hunks(list []change, markA, markB string, show func([]change)) {
	p.header(markA, p.a)
	p.header(markB, p.b)
	for len(list) > 0 {
		n := 1
		for n < len(list) && list[n].a0-list[n-1].a1 <= 2*p.d.context {
			n++
		}
		if slices.ContainsFunc(list[:n], func(c change) bool { return !c.ignored }) {
			show(list[:n])
		}
		if p.out.Err() != nil {
			return
		}
		list = list[n:]
	}
}

// around is the extent of a hunk with the lines around it.
func (p *diffPrinter) around(list []change) change {
	first, last := list[0], list[len(list)-1]
	before := min(p.d.context, first.a0, first.b0)
	after := min(p.d.context, len(p.a.lines)-last.a1, len(p.b.lines)-last.b1)
	return change{a0: first.a0 - before, a1: last.a1 + after, b0: first.b0 - before, b1: last.b1 + after}
}

func unifiedRange(from, to int) string {
	switch to - from {
	case 0:
		return fmt.Sprintf("%d,0", from)
	case 1:
		return fmt.Sprint(to)
	}
	return fmt.Sprintf("%d,%d", from+1, to-from)
}

func (p *diffPrinter) unified(list []change) {
	h := p.around(list)
	fmt.Fprintf(p.out, "@@ -%s +%s @@%s\n", unifiedRange(h.a0, h.a1), unifiedRange(h.b0, h.b1), p.functionOf(h.a0))
	at := h.a0
	for _, c := range list {
		p.lines(" ", p.a.lines[at:c.a0])
		p.lines("-", p.a.lines[c.a0:c.a1])
		p.lines("+", p.b.lines[c.b0:c.b1])
		at = c.a1
	}
	p.lines(" ", p.a.lines[at:h.a1])
}

// functionOf is the last line before the hunk that looks like a heading.
func (p *diffPrinter) functionOf(line int) string {
	if p.d.function == nil {
		return ""
	}
	for line--; line >= 0; line-- {
		text := bytes.TrimSuffix(p.a.lines[line], []byte("\n"))
		if p.d.function.Match(text) {
			return " " + strings.TrimRight(string(text[:min(40, len(text))]), " \t")
		}
	}
	return ""
}

func (p *diffPrinter) contextual(list []change) {
	h := p.around(list)
	fmt.Fprintf(p.out, "***************%s\n*** %s ****\n", p.functionOf(h.a0), rangeText(h.a0, h.a1))
	p.half("- ", p.a.lines, list, h, func(c change) (from, to int) { return c.a0, c.a1 })
	fmt.Fprintf(p.out, "--- %s ----\n", rangeText(h.b0, h.b1))
	p.half("+ ", p.b.lines, list, h, func(c change) (from, to int) { return c.b0, c.b1 })
}

// half prints one file's side of a contextual hunk, unless it has no changes.
func (p *diffPrinter) half(mark string, text [][]byte, list []change, hunk change, side func(change) (from, to int)) {
	if !slices.ContainsFunc(list, func(c change) bool { from, to := side(c); return from < to }) {
		return
	}
	at, end := side(hunk)
	for _, c := range list {
		from, to := side(c)
		p.lines("  ", text[at:from])
		p.lines(contextMark(c, mark), text[from:to])
		at = to
	}
	p.lines("  ", text[at:end])
}

// contextMark is "!" for lines that changed, otherwise the mark for lines that
// came or went.
func contextMark(c change, mark string) string {
	if c.a0 < c.a1 && c.b0 < c.b1 {
		return "! "
	}
	return mark
}

// sideBySide writes both files in two columns, with tabs between them as GNU does.
func (p *diffPrinter) sideBySide(list []change) {
	i, j := 0, 0
	for _, c := range list {
		p.common(i, c.a0, j)
		n := max(c.a1-c.a0, c.b1-c.b0)
		for k := range n {
			switch {
			case c.a0+k >= c.a1:
				p.row(nil, '>', p.b.lines[c.b0+k])
			case c.b0+k >= c.b1:
				p.row(p.a.lines[c.a0+k], '<', nil)
			default:
				p.row(p.a.lines[c.a0+k], '|', p.b.lines[c.b0+k])
			}
		}
		i, j = c.a1, c.b1
		if p.out.Err() != nil {
			return
		}
	}
	p.common(i, len(p.a.lines), j)
}

func (p *diffPrinter) common(from, to, other int) {
	if p.d.noCommon {
		return
	}
	for k := from; k < to; k++ {
		if p.d.leftColumn {
			p.row(p.a.lines[k], '(', nil)
		} else {
			p.row(p.a.lines[k], ' ', p.b.lines[other+k-from])
		}
	}
}

// row writes one line of the two columns. The widths follow from the total and
// from tab stops every eight columns.
func (p *diffPrinter) row(left []byte, mark byte, right []byte) {
	off := p.d.width/2 + (8+3)/2 + p.d.width&1
	off -= off % 8
	half := max(0, min(off-3, p.d.width-off))
	second := off
	if half == 0 {
		second = p.d.width
	}
	at := p.cell(left, half)
	if mark != ' ' {
		at = p.pad(at, (half+second-1)/2) + 1
		p.out.WriteByte(mark)
	}
	if right != nil && len(bytes.TrimSuffix(right, []byte("\n"))) > 0 {
		p.pad(at, second)
		p.cell(right, half)
	}
	p.out.WriteByte('\n')
}

// cell writes a line cut to a width and returns the column it ended in.
func (p *diffPrinter) cell(line []byte, width int) int {
	at := 0
	for _, r := range string(bytes.TrimSuffix(line, []byte("\n"))) {
		w := cli.RuneWidth(r)
		if r == '\t' {
			w = 8 - at%8
		}
		if at+w > width {
			break
		}
		if r == '\t' {
			p.out.WriteString(strings.Repeat(" ", w))
		} else {
			p.out.WriteString(string(r))
		}
		at += w
	}
	return at
}

func (p *diffPrinter) pad(from, to int) int {
	for tab := from + 8 - from%8; tab <= to; tab += 8 {
		p.out.WriteByte('\t')
		from = tab
	}
	p.out.WriteString(strings.Repeat(" ", max(0, to-from)))
	return max(from, to)
}
