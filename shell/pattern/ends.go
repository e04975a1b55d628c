package pattern

import "slices"

// want says which of the positions that are reached are of interest. More may
// be returned.
type want uint8

const (
	all   want = iota
	first      // only the nearest
	last       // only the furthest
)

// ends returns the positions that a sequence leads to from any of a set. The
// result may share memory with the set.
func (r *run) ends(seq []node, set positions, w want) positions {
	for i := range seq {
		n, want := &seq[i], w
		if r.back {
			n = &seq[len(seq)-1-i]
		}
		if i < len(seq)-1 {
			want = all
			if following := r.following(seq, i); following.kind == anyText {
				want = first
			}
		}
		if set = r.step(n, set, want); len(set) == 0 || r.stopped {
			return nil
		}
	}
	return set
}

// following returns the node behind the one that is matched as the i-th.
func (r *run) following(seq []node, i int) *node {
	if r.back {
		return &seq[len(seq)-2-i]
	}
	return &seq[i+1]
}

// step is ends for one node.
func (r *run) step(n *node, set positions, w want) positions {
	if !r.spend(1) {
		return nil
	}
	switch n.kind {
	case anyText:
		at, _ := set.min()
		return append(r.small(), interval{at, len(r.s)})
	case anyChar:
		return r.shift(n.count, set)
	case group:
		return r.group(n, set, w)
	case literal:
		if !r.fold {
			return r.occurrences(n.text, set, w)
		}
	}
	if len(set) == 1 && set[0].lo == set[0].hi {
		if at := r.one(n, set[0].lo); at >= 0 {
			return r.point(at)
		}
		return nil
	}
	var out positions
	r.each(set, func(at int) bool {
		if at = r.one(n, at); at >= 0 {
			out = out.keep(at, w)
		}
		return at < 0 || w != first
	})
	return out
}

// keep adds a position that was found, in place of the others if only the
// furthest is wanted.
func (s positions) keep(at int, w want) positions {
	if w == last && len(s) > 0 {
		s[0] = interval{max(s[0].lo, at), max(s[0].hi, at)}
		return s
	}
	return s.add(at, at)
}

// each calls f with every position of a set until it answers false.
func (r *run) each(set positions, f func(at int) bool) {
	for _, x := range set {
		for at := x.lo; at <= x.hi; {
			if !r.spend(2) || !f(at) {
				return
			}
			if at >= len(r.s) {
				break
			}
			_, at = r.next(at)
		}
	}
}

// occurrences finds a literal at the positions of a set.
func (r *run) occurrences(text string, set positions, w want) positions {
	out := r.small()
	for _, x := range set {
		for at := x.lo; at <= x.hi; {
			if at = r.index(text, at, x.hi); at < 0 || !r.spend(2) {
				break
			}
			if out = out.keep(at+len(text), w); w == first {
				return out
			}
			_, at = r.next(at)
		}
	}
	return out
}

// shift moves a set over count characters.
func (r *run) shift(count int, set positions) positions {
	out := r.small()
	for _, x := range set {
		lo := r.skip(count, x.lo)
		if lo < 0 || !r.spend(2*count) {
			break
		}
		hi := lo
		if x.hi > x.lo {
			if hi = r.skip(count, x.hi); hi < 0 {
				hi = len(r.s)
			}
		}
		out = out.add(lo, hi)
	}
	return out
}

// group matches an extended form.
func (r *run) group(n *node, set positions, w want) positions {
	switch {
	case n.op == '@':
		return r.alternatives(n, set, w)
	case n.op == '?':
		return slices.Clone(set).union(r.alternatives(n, set, w))
	case n.op == '!':
		return r.others(n, set, w)
	case n.runs:
		return r.runsOf(n, set)
	}
	return r.closure(n, set)
}

// alternatives returns a set of its own.
func (r *run) alternatives(n *node, set positions, w want) positions {
	var out positions
	for _, alt := range n.alts {
		found := r.ends(alt, set, w)
		if !r.spend(len(found) + len(out)) {
			return nil
		}
		if len(alt) == 0 { // found is the set itself
			found = slices.Clone(found)
		}
		out = out.union(found)
	}
	return out
}

// closure matches *( ) and +( ): again and again, from what was reached for the
// first time.
func (r *run) closure(n *node, set positions) positions {
	var out positions
	if n.op == '*' {
		out = slices.Clone(set)
	}
	for len(set) > 0 {
		found := r.minus(r.alternatives(n, set, all), out)
		if !r.spend(len(found) + len(out)/8) {
			return nil
		}
		set = slices.Clone(found)
		out = out.union(found)
	}
	return out
}

// runsOf is closure for alternatives of one character each.
func (r *run) runsOf(n *node, set positions) positions {
	out := r.small()
	done := -1 // everything from the set up to here has been looked at
	for _, x := range set {
		at := x.lo
		if at <= done {
			if x.hi <= done || done >= len(r.s) {
				continue
			}
			_, at = r.next(done)
		}
		for at <= x.hi && r.spend(2) {
			begin, end := r.stretch(n, at)
			if n.op == '*' {
				begin = at
			}
			if begin <= end {
				out = out.add(begin, end)
			}
			if done = end; end >= len(r.s) {
				return out
			}
			_, at = r.next(end)
		}
	}
	return out
}

// stretch returns how far characters of the alternatives reach from a position,
// and where the first of them ends, which is behind end if there is none.
func (r *run) stretch(n *node, at int) (begin, end int) {
	begin, end = at+1, at
	for end < len(r.s) && r.spend(2) {
		behind := r.single(n, end)
		if behind < 0 {
			break
		}
		if end == at {
			begin = behind
		}
		end = behind
	}
	return begin, end
}

func (r *run) single(n *node, at int) int {
	for i := range n.alts {
		if behind := r.one(&n.alts[i][0], at); behind >= 0 {
			return behind
		}
	}
	return -1
}

// others matches !( ): from each position everything that the alternatives do
// not lead to.
func (r *run) others(n *node, set positions, w want) positions {
	var out positions
	end := len(r.s)
	r.each(set, func(at int) bool {
		if k := len(out); k > 0 && out[k-1].hi == end && (w != all || out[k-1].lo <= at) && w != first {
			return false // there is nothing more to be found
		}
		if near, ok := out.min(); ok && w == first && near <= at {
			return false
		}
		taken := r.alternatives(n, r.point(at), all)
		left := r.minus(append(r.small(), interval{at, end}), taken)
		if !r.spend(len(taken) + len(left) + len(out)) {
			return false
		}
		out = out.union(left)
		return true
	})
	return out
}

// minus returns what is in s and not in t.
func (r *run) minus(s, t positions) positions {
	if len(s) == 0 || len(t) == 0 || t[len(t)-1].hi < s[0].lo {
		return s
	}
	from, _ := slices.BinarySearchFunc(t, s[0].lo, func(x interval, at int) int { return x.hi - at })
	t = t[from:]
	out := r.small()
	for _, x := range s {
		for len(t) > 0 && t[0].hi < x.lo {
			t = t[1:]
		}
		out = r.without(out, x, t)
	}
	return out
}

// without adds to out what is left of x.
func (r *run) without(out positions, x interval, t positions) positions {
	for _, y := range t {
		if y.lo > x.hi {
			break
		}
		if y.lo > x.lo {
			out = append(out, interval{x.lo, r.before(y.lo)})
		}
		if y.hi >= len(r.s) {
			return out
		}
		_, x.lo = r.next(y.hi)
	}
	if x.lo <= x.hi {
		out = append(out, x)
	}
	return out
}

// before returns the position of the character before one.
func (r *run) before(at int) int {
	other := run{s: r.s, back: !r.back}
	_, behind := other.next(len(r.s) - at)
	return len(r.s) - behind
}
