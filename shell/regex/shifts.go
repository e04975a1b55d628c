package regex

import "slices"

// shifts searches for many literals at once in the manner of Wu and Manber: a
// table by the hash of two bytes says how far the search may jump.
type shifts struct {
	fold bool
	size int // of the shortest literal, as far as the table looks
	jump [4096]uint8
	ends map[uint16][]literal // by hash of the two bytes at size-2
	one  [256]bool            // for literals of one byte
	lits []literal
}

func newShifts(lits []literal, fold bool) *shifts {
	s := &shifts{fold: fold, size: 1 << 20, ends: map[uint16][]literal{}, lits: lits}
	for _, l := range lits {
		s.size = min(s.size, len(l.text), 200)
	}
	if s.size < 2 {
		for _, l := range lits {
			s.one[l.text[0]] = true
		}
		return s
	}
	for i := range s.jump {
		s.jump[i] = uint8(s.size - 1)
	}
	for _, l := range lits {
		for j := 0; j+2 <= s.size; j++ {
			h := pairHash(l.text[j], l.text[j+1])
			s.jump[h] = min(s.jump[h], uint8(s.size-2-j))
		}
		h := pairHash(l.text[s.size-2], l.text[s.size-1])
		s.ends[h] = append(s.ends[h], l)
	}
	for _, list := range s.ends {
		slices.SortStableFunc(list, func(a, b literal) int { return len(b.text) - len(a.text) })
	}
	return s
}

// pairHash ignores case, so that one table serves both.
func pairHash(a, b byte) uint16 { return uint16(a&0x5f)<<5 ^ uint16(b&0x5f)&0xfff }

func (s *shifts) next(b []byte, from int) int {
	if s.size < 2 {
		return s.nextByte(b, from)
	}
	for i := from + s.size - 2; i+1 < len(b); {
		h := pairHash(b[i], b[i+1])
		if j := s.jump[h]; j > 0 {
			i += int(j)
			continue
		}
		at := i - s.size + 2
		for k := range s.ends[h] {
			if s.ends[h][k].at(b, at, s.fold) {
				return at
			}
		}
		i++
	}
	return -1
}

// nextByte serves lists that hold a literal of a single byte.
func (s *shifts) nextByte(b []byte, from int) int {
	for i := from; i < len(b); i++ {
		if !s.one[lower(b[i], s.fold)] {
			continue
		}
		for k := range s.lits {
			if s.lits[k].at(b, i, s.fold) {
				return i
			}
		}
	}
	return -1
}
