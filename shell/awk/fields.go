package awk

import (
	"math"
	"strings"
	"unicode/utf8"
)

// maxField bounds NF and the numbers of fields: assigning to one makes all before it.
const maxField = 10_000_000

// A record is the current $0 and its fields. Fields are found when they are
// asked for, and with the usual separators only as far as needed.
type record struct {
	text   string
	stale  bool // text must be put together from the fields
	fields []string
	typed  []value // what fields were assigned, by position; kind unset means nothing was
	done   bool    // all fields are found
	pos    int     // where the search for the next field begins
	by     *splitter
	held   int
}

// A splitter is a way of cutting a string into fields.
type splitter struct {
	kind   splitKind
	char   byte
	re     *regex
	widths []int
	set    *[256]bool // the separators of bySet
	run    bool       // a row of them is one
}

type splitKind uint8

const (
	bySpace splitKind = iota
	byChar
	bySet // a pattern that is one set of characters, perhaps repeated
	byRegex
	byRune
	byContent // FPAT
	byWidth   // FIELDWIDTHS
	byComma   // CSV
)

var spaceSplitter = &splitter{kind: bySpace}
var csvSplitter = &splitter{kind: byComma}

// newSplitter makes sense of a field separator.
func (m *machine) newSplitter(fs string) *splitter {
	switch {
	case fs == " ":
		return spaceSplitter
	case fs == "":
		return &splitter{kind: byRune}
	case len(fs) == 1 && fs != "\\" && !m.ignoreCase:
		return &splitter{kind: byChar, char: fs[0]}
	case fs == "\\":
		return &splitter{kind: byChar, char: '\\'}
	case utf8.RuneCountInString(fs) == 1:
		return &splitter{kind: byRegex, re: m.regex(quoteMeta(fs))}
	}
	re := m.regex(fs)
	if re.kind == literal && len(re.lit) == 1 {
		return &splitter{kind: byChar, char: re.lit[0]}
	}
	if set, run := plainSet(translate(fs)); set != nil && !m.ignoreCase {
		return &splitter{kind: bySet, set: set, run: run, re: re}
	}
	return &splitter{kind: byRegex, re: re}
}

// plainSet recognises patterns like "[ :]", "[,;]+" and "x+": a set of
// characters of one byte, which need no engine.
func plainSet(ere string) (set *[256]bool, run bool) {
	body, run := strings.CutSuffix(ere, "+")
	if len(body) > 2 && body[0] == '[' && strings.IndexByte(body, ']') == len(body)-1 {
		body = body[1 : len(body)-1]
	} else if len(body) != 1 || !run {
		return nil, false
	}
	set = new([256]bool)
	for i := range len(body) {
		c := body[i]
		if c >= 0x80 || strings.IndexByte(`[\^-.*+?(){}|$`, c) >= 0 && (len(body) == 1 || c == '[' || c == '\\' || c == '^' ||
			c == '-') {
			return nil, false
		}
		set[c] = true
	}
	return set, run
}

// setRecord makes text the current record.
func (m *machine) setRecord(text string) {
	r := &m.rec
	if len(text) > 1<<16 || r.held > 0 {
		m.hold(len(text) - r.held)
		r.held = len(text)
	}
	r.text, r.stale, r.done, r.pos, r.by = text, false, false, 0, m.fs
	r.fields = r.fields[:0]
	r.typed = nil
}

// find splits until field n is there or the record ends.
func (m *machine) find(n int) {
	r := &m.rec
	if len(r.text) > 1<<16 {
		m.spend(4 * len(r.text))
		m.fits(32 * fieldsIn(r.text, r.by))
	}
	switch r.by.kind {
	case bySpace:
		r.findSpace(n)
	case byChar:
		if m.rs.paragraph {
			r.fields = m.split(r.fields, r.text, r.by)
			r.done = true
			break
		}
		r.findChar(n)
	case bySet:
		if m.rs.paragraph {
			r.fields = m.split(r.fields, r.text, r.by)
			r.done = true
			break
		}
		r.findSet(n)
	default:
		r.fields = m.split(r.fields, r.text, r.by)
		r.done = true
	}
}

// fieldsIn returns how many fields a long record can have at most, if that is
// quickly found; other ways of splitting check while they split.
func fieldsIn(s string, by *splitter) int {
	switch by.kind {
	case bySpace:
		return strings.Count(s, " ") + strings.Count(s, "\t") + strings.Count(s, "\n") + 1
	case byChar:
		return strings.Count(s, string(rune(by.char))) + 1
	case bySet:
		return len(s) + 1
	}
	return 0
}

var separates = [256]bool{' ': true, '\t': true, '\n': true}

func (r *record) findSpace(n int) {
	s, i := r.text, r.pos
	for len(r.fields) < n {
		for i < len(s) && separates[s[i]] {
			i++
		}
		if i >= len(s) {
			r.done = true
			break
		}
		start := i
		for i < len(s) && !separates[s[i]] {
			i++
		}
		r.fields = append(r.fields, s[start:i])
	}
	r.pos = i
}

func (r *record) findChar(n int) {
	if r.text == "" {
		r.done = true
		return
	}
	for len(r.fields) < n {
		rest := r.text[r.pos:]
		i := strings.IndexByte(rest, r.by.char)
		if i < 0 {
			r.fields = append(r.fields, rest)
			r.done = true
			return
		}
		r.fields = append(r.fields, rest[:i])
		r.pos += i + 1
	}
}

func (r *record) findSet(n int) {
	if r.text == "" {
		r.done = true
		return
	}
	s, set, i := r.text, r.by.set, r.pos
	for len(r.fields) < n {
		start := i
		for i < len(s) && !set[s[i]] {
			i++
		}
		r.fields = append(r.fields, s[start:i])
		if i == len(s) {
			r.done = true
			return
		}
		for i++; r.by.run && i < len(s) && set[s[i]]; i++ {
		}
		r.pos = i
	}
}

// splitAll finds every field.
func (m *machine) splitAll() {
	if !m.rec.done {
		m.find(math.MaxInt)
	}
}

// nf returns the number of fields.
func (m *machine) nf() int {
	m.splitAll()
	return len(m.rec.fields)
}

// field returns $n.
func (m *machine) field(n int) value {
	r := &m.rec
	if n == 0 {
		return value{s: m.record(), k: input, part: true}
	}
	if n > len(r.fields) {
		if !r.done {
			m.find(n)
		}
		if n > len(r.fields) {
			return value{}
		}
	}
	if n <= len(r.typed) && r.typed[n-1].k != unset {
		return r.typed[n-1]
	}
	return value{s: r.fields[n-1], k: input, part: true}
}

// lastField returns $NF, which can be found without the others.
func (m *machine) lastField() value {
	r := &m.rec
	if r.done || r.by.kind > byChar || m.rs.paragraph {
		return m.field(m.nf())
	}
	s := r.text
	if r.by.kind == byChar {
		return value{s: s[strings.LastIndexByte(s, r.by.char)+1:], k: input, part: true}
	}
	end := len(s)
	for end > 0 && separates[s[end-1]] {
		end--
	}
	if end == 0 { // no fields: $NF is $0
		return m.field(0)
	}
	start := end
	for start > 0 && !separates[s[start-1]] {
		start--
	}
	return value{s: s[start:end], k: input, part: true}
}

// record returns $0, putting it together if fields were changed.
func (m *machine) record() string {
	r := &m.rec
	if !r.stale {
		return r.text
	}
	size := 0
	for _, f := range r.fields {
		size += len(f) + len(m.ofs)
	}
	m.fits(size)
	r.text, r.stale = strings.Join(r.fields, m.ofs), false
	return r.text
}

// setField assigns to $n.
func (m *machine) setField(n int, v value) {
	if n == 0 {
		m.setRecord(strings.Clone(m.str(&v)))
		return
	}
	m.setNF(max(n, m.nf()))
	r := &m.rec
	if n > len(r.typed) {
		r.typed = append(r.typed, make([]value, n-len(r.typed))...)
	}
	v.part = false // the fields of a record live as long as the record
	if v.k == unset {
		v.k = text
	}
	r.fields[n-1], r.typed[n-1] = m.str(&v), v
	r.stale = true
}

// setNF cuts or extends the list of fields.
func (m *machine) setNF(n int) {
	m.splitAll()
	r := &m.rec
	if n > maxField {
		fail(0, "NF set to a value out of range")
	}
	if have := len(r.fields); n > have {
		m.fits(n * 48)
		r.fields = append(r.fields, make([]string, n-have)...)
	} else {
		clear(r.fields[n:])
		r.fields = r.fields[:n]
		r.typed = r.typed[:min(len(r.typed), n)]
	}
	r.stale = true
}

// fieldNumber turns an expression's value into the number of a field.
func fieldNumber(n float64) int {
	if n < 0 {
		fail(1, "attempt to access field %d", whole(n))
	}
	if n > maxField {
		fail(1, "attempt to access field %d", whole(n))
	}
	return int(n)
}
