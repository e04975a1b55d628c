package awk

import (
	"fmt"
	"slices"
	"strings"
)

// The parser, the compiler and the compiled program all recurse, so how deep
// a program nests and how long a chain of operators is must be bounded.
const (
	maxNest  = 2000
	maxChain = 20000
)

type parser struct {
	lexer
	prog   *Program
	where  string             // what messages call the source being read
	locals map[string]*symbol // of the function being read
	calls  []*call
	inFunc bool
	loops  int // how deep break and continue may go
	cases  int // how many switches are around
	nested int
	noGt   bool // ">" is a redirection
}

func (p *parser) nest() {
	if p.nested++; p.nested > maxNest {
		p.fail("program nests too deep")
	}
}

func (p *parser) chain(n int) {
	if n > maxChain {
		p.fail("expression is too long")
	}
}

func (p *parser) unexpected() {
	switch p.tok {
	case tEOF, tNewline:
		p.fail("unexpected newline or end of string")
	default:
		p.fail("syntax error")
	}
}

func (p *parser) expect(t token) {
	if p.tok != t {
		p.unexpected()
	}
	p.next()
}

func (p *parser) accept(t token) bool {
	if p.tok == t {
		p.next()
		return true
	}
	return false
}

func (p *parser) newlines() {
	for p.tok == tNewline {
		p.next()
	}
}

func (p *parser) separators() {
	for p.tok == tNewline || p.tok == tSemi {
		p.next()
	}
}

// source reads one program text to its end.
func (p *parser) source() {
	p.next()
	for p.separators(); p.tok != tEOF; p.separators() {
		p.item()
	}
}

func (p *parser) item() {
	switch p.tok {
	case tFunction:
		p.function()
	case tBegin:
		p.prog.begin = append(p.prog.begin, p.special())
	case tEnd:
		p.prog.end = append(p.prog.end, p.special())
	case tBeginFile:
		p.prog.beginFile = append(p.prog.beginFile, p.special())
	case tEndFile:
		p.prog.endFile = append(p.prog.endFile, p.special())
	default:
		p.rule()
	}
}

// special reads the action of BEGIN and its like, which must have one.
func (p *parser) special() stmt {
	p.next()
	if p.tok != tLbrace {
		p.unexpected()
	}
	return p.block()
}

func (p *parser) rule() {
	r := &rule{}
	if p.tok != tLbrace {
		r.from = p.expr()
		if p.accept(tComma) {
			p.newlines()
			r.to = p.expr()
		}
	}
	if p.tok == tLbrace {
		r.body = p.block()
	} else if p.tok != tNewline && p.tok != tSemi && p.tok != tEOF {
		p.unexpected()
	}
	p.prog.rules = append(p.prog.rules, r)
}

func (p *parser) function() {
	p.next()
	name := p.text
	switch {
	case p.tok == tBuiltin:
		p.fail(fmt.Sprintf("`%s' is a built-in function, it cannot be redefined", name))
	case p.tok != tName && p.tok != tFuncName:
		p.unexpected()
	case p.prog.funcs[name] != nil:
		p.fail(fmt.Sprintf("function name `%s' previously defined", name))
	}
	f := &function{name: name, line: p.line}
	p.prog.funcs[name] = f
	p.next()
	p.params(f)
	p.newlines()
	p.inFunc = true
	f.body = p.block()
	p.inFunc, p.locals = false, nil
}

func (p *parser) params(f *function) {
	p.locals = make(map[string]*symbol)
	p.expect(tLparen)
	for p.tok != tRparen {
		if p.tok != tName || p.locals[p.text] != nil {
			p.unexpected()
		}
		s := &symbol{name: p.text, local: true}
		p.locals[s.name] = s
		f.params = append(f.params, s)
		p.next()
		if p.tok != tRparen {
			p.expect(tComma)
			p.newlines()
		}
	}
	p.next()
}

// symbol returns the variable a name means here.
func (p *parser) symbol(name string) *symbol {
	if s := p.locals[name]; s != nil {
		return s
	}
	return p.prog.global(name)
}

// array reads the name of an array.
func (p *parser) array() *varRef {
	if p.tok != tName {
		p.unexpected()
	}
	v := &varRef{p.symbol(p.text), p.line}
	v.asArray()
	p.next()
	return v
}

func (p *parser) block() *block {
	p.nest()
	defer func() { p.nested-- }()
	p.expect(tLbrace)
	b := &block{}
	for p.separators(); p.tok != tRbrace; p.separators() {
		if p.tok == tEOF {
			p.unexpected()
		}
		b.list = append(b.list, p.stmt())
	}
	p.next()
	return b
}

// body reads the statement an if or a loop governs.
func (p *parser) body() stmt {
	p.newlines()
	if p.accept(tSemi) {
		return &block{}
	}
	return p.stmt()
}

// looped is body inside a loop.
func (p *parser) looped() stmt {
	p.loops++
	defer func() { p.loops-- }()
	return p.body()
}

func (p *parser) stmt() stmt {
	p.nest()
	defer func() { p.nested-- }()
	switch p.tok {
	case tLbrace:
		return p.block()
	case tIf:
		return p.ifStmt()
	case tWhile:
		p.next()
		cond := p.paren()
		return &whileStmt{cond, p.looped()}
	case tDo:
		return p.do()
	case tFor:
		return p.forStmt()
	case tSwitch:
		return p.switchStmt()
	}
	s := p.simple()
	p.endSimple()
	return s
}

func (p *parser) endSimple() {
	switch p.tok {
	case tSemi, tNewline:
		p.next()
	case tRbrace:
	default:
		p.unexpected()
	}
}

func (p *parser) paren() expr {
	p.expect(tLparen)
	e := p.expr()
	p.expect(tRparen)
	return e
}

func (p *parser) ifStmt() stmt {
	p.next()
	s := &ifStmt{cond: p.paren()}
	s.yes = p.body()
	saved := p.lexer
	p.separators()
	if p.tok != tElse {
		p.lexer = saved
		return s
	}
	p.next()
	s.not = p.body()
	return s
}

func (p *parser) do() stmt {
	p.next()
	s := &doStmt{body: p.looped()}
	p.separators()
	p.expect(tWhile)
	s.cond = p.paren()
	p.endSimple()
	return s
}

func (p *parser) forStmt() stmt {
	p.next()
	p.expect(tLparen)
	if s := p.forIn(); s != nil {
		return s
	}
	s := &forStmt{}
	if p.tok != tSemi {
		s.init = p.simple()
	}
	p.expect(tSemi)
	p.newlines()
	if p.tok != tSemi {
		s.cond = p.expr()
	}
	p.expect(tSemi)
	p.newlines()
	if p.tok != tRparen {
		s.post = p.simple()
	}
	p.expect(tRparen)
	s.body = p.looped()
	return s
}

// forIn reads "name in array)" and the body, or nothing.
func (p *parser) forIn() stmt {
	saved := p.lexer
	if p.tok != tName {
		return nil
	}
	key := &varRef{nil, p.line}
	name := p.text
	p.next()
	if p.tok != tIn {
		p.lexer = saved
		return nil
	}
	p.next()
	if p.tok != tName {
		p.unexpected()
	}
	array := p.text
	p.next()
	if p.tok != tRparen {
		p.lexer = saved
		return nil
	}
	p.next()
	key.sym = p.symbol(name)
	v := &varRef{p.symbol(array), p.line}
	v.asArray()
	return &forIn{key, v, p.looped()}
}

func (p *parser) switchStmt() stmt {
	p.next()
	s := &switchStmt{on: p.paren()}
	p.newlines()
	p.expect(tLbrace)
	p.cases++
	defer func() { p.cases-- }()
	for p.separators(); p.tok != tRbrace; p.separators() {
		var c switchCase
		switch {
		case p.accept(tCase):
			c.value = p.expr()
		case !p.accept(tDefault):
			p.unexpected()
		}
		p.expect(tColon)
		for p.separators(); p.tok != tCase && p.tok != tDefault && p.tok != tRbrace; p.separators() {
			c.body = append(c.body, p.stmt())
		}
		s.cases = append(s.cases, c)
	}
	p.next()
	return s
}

func (p *parser) simple() stmt {
	switch p.tok {
	case tPrint, tPrintf:
		return p.print()
	case tBreak, tContinue, tNext, tNextFile:
		return p.jump()
	case tExit:
		p.next()
		return &exitStmt{p.optional()}
	case tReturn:
		if !p.inFunc {
			p.fail("`return' used outside function context")
		}
		p.next()
		return &returnStmt{p.optional()}
	case tDelete:
		return p.delete()
	}
	return &exprStmt{p.expr()}
}

func (p *parser) jump() stmt {
	t := p.tok
	switch {
	case t == tBreak && p.loops+p.cases == 0:
		p.fail("`break' is not allowed outside a loop or switch")
	case t == tContinue && p.loops == 0:
		p.fail("`continue' is not allowed outside a loop")
	}
	p.next()
	return &jump{map[token]ctl{tBreak: ctlBreak, tContinue: ctlContinue, tNext: ctlNext, tNextFile: ctlNextFile}[t]}
}

// optional reads an expression if one is there.
func (p *parser) optional() expr {
	switch p.tok {
	case tSemi, tNewline, tRbrace, tEOF:
		return nil
	}
	return p.expr()
}

func (p *parser) delete() stmt {
	p.next()
	paren := p.accept(tLparen)
	s := &deleteStmt{array: p.array()}
	if p.accept(tLbracket) {
		s.subs = p.list(tRbracket)
	}
	if paren {
		p.expect(tRparen)
	}
	return s
}

func (p *parser) print() stmt {
	s := &printStmt{format: p.tok == tPrintf, line: p.line}
	p.next()
	p.noGt = true
	if !slices.Contains([]token{tSemi, tNewline, tRbrace, tEOF, tGt, tAppend, tPipe, tCoproc}, p.tok) {
		s.args = p.printArgs()
	}
	if slices.Contains([]token{tGt, tAppend, tPipe, tCoproc}, p.tok) {
		s.op = p.tok
		p.reaches(s.line, noRedirection)
		p.next()
		s.dest = p.concat()
	}
	p.noGt = false
	if s.format && len(s.args) == 0 {
		p.fail("printf: no arguments")
	}
	return s
}

func (p *parser) printArgs() []expr {
	e := p.ternary()
	if g, ok := e.(*group); ok {
		return g.list
	}
	args := []expr{e}
	for p.accept(tComma) {
		p.newlines()
		args = append(args, p.expr())
	}
	return args
}

// lineAt returns the line of source around pos and the column in it.
func lineAt(src string, pos int) (string, int) {
	pos = min(pos, len(src))
	from := strings.LastIndexByte(src[:pos], '\n') + 1
	line, _, _ := strings.Cut(src[from:], "\n")
	return line, pos - from
}
