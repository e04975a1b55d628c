package regex

import "unicode/utf8"

// A sequence is a pattern that is one set of ASCII characters after the other,
// up to 63 of them. It is searched by shifting one bit per set through a word:
// bit i is set while the last i+1 bytes are in the first i+1 sets.
type sequence struct {
	masks [256]uint64
	size  int
	last  uint64
}

// newSequence returns nil if n is anything else.
func newSequence(n *node) *sequence {
	subs := []*node{n}
	if n.op == opCat {
		subs = n.subs
	}
	if len(subs) > 63 || len(subs) == 0 {
		return nil
	}
	s := &sequence{size: len(subs), last: 1 << (len(subs) - 1)}
	for i, sub := range subs {
		if sub.op != opSet || sub.set.pairs[len(sub.set.pairs)-1] >= utf8.RuneSelf || sub.set.has('\n') {
			return nil
		}
		for c := range rune(utf8.RuneSelf) {
			if sub.set.has(c) {
				s.masks[c] |= 1 << i
			}
		}
	}
	return s
}

// at reports whether the sequence stands at i.
func (s *sequence) at(b []byte, i int) bool {
	if i+s.size > len(b) {
		return false
	}
	for j := range s.size {
		if s.masks[b[i+j]]>>j&1 == 0 {
			return false
		}
	}
	return true
}

// next returns the place of the last byte of the first match, or -1.
func (s *sequence) next(b []byte, from int) int {
	var d uint64
	i, last := from, s.last
	for ; i+8 <= len(b); i += 8 {
		c := b[i : i+8 : i+8]
		d0 := (d<<1 | 1) & s.masks[c[0]]
		d1 := (d0<<1 | 1) & s.masks[c[1]]
		d2 := (d1<<1 | 1) & s.masks[c[2]]
		d3 := (d2<<1 | 1) & s.masks[c[3]]
		d4 := (d3<<1 | 1) & s.masks[c[4]]
		d5 := (d4<<1 | 1) & s.masks[c[5]]
		d6 := (d5<<1 | 1) & s.masks[c[6]]
		d7 := (d6<<1 | 1) & s.masks[c[7]]
		if (d0|d1|d2|d3|d4|d5|d6|d7)&last != 0 {
			break
		}
		d = d7
	}
	for ; i < len(b); i++ {
		if d = (d<<1 | 1) & s.masks[b[i]]; d&last != 0 {
			return i
		}
	}
	return -1
}
