package awk

import (
	"fmt"
	"strings"
)

// An expression compiles to the closure for the kind of result that is wanted,
// so that a number is not wrapped into a value only to be unwrapped.
type (
	numFn  func(*machine) float64
	strFn  func(*machine) string
	valFn  func(*machine) value
	condFn func(*machine) bool
	stmtFn func(*machine) ctl
	ruleFn func(*machine) ctl
	setFn  func(*machine, value)
)

type compiler struct {
	prog *Program
	// effects counts expressions compiled so far that do more than yield a
	// value: print then evaluates all its arguments before it writes any.
	effects int
}

func compileProgram(p *Program) {
	c := &compiler{prog: p}
	for _, f := range p.funcs {
		f.run = c.stmt(f.body)
	}
	p.code.begin = c.stmts(p.begin)
	p.code.end = c.stmts(p.end)
	p.code.beginFile = c.stmts(p.beginFile)
	p.code.endFile = c.stmts(p.endFile)
	for i, r := range p.rules {
		p.code.rules = append(p.code.rules, c.rule(i, r))
	}
}

func (c *compiler) stmts(list []stmt) []stmtFn {
	fns := make([]stmtFn, len(list))
	for i, s := range list {
		fns[i] = c.stmt(s)
	}
	return fns
}

func (c *compiler) rule(i int, r *rule) ruleFn {
	body := func(m *machine) ctl { m.printRecord(m.out, 0); return ctlNone }
	if r.body != nil {
		body = c.stmt(r.body)
	}
	if r.from == nil {
		return ruleFn(body)
	}
	from := c.cond(r.from)
	if r.to == nil {
		return func(m *machine) ctl {
			if from(m) {
				return body(m)
			}
			return ctlNone
		}
	}
	to := c.cond(r.to)
	return func(m *machine) ctl {
		if !m.ranges[i] && !from(m) {
			return ctlNone
		}
		m.ranges[i] = !to(m)
		return body(m)
	}
}

// nature is the kind of result an expression yields by itself.
type nature uint8

const (
	yieldsValue nature = iota
	yieldsNum
	yieldsStr
)

func natureOf(e expr) nature {
	switch e := e.(type) {
	case *numLit, *arith, *compare, *match, *logic, *not, *sign, *update, *step, *member, *regexLit, *getline:
		return yieldsNum
	case *strLit, *concat:
		return yieldsStr
	case *builtinCall:
		return builtins[e.name].yields
	case *varRef:
		if !e.sym.local && !e.sym.array && (e.sym.slot == vNF || e.sym.slot == vNR || e.sym.slot == vFNR) {
			return yieldsNum
		}
	}
	return yieldsValue
}

// num compiles an expression whose number is wanted.
func (c *compiler) num(e expr) numFn {
	switch natureOf(e) {
	case yieldsNum:
		return c.naturalNum(e)
	case yieldsStr:
		s := c.naturalStr(e)
		return func(m *machine) float64 {
			text := s(m)
			m.spend(len(text))
			return toNumber(text)
		}
	}
	v := c.naturalVal(e)
	return func(m *machine) float64 {
		x := v(m)
		m.spend(len(x.s))
		return x.num()
	}
}

// str compiles an expression whose string is wanted.
func (c *compiler) str(e expr) strFn {
	switch natureOf(e) {
	case yieldsNum:
		n := c.naturalNum(e)
		return func(m *machine) string { return m.numString(n(m), m.convfmt) }
	case yieldsStr:
		return c.naturalStr(e)
	}
	v := c.naturalVal(e)
	return func(m *machine) string {
		x := v(m)
		return m.str(&x)
	}
}

// val compiles an expression whose value is wanted.
func (c *compiler) val(e expr) valFn {
	switch natureOf(e) {
	case yieldsNum:
		n := c.naturalNum(e)
		return func(m *machine) value { return num(n(m)) }
	case yieldsStr:
		s := c.naturalStr(e)
		return func(m *machine) value { return str(s(m)) }
	}
	return c.naturalVal(e)
}

// cond compiles an expression that decides something.
func (c *compiler) cond(e expr) condFn {
	switch e := e.(type) {
	case *compare:
		return c.compare(e)
	case *match:
		return c.match(e)
	case *regexLit:
		re := c.regexLit(e)
		return func(m *machine) bool { return m.matches(re, m.record()) }
	case *member:
		return c.member(e)
	case *not:
		f := c.cond(e.e)
		return func(m *machine) bool { return !f(m) }
	case *logic:
		a, b := c.cond(e.a), c.cond(e.b)
		if e.and {
			return func(m *machine) bool { return a(m) && b(m) }
		}
		return func(m *machine) bool { return a(m) || b(m) }
	}
	switch natureOf(e) {
	case yieldsNum:
		n := c.naturalNum(e)
		return func(m *machine) bool { return n(m) != 0 }
	case yieldsStr:
		s := c.naturalStr(e)
		return func(m *machine) bool { return s(m) != "" }
	}
	v := c.naturalVal(e)
	return func(m *machine) bool {
		x := v(m)
		m.spend(len(x.s))
		return x.bool()
	}
}

func (c *compiler) naturalNum(e expr) numFn {
	switch e := e.(type) {
	case *numLit:
		n := e.n
		return func(*machine) float64 { return n }
	case *compare, *match, *logic, *not, *member, *regexLit:
		f := c.cond(e)
		return func(m *machine) float64 { return truth(f(m)) }
	case *sign:
		f := c.num(e.e)
		if !e.minus {
			return f
		}
		return func(m *machine) float64 { return -f(m) }
	case *arith:
		return c.arith(e)
	case *update:
		return c.update(e)
	case *step:
		return c.step(e)
	case *getline:
		return c.getline(e)
	case *varRef:
		return counter(e.sym.slot)
	case *builtinCall:
		return c.builtinNum(e)
	}
	panic(&fatal{0, fmt.Sprintf("cannot compile %T", e)})
}

// counter reads one of the special variables that are kept as numbers.
func counter(slot int) numFn {
	switch slot {
	case vNF:
		return func(m *machine) float64 { return float64(m.nf()) }
	case vNR:
		return func(m *machine) float64 { return m.nr }
	}
	return func(m *machine) float64 { return m.fnr }
}

func (c *compiler) naturalStr(e expr) strFn {
	switch e := e.(type) {
	case *strLit:
		s := e.s
		return func(*machine) string { return s }
	case *concat:
		return c.concat(e)
	case *builtinCall:
		return c.builtinStr(e)
	}
	panic(&fatal{0, fmt.Sprintf("cannot compile %T", e)})
}

func (c *compiler) naturalVal(e expr) valFn {
	switch e := e.(type) {
	case *varRef:
		return c.variable(e)
	case *indexRef:
		at := c.element(e)
		return func(m *machine) value { return *at(m) }
	case *fieldRef:
		return c.field(e)
	case *assign:
		return c.assign(e)
	case *choice:
		cond, yes, no := c.cond(e.cond), c.val(e.yes), c.val(e.no)
		return func(m *machine) value {
			if cond(m) {
				return yes(m)
			}
			return no(m)
		}
	case *call:
		return c.call(e)
	case *builtinCall:
		return c.substr(e)
	case *group:
		panic(&fatal{1, "syntax error: a list in parentheses is no value"})
	}
	panic(&fatal{0, fmt.Sprintf("cannot compile %T", e)})
}

func (c *compiler) variable(e *varRef) valFn {
	c.scalar(e)
	slot := e.sym.slot
	if e.sym.local {
		return func(m *machine) value { return m.locals[slot] }
	}
	return func(m *machine) value { return m.globals[slot] }
}

func (c *compiler) scalar(e *varRef) {
	if e.sym.array {
		panic(&fatal{e.line, fmt.Sprintf("attempt to use array `%s' in a scalar context", e.sym.name)})
	}
}

func (c *compiler) field(e *fieldRef) valFn {
	switch i := e.index.(type) {
	case *numLit:
		n := fieldNumber(i.n)
		return func(m *machine) value { return m.field(n) }
	case *varRef:
		if !i.sym.local && !i.sym.array && i.sym.slot == vNF {
			return func(m *machine) value { return m.lastField() }
		}
	}
	index := c.num(e.index)
	return func(m *machine) value { return m.field(fieldNumber(index(m))) }
}

// A patternError is a regular expression in the source that makes no sense.
type patternError struct {
	line int
	why  string
}

func (c *compiler) regexLit(e *regexLit) *regex {
	re, err := newRegex(e.src, false)
	if err != nil {
		panic(&patternError{e.line, strings.TrimPrefix(err.Error(), "invalid regexp: ")})
	}
	c.prog.patterns = append(c.prog.patterns, re)
	return re
}

// regex compiles an expression used as a pattern.
func (c *compiler) regex(e expr) func(*machine) *regex {
	if lit, ok := e.(*regexLit); ok {
		re := c.regexLit(lit)
		return func(*machine) *regex { return re }
	}
	s := c.str(e)
	return func(m *machine) *regex { return m.regex(s(m)) }
}

func (c *compiler) match(e *match) condFn {
	s, no := c.str(e.text), e.not
	if lit, ok := e.pattern.(*regexLit); ok {
		re := c.regexLit(lit)
		return func(m *machine) bool { return m.matches(re, s(m)) != no }
	}
	re := c.regex(e.pattern)
	return func(m *machine) bool {
		text := s(m)
		return m.matches(re(m), text) != no
	}
}
