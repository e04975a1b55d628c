package regex

import (
	"bytes"
	"encoding/binary"
	"unicode/utf8"
)

// A machine holds what one call needs to run a Regexp: automata under
// construction and scratch space. It is for one goroutine at a time.
type machine struct {
	re     *Regexp
	budget budget
	lines  *dfa
	text   *dfa
	anchor *dfa
	track  tracker
	cursor cursor
}

func newMachine(re *Regexp) *machine {
	m := &machine{re: re}
	m.track = tracker{prog: re.prog, want: -1, budget: &m.budget}
	m.cursor.filter = re.plan.filter
	return m
}

func (m *machine) automaton(d **dfa, kind dfaKind, p *prog) *dfa {
	if *d == nil {
		*d = newDFA(kind, p, &m.budget)
	}
	return *d
}

// exists reports whether a match starts at from or later.
func (m *machine) exists(b []byte, from int) bool {
	if f := m.re.plan.filter; f != nil {
		m.cursor.reset()
		if m.cursor.next(b, from) < 0 {
			return false
		}
		if m.re.plan.kind == planLiteral {
			return true
		}
	}
	if m.re.bool == nil {
		return m.findBack(b, from)
	}
	d := m.automaton(&m.text, dfaText, m.re.bool)
	return d.search(b, from, contextAt(b, from)) >= 0
}

// find implements [Regexp.Find].
func (m *machine) find(b []byte, from int, loc []int, groups bool) []int {
	if from > len(b) {
		return nil
	}
	if m.re.bool == nil || m.re.perl {
		if !m.exists(b, from) && m.re.bool != nil || !m.findBack(b, from) {
			return nil
		}
		return append(loc, m.track.best[:2*(m.re.groups+1)]...)
	}
	start, end := m.leftmost(b, from)
	if start < 0 {
		return nil
	}
	if m.re.groups == 0 || !groups {
		return append(loc, start, end)
	}
	return m.submatches(b, start, end, loc)
}

// leftmost returns the bounds of the leftmost-longest match.
func (m *machine) leftmost(b []byte, from int) (start, end int) {
	if m.re.whole > 0 {
		m.cursor.reset()
		if start = m.cursor.next(b, from); start < 0 {
			return -1, -1
		}
		return start, start + m.re.whole
	}
	floor := from
	if f := m.re.plan.filter; f != nil {
		m.cursor.reset()
		hit := m.cursor.next(b, from)
		switch {
		case hit < 0:
			return -1, -1
		case m.re.behind == 0:
			return m.leftmostLiteral(b, hit)
		case m.re.behind > 0:
			floor = charStart(b, max(from, hit-m.re.behind), from)
		}
	}
	d := m.automaton(&m.text, dfaText, m.re.bool)
	limit := d.search(b, floor, contextAt(b, floor))
	if limit < 0 {
		return -1, -1
	}
	return m.leftmostBefore(b, floor, limit)
}

// leftmostLiteral tries the places where the literal stands that every match
// starts with.
func (m *machine) leftmostLiteral(b []byte, hit int) (start, end int) {
	d := m.automaton(&m.anchor, dfaAnchored, m.re.prog)
	work := 4096 + 16*(len(b)-hit)
	for hit >= 0 {
		end, seen := d.longest(b, hit, contextAt(b, hit))
		if end >= 0 {
			return hit, end
		}
		if m.budget.look(seen - hit); m.budget.over() {
			return -1, -1
		}
		if work -= seen - hit; work < 0 {
			return m.leftmostAtOnce(b, hit)
		}
		if hit++; hit > len(b) {
			break
		}
		hit = m.cursor.next(b, hit)
	}
	return -1, -1
}

// leftmostBefore tries the places a match can start at, given that there is one
// that starts before limit. If that takes too long it goes through the text
// once with all places at the same time.
func (m *machine) leftmostBefore(b []byte, from, limit int) (start, end int) {
	d := m.automaton(&m.anchor, dfaAnchored, m.re.prog)
	work, first := 4096+16*(len(b)-from), m.re.prog.first
	for i := from; i <= limit; {
		w := 1
		if i < len(b) {
			var r rune
			r, w = decode(b, i)
			if first != nil && !first.has(r) {
				i += w
				continue
			}
		}
		end, seen := d.longest(b, i, contextAt(b, i))
		if end >= 0 {
			return i, end
		}
		if m.budget.look(seen - i); m.budget.over() {
			return -1, -1
		}
		if work -= seen - i; work < 0 {
			return m.leftmostAtOnce(b, i)
		}
		i += w
	}
	return -1, -1
}

// submatches fills in the groups of a match whose bounds are known.
func (m *machine) submatches(b []byte, start, end int, loc []int) []int {
	t := &m.track
	t.b, t.want, t.longest = b, end, false
	t.remember(start, end)
	if !t.run(start) {
		return nil // only when the budget is used up
	}
	return append(loc, t.best[:2*(m.re.groups+1)]...)
}

// findBack looks for the first match with the tracker alone.
func (m *machine) findBack(b []byte, from int) bool {
	t := &m.track
	t.b, t.want, t.longest, t.visited = b, -1, !m.re.perl, nil
	if m.re.bool != nil {
		t.remember(from, len(b))
	}
	for i := from; i <= len(b) && !m.budget.over(); {
		if t.run(i) {
			return true
		}
		if i == len(b) || m.re.prog.begins {
			break
		}
		_, w := decode(b, i)
		i += w
	}
	return false
}

// leftmostAtOnce simulates the program with all starts at once. A thread knows
// where it started; of two at the same instruction the earlier wins.
func (m *machine) leftmostAtOnce(b []byte, from int) (start, end int) {
	s := &simulation{prog: m.re.prog, mark: make([]int, len(m.re.prog.insts)), budget: &m.budget}
	start, end = -1, -1
	var threads []thread
	for i := from; i <= len(b) && !m.budget.over(); {
		if start < 0 {
			threads = append(threads, thread{s.prog.start, i})
		}
		if len(threads) == 0 {
			break
		}
		char, w, over := rune(-1), 1, i == len(b)
		if !over {
			char, w = decode(b, i)
		}
		if at := s.closure(threads, contextAt(b, i), char, over); at >= 0 && (start < 0 || at <= start) {
			start, end = at, i
		}
		threads = s.step(threads[:0], char, start)
		i += w
	}
	return start, end
}

type thread struct {
	pc    uint32
	start int
}

type simulation struct {
	prog   *prog
	mark   []int
	gen    int
	list   []thread
	stack  []thread
	budget *budget
}

// closure lists the threads that can consume char, the earliest first, and
// returns the start of the match that ends here, or -1.
func (s *simulation) closure(threads []thread, context uint32, char rune, end bool) int {
	s.gen++
	s.list = s.list[:0]
	match := -1
	for _, t := range threads {
		s.stack = append(s.stack[:0], t)
		for len(s.stack) > 0 {
			t := s.stack[len(s.stack)-1]
			s.stack = s.stack[:len(s.stack)-1]
			if s.mark[t.pc] == s.gen {
				continue
			}
			s.mark[t.pc] = s.gen
			s.budget.left--
			switch in := &s.prog.insts[t.pc]; in.op {
			case iSet:
				s.list = append(s.list, t)
			case iSplit:
				s.stack = append(s.stack, thread{in.alt, t.start}, thread{in.out, t.start})
			case iAssert:
				if holds(in.n, context, end, char) {
					s.stack = append(s.stack, thread{in.out, t.start})
				}
			case iMatch:
				if match < 0 {
					match = t.start
				}
			case iSave, iMark, iCheck:
				s.stack = append(s.stack, thread{in.out, t.start})
			}
		}
	}
	return match
}

// step moves the listed threads over char; those that started after a known
// match are of no use any more.
func (s *simulation) step(out []thread, char rune, start int) []thread {
	for _, t := range s.list {
		in := &s.prog.insts[t.pc]
		if in.set.has(char) && (start < 0 || t.start <= start) {
			out = append(out, thread{in.out, t.start})
		}
	}
	return out
}

// begin prepares for going through a block of lines.
func (m *machine) begin() { m.cursor.reset() }

// nextLine implements [Regexp.FindMatchingLine].
func (m *machine) nextLine(b []byte, from int) (start, end int) {
	return lineAround(b, from, m.nextHit(b, from))
}

// nextHit returns a place in the next line that matches, looking from the line
// that starts at from: one of its bytes, its newline, or the end of a block
// that lacks its last newline. It returns -1 if there is none.
func (m *machine) nextHit(b []byte, from int) int {
	if from >= len(b) {
		return -1
	}
	switch p := m.re.plan; p.kind {
	case planAll:
		return from
	case planLiteral:
		return m.cursor.next(b, from)
	case planSets:
		return p.sets.next(b, from)
	case planWindow:
		return m.nextWindow(b, from)
	case planBack:
		return m.nextBack(b, from)
	case planFilter:
		return m.nextFiltered(b, from)
	}
	hit := m.automaton(&m.lines, dfaLines, m.re.bool).search(b, from, afterBegin)
	if hit == len(b) && b[hit-1] == '\n' {
		return -1 // what is empty after the last newline is no line
	}
	return hit
}

// lineEnd returns where the line with b[i] ends, after its newline.
func lineEnd(b []byte, i int) int {
	if n := bytes.IndexByte(b[i:], '\n'); n >= 0 {
		return i + n + 1
	}
	return len(b)
}

// lineAround returns the bounds of the line that holds place i; -1 is no line.
func lineAround(b []byte, from, i int) (start, end int) {
	if i < 0 {
		return -1, -1
	}
	return lineStart(b, from, i), lineEnd(b, i)
}

// lineStart returns where the line with place i starts, at from or later. It
// looks at eight bytes at once, as the standard library does only forwards.
func lineStart(b []byte, from, i int) int {
	const ones, highs, newlines = 0x0101010101010101, 0x8080808080808080, 0x0a0a0a0a0a0a0a0a
	for ; i-8 >= from; i -= 8 {
		x := binary.LittleEndian.Uint64(b[i-8:]) ^ newlines
		if (x-ones)&^x&highs != 0 {
			break
		}
	}
	for i > from && b[i-1] != '\n' {
		i--
	}
	return i
}

// nextFiltered runs the automaton on lines that hold a required literal only,
// from the earliest place a match around the literal can start at.
func (m *machine) nextFiltered(b []byte, from int) int {
	d := m.automaton(&m.lines, dfaLines, m.re.bool)
	for from < len(b) && !m.budget.over() {
		hit := m.cursor.next(b, from)
		if hit < 0 {
			break
		}
		at, context := from, uint32(afterBegin)
		if behind := m.re.plan.behind; behind >= 0 && hit-behind > from {
			at = hit - behind
		}
		if start := lineStart(b, at, hit); start > at {
			at = start
		} else if at > from {
			at = charStart(b, at, from)
			if at > from && b[at-1] != '\n' {
				context = contextAt(b, at)
			}
		}
		end := lineEnd(b, hit)
		if d.search(b[:end], at, context) >= 0 {
			return hit
		}
		from = end
	}
	return -1
}

// charStart moves i back to the start of a character, but not before lo.
func charStart(b []byte, i, lo int) int {
	for n := 0; n < utf8.UTFMax && i > lo && !utf8.RuneStart(b[i]); n++ {
		i--
	}
	return i
}

// nextBack runs the tracker line by line.
func (m *machine) nextBack(b []byte, from int) int {
	for from < len(b) && !m.budget.over() {
		start := from
		if m.re.plan.filter != nil {
			hit := m.cursor.next(b, from)
			if hit < 0 {
				break
			}
			start, _ = lineAround(b, from, hit)
		}
		end := lineEnd(b, start)
		if m.findBack(bytes.TrimSuffix(b[start:end], []byte("\n")), 0) {
			return start
		}
		from = end
	}
	return -1
}

// nextWindow checks the neighbours of a literal inside a fixed sequence of sets.
func (m *machine) nextWindow(b []byte, from int) int {
	p := m.re.plan
	for i := from; i < len(b); {
		hit := m.cursor.next(b, i)
		if hit < 0 {
			break
		}
		if at := hit - p.behind; at >= from && p.sets.at(b, at) {
			return at
		}
		i = hit + 1
	}
	return -1
}
