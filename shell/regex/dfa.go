package regex

import (
	"bytes"
	"encoding/binary"
	"slices"
	"unicode/utf8"
)

// dfaKind is what an automaton is for.
type dfaKind uint8

const (
	dfaLines    dfaKind = iota // is there a match in a line? Newline starts over.
	dfaText                    // is there a match in the text? Newline is a character.
	dfaAnchored                // how long is the longest match that starts here?
)

// What a state has to know of the character before it.
const (
	afterWord  = 1 << iota
	afterNL    // a newline
	afterBegin // nothing: the text begins here
)

// An entry of the transition table is the offset of the next state's row, and
// with the sign bit set it also says something. Zero is not built yet.
const (
	special  = 1 << 31
	hasMatch = special | 1<<30 // a match ends before the character
	isDead   = special | 1<<29 // no further match
	isIdle   = special | 1<<28 // nothing has begun: only some rare byte can begin a match
	rowMask  = 1<<28 - 1
)

// maxTable bounds the transitions kept; beyond it the automaton starts over.
const maxTable = 1 << 18

// maxKept bounds the program counters of all states in the same way: a pattern
// can have states of thousands.
const maxKept = 1 << 19

// A dfa is an automaton built while it runs. It is for one goroutine.
type dfa struct {
	kind   dfaKind
	prog   *prog
	shift  uint
	table  []uint32
	states [][]uint32 // by row: the program counters, then the context
	known  map[string]uint32
	starts [8]uint32
	budget *budget
	kept   int       // program counters in states
	idle   []uint32  // the state in which nothing has begun; nil if that is not rare
	pass   [256]bool // bytes that leave it so

	list, stack, next []uint32
	mark              []uint32 // generation in which an instruction was seen
	gen               uint32
	key               []byte
}

func newDFA(kind dfaKind, p *prog, budget *budget) *dfa {
	d := &dfa{kind: kind, prog: p, budget: budget, mark: make([]uint32, len(p.insts))}
	for 1<<d.shift < p.chars.count+2 {
		d.shift++
	}
	if kind != dfaAnchored && p.first != nil && d.cares() == 0 && p.startsRarely() {
		d.idle = []uint32{p.start, 0}
		for c := range d.pass {
			d.pass[c] = c < utf8.RuneSelf && c != '\n' && !p.first.has(rune(c))
		}
	}
	d.reset()
	return d
}

// startsRarely reports whether few bytes of a text can start a match.
func (p *prog) startsRarely() bool {
	for c := range rune(utf8.RuneSelf) {
		if p.first.has(c) && rarity(byte(c)) < 4 {
			return false
		}
	}
	return true
}

func (d *dfa) reset() {
	d.table = append(d.table[:0], make([]uint32, 1<<d.shift)...) // row 0 stands for "unknown"
	d.states = append(d.states[:0], nil)
	d.known = map[string]uint32{}
	d.starts = [8]uint32{}
	d.kept = 0
}

// start returns the row to start from in the given context.
func (d *dfa) start(context uint32) uint32 {
	context &= d.cares()
	if d.starts[context] == 0 {
		row := d.row([]uint32{d.prog.start}, context)
		d.starts[context] = row
	}
	return d.starts[context]
}

// cares returns the parts of the context that the program can tell apart.
func (d *dfa) cares() (bits uint32) {
	if d.prog.asserts&wordAsserts != 0 {
		bits |= afterWord
	}
	if d.prog.asserts&atLineStart != 0 {
		bits |= afterNL
	}
	if d.prog.asserts&(atBegin|atLineStart) != 0 {
		bits |= afterBegin
	}
	return bits
}

// row returns the row of the state, which it makes if need be.
func (d *dfa) row(pcs []uint32, context uint32) uint32 {
	d.key = d.key[:0]
	for _, pc := range pcs {
		d.key = binary.LittleEndian.AppendUint32(d.key, pc)
	}
	d.key = append(d.key, byte(context))
	if row, ok := d.known[string(d.key)]; ok {
		return row
	}
	if len(d.table) >= maxTable || d.kept >= maxKept {
		d.reset()
	}
	d.kept += len(pcs) + 16
	row := uint32(len(d.table))
	d.table = append(d.table, make([]uint32, 1<<d.shift)...)
	d.states = append(d.states, append(slices.Clone(pcs), context))
	d.known[string(d.key)] = row
	d.budget.left -= 64 + 2*len(pcs)
	return row
}

// build computes the entry of a row for a class (or the end of the text).
func (d *dfa) build(row uint32, class int) uint32 {
	state := d.states[row>>d.shift]
	n := len(state) - 1
	end := class == d.prog.chars.count
	char := rune(-1)
	if !end {
		char = d.prog.chars.reps[class]
	}
	over := end || d.kind == dfaLines && char == '\n'
	var entry uint32
	if d.closure(state[:n], state[n], char, over) {
		entry = hasMatch
	}
	switch {
	case over && d.kind == dfaLines && !end:
		entry |= d.start(afterBegin)
	case over, d.kind != dfaAnchored && entry != 0:
		entry |= isDead
	default:
		entry |= d.step(char)
	}
	if d.idle != nil && entry&special == 0 && slices.Equal(d.states[entry>>d.shift], d.idle) {
		entry |= isIdle
	}
	d.budget.left -= 16 + len(d.list)
	if row < uint32(len(d.table)) && d.states[row>>d.shift] != nil && &d.states[row>>d.shift][0] == &state[0] {
		d.table[row+uint32(class)] = entry // the table may have started over meanwhile
	}
	return entry
}

// step returns the state after char, from the instructions that closure listed.
func (d *dfa) step(char rune) uint32 {
	d.next = d.next[:0]
	d.gen++
	for _, pc := range d.list {
		in := &d.prog.insts[pc]
		if in.set.has(char) && d.mark[in.out] != d.gen {
			d.mark[in.out] = d.gen
			d.next = append(d.next, in.out)
		}
	}
	if start := d.prog.start; d.kind != dfaAnchored && !d.prog.begins && d.mark[start] != d.gen {
		d.next = append(d.next, start)
	}
	if len(d.next) == 0 {
		return isDead
	}
	slices.Sort(d.next)
	context := uint32(0)
	if char == '\n' {
		context |= afterNL
	}
	if isWord(char) {
		context |= afterWord
	}
	return d.row(d.next, context&d.cares())
}

// closure lists the instructions that can consume char, and reports whether a
// match ends before it.
func (d *dfa) closure(pcs []uint32, context uint32, char rune, end bool) (match bool) {
	d.gen++
	d.list = d.list[:0]
	d.stack = append(d.stack[:0], pcs...)
	for len(d.stack) > 0 {
		pc := d.stack[len(d.stack)-1]
		d.stack = d.stack[:len(d.stack)-1]
		if d.mark[pc] == d.gen {
			continue
		}
		d.mark[pc] = d.gen
		d.budget.left--
		switch in := &d.prog.insts[pc]; in.op {
		case iSet:
			d.list = append(d.list, pc)
		case iSplit:
			d.stack = append(d.stack, in.alt, in.out)
		case iAssert:
			if holds(in.n, context, end, char) {
				d.stack = append(d.stack, in.out)
			}
		case iMatch:
			match = true
		case iSave, iMark, iCheck:
			d.stack = append(d.stack, in.out)
		}
	}
	return match
}

// holds decides an assertion between a context and the character after it.
func holds(at int, before uint32, end bool, after rune) bool {
	word := !end && isWord(after)
	wasWord := before&afterWord != 0
	switch at {
	case atBegin:
		return before&afterBegin != 0
	case atEnd:
		return end
	case atLineStart:
		return before&(afterBegin|afterNL) != 0
	case atLineEnd:
		return end || after == '\n'
	case atWordStart:
		return !wasWord && word
	case atWordEnd:
		return wasWord && !word
	case atWordEdge:
		return wasWord != word
	case notWordEdge:
		return wasWord == word
	case noWordBefore:
		return !wasWord
	}
	return !word
}

// contextAt returns what stands before i.
func contextAt(b []byte, i int) uint32 {
	if i == 0 {
		return afterBegin
	}
	switch r := decodeLast(b[:i]); {
	case r == '\n':
		return afterNL
	case isWord(r):
		return afterWord
	}
	return 0
}

// entry returns the transition for the character of b at i, and its width.
func (d *dfa) entry(row uint32, b []byte, i int) (uint32, int) {
	class, w := int(d.prog.chars.ascii[b[i]]), 1
	if class == d.prog.chars.wide {
		var r rune
		r, w = decode(b, i)
		class = int(d.prog.chars.of(r))
	}
	if v := d.table[row+uint32(class)]; v != 0 {
		return v, w
	}
	return d.build(row, class), w
}

// atEnd returns the transition for the end of the text.
func (d *dfa) atEnd(row uint32) uint32 {
	if v := d.table[row+uint32(d.prog.chars.count)]; v != 0 {
		return v
	}
	return d.build(row, d.prog.chars.count)
}

// search returns where it first knows of a match in b from i on, or -1. With
// dfaLines that place is in the line that matches, or is its newline.
func (d *dfa) search(b []byte, i int, context uint32) int {
	row := d.start(context)
	ascii := &d.prog.chars.ascii
	for i < len(b) {
		table := d.table
		for i < len(b) {
			v := table[row+uint32(ascii[b[i]])]
			if int32(v) <= 0 {
				break
			}
			row = v
			i++
		}
		if i == len(b) || d.budget.over() {
			break
		}
		v, w := d.entry(row, b, i)
		switch {
		case v&hasMatch == hasMatch:
			return i
		case v&isDead == isDead && d.kind == dfaLines:
			end := bytes.IndexByte(b[i:], '\n')
			if end < 0 {
				return -1
			}
			i, row = i+end+1, d.start(afterBegin)
		case v&isDead == isDead:
			return -1
		case v&isIdle == isIdle:
			for i += w; i < len(b) && d.pass[b[i]]; i++ {
			}
			row = v & rowMask
		default:
			i, row = i+w, v
		}
	}
	if !d.budget.over() && d.atEnd(row)&hasMatch == hasMatch {
		return len(b)
	}
	return -1
}

// longest returns the end of the longest match that starts at i, or -1, and
// how far it had to look.
func (d *dfa) longest(b []byte, i int, context uint32) (end, seen int) {
	row, end := d.start(context), -1
	for i < len(b) && !d.budget.over() {
		v, w := d.entry(row, b, i)
		if v&hasMatch == hasMatch {
			end = i
		}
		if v&isDead == isDead {
			return end, i
		}
		i, row = i+w, v&rowMask
	}
	if d.atEnd(row)&hasMatch == hasMatch {
		end = len(b)
	}
	return end, i
}
