package regex

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"slices"
	"strings"
)

// rarity guesses how rare a byte is in text, from 0 (everywhere) to 9.
func rarity(c byte) int {
	switch {
	case c == ' ' || c == 'e':
		return 0
	case bytes.IndexByte([]byte("taoinsrlcd"), c) >= 0:
		return 1
	case bytes.IndexByte([]byte("012.-:/mpu"), c) >= 0:
		return 2
	case bytes.IndexByte([]byte("fgh3456789"), c) >= 0:
		return 3
	case bytes.IndexByte([]byte("bvwy_=\"[],"), c) >= 0:
		return 4
	case c >= 'a' && c <= 'z', c >= 0x80:
		return 6
	case c >= 'A' && c <= 'Z':
		return 7
	}
	return 8
}

// A literal is one text to search for.
type literal struct {
	text       string // lower case if folded
	rare, next int    // where its two rarest bytes stand
}

func newLiteral(text string) literal {
	l := literal{text: text}
	for i := range len(text) {
		switch {
		case rarity(text[i]) > rarity(text[l.rare]):
			l.rare = i
		}
	}
	l.next = -1
	for i := range len(text) {
		if i != l.rare && text[i] != text[l.rare] && (l.next < 0 || rarity(text[i]) > rarity(text[l.next])) {
			l.next = i
		}
	}
	if l.next < 0 {
		l.next = len(text) - 1
	}
	return l
}

// A filter searches for any of several literals. It does not change.
type filter struct {
	lits   []literal
	fold   bool
	single bool
	many   *shifts // for more literals than are worth a pass each
}

// maxPasses is the number of literals that are searched for one by one.
const maxPasses = 4

// newFilter returns nil if nothing is required.
func newFilter(l literals, fold bool) *filter {
	must, _ := l.best()
	if must == nil {
		return nil
	}
	must = withoutLonger(must)
	f := &filter{fold: fold, single: len(must) == 1}
	for _, text := range must {
		f.lits = append(f.lits, newLiteral(text))
	}
	if len(f.lits) > maxPasses {
		f.many = newShifts(f.lits, fold)
	}
	return f
}

// withoutLonger drops literals that start with another of the list.
func withoutLonger(must []string) []string {
	must = slices.Clone(must)
	slices.Sort(must)
	must = slices.Compact(must)
	if len(must) > maxLiterals {
		return must
	}
	var out []string
	for _, a := range must {
		if !slices.ContainsFunc(must, func(b string) bool { return a != b && strings.HasPrefix(a, b) }) {
			out = append(out, a)
		}
	}
	return out
}

// worth reports whether the filter is likely to pass over much of a text.
func (f *filter) worth() bool {
	for _, l := range f.lits {
		if len(l.text) == 1 && rarity(l.text[0]) < 2 {
			return false
		}
	}
	return len(f.lits) <= 16 || len(f.lits[0].text) > 2
}

// A cursor goes through one text and remembers where each literal comes next.
type cursor struct {
	filter *filter
	at     [maxPasses]int
	dense  bool // the rare byte turned out to be common
}

func (c *cursor) reset() {
	for i := range c.at {
		c.at[i] = -1
	}
	c.dense = false
}

const nowhere = int(^uint(0) >> 1)

// next returns the place of the first literal at from or later, or -1.
func (c *cursor) next(b []byte, from int) int {
	if c.filter.many != nil {
		return c.filter.many.next(b, from)
	}
	if c.filter.single {
		return c.find(&c.filter.lits[0], b, from)
	}
	best := nowhere
	for i := range c.filter.lits {
		if c.at[i] < from {
			if c.at[i] = c.find(&c.filter.lits[i], b, from); c.at[i] < 0 {
				c.at[i] = nowhere
			}
		}
		best = min(best, c.at[i])
	}
	if best == nowhere {
		return -1
	}
	return best
}

func (c *cursor) find(l *literal, b []byte, from int) int {
	switch {
	case c.filter.fold:
		return l.findPair(b, from, 0x2020202020202020)
	case len(l.text) == 1:
		return after(from, bytes.IndexByte(b[from:], l.text[0]))
	case c.dense:
		return l.findPair(b, from, 0)
	}
	return c.findRare(l, b, from)
}

func after(from, i int) int {
	if i < 0 {
		return -1
	}
	return from + i
}

// findRare looks for the rarest byte of the literal, until it turns out that it
// is not rare here.
func (c *cursor) findRare(l *literal, b []byte, from int) int {
	text, rare := l.text, l.text[l.rare]
	tries := 0
	for i := from + l.rare; i < len(b); {
		n := bytes.IndexByte(b[i:], rare)
		if n < 0 {
			return -1
		}
		i += n
		at := i - l.rare
		if at+len(text) <= len(b) && string(b[at:at+len(text)]) == text {
			return at
		}
		i++
		if tries++; tries > 16 && i-from < tries*32 {
			c.dense = true
			return l.findPair(b, at+1, 0)
		}
	}
	return -1
}

// findPair looks at eight places at once for two bytes of the literal. The
// mask is or-ed to what is read: 0x20 in each byte makes letters lower case,
// and other bytes something that the check of the whole text will refuse.
func (l *literal) findPair(b []byte, from int, mask uint64) int {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	want1 := uint64(l.text[l.rare])*ones | mask
	want2 := uint64(l.text[l.next])*ones | mask
	fold := mask != 0
	i := from
	ahead := max(l.rare, l.next)
	for ; i+ahead+8 <= len(b); i += 8 {
		x := (binary.LittleEndian.Uint64(b[i+l.rare:]) | mask) ^ want1
		y := (binary.LittleEndian.Uint64(b[i+l.next:]) | mask) ^ want2
		x |= y
		if (x-ones)&^x&highs == 0 {
			continue
		}
		for hits := (x - ones) &^ x & highs; hits != 0; hits &= hits - 1 {
			if at := i + bits.TrailingZeros64(hits)/8; l.at(b, at, fold) {
				return at
			}
		}
	}
	for ; i+len(l.text) <= len(b); i++ {
		if l.at(b, i, fold) {
			return i
		}
	}
	return -1
}

// at reports whether the literal stands at i.
func (l *literal) at(b []byte, i int, fold bool) bool {
	if i+len(l.text) > len(b) {
		return false
	}
	if !fold {
		return string(b[i:i+len(l.text)]) == l.text
	}
	for j := range len(l.text) {
		if lower(b[i+j], true) != l.text[j] {
			return false
		}
	}
	return true
}

func equalFold(a, b []byte) bool { return bytes.EqualFold(a, b) }
