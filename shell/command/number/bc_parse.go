package number

import (
	"errors"
	"strings"

	"hako/shell/command/internal/cli"
)

// bcNode is one node of a program: an operator or a statement with its parts.
type bcNode struct {
	op   string
	name string
	kids []*bcNode
}

// bcFunc is a function the program defines. A name with "[]" is an array.
type bcFunc struct {
	params, autos []string
	body          *bcNode
}

var errBCSyntax = errors.New("syntax error")

// bcParser reads statements from source text.
type bcParser struct {
	src  string
	pos  int
	line int
	tok  string // "" at the end; names, numbers and strings keep their first byte as kind
	kind byte   // 'n' number, 'i' name, 's' string, 'k' keyword, 'o' operator, 0 end
	deep int
	fns  map[string]*bcFunc
}

const bcMaxDeep = 500

var bcKeywords = map[string]bool{
	"define": true, "auto": true, "if": true, "else": true, "while": true, "for": true, "break": true, "continue": true,
	"return": true, "halt": true, "quit": true, "print": true, "length": true, "sqrt": true, "scale": true,
	"ibase": true, "obase": true, "last": true, "read": true, "limits": true, "warranty": true, "void": true,
}

var bcOperators = []string{
	"<=", ">=", "==", "!=", "&&", "||", "++", "--", "+=", "-=", "*=", "/=", "%=", "^=",
	"+", "-", "*", "/", "%", "^", "<", ">", "=", "!", "(", ")", "[", "]", "{", "}", ",", ";", "\n",
}

// next reads the next word.
func (p *bcParser) next() {
	p.blanks()
	if p.pos >= len(p.src) {
		p.tok, p.kind = "", 0
		return
	}
	rest := p.src[p.pos:]
	switch c := rest[0]; {
	case c == '"':
		end := strings.IndexByte(rest[1:], '"')
		if end < 0 {
			end = len(rest) - 1
		}
		p.line += strings.Count(rest[:end+1], "\n")
		p.take(rest[1:end+1], 's')
		p.pos = min(p.pos+2, len(p.src))
	case isNumberByte(c) && rest != ".":
		n := 0
		for n < len(rest) && (isNumberByte(rest[n]) || strings.HasPrefix(rest[n:], "\\\n")) {
			n++
			if rest[n-1] == '\\' {
				n++
			}
		}
		p.take(rest[:n], 'n')
		p.tok = strings.ReplaceAll(p.tok, "\\\n", "")
	case c >= 'a' && c <= 'z':
		n := 1
		for n < len(rest) && (rest[n] >= 'a' && rest[n] <= 'z' || rest[n] >= '0' && rest[n] <= '9' || rest[n] == '_') {
			n++
		}
		p.take(rest[:n], 'i')
		if bcKeywords[p.tok] {
			p.kind = 'k'
		}
	default:
		p.operator(rest)
	}
}

func isNumberByte(c byte) bool { return c >= '0' && c <= '9' || c >= 'A' && c <= 'F' || c == '.' }

func (p *bcParser) take(word string, kind byte) {
	p.tok, p.kind = word, kind
	p.pos += len(word)
}

func (p *bcParser) operator(rest string) {
	for _, op := range bcOperators {
		if strings.HasPrefix(rest, op) {
			p.take(op, 'o')
			if op == "\n" {
				p.line++
			}
			return
		}
	}
	p.pos++
	p.fail()
}

func (p *bcParser) blanks() {
	for p.pos < len(p.src) {
		rest := p.src[p.pos:]
		switch {
		case rest[0] == ' ' || rest[0] == '\t' || rest[0] == '\r':
			p.pos++
		case strings.HasPrefix(rest, "\\\n"):
			p.pos += 2
			p.line++
		case rest[0] == '#':
			n := strings.IndexByte(rest, '\n')
			if n < 0 {
				n = len(rest)
			}
			p.pos += n
		case strings.HasPrefix(rest, "/*"):
			n := strings.Index(rest[2:], "*/")
			if n < 0 {
				n = len(rest) - 4
			}
			p.line += strings.Count(rest[:n+4], "\n")
			p.pos += n + 4
		default:
			return
		}
	}
}

func (p *bcParser) fail() { cli.Check(errBCSyntax) }

func (p *bcParser) is(op string) bool { return p.tok == op && (p.kind == 'o' || p.kind == 'k') }

func (p *bcParser) accept(op string) bool {
	if p.is(op) {
		p.next()
		return true
	}
	return false
}

func (p *bcParser) expect(op string) {
	if !p.accept(op) {
		p.fail()
	}
}

func (p *bcParser) newlines() {
	for p.is("\n") {
		p.next()
	}
}

func (p *bcParser) nest() func() {
	if p.deep++; p.deep > bcMaxDeep {
		p.fail()
	}
	return func() { p.deep-- }
}

// statement reads one statement; nil is an empty one.
func (p *bcParser) statement() *bcNode {
	defer p.nest()()
	word := p.tok
	if p.kind == 's' {
		p.next()
		return &bcNode{op: "text", name: word}
	}
	if p.kind != 'k' {
		if p.accept("{") {
			return p.block()
		}
		return p.exprStatement()
	}
	switch word {
	case "if":
		return p.ifStatement()
	case "while":
		p.next()
		p.expect("(")
		cond := p.expr()
		p.expect(")")
		p.newlines()
		return &bcNode{op: "for", kids: []*bcNode{nil, cond, nil, p.statement()}}
	case "for":
		return p.forStatement()
	case "break", "continue", "halt", "quit":
		p.next()
		return &bcNode{op: word}
	case "limits", "warranty":
		p.next()
		return nil
	case "return":
		p.next()
		n := &bcNode{op: "return"}
		if !p.ends() {
			n.kids = []*bcNode{p.expr()}
		}
		return n
	case "print":
		return p.printStatement()
	}
	return p.exprStatement()
}

func (p *bcParser) ends() bool { return p.is(";") || p.is("\n") || p.is("}") || p.kind == 0 }

func (p *bcParser) exprStatement() *bcNode {
	if p.ends() {
		return nil
	}
	e := p.expr()
	if e.op == "=" {
		return &bcNode{op: "do", kids: []*bcNode{e}}
	}
	return &bcNode{op: "show", kids: []*bcNode{e}}
}

func (p *bcParser) block() *bcNode {
	b := &bcNode{op: "block"}
	for !p.accept("}") {
		if p.kind == 0 {
			p.fail()
		}
		if p.accept(";") || p.accept("\n") {
			continue
		}
		if s := p.statement(); s != nil {
			b.kids = append(b.kids, s)
		}
		if !p.ends() {
			p.fail()
		}
	}
	return b
}

func (p *bcParser) ifStatement() *bcNode {
	p.next()
	p.expect("(")
	n := &bcNode{op: "if", kids: []*bcNode{p.expr()}}
	p.expect(")")
	p.newlines()
	n.kids = append(n.kids, p.statement())
	saved := *p
	for p.is(";") || p.is("\n") {
		p.next()
	}
	if !p.is("else") {
		*p = saved
		return n
	}
	p.next()
	p.newlines()
	n.kids = append(n.kids, p.statement())
	return n
}

func (p *bcParser) forStatement() *bcNode {
	p.next()
	p.expect("(")
	var parts [3]*bcNode
	for i, end := range []string{";", ";", ")"} {
		if !p.is(end) {
			parts[i] = p.expr()
		}
		p.expect(end)
	}
	p.newlines()
	return &bcNode{op: "for", kids: append(parts[:], p.statement())}
}

func (p *bcParser) printStatement() *bcNode {
	n := &bcNode{op: "print"}
	for {
		p.next()
		if p.kind == 's' {
			n.kids = append(n.kids, &bcNode{op: "text", name: p.tok})
			p.next()
		} else {
			n.kids = append(n.kids, p.expr())
		}
		if !p.is(",") {
			return n
		}
	}
}

// define reads a function behind its keyword.
func (p *bcParser) define() {
	p.next()
	p.accept("void")
	name := p.tok
	if p.kind != 'i' {
		p.fail()
	}
	p.next()
	p.expect("(")
	f := &bcFunc{params: p.names(")")}
	p.expect(")")
	p.newlines()
	p.expect("{")
	p.newlines()
	if p.accept("auto") {
		f.autos = p.names("")
	}
	f.body = p.block()
	p.fns[name] = f
}

// names reads the names of parameters up to a closing word, or the line's end.
func (p *bcParser) names(end string) []string {
	var names []string
	for !p.is(end) && !p.ends() {
		name := p.tok
		if p.kind != 'i' {
			p.fail()
		}
		p.next()
		if p.accept("[") {
			p.expect("]")
			name += "[]"
		}
		names = append(names, name)
		if !p.accept(",") {
			break
		}
	}
	return names
}
