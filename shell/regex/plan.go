package regex

import (
	"slices"
	"unicode/utf8"
)

type planKind uint8

const (
	planDFA     planKind = iota // run the automaton over everything
	planAll                     // every line matches
	planLiteral                 // a line matches if it holds one of the literals
	planWindow                  // a literal inside a fixed sequence of sets
	planSets                    // a fixed sequence of sets without a good literal
	planFilter                  // the automaton, on lines with a literal
	planBack                    // the tracker
)

// A plan is how to find the lines of a block that match.
type plan struct {
	kind   planKind
	filter *filter // literals one of which every match holds; nil if unknown
	behind int     // how far before the literal a match can start; -1 is unknown
	sets   *sequence
}

// newPlan decides by the reduced tree.
func newPlan(n *node, fold bool) *plan {
	if n.op == opEmpty || n.op == opCat && len(n.subs) == 0 {
		return &plan{kind: planAll}
	}
	lits := required(n, fold)
	p := &plan{filter: newFilter(lits, fold), behind: -1}
	seq := newSequence(n)
	switch {
	case p.filter != nil && !lits.placed && score(lits.exact) > 0 && score(lits.exact) >= score(lits.must):
		p.kind = planLiteral
	case seq != nil && p.filter != nil && p.filter.worth() && p.filter.single:
		if p.behind = offsetIn(n, p.filter, fold); p.behind >= 0 {
			p.kind, p.sets = planWindow, seq
		} else {
			p.kind, p.behind = planFilter, -1
		}
	case p.filter != nil && p.filter.worth():
		p.kind, p.behind = planFilter, lits.behind
	case seq != nil:
		p.kind, p.sets, p.filter = planSets, seq, nil
	default:
		p.filter = nil
	}
	return p
}

// offsetIn returns where in a sequence of sets the literal of the filter stands.
func offsetIn(n *node, f *filter, fold bool) int {
	subs := []*node{n}
	if n.op == opCat {
		subs = n.subs
	}
	text := f.lits[0].text
next:
	for i := 0; i+len(text) <= len(subs); i++ {
		for j := range text {
			c, ok := literalByte(subs[i+j].set, fold)
			if !ok || c != text[j] {
				continue next
			}
		}
		return i
	}
	return -1
}

// literalByte returns the one byte that s stands for, in lower case if folded.
func literalByte(s *set, fold bool) (byte, bool) {
	if r, ok := s.one(); ok && r < utf8.RuneSelf && r != '\n' {
		return lower(byte(r), fold), true
	}
	if fold && isCasePair(s) {
		return byte(s.pairs[0] | 0x20), true
	}
	return 0, false
}

func isCasePair(s *set) bool {
	p := s.pairs
	return len(p) == 4 && p[0] == p[1] && p[2] == p[3] && p[0] >= 'A' && p[0] <= 'Z' && p[2] == p[0]|0x20
}

func lower(c byte, fold bool) byte {
	if fold && c >= 'A' && c <= 'Z' {
		return c | 0x20
	}
	return c
}

// literals is what is known of the texts a tree matches.
type literals struct {
	exact  []string // all of them, if there are few
	must   []string // one of these is in each; nil if nothing is known
	placed bool     // exact only holds in certain places (an assertion)
	behind int      // the most bytes before the literal of must; -1 is unknown
	width  int      // the most bytes in all; -1 is unknown
}

const (
	maxLiterals = 64
	maxVariants = 8 // that sets may multiply to
	maxLitSize  = 64
)

// required finds the literals of a tree.
func required(n *node, fold bool) literals {
	switch n.op {
	case opSet:
		return setLiterals(n.set, fold)
	case opEmpty, opAssert, opKeep:
		return literals{exact: []string{""}, placed: n.op != opEmpty}
	case opGroup:
		return required(n.subs[0], fold)
	case opAlt:
		return altLiterals(n.subs, fold)
	case opCat:
		return catLiterals(n.subs, fold)
	case opRepeat:
		return repeatLiterals(n, fold)
	}
	return literals{behind: -1, width: -1}
}

// setLiterals knows nothing of a newline, which in a block of lines ends a line
// and belongs to none, nor of a byte that is no character: literals are looked
// for byte by byte, and it may stand inside of one.
func setLiterals(s *set, fold bool) literals {
	if c, ok := literalByte(s, fold); ok {
		return literals{exact: []string{string([]byte{c})}, width: 1}
	}
	width := utf8.UTFMax
	if s.pairs[len(s.pairs)-1] < utf8.RuneSelf {
		width = 1
	}
	count := 0
	for i := 0; i < len(s.pairs); i += 2 {
		if count += int(s.pairs[i+1]-s.pairs[i]) + 1; count > 3 {
			break
		}
	}
	if count > 3 || fold && count > 1 || s.has('\n') || s.pairs[len(s.pairs)-1] >= rawByte {
		return literals{width: width}
	}
	var exact []string
	for i := 0; i < len(s.pairs); i += 2 {
		for r := s.pairs[i]; r <= s.pairs[i+1]; r++ {
			exact = append(exact, string(appendChar(nil, r)))
		}
	}
	return literals{exact: exact, width: width}
}

func altLiterals(subs []*node, fold bool) literals {
	all := literals{exact: []string{}, must: []string{}}
	for _, s := range subs {
		l := required(s, fold)
		all.placed = all.placed || l.placed
		all.width = widest(all.width, l.width)
		if l.exact == nil || all.exact == nil || len(all.exact)+len(l.exact) > max(maxLiterals, 2*len(subs)) {
			all.exact = nil
		} else {
			all.exact = append(all.exact, l.exact...)
		}
		must, behind := l.best()
		if must == nil || all.must == nil {
			all.must = nil
			continue
		}
		all.must = append(all.must, must...)
		all.behind = widest(all.behind, behind)
	}
	return all
}

// best returns the literals to search for.
func (l literals) best() ([]string, int) {
	if l.exact != nil && score(l.exact) >= score(l.must) && score(l.exact) > 0 {
		return l.exact, 0
	}
	if score(l.must) == 0 {
		return nil, -1
	}
	return l.must, l.behind
}

func widest(a, b int) int {
	if a < 0 || b < 0 {
		return -1
	}
	return max(a, b)
}

func sum(a, b int) int {
	if a < 0 || b < 0 {
		return -1
	}
	return a + b
}

// catLiterals joins exact parts that stand side by side.
func catLiterals(subs []*node, fold bool) literals {
	all := literals{}
	run, runAt := []string{""}, 0
	exact := true
	keep := func(must []string, behind int) {
		if score(must) > score(all.must) {
			all.must, all.behind = must, behind
		}
	}
	for _, s := range subs {
		l := required(s, fold)
		all.placed = all.placed || l.placed
		if joined := cross(run, l.exact); joined != nil {
			run = joined
		} else {
			exact = false
			keep(run, runAt)
			if must, behind := l.best(); must != nil {
				keep(must, sum(all.width, behind))
			}
			run, runAt = []string{""}, sum(all.width, l.width)
			if l.exact != nil && len(l.exact) <= maxVariants {
				run, runAt = l.exact, all.width
			}
		}
		all.width = sum(all.width, l.width)
	}
	keep(run, runAt)
	if exact {
		all.exact = run
	}
	return all
}

// cross returns all ways to put one of b after one of a, or nil if those are too many.
func cross(a, b []string) []string {
	if b == nil || len(a)*len(b) > maxVariants && len(a) > 1 && len(b) > 1 || len(a)*len(b) > maxLiterals {
		return nil
	}
	var out []string
	for _, x := range a {
		for _, y := range b {
			if len(x)+len(y) > maxLitSize {
				return nil
			}
			out = append(out, x+y)
		}
	}
	return out
}

func repeatLiterals(n *node, fold bool) literals {
	if n.min == 0 {
		return literals{width: n.bytes(required(n.subs[0], fold).width)}
	}
	l := required(n.subs[0], fold)
	all := literals{width: n.bytes(l.width), placed: l.placed}
	all.must, all.behind = l.best()
	if len(l.exact) == 1 && n.min <= 8 {
		if run := slices.Repeat([]byte(l.exact[0]), n.min); len(run) <= maxLitSize {
			if n.min == n.max {
				all.exact = []string{string(run)}
			}
			all.must, all.behind = []string{string(run)}, 0
		}
	}
	return all
}

// bytes returns the most bytes of a repeat of something width bytes wide.
func (n *node) bytes(width int) int {
	if n.max < 0 || width < 0 {
		return -1
	}
	return n.max * width
}

// score says how well a list of literals narrows a search: long, few, rare.
func score(lits []string) int {
	if len(lits) == 0 {
		return 0
	}
	least := 1 << 20
	for _, l := range lits {
		rare := 0
		for i := range len(l) {
			rare = max(rare, rarity(l[i]))
		}
		least = min(least, len(l)*8+rare)
		if l == "" {
			return 0
		}
	}
	return max(1, least-min(len(lits)-1, 6))
}
