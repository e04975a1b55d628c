package pattern

// positions is a set of places in a text: intervals in order, which neither
// overlap nor touch. Of the bytes in an interval only those count at which a
// character starts.
type positions []interval

type interval struct{ lo, hi int }

func (s positions) min() (int, bool) {
	if len(s) == 0 {
		return 0, false
	}
	return s[0].lo, true
}

func (s positions) max() (int, bool) {
	if len(s) == 0 {
		return 0, false
	}
	return s[len(s)-1].hi, true
}

// add puts an interval into the set. It may change s.
func (s positions) add(lo, hi int) positions {
	if n := len(s); n > 0 && s[n-1].hi+1 >= lo {
		if s[n-1].lo <= lo {
			s[n-1].hi = max(s[n-1].hi, hi)
			return s
		}
		return s.union(positions{{lo, hi}})
	}
	return append(s, interval{lo, hi})
}

// union returns what is in either set. It may change s.
func (s positions) union(t positions) positions {
	switch {
	case len(t) == 0:
		return s
	case len(s) == 0:
		return t
	case s[len(s)-1].hi < t[0].lo:
		for _, x := range t {
			s = s.add(x.lo, x.hi)
		}
		return s
	}
	out := make(positions, 0, len(s)+len(t))
	for len(s) > 0 || len(t) > 0 {
		if len(t) == 0 || len(s) > 0 && s[0].lo <= t[0].lo {
			out = out.add(s[0].lo, s[0].hi)
			s = s[1:]
		} else {
			out = out.add(t[0].lo, t[0].hi)
			t = t[1:]
		}
	}
	return out
}

// mirror counts the positions of a text of n bytes from its other end.
func (s positions) mirror(n int) positions {
	out := make(positions, len(s))
	for i, x := range s {
		out[len(s)-1-i] = interval{n - x.hi, n - x.lo}
	}
	return out
}
