package number

import "slices"

// expr reads an expression: or, and, not, comparison, assignment, sum,
// product, power, sign, from loosest to tightest.
func (p *bcParser) expr() *bcNode {
	defer p.nest()()
	return p.binary(0)
}

// bcLevels are the left-associative operators by rank. "!" binds tighter than
// the second and weaker than the third.
var bcLevels = [][]string{{"||"}, {"&&"}, {"<", "<=", ">", ">=", "==", "!="}}

func (p *bcParser) binary(level int) *bcNode {
	if level == len(bcLevels) {
		return p.assignment()
	}
	if level == 2 && p.accept("!") {
		defer p.nest()()
		return &bcNode{op: "!", kids: []*bcNode{p.binary(2)}}
	}
	return p.chain(func() *bcNode { return p.binary(level + 1) }, bcLevels[level]...)
}

// chain reads operands joined by left-associative operators. Its length is bounded
// because the resulting tree is walked recursively.
func (p *bcParser) chain(operand func() *bcNode, operators ...string) *bcNode {
	left := operand()
	for n := 0; p.kind == 'o' && slices.Contains(operators, p.tok); n++ {
		if n > 5000 {
			p.fail()
		}
		op := p.tok
		p.next()
		left = &bcNode{op: op, kids: []*bcNode{left, operand()}}
	}
	return left
}

func (p *bcParser) assignment() *bcNode {
	left := p.sum()
	if p.kind != 'o' || !slices.Contains([]string{"=", "+=", "-=", "*=", "/=", "%=", "^="}, p.tok) {
		return left
	}
	if !left.assignable() {
		p.fail()
	}
	defer p.nest()()
	op := p.tok
	p.next()
	right := p.assignment()
	if op != "=" {
		right = &bcNode{op: op[:1], kids: []*bcNode{left, right}}
	}
	return &bcNode{op: "=", kids: []*bcNode{left, right}}
}

func (n *bcNode) assignable() bool { return n.op == "var" || n.op == "item" || n.op == "special" }

func (p *bcParser) sum() *bcNode { return p.chain(p.product, "+", "-") }

func (p *bcParser) product() *bcNode { return p.chain(p.power, "*", "/", "%") }

func (p *bcParser) power() *bcNode {
	left := p.unary()
	if !p.is("^") {
		return left
	}
	defer p.nest()()
	p.next()
	return &bcNode{op: "^", kids: []*bcNode{left, p.power()}}
}

func (p *bcParser) unary() *bcNode {
	defer p.nest()()
	switch {
	case p.accept("-"):
		return &bcNode{op: "neg", kids: []*bcNode{p.unary()}}
	case p.is("++"), p.is("--"):
		op := p.tok
		p.next()
		v := p.primary()
		if !v.assignable() {
			p.fail()
		}
		return &bcNode{op: op, kids: []*bcNode{v}}
	}
	e := p.primary()
	if (p.is("++") || p.is("--")) && e.assignable() {
		e = &bcNode{op: "post" + p.tok, kids: []*bcNode{e}}
		p.next()
	}
	return e
}

func (p *bcParser) primary() *bcNode {
	word, kind := p.tok, p.kind
	switch {
	case kind == 'n':
		p.next()
		if word == "." {
			return &bcNode{op: "special", name: "last"}
		}
		return &bcNode{op: "num", name: word}
	case p.accept("("):
		e := p.expr()
		p.expect(")")
		return &bcNode{op: "paren", kids: []*bcNode{e}}
	case kind == 'i':
		p.next()
		return p.named(word)
	case kind == 'k':
		p.next()
		return p.keyword(word)
	}
	p.fail()
	return nil
}

// named reads what may follow a name.
func (p *bcParser) named(name string) *bcNode {
	switch {
	case p.accept("("):
		return &bcNode{op: "call", name: name, kids: p.args()}
	case p.accept("["):
		if p.accept("]") {
			return &bcNode{op: "array", name: name}
		}
		i := p.expr()
		p.expect("]")
		return &bcNode{op: "item", name: name, kids: []*bcNode{i}}
	}
	return &bcNode{op: "var", name: name}
}

func (p *bcParser) args() []*bcNode {
	var list []*bcNode
	for !p.accept(")") {
		list = append(list, p.expr())
		if !p.is(")") {
			p.expect(",")
		}
	}
	return list
}

func (p *bcParser) keyword(word string) *bcNode {
	switch word {
	case "length", "sqrt", "scale":
		if p.accept("(") {
			e := p.expr()
			p.expect(")")
			return &bcNode{op: word, kids: []*bcNode{e}}
		}
	case "read":
		p.expect("(")
		p.expect(")")
		return &bcNode{op: "num", name: "0"}
	}
	switch word {
	case "scale", "ibase", "obase", "last":
		return &bcNode{op: "special", name: word}
	}
	p.fail()
	return nil
}
