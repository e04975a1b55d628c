package regex

import (
	"math/rand/v2"
	"slices"
	"sort"
	"unicode/utf8"
)

// classes divides all characters into those a program cannot tell apart, so
// that an automaton needs a column for each class only.
type classes struct {
	count int         // classes; the column count is the end of the text
	wide  int         // the column of bytes above ASCII, which must be decoded
	ascii [256]uint16 // class of a byte; wide above ASCII
	cuts  []rune      // where the class changes above ASCII
	ids   []uint16    // the class from each cut on
	reps  []rune      // one character of each class
	nl    uint16      // the class of newline, which has no other member
}

func newClasses(p *prog) *classes {
	sets := p.distinctSets()
	if p.asserts&wordAsserts != 0 {
		sets = append(sets, wordSet())
	}
	marks := newMarks(sets)
	c := &classes{}
	known := map[mark]uint16{}
	for i, m := range marks {
		lo := m.at
		if lo > maxChar {
			break
		}
		id, ok := c.identify(m, known)
		if !ok {
			return nil
		}
		last := rune(utf8.RuneSelf)
		if i+1 < len(marks) {
			last = marks[i+1].at
		}
		for r := lo; r < last && r < utf8.RuneSelf; r++ {
			c.ascii[r] = id
		}
		if lo >= utf8.RuneSelf && (len(c.ids) == 0 || c.ids[len(c.ids)-1] != id) {
			c.cuts, c.ids = append(c.cuts, lo), append(c.ids, id)
		}
	}
	c.count = len(c.reps)
	c.wide = c.count + 1
	for i := utf8.RuneSelf; i < 256; i++ {
		c.ascii[i] = uint16(c.wide)
	}
	c.nl = c.ascii['\n']
	return c
}

// A mark is a character where some set begins or ends. From it on, up to the
// next mark, the characters belong to the sets of which a and b are a hash.
type mark struct {
	at   rune
	a, b uint64
}

// newMarks sorts the ends of all sets. Each set has a number that no pattern
// can foresee well enough to make two hashes equal; going from mark to mark,
// the numbers of the sets that begin or end there are xor-ed.
func newMarks(sets []*set) []mark {
	marks := []mark{{at: 0}, {at: utf8.RuneSelf}}
	for i, s := range append(sets, newSet([]rune{'\n', '\n'})) {
		a, b := scramble(uint64(2*i+1)), scramble(uint64(2*i+2))
		for j := 0; j < len(s.pairs); j += 2 {
			marks = append(marks, mark{s.pairs[j], a, b}, mark{s.pairs[j+1] + 1, a, b})
		}
	}
	slices.SortFunc(marks, func(x, y mark) int { return int(x.at) - int(y.at) })
	out := marks[:1]
	for _, m := range marks[1:] {
		last := &out[len(out)-1]
		if m.at != last.at {
			out = append(out, mark{m.at, last.a ^ m.a, last.b ^ m.b})
			continue
		}
		last.a, last.b = last.a^m.a, last.b^m.b
	}
	return out
}

var hashSeed = rand.Uint64()

// scramble is the finalizer of splitmix64.
func scramble(x uint64) uint64 {
	x = (x + hashSeed) * 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// maxClasses is what the number of a class can count to, with two to spare.
const maxClasses = 1<<16 - 2

// identify returns the class of the characters from a mark on; ok is false if
// there are too many classes.
func (c *classes) identify(m mark, known map[mark]uint16) (id uint16, ok bool) {
	key := mark{a: m.a, b: m.b}
	id, ok = known[key]
	if !ok && len(c.reps) < maxClasses {
		id, ok = uint16(len(c.reps)), true
		known[key] = id
		c.reps = append(c.reps, m.at)
	}
	return id, ok
}

// of returns the class of a character above ASCII.
func (c *classes) of(r rune) uint16 {
	if len(c.ids) == 1 {
		return c.ids[0]
	}
	i := sort.Search(len(c.cuts), func(i int) bool { return c.cuts[i] > r })
	return c.ids[i-1]
}

func (p *prog) distinctSets() []*set {
	seen := map[*set]bool{}
	var out []*set
	for _, i := range p.insts {
		if i.set != nil && !seen[i.set] {
			seen[i.set] = true
			out = append(out, i.set)
		}
	}
	return out
}
