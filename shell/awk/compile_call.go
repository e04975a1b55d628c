package awk

import (
	"fmt"
	"slices"
)

// frameCost is what a call costs beside its variables.
const frameCost = 512

// A passing is one argument on its way to a parameter.
type passing struct {
	slot int
	val  valFn                 // of a scalar
	arr  func(*machine) *array // of an array
}

func (c *compiler) call(e *call) valFn {
	c.effects++
	var scalars, arrays []passing
	for i, arg := range e.args {
		p := e.fn.params[i]
		if !p.array {
			scalars = append(scalars, passing{slot: p.slot, val: c.val(arg)})
			continue
		}
		v, ok := arg.(*varRef)
		if !ok {
			panic(&fatal{e.line, fmt.Sprintf("attempt to use scalar parameter `%s' as an array", p.name)})
		}
		arrays = append(arrays, passing{slot: p.slot, arr: c.array(v)})
	}
	fn, line := e.fn, e.line
	return func(m *machine) value {
		m.tick()
		if m.depth >= maxDepth {
			fail(line, "function `%s' calls itself too deep", fn.name)
		}
		base := m.push(fn.scalars)
		for i := range scalars {
			v := scalars[i].val(m)
			m.recharge(0, len(v.s))
			m.stack[base+scalars[i].slot] = v
		}
		tables := m.tablesFor(fn, arrays)
		v := m.enter(fn, base, tables)
		m.pop(fn, base, arrays, tables)
		return v
	}
}

// push makes room for n variables on the stack and returns where.
func (m *machine) push(n int) int {
	cost := frameCost + 32*n
	m.hold(cost)
	m.frames += cost
	base := len(m.stack)
	m.stack = slices.Grow(m.stack, n)[:base+n]
	return base
}

func (m *machine) tablesFor(fn *function, passed []passing) []*array {
	if fn.arrays == 0 {
		return nil
	}
	tables := make([]*array, fn.arrays)
	for _, p := range passed {
		tables[p.slot] = p.arr(m)
	}
	for i := range tables {
		if tables[i] == nil {
			tables[i] = newArray()
		}
	}
	return tables
}

// enter runs the body of a function on the variables from base on.
func (m *machine) enter(fn *function, base int, tables []*array) value {
	under, size, saved := m.base, len(m.locals), m.tables
	m.base, m.locals, m.tables = base, m.stack[base:], tables
	m.depth++
	end := fn.run(m)
	m.depth--
	m.tables = saved
	m.base, m.locals = under, m.stack[under:under+size] // the stack may have moved
	switch end {
	case ctlReturn:
		v := m.ret
		m.ret = value{}
		return v
	case ctlNext, ctlNextFile, ctlExit:
		panic(unwind{end})
	}
	return value{}
}

// pop forgets the variables and arrays of a function that ended.
func (m *machine) pop(fn *function, base int, passed []passing, tables []*array) {
	for i := base; i < len(m.stack); i++ {
		m.recharge(len(m.stack[i].s), 0)
		m.stack[i] = value{}
	}
	m.stack = m.stack[:base]
	cost := frameCost + 32*fn.scalars
	m.hold(-cost)
	m.frames -= cost
	if len(tables) == len(passed) {
		return
	}
	for _, p := range passed {
		tables[p.slot] = nil
	}
	for _, a := range tables {
		if a != nil && a.len() > 0 {
			m.empty(a)
		}
	}
}

func (c *compiler) getline(e *getline) numFn {
	c.effects++
	var set setFn
	if e.left != nil {
		set = c.set(e.left)
	}
	if e.file == nil {
		return mainGetline(set)
	}
	name, read := c.str(e.file), (*machine).getlineFile
	if e.cmd != tEOF {
		read = func(m *machine, text string) (string, float64) { return m.getlineCommand(text, e.cmd, e.line) }
	}
	return func(m *machine) float64 {
		rec, result := read(m, name(m))
		if result <= 0 {
			return result
		}
		if set == nil {
			m.setRecord(rec)
		} else {
			set(m, value{s: rec, k: input, part: true})
		}
		return result
	}
}

func mainGetline(set setFn) numFn {
	return func(m *machine) float64 {
		rec, ok := m.mainRecord()
		if !ok {
			return 0
		}
		if set == nil {
			m.setRecord(rec)
		} else {
			set(m, value{s: rec, k: input, part: true})
		}
		return 1
	}
}
