package regex

// A tracker runs a program by trying one way after the other. It is for what
// the automaton cannot tell: sub-matches, back-references, looking around.
// It is for one goroutine.
type tracker struct {
	prog    *prog
	b       []byte
	slots   []int
	best    []int // the longest match so far
	longest bool  // look on for longer matches after the first
	want    int   // where the match must end, or -1
	budget  *budget
	stack   []step

	visited []uint64 // places tried already; nil if going there again may help
	base    int      // the place of the first bit
	span    int
}

// A step is a place to go on from, or (with a negative pc) a slot to restore.
type step struct{ pc, pos int }

// maxVisited bounds the bits of visited, maxStack the steps kept for later.
const (
	maxVisited = 32 << 20
	maxStack   = 1 << 20
)

// release lets go of scratch space that one hard text made large.
func (t *tracker) release() {
	if cap(t.stack) > maxStack/16 {
		t.stack = nil
	}
	if cap(t.visited) > maxVisited/64/64 {
		t.visited = nil
	}
	t.b = nil
}

// remember makes the tracker skip places it has tried between lo and hi. This
// bounds the work, but is wrong where the past matters (back-references).
func (t *tracker) remember(lo, hi int) {
	t.base, t.span = lo, hi-lo+1
	bits := t.span * len(t.prog.insts)
	if bits > maxVisited || bits < 0 {
		t.visited = nil
		return
	}
	words := bits/64 + 1
	if cap(t.visited) < words {
		t.visited = make([]uint64, words)
		return
	}
	t.visited = t.visited[:words]
	clear(t.visited)
}

// run looks for a match that starts at pos; the result is in best.
func (t *tracker) run(pos int) bool {
	t.slots = t.slots[:0]
	for range t.prog.slots {
		t.slots = append(t.slots, -1)
	}
	t.slots[0] = pos
	t.best = t.best[:0]
	t.stack = t.stack[:0]
	t.try(int(t.prog.start), pos)
	return len(t.best) > 0
}

// try goes on from a place until there is a match to keep or nothing is left,
// and leaves the stack as it was. It returns the end of the match, or -1.
func (t *tracker) try(pc, pos int) int {
	floor := len(t.stack)
	t.stack = append(t.stack, step{pc, pos})
	for len(t.stack) > floor {
		s := t.stack[len(t.stack)-1]
		t.stack = t.stack[:len(t.stack)-1]
		if s.pc < 0 {
			t.slots[-s.pc-1] = s.pos
			continue
		}
		end := t.follow(s.pc, s.pos)
		if end >= 0 || t.budget.over() {
			t.stack = t.stack[:floor]
			return end
		}
	}
	return -1
}

// follow runs until it must choose another way. It returns the end of a match
// that settles the search, or -1.
func (t *tracker) follow(pc, pos int) int {
	for {
		if t.budget.left--; t.budget.over() {
			return -1
		}
		in := &t.prog.insts[pc]
		switch in.op {
		case iSet:
			if pos >= len(t.b) || pos == t.want {
				return -1
			}
			r, w := decode(t.b, pos)
			if !in.set.has(r) {
				return -1
			}
			pos += w
		case iSplit:
			if t.seen(pc, pos) {
				return -1
			}
			t.stack = append(t.stack, step{int(in.alt), pos})
			if len(t.stack) > maxStack {
				t.budget.exhaust()
			}
		case iMatch:
			return t.matched(pos)
		default:
			var ok bool
			if pos, ok = t.check(in, pos); !ok {
				return -1
			}
		}
		pc = int(in.out)
	}
}

func (t *tracker) seen(pc, pos int) bool {
	if t.visited == nil {
		return false
	}
	bit := pc*t.span + pos - t.base
	if t.visited[bit>>6]>>(bit&63)&1 != 0 {
		return true
	}
	t.visited[bit>>6] |= 1 << (bit & 63)
	return false
}

// check runs the instructions that move nothing, and back-references.
func (t *tracker) check(in *inst, pos int) (int, bool) {
	switch in.op {
	case iSave, iMark:
		t.stack = append(t.stack, step{-in.n - 1, t.slots[in.n]})
		t.slots[in.n] = pos
	case iCheck:
		return pos, t.slots[in.n] != pos
	case iAssert:
		end := pos >= len(t.b)
		after := rune(-1)
		if !end {
			after, _ = decode(t.b, pos)
		}
		return pos, holds(in.n, contextAt(t.b, pos), end, after)
	case iRef:
		return t.reference(in.n, pos)
	case iLook:
		return t.look(in, pos)
	case iFail:
		return pos, false
	}
	return pos, true
}

func (t *tracker) reference(n, pos int) (int, bool) {
	lo, hi := t.slots[2*n], t.slots[2*n+1]
	if lo < 0 || hi < lo {
		return pos, false
	}
	size := hi - lo
	t.budget.left -= size / 8
	if pos+size > len(t.b) || !t.same(t.b[lo:hi], t.b[pos:pos+size]) {
		return pos, false
	}
	return pos + size, true
}

func (t *tracker) same(a, b []byte) bool {
	if t.prog.fold {
		return equalFold(a, b)
	}
	return string(a) == string(b)
}

// look runs a program inside the program.
func (t *tracker) look(in *inst, pos int) (int, bool) {
	outer, best := t.want, t.best
	defer func() { t.want = outer }()
	t.best = nil
	end := -1
	if in.n&lookBehind == 0 {
		t.want = -1
		end = t.try(int(in.alt), pos)
	} else {
		t.want = pos
		for from := pos; from >= max(0, pos-255) && end < 0; from-- {
			end = t.try(int(in.alt), from)
		}
	}
	t.best = best
	switch {
	case in.n&lookAtomic != 0:
		return end, end >= 0
	case in.n&lookNot != 0:
		return pos, end < 0
	}
	return pos, end >= 0
}

// matched keeps a match if it is better than what there is, and returns its
// end if none can be better still.
func (t *tracker) matched(pos int) int {
	if t.want >= 0 && pos != t.want {
		return -1
	}
	if len(t.best) == 0 || pos > t.best[1] {
		t.best = append(t.best[:0], t.slots...)
		t.best[1] = pos
	}
	if t.longest && pos < len(t.b) && t.want < 0 {
		return -1
	}
	return pos
}
