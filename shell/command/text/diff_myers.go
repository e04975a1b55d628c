package text

import (
	"context"
	"hako/shell/command/internal/cli"
	"math"
)

// A lineMatcher finds which lines of two files correspond. Lines are numbers:
// equal numbers are equal lines. The method is Myers' greedy comparison from
// both ends, dividing at the middle, so that memory stays linear.
type lineMatcher struct {
	ctx       context.Context
	a, b      []int32
	delA      []bool // lines of a without partner
	insB      []bool // lines of b without partner
	fwd, bwd  []int  // furthest column on each diagonal, from both ends
	shift     int    // where diagonal zero lies in them
	costLimit int    // edits after which the best guess is good enough
}

// minCost is how many edits are always searched exactly.
const minCost = 512

// matchLines reports for each line whether it has no partner in the other file.
func matchLines(ctx context.Context, a, b []int32) (delA, insB []bool) {
	delA, insB = make([]bool, len(a)), make([]bool, len(b))
	ka, kb := keepShared(a, b, delA), keepShared(b, a, insB)
	m := &lineMatcher{ctx: ctx, a: pick(a, ka), b: pick(b, kb)}
	m.delA, m.insB = make([]bool, len(ka)), make([]bool, len(kb))
	size := len(ka) + len(kb) + 3
	m.fwd, m.bwd, m.shift = make([]int, size), make([]int, size), len(kb)+1
	m.costLimit = max(minCost, int(math.Sqrt(float64(size))))
	m.compare(0, len(ka), 0, len(kb))
	for i, at := range ka {
		delA[at] = m.delA[i]
	}
	for i, at := range kb {
		insB[at] = m.insB[i]
	}
	return delA, insB
}

// keepShared marks the lines that do not occur in the other file and returns the positions
// of the others, which have to be searched.
func keepShared(lines, other []int32, alone []bool) []int {
	var top int32
	for _, id := range other {
		top = max(top, id)
	}
	seen := make([]bool, top+1)
	for _, id := range other {
		seen[id] = true
	}
	var kept []int
	for i, id := range lines {
		if id <= top && seen[id] {
			kept = append(kept, i)
		} else {
			alone[i] = true
		}
	}
	return kept
}

func pick(lines []int32, places []int) []int32 {
	out := make([]int32, len(places))
	for i, at := range places {
		out[i] = lines[at]
	}
	return out
}

// compare marks the differences between a[a0:a1] and b[b0:b1].
func (m *lineMatcher) compare(a0, a1, b0, b1 int) {
	for {
		for a0 < a1 && b0 < b1 && m.a[a0] == m.b[b0] {
			a0, b0 = a0+1, b0+1
		}
		for a0 < a1 && b0 < b1 && m.a[a1-1] == m.b[b1-1] {
			a1, b1 = a1-1, b1-1
		}
		x, y := a0, b0
		if a0 < a1 && b0 < b1 {
			x, y = m.middle(a0, a1, b0, b1)
		}
		if x == a0 && y == b0 || x == a1 && y == b1 { // one side is empty, or the search gave up
			mark(m.delA[a0:a1])
			mark(m.insB[b0:b1])
			return
		}
		m.compare(a0, x, b0, y)
		a0, b0 = x, y
	}
}

func mark(flags []bool) {
	for i := range flags {
		flags[i] = true
	}
}

// A stretch is the range of diagonals one side has reached.
type stretch struct{ lo, hi int }

// widen grows the range by one diagonal on either side, or shrinks it where
// the edge of the table was passed. The new edge is marked as not reached.
func (s *stretch) widen(table []int, shift, least, most, unreached int) {
	if s.lo > least {
		s.lo--
		table[shift+s.lo-1] = unreached
	} else {
		s.lo++
	}
	if s.hi < most {
		s.hi++
		table[shift+s.hi+1] = unreached
	} else {
		s.hi--
	}
}

// middle finds a point on a shortest path through the edit graph, or on a good
// one if the search gets too expensive.
func (m *lineMatcher) middle(a0, a1, b0, b1 int) (x, y int) {
	least, most := a0-b1, a1-b0
	start, goal := a0-b0, a1-b1
	odd := (start-goal)&1 != 0
	f, b := stretch{start, start}, stretch{goal, goal}
	m.fwd[m.shift+start], m.bwd[m.shift+goal] = a0, a1
	for cost := 1; ; cost++ {
		cli.Check(context.Cause(m.ctx))
		f.widen(m.fwd, m.shift, least, most, -1)
		for d := f.hi; d >= f.lo; d -= 2 {
			x := m.forward(d, a1, b1)
			if odd && b.lo <= d && d <= b.hi && m.bwd[m.shift+d] <= x {
				return x, x - d
			}
		}
		b.widen(m.bwd, m.shift, least, most, math.MaxInt)
		for d := b.hi; d >= b.lo; d -= 2 {
			x := m.backward(d, a0, b0)
			if !odd && f.lo <= d && d <= f.hi && x <= m.fwd[m.shift+d] {
				return x, x - d
			}
		}
		if cost >= m.costLimit {
			return m.guess(f, b, a0, a1, b0, b1)
		}
	}
}

// forward takes one more edit on diagonal d, then all equal lines that follow.
func (m *lineMatcher) forward(d, a1, b1 int) int {
	left, right := m.fwd[m.shift+d-1], m.fwd[m.shift+d+1]
	x := left + 1
	if left < right {
		x = right
	}
	for x < a1 && x-d < b1 && m.a[x] == m.b[x-d] {
		x++
	}
	m.fwd[m.shift+d] = x
	return x
}

func (m *lineMatcher) backward(d, a0, b0 int) int {
	left, right := m.bwd[m.shift+d-1], m.bwd[m.shift+d+1]
	x := right - 1
	if left < right {
		x = left
	}
	for x > a0 && x-d > b0 && m.a[x-1] == m.b[x-d-1] {
		x--
	}
	m.bwd[m.shift+d] = x
	return x
}

// guess picks the point that got furthest from either corner.
func (m *lineMatcher) guess(f, b stretch, a0, a1, b0, b1 int) (x, y int) {
	far, fx, fy := -1, a0, b0
	for d := f.lo; d <= f.hi; d += 2 {
		x := m.fwd[m.shift+d]
		y := x - d
		if x <= a1 && y <= b1 && x+y > far {
			far, fx, fy = x+y, x, y
		}
	}
	near, bx, by := math.MaxInt, a1, b1
	for d := b.lo; d <= b.hi; d += 2 {
		x := m.bwd[m.shift+d]
		y := x - d
		if x >= a0 && y >= b0 && x+y < near {
			near, bx, by = x+y, x, y
		}
	}
	if (a1+b1)-near < far-(a0+b0) {
		return fx, fy
	}
	return bx, by
}

// slideBlocks moves each block of changed lines that could lie in several places. Blocks
// that meet are joined. Then a block goes as far down as it can, but prefers to lie beside
// a change of the other file. lines are those of the file, changed and other the flags of
// this file and the other.
func slideBlocks(lines []int32, changed, other []bool) {
	b := block{lines: lines, changed: changed, other: other}
	for {
		for b.start = b.end; b.start < len(lines) && !changed[b.start]; b.start++ {
			b.beside = nextKept(other, b.beside) + 1
		}
		if b.start >= len(lines) {
			return
		}
		b.end = nextKept(changed, b.start)
		b.slide()
	}
}

// nextKept returns the position of the first unchanged line at or after i.
func nextKept(flags []bool, i int) int {
	for i < len(flags) && flags[i] {
		i++
	}
	return i
}

// A block is a run of changed lines that slides. beside is the position in the other file
// right after as many unchanged lines as come before the block.
type block struct {
	lines          []int32
	changed, other []bool
	start, end     int
	beside         int
}

func (b *block) slide() {
	for {
		length := b.end - b.start
		for b.up() {
		}
		match := -1
		if b.besideChange() {
			match = b.end
		}
		for b.down() {
			if b.besideChange() {
				match = b.end
			}
		}
		if b.end-b.start != length {
			continue // it met another block; the joined block may slide further
		}
		for match >= 0 && b.end > match && b.up() {
		}
		return
	}
}

// besideChange reports whether the other file has a change at this place.
func (b *block) besideChange() bool {
	return b.beside < len(b.other) && b.other[b.beside]
}

func (b *block) up() bool {
	if b.start == 0 || b.lines[b.start-1] != b.lines[b.end-1] {
		return false
	}
	b.start, b.end = b.start-1, b.end-1
	b.changed[b.start], b.changed[b.end] = true, false
	for b.beside--; b.beside > 0 && b.other[b.beside-1]; b.beside-- {
	}
	for b.start > 0 && b.changed[b.start-1] {
		b.start--
	}
	return true
}

func (b *block) down() bool {
	if b.end >= len(b.lines) || b.lines[b.start] != b.lines[b.end] {
		return false
	}
	b.changed[b.start], b.changed[b.end] = false, true
	b.start, b.end = b.start+1, b.end+1
	b.beside = nextKept(b.other, b.beside) + 1
	b.end = nextKept(b.changed, b.end)
	return true
}
