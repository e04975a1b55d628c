package regex

import "slices"

// reduce returns a tree that matches somewhere in a text whenever n does, but
// is cheaper: nothing is captured, and what may be repeated at either edge is
// repeated as seldom as possible. The bounds of matches are not the same.
func reduce(n *node) *node {
	n = flatten(n)
	n = trim(n, true)
	return flatten(trim(n, false))
}

// flatten drops groups and joins sequences.
func flatten(n *node) *node {
	switch n.op {
	case opGroup:
		return flatten(n.subs[0])
	case opCat:
		var subs []*node
		for _, s := range n.subs {
			s = flatten(s)
			switch s.op {
			case opEmpty:
			case opCat:
				subs = append(subs, s.subs...)
			default:
				subs = append(subs, s)
			}
		}
		return cat(subs...)
	case opAlt:
		subs := make([]*node, len(n.subs))
		for i, s := range n.subs {
			subs[i] = flatten(s)
		}
		return shareStarts(subs, 0)
	case opRepeat:
		c := *n
		c.subs = []*node{flatten(n.subs[0])}
		if c.min == c.max && c.min <= 16 && c.subs[0].op == opSet {
			return cat(slices.Repeat(c.subs, c.min)...)
		}
		return &c
	}
	return n
}

// shareStarts makes a tree of alternatives that start with the same character,
// so that a list of thousands of words is not tried one by one.
func shareStarts(subs []*node, depth int) *node {
	if len(subs) < 4 || depth > maxNesting {
		return alt(subs)
	}
	var order []string
	groups := map[string][]*node{}
	for _, s := range subs {
		head := s
		if s.op == opCat && len(s.subs) > 0 {
			head = s.subs[0]
		}
		if head.op != opSet {
			return alt(subs)
		}
		key := string(head.set.pairs)
		if len(head.set.pairs) > 8 {
			return alt(subs)
		}
		if groups[key] == nil {
			order = append(order, key)
		}
		groups[key] = append(groups[key], s)
	}
	if len(order) == len(subs) {
		return alt(subs)
	}
	var out []*node
	for _, key := range order {
		out = append(out, shareStart(groups[key], depth))
	}
	return alt(out)
}

// shareStart puts the common first character before the rests.
func shareStart(subs []*node, depth int) *node {
	if len(subs) == 1 {
		return subs[0]
	}
	head := subs[0]
	var rests []*node
	for _, s := range subs {
		rest := &node{op: opEmpty}
		if s.op == opCat {
			head = s.subs[0]
			rest = cat(s.subs[1:]...)
		}
		rests = append(rests, rest)
	}
	return cat(head, shareStarts(rests, depth+1))
}

// trim cuts the repeats at one edge of n.
func trim(n *node, left bool) *node {
	switch n.op {
	case opRepeat:
		switch {
		case n.min == 0:
			return &node{op: opEmpty}
		case n.min == 1:
			return trim(n.subs[0], left)
		case n.min <= 16 && n.subs[0].op == opSet:
			return cat(slices.Repeat(n.subs, n.min)...)
		}
		return &node{op: opRepeat, subs: n.subs, min: n.min, max: n.min}
	case opAlt:
		subs := make([]*node, len(n.subs))
		for i, s := range n.subs {
			subs[i] = trim(s, left)
		}
		return alt(subs)
	case opCat:
		return trimCat(slices.Clone(n.subs), left)
	}
	return n
}

func trimCat(subs []*node, left bool) *node {
	for len(subs) > 0 {
		edge := 0
		if !left {
			edge = len(subs) - 1
		}
		subs[edge] = trim(subs[edge], left)
		if subs[edge].op != opEmpty {
			break
		}
		if left {
			subs = subs[1:]
		} else {
			subs = subs[:edge]
		}
	}
	return cat(subs...)
}
