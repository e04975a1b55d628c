package text

import (
	"bytes"
	"strconv"
)

// A grepPrinter prints what was found in one input.
type grepPrinter struct {
	*grepper
	name   string
	total  int   // selected lines so far
	base   int64 // bytes before the block
	line   int64 // lines before place seen of the block
	seen   int
	done   int // bytes of the block that are dealt with
	binary bool

	pending int    // lines of context still to come
	carry   []byte // lines before the block that may be context
	lastEnd int64  // where the last line printed ends; -1 is nowhere
	head    []byte
}

// print deals with one block and reports whether more are wanted.
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

// hidden reports that the input is binary and has a match, which is all that is
// said of it.
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

// number returns the number of the line that starts at i, counting on from the
// last one asked for.
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

// printParts prints every match of the line that is not empty.
func (p *grepPrinter) printParts(text []byte, offset, num int64, mark byte) {
	for at := 0; at <= len(text); {
		lo, hi := p.re.FindSpan(text, at)
		if lo < 0 {
			return
		}
		if lo == hi {
			at = hi + 1
			continue
		}
		p.prefix(offset+int64(lo), num, mark)
		if p.color {
			p.c.Stdout.Write(paint("01;31", text[lo:hi]))
		} else {
			p.c.Stdout.Write(text[lo:hi])
		}
		p.c.Stdout.WriteByte(p.end)
		at = hi
	}
}

// prefix prints name, number and offset as far as they are wanted.
func (p *grepPrinter) prefix(offset, num int64, mark byte) {
	h := p.head[:0]
	if p.names.show {
		h = p.add(h, "35", []byte(p.name))
		if p.nulNames {
			h = append(h, 0)
		} else {
			h = p.addMark(h, mark)
		}
	}
	if p.numbers {
		h = p.add(h, "32", p.padded(num, 3))
		h = p.addMark(h, mark)
	}
	if p.offsets {
		h = p.add(h, "32", p.padded(offset, 5))
		h = p.addMark(h, mark)
	}
	if p.tab && len(h) > 0 {
		h = append(h, '\t')
	}
	p.head = h
	p.c.Stdout.Write(h)
}

func (p *grepPrinter) padded(n int64, width int) []byte {
	text := strconv.AppendInt(nil, n, 10)
	if p.tab && len(text) < width {
		text = append(bytes.Repeat([]byte{' '}, width-len(text)), text...)
	}
	return text
}

func (p *grepPrinter) add(h []byte, color string, text []byte) []byte {
	if p.color {
		text = paint(color, text)
	}
	return append(h, text...)
}

func (p *grepPrinter) addMark(h []byte, mark byte) []byte {
	return p.add(h, "36", []byte{mark})
}

// paint puts the codes of a color around text, as GNU grep does.
func paint(color string, text []byte) []byte {
	return append(append([]byte("\x1b["+color+"m\x1b[K"), text...), "\x1b[m\x1b[K"...)
}

func (p *grepPrinter) colored(text []byte) []byte {
	var out []byte
	at := 0
	for at < len(text) {
		lo, hi := p.re.FindSpan(text, at)
		if lo < 0 {
			break
		}
		if lo == hi {
			out = append(out, text[at:min(hi+1, len(text))]...)
			at = hi + 1
			continue
		}
		out = append(append(out, text[at:lo]...), paint("01;31", text[lo:hi])...)
		at = hi
	}
	return append(out, text[min(at, len(text)):]...)
}

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

// printOne prints one line, after a mark if lines were left out before it.
func (p *grepPrinter) printOne(data []byte, lo, hi int, mark byte) {
	p.separate(p.base + int64(lo))
	p.printLine(data, lo, hi, mark)
	p.lastEnd = p.base + int64(hi)
}

// separate prints the separator if another group, maybe of another file, ended
// before this place.
func (p *grepPrinter) separate(offset int64) {
	if p.grouped && p.lastEnd != offset && !p.noSeparator {
		p.c.Stdout.Write(append(p.add(nil, "36", []byte(p.separator)), '\n'))
	}
	p.grouped = true
}

// printAfter prints what context is still due between at and limit, and
// returns where it stopped.
func (p *grepPrinter) printAfter(data []byte, at, limit int) int {
	for ; p.pending > 0 && at < limit; p.pending-- {
		end := at + recordEnd(data[at:], p.end)
		p.printOne(data, at, end, '-')
		at = end
	}
	return at
}

// printBefore prints the lines before lo that are context, from the block
// before if need be.
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

// keep remembers the end of the block for the lines of the next.
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

// summary prints what is said once for an input.
func (p *grepPrinter) summary() {
	out := p.c.Stdout
	switch {
	case p.quiet:
	case p.list && p.total > 0, p.listOthers && p.total == 0:
		out.Write(p.add(nil, "35", []byte(p.name)))
		if p.nulNames {
			out.WriteByte(0)
		} else {
			out.WriteByte('\n')
		}
	case p.list, p.listOthers:
	case p.count:
		if p.names.show {
			head := p.add(nil, "35", []byte(p.name))
			if p.nulNames {
				head = append(head, 0)
			} else {
				head = p.addMark(head, ':')
			}
			out.Write(head)
		}
		out.WriteString(strconv.Itoa(p.total) + "\n")
	}
}
