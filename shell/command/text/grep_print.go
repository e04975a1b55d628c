package text

import (
	"bytes"
	"fmt"
	"iter"
	"strconv"
)

// A grepPrinter prints the selected lines of one input.
type grepPrinter struct {
	*grepper
	name   string
	total  int   // selected lines so far
	base   int64 // bytes before the block
	line   int64 // lines before the position seen in the block
	seen   int
	done   int // bytes of the block that were handled
	binary bool

	pending int    // lines of context still to come
	carry   []byte // the last lines of the previous block
	lastEnd int64  // where the last printed line ends; -1 if there is none
	head    []byte
}

// print prints the selected lines of a block. It reports whether more blocks are needed.
func (p *grepPrinter) print(b *grepBlock) bool {
	p.total += b.count
	p.done = 0
	switch {
	case p.quiet || p.list || p.listOthers:
		return p.total == 0
	case p.count:
		return p.wanted(p) != 0
	case p.hidden(b):
		return false
	case p.context:
		p.printContext(b)
	case p.plain():
		p.printPlain(b)
	default:
		for i := 0; i < len(b.selected); i += 2 {
			p.printLine(b.data, b.selected[i], b.selected[i+1], ':')
		}
	}
	p.advance(b)
	return p.c.Stdout.Err() == nil && (p.wanted(p) != 0 || p.pending > 0)
}

// hidden reports whether the input is binary and needs no more output than the message
// about a match.
func (p *grepPrinter) hidden(b *grepBlock) bool {
	if !p.binary && !p.text && p.end == '\n' {
		p.binary = bytes.IndexByte(b.data, 0) >= 0
	}
	if !p.binary || b.count == 0 {
		return p.binary && p.skipBinary
	}
	if p.skipBinary {
		p.total = 0
		return true
	}
	p.grouped = true
	p.c.Stdout.Flush()
	p.c.Stderr.Write([]byte(p.c.Name + ": " + p.name + ": binary file matches\n"))
	return true
}

// advance prepares for the block after b.
func (p *grepPrinter) advance(b *grepBlock) {
	if p.numbers {
		p.number(b.data, len(b.data))
	}
	if n := len(b.selected); n > 0 && p.done == 0 {
		p.done = b.selected[n-1]
	}
	p.base += int64(len(b.data))
	p.seen = 0
}

// number returns the number of the line that starts at i. It counts from the line of the
// last call.
func (p *grepPrinter) number(data []byte, i int) int64 {
	p.line += int64(bytes.Count(data[p.seen:i], []byte{p.end}))
	p.seen = i
	return p.line + 1
}

func (p *grepPrinter) printPlain(b *grepBlock) {
	out := p.c.Stdout
	for i := 0; i < len(b.selected); i += 2 {
		out.Write(b.data[b.selected[i]:b.selected[i+1]])
	}
	if n := len(b.selected); n > 0 && b.data[b.selected[n-1]-1] != p.end {
		out.WriteByte(p.end)
	}
}

// printLine prints the line of data between lo and hi; mark is ':' for a
// selected line and '-' for context.
func (p *grepPrinter) printLine(data []byte, lo, hi int, mark byte) {
	num := int64(0)
	if p.numbers {
		num = p.number(data, lo)
	}
	p.printText(bytes.TrimSuffix(data[lo:hi], []byte{p.end}), p.base+int64(lo), num, mark)
}

func (p *grepPrinter) printText(text []byte, offset, num int64, mark byte) {
	if p.only {
		if (mark == ':') != p.invert {
			p.printParts(text, offset, num, mark)
		}
		return
	}
	p.prefix(offset, num, mark)
	if p.color && (mark == ':') != p.invert {
		text = p.colored(text)
	}
	p.c.Stdout.Write(text)
	p.c.Stdout.WriteByte(p.end)
}

// matches yields the bounds of every match in the line that is not empty.
func (p *grepPrinter) matches(text []byte) iter.Seq2[int, int] {
	return func(yield func(lo, hi int) bool) {
		for at := 0; at <= len(text); {
			lo, hi := p.re.FindSpan(text, at)
			switch {
			case lo < 0:
				return
			case lo == hi:
				at = hi + 1
			case !yield(lo, hi):
				return
			default:
				at = hi
			}
		}
	}
}

// printParts prints every match of the line.
func (p *grepPrinter) printParts(text []byte, offset, num int64, mark byte) {
	for lo, hi := range p.matches(text) {
		p.prefix(offset+int64(lo), num, mark)
		p.c.Stdout.Write(p.add(nil, "01;31", text[lo:hi]))
		p.c.Stdout.WriteByte(p.end)
	}
}

// colored highlights the matches of the line.
func (p *grepPrinter) colored(text []byte) (out []byte) {
	at := 0
	for lo, hi := range p.matches(text) {
		out = p.add(append(out, text[at:lo]...), "01;31", text[lo:hi])
		at = hi
	}
	return append(out, text[at:]...)
}

// prefix prints name, number and offset, depending on the options.
func (p *grepPrinter) prefix(offset, num int64, mark byte) {
	h := p.head[:0]
	if p.names.show {
		h = p.addName(h, mark)
	}
	if p.numbers {
		h = p.addMark(p.add(h, "32", p.padded(num, 3)), mark)
	}
	if p.offsets {
		h = p.addMark(p.add(h, "32", p.padded(offset, 5)), mark)
	}
	if p.tab && len(h) > 0 {
		h = append(h, '\t')
	}
	p.head = h
	p.c.Stdout.Write(h)
}

// addName appends the name of the input and what separates it from the rest.
func (p *grepPrinter) addName(h []byte, mark byte) []byte {
	h = p.add(h, "35", []byte(p.name))
	switch {
	case p.nulNames:
		return append(h, 0)
	case mark == '\n':
		return append(h, '\n')
	}
	return p.addMark(h, mark)
}

func (p *grepPrinter) padded(n int64, width int) []byte {
	text := strconv.AppendInt(nil, n, 10)
	if p.tab && len(text) < width {
		text = append(bytes.Repeat([]byte{' '}, width-len(text)), text...)
	}
	return text
}

// add appends text, between the codes of a color if --color is given.
func (p *grepPrinter) add(h []byte, color string, text []byte) []byte {
	if !p.color {
		return append(h, text...)
	}
	return fmt.Appendf(h, "\x1b[%sm\x1b[K%s\x1b[m\x1b[K", color, text)
}

func (p *grepPrinter) addMark(h []byte, mark byte) []byte { return p.add(h, "36", []byte{mark}) }

// printContext prints selected lines and those around them.
func (p *grepPrinter) printContext(b *grepBlock) {
	at := 0
	for i := 0; i < len(b.selected); i += 2 {
		lo, hi := b.selected[i], b.selected[i+1]
		at = p.printAfter(b.data, at, lo)
		p.printBefore(b.data, at, lo)
		p.printOne(b.data, lo, hi, ':')
		at, p.pending = hi, p.after
		p.carry = p.carry[:0]
	}
	if p.wanted(p) == 0 && at == 0 && len(b.selected) > 0 {
		at = b.selected[len(b.selected)-1]
	}
	at = p.printAfter(b.data, at, len(b.data))
	p.done = at
	p.keep(b.data, at)
}

// printOne prints one line, after a separator if lines were omitted before it.
func (p *grepPrinter) printOne(data []byte, lo, hi int, mark byte) {
	p.separate(p.base + int64(lo))
	p.printLine(data, lo, hi, mark)
	p.lastEnd = p.base + int64(hi)
}

// separate prints the separator if another group, maybe of another file, ended before
// this offset.
func (p *grepPrinter) separate(offset int64) {
	if p.grouped && p.lastEnd != offset && !p.noSeparator {
		p.c.Stdout.Write(append(p.add(nil, "36", []byte(p.separator)), '\n'))
	}
	p.grouped = true
}

// printAfter prints the pending context between at and limit, and returns where it
// stopped.
func (p *grepPrinter) printAfter(data []byte, at, limit int) int {
	for ; p.pending > 0 && at < limit; p.pending-- {
		end := at + recordEnd(data[at:], p.end)
		p.printOne(data, at, end, '-')
		at = end
	}
	return at
}

// printBefore prints the context before lo, including that of the previous block.
func (p *grepPrinter) printBefore(data []byte, at, lo int) {
	start, n := lastLines(data[at:lo], p.before, p.end)
	if at == 0 && n < p.before {
		p.printCarry(p.before - n)
	}
	for start += at; start < lo; {
		end := start + recordEnd(data[start:], p.end)
		p.printOne(data, start, end, '-')
		start = end
	}
}

func (p *grepPrinter) printCarry(n int) {
	start, _ := lastLines(p.carry, n, p.end)
	num := p.line + 1 - int64(bytes.Count(p.carry[start:], []byte{p.end}))
	for start < len(p.carry) {
		end := start + recordEnd(p.carry[start:], p.end)
		offset := p.base - int64(len(p.carry)-start)
		p.separate(offset)
		p.printText(bytes.TrimSuffix(p.carry[start:end], []byte{p.end}), offset, num, '-')
		p.lastEnd = offset + int64(end-start)
		start, num = end, num+1
	}
}

// lastLines returns where the last n records of b start, and how many there are.
func lastLines(b []byte, n int, end byte) (start, have int) {
	start = len(b)
	for have < n && start > 0 {
		start = bytes.LastIndexByte(b[:start-1], end) + 1
		have++
	}
	return start, have
}

// keep stores the end of the block, which may be context of the next.
func (p *grepPrinter) keep(data []byte, at int) {
	if at > 0 {
		p.carry = p.carry[:0]
	}
	start, have := lastLines(data[at:], p.before, p.end)
	if have < p.before {
		from, _ := lastLines(p.carry, p.before-have, p.end)
		p.carry = append(p.carry[:0], p.carry[from:]...)
	} else {
		p.carry = p.carry[:0]
	}
	if p.c.Limiter.Fits(int64(len(data)-at-start)) == nil {
		p.carry = append(p.carry, data[at+start:]...)
	}
}

// summary prints the result of -l, -L or -c for an input.
func (p *grepPrinter) summary() {
	var out []byte
	switch {
	case p.quiet:
	case p.list || p.listOthers:
		if p.list && p.total > 0 || p.listOthers && p.total == 0 {
			out = p.addName(nil, '\n')
		}
	case p.count:
		if p.names.show {
			out = p.addName(nil, ':')
		}
		out = append(strconv.AppendInt(out, int64(p.total), 10), '\n')
	}
	p.c.Stdout.Write(out)
}
