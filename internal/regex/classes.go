package regex

import (
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
	cuts := []rune{0, '\n', '\n' + 1, utf8.RuneSelf}
	for _, s := range sets {
		for i := 0; i < len(s.pairs); i += 2 {
			cuts = append(cuts, s.pairs[i], s.pairs[i+1]+1)
		}
	}
	slices.Sort(cuts)
	cuts = slices.Compact(cuts)
	c := &classes{}
	known := map[string]uint16{}
	key := make([]byte, len(sets)+1)
	for i, lo := range cuts {
		if lo > maxChar {
			break
		}
		id := c.identify(lo, sets, key, known)
		last := rune(utf8.RuneSelf)
		if i+1 < len(cuts) {
			last = cuts[i+1]
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

// identify returns the class of the characters that belong to the same sets as r.
func (c *classes) identify(r rune, sets []*set, key []byte, known map[string]uint16) uint16 {
	for i, s := range sets {
		key[i] = 0
		if s.has(r) {
			key[i] = 1
		}
	}
	key[len(sets)] = 0
	if r == '\n' {
		key[len(sets)] = 1
	}
	id, ok := known[string(key)]
	if !ok {
		id = uint16(len(c.reps))
		known[string(key)] = id
		c.reps = append(c.reps, r)
	}
	return id
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
