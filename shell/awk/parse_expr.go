package awk

import "slices"

// expr reads one expression.
func (p *parser) expr() expr {
	e := p.ternary()
	if g, ok := e.(*group); ok {
		p.start = g.pos
		p.fail("syntax error")
	}
	return e
}

// list reads expressions up to the closing token, in which nothing that holds
// outside the parentheses applies.
func (p *parser) list(end token) []expr {
	redirect := p.noGt
	p.noGt = false
	defer func() { p.noGt = redirect }()
	var list []expr
	p.newlines()
	for p.tok != end {
		list = append(list, p.expr())
		p.newlines()
		if p.tok != end {
			p.expect(tComma)
			p.newlines()
		}
	}
	p.next()
	return list
}

func (p *parser) ternary() expr {
	p.nest()
	defer func() { p.nested-- }()
	cond := p.or()
	if p.tok != tQuestion {
		return cond
	}
	p.next()
	p.newlines()
	yes := p.ternary()
	p.newlines()
	p.expect(tColon)
	p.newlines()
	return &choice{cond, yes, p.ternary()}
}

func (p *parser) or() expr {
	e := p.and()
	for n := 0; p.tok == tOr; n++ {
		p.chain(n)
		p.next()
		p.newlines()
		e = &logic{false, e, p.and()}
	}
	return e
}

func (p *parser) and() expr {
	e := p.in()
	for n := 0; p.tok == tAnd; n++ {
		p.chain(n)
		p.next()
		p.newlines()
		e = &logic{true, e, p.in()}
	}
	return e
}

func (p *parser) in() expr {
	e := p.matching()
	for n := 0; p.tok == tIn; n++ {
		p.chain(n)
		p.next()
		subs := []expr{e}
		if g, ok := e.(*group); ok {
			subs = g.list
		}
		e = &member{subs, p.array()}
	}
	return e
}

func (p *parser) matching() expr {
	e := p.comparison()
	for n := 0; p.tok == tMatch || p.tok == tNoMatch; n++ {
		p.chain(n)
		no := p.tok == tNoMatch
		p.next()
		e = &match{no, e, p.comparison()}
	}
	return e
}

func (p *parser) comparison() expr {
	e := p.concat()
	for n := 0; ; n++ {
		p.chain(n)
		switch {
		case p.tok == tPipe && p.pipedGetline():
			e = p.getline(e, tGetline)
		case p.tok == tCoproc && p.pipedGetline():
			e = p.getline(e, tCoproc)
		case p.tok == tGt && p.noGt:
			return e
		case slices.Contains([]token{tLt, tLe, tEq, tNe, tGt, tGe}, p.tok):
			op := p.tok
			p.next()
			e = &compare{op, e, p.concat()}
		default:
			return e
		}
	}
}

// pipedGetline moves on to the getline behind the bar, if there is one.
func (p *parser) pipedGetline() bool {
	saved := p.lexer
	p.next()
	if p.tok == tGetline {
		return true
	}
	p.lexer = saved
	return false
}

func (p *parser) concat() expr {
	e := p.additive()
	if !p.startsOperand() {
		return e
	}
	c := &concat{[]expr{e}}
	for p.startsOperand() {
		p.chain(len(c.parts))
		c.parts = append(c.parts, p.additive())
	}
	return c
}

func (p *parser) startsOperand() bool {
	switch p.tok {
	case tNumber, tString, tName, tFuncName, tBuiltin, tDollar, tNot, tLparen, tMinus, tPlus, tIncr, tDecr:
		return true
	}
	return false
}

func (p *parser) additive() expr {
	e := p.multiplicative()
	for n := 0; p.tok == tPlus || p.tok == tMinus; n++ {
		p.chain(n)
		op, line := p.tok, p.line
		p.next()
		e = &arith{op, e, p.multiplicative(), line}
	}
	return e
}

func (p *parser) multiplicative() expr {
	e := p.unary()
	for n := 0; p.tok == tStar || p.tok == tSlash || p.tok == tPercent; n++ {
		p.chain(n)
		op, line := p.tok, p.line
		p.next()
		e = &arith{op, e, p.unary(), line}
	}
	return e
}

func (p *parser) unary() expr {
	p.nest()
	defer func() { p.nested-- }()
	switch p.tok {
	case tNot:
		p.next()
		return &not{p.unary()}
	case tMinus, tPlus:
		minus := p.tok == tMinus
		p.next()
		return &sign{minus, p.unary()}
	}
	return p.power()
}

func (p *parser) power() expr {
	e := p.primary()
	if p.tok != tPow {
		return e
	}
	line := p.line
	p.next()
	return &arith{tPow, e, p.unary(), line}
}

func (p *parser) primary() expr {
	line := p.line
	switch p.tok {
	case tNumber:
		n := p.num
		p.next()
		return &numLit{n}
	case tString:
		s := p.text
		p.next()
		return &strLit{s}
	case tSlash, tDivAssign:
		src := p.pattern()
		p.next()
		return &regexLit{src, line}
	case tDollar, tName:
		return p.assignment(p.lvalue())
	case tIncr, tDecr:
		delta := p.delta()
		if p.tok != tName && p.tok != tDollar {
			p.unexpected()
		}
		return &step{p.lvalue(), delta, true}
	case tLparen:
		return p.group()
	case tBuiltin:
		return p.builtin()
	case tFuncName:
		return p.call()
	case tGetline:
		return p.getline(nil, tEOF)
	}
	p.unexpected()
	return nil
}

// delta moves on over ++ or --.
func (p *parser) delta() float64 {
	d := 1.0
	if p.tok == tDecr {
		d = -1
	}
	p.next()
	return d
}

// lvalue reads a variable, an element of an array, or a field.
func (p *parser) lvalue() expr {
	line := p.line
	if p.accept(tDollar) {
		return p.field()
	}
	v := &varRef{p.symbol(p.text), line}
	p.next()
	if !p.accept(tLbracket) {
		return v
	}
	subs := p.list(tRbracket)
	if len(subs) == 0 {
		p.unexpected()
	}
	v.asArray()
	return &indexRef{v, subs}
}

// field reads what stands behind a $: it binds tighter than anything.
func (p *parser) field() expr {
	p.nest()
	defer func() { p.nested-- }()
	switch p.tok {
	case tMinus, tPlus:
		minus := p.tok == tMinus
		p.next()
		return &fieldRef{&sign{minus, p.tight()}}
	case tNot:
		p.next()
		return &fieldRef{&not{p.tight()}}
	case tName, tDollar:
		return &fieldRef{p.lvalue()}
	}
	return &fieldRef{p.primary()}
}

// tight reads an operand that no assignment or step follows.
func (p *parser) tight() expr {
	if p.tok == tName || p.tok == tDollar {
		return p.lvalue()
	}
	return p.primary()
}

// assignment reads what may follow something that can be assigned to.
func (p *parser) assignment(left expr) expr {
	line := p.line
	switch p.tok {
	case tIncr, tDecr:
		return &step{left, p.delta(), false}
	case tAssign, tAddAssign, tSubAssign, tMulAssign, tDivAssign, tModAssign, tPowAssign:
	default:
		return left
	}
	op := p.tok
	p.next()
	p.newlines()
	right := p.ternary()
	if g, ok := right.(*group); ok {
		p.start = g.pos
		p.fail("syntax error")
	}
	if op == tAssign {
		return &assign{left, right}
	}
	return &update{updateOps[op], left, right, line}
}

var updateOps = map[token]token{
	tAddAssign: tPlus, tSubAssign: tMinus, tMulAssign: tStar, tDivAssign: tSlash, tModAssign: tPercent, tPowAssign: tPow,
}

func (p *parser) group() expr {
	g := &group{pos: p.start}
	p.next()
	g.list = p.list(tRparen)
	switch len(g.list) {
	case 0:
		p.unexpected()
	case 1:
		return g.list[0]
	}
	return g
}

func (p *parser) call() expr {
	c := &call{name: p.text, line: p.line}
	p.next()
	p.next()
	c.args = p.list(tRparen)
	p.calls = append(p.calls, c)
	return c
}

func (p *parser) builtin() expr {
	c := &builtinCall{name: p.text, line: p.line}
	p.next()
	switch {
	case p.tok == tLparen:
		p.next()
		c.args = p.list(tRparen)
	case c.name != "length":
		p.unexpected()
	}
	if c.name == "system" {
		p.reaches(c.line, noSystem)
	}
	b := builtins[c.name]
	if len(c.args) < b.min || len(c.args) > b.max {
		p.fail(c.name + ": wrong number of arguments")
	}
	for i, e := range c.args {
		if v, ok := e.(*varRef); ok && b.arrays>>i&1 == 1 {
			v.asArray()
		}
	}
	return c
}

// getline reads what follows the word; from is the command before the bar.
func (p *parser) getline(from expr, op token) expr {
	g := &getline{file: from, cmd: op, line: p.line}
	p.next()
	if p.tok == tName || p.tok == tDollar {
		g.left = p.lvalue()
	}
	if p.tok == tLt && from == nil {
		p.next()
		g.file = p.tight()
	}
	if g.file != nil {
		p.reaches(g.line, noRedirection)
	}
	return g
}
