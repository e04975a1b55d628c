package awk

import "strings"

// place compiles something that can be assigned to and lives in a cell of its
// own. Fields and special variables do not, and yield nil.
func (c *compiler) place(e expr) func(*machine) *value {
	switch e := e.(type) {
	case *indexRef:
		return c.element(e)
	case *varRef:
		c.scalar(e)
		slot := e.sym.slot
		if e.sym.local {
			return func(m *machine) *value { return &m.locals[slot] }
		}
		if slot >= specials {
			return func(m *machine) *value { return &m.globals[slot] }
		}
	}
	return nil
}

// access compiles reading and writing of a field or special variable. Before
// either, begin settles which field is meant.
type access struct {
	begin func(*machine) int
	get   func(*machine, int) value
	set   func(*machine, int, value)
}

func (c *compiler) access(e expr) access {
	switch e := e.(type) {
	case *fieldRef:
		index := c.num(e.index)
		return access{
			func(m *machine) int { return fieldNumber(index(m)) },
			(*machine).field,
			(*machine).setField,
		}
	case *varRef:
		slot := e.sym.slot
		return access{func(*machine) int { return slot }, (*machine).global, (*machine).setGlobal}
	}
	panic(&fatal{1, "cannot assign to a value"})
}

// set compiles an assignment whose value comes from elsewhere.
func (c *compiler) set(e expr) setFn {
	if p := c.place(e); p != nil {
		return func(m *machine, v value) { m.store(p(m), v) }
	}
	a := c.access(e)
	return func(m *machine, v value) { a.set(m, a.begin(m), v) }
}

func (c *compiler) assign(e *assign) valFn {
	if f := c.appending(e); f != nil {
		return f
	}
	right := c.val(e.right)
	if p := c.place(e.left); p != nil {
		return func(m *machine) value {
			v := right(m)
			cell := p(m)
			m.store(cell, v)
			return *cell
		}
	}
	a := c.access(e.left)
	return func(m *machine) value {
		at := a.begin(m)
		v := right(m)
		a.set(m, at, v)
		return v
	}
}

// appending compiles x = x y, which would otherwise copy all of x every time.
// The text grows in a builder instead, of which x is always a piece.
func (c *compiler) appending(e *assign) valFn {
	left, isVar := e.left.(*varRef)
	cat, isConcat := e.right.(*concat)
	if !isVar || !isConcat {
		return nil
	}
	first, ok := cat.parts[0].(*varRef)
	place := c.place(left)
	if !ok || first.sym != left.sym || place == nil {
		return nil
	}
	rest := c.str(&concat{cat.parts[1:]})
	if len(cat.parts) == 2 {
		rest = c.str(cat.parts[1])
	}
	var text *strings.Builder
	return func(m *machine) value {
		more := rest(m)
		cell := place(m)
		old := m.str(cell)
		m.fits(len(old) + len(more))
		if len(old) < 256 {
			m.store(cell, str(old+more))
			return *cell
		}
		if text == nil || text.Len() != len(old) || text.String() != old {
			text = m.newBuilder(text, old)
		}
		m.appendTo(text, more)
		m.store(cell, str(text.String()))
		return *cell
	}
}

// newBuilder starts to gather behind old; what the one before it held is given back.
func (m *machine) newBuilder(was *strings.Builder, old string) *strings.Builder {
	if was != nil {
		m.hold(-was.Cap())
	}
	b := &strings.Builder{}
	m.appendTo(b, old)
	return b
}

// appendTo charges for a builder that is about to grow, then appends.
func (m *machine) appendTo(b *strings.Builder, s string) {
	if need := b.Len() + len(s); need > b.Cap() {
		was := b.Cap()
		m.fits(2 * need)
		b.Grow(need)
		m.hold(b.Cap() - was)
	}
	b.WriteString(s)
}

func (c *compiler) update(e *update) numFn {
	right, line := c.num(e.right), e.line
	op := operation(e.op, line)
	p := c.place(e.left)
	if p == nil {
		a := c.access(e.left)
		return func(m *machine) float64 {
			at := a.begin(m)
			y := right(m)
			x := a.get(m, at)
			n := op(x.num(), y)
			a.set(m, at, num(n))
			return n
		}
	}
	if e.op == tPlus {
		return func(m *machine) float64 {
			y := right(m)
			cell := p(m)
			n := cell.num() + y
			m.storeNum(cell, n)
			return n
		}
	}
	return func(m *machine) float64 {
		y := right(m)
		cell := p(m)
		n := op(cell.num(), y)
		m.storeNum(cell, n)
		return n
	}
}

func (c *compiler) step(e *step) numFn {
	delta, after := e.delta, truth(e.prefix)*e.delta
	if p := c.place(e.left); p != nil {
		return func(m *machine) float64 {
			cell := p(m)
			n := cell.num()
			m.storeNum(cell, n+delta)
			return n + after
		}
	}
	a := c.access(e.left)
	return func(m *machine) float64 {
		at := a.begin(m)
		x := a.get(m, at)
		n := x.num()
		a.set(m, at, num(n+delta))
		return n + after
	}
}

// global reads any global variable, the special ones too.
func (m *machine) global(slot int) value {
	if slot <= vFNR {
		return num(counter(slot)(m))
	}
	return m.globals[slot]
}

// setGlobal assigns to any global variable.
func (m *machine) setGlobal(slot int, v value) {
	switch slot {
	case vNF:
		m.setNF(fieldCount(v.num()))
	case vNR:
		m.nr = v.num()
	case vFNR:
		m.fnr = v.num()
	default:
		m.store(&m.globals[slot], v)
		if slot < specials {
			m.refresh(slot)
		}
	}
}

func fieldCount(n float64) int {
	if n < 0 {
		fail(1, "NF set to negative value")
	}
	return whole(n)
}

// refresh works out what a special variable means after it changed.
func (m *machine) refresh(slot int) {
	s := m.str(&m.globals[slot])
	switch slot {
	case vFS:
		m.fs = m.newSplitter(s)
	case vFPAT:
		m.fs = &splitter{kind: byContent, re: m.regex(s)}
	case vFIELDWIDTHS:
		m.fs = &splitter{kind: byWidth, widths: parseWidths(s)}
	case vRS:
		m.rs = m.newRecordEnd(s)
	case vOFS:
		m.ofs = s
	case vORS:
		m.ors = s
	case vSUBSEP:
		m.subsep = s
	case vCONVFMT:
		m.convfmt = s
	case vOFMT:
		m.ofmt = s
	case vIGNORECASE:
		m.ignoreCase = m.globals[slot].bool()
	}
}
