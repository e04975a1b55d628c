package shell

import (
	"fmt"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

// maxNesting bounds how deep a value that is itself an expression may lead, as
// in bash.
const maxNesting = 1024

// arithm evaluates an expression in 64 bits; errors go to p.bad, and after one
// nothing more is evaluated.
func (p *proc) arithm(x syntax.ArithmExpr) int64 {
	if x == nil || !p.deeper() {
		return 0
	}
	defer p.shallower()
	switch x := x.(type) {
	case *syntax.Word:
		return p.operand(x)
	case *syntax.ParenArithm:
		return p.arithm(x.X)
	case *syntax.UnaryArithm:
		return p.unary(x)
	case *syntax.BinaryArithm:
		return p.binaryArithm(x)
	}
	p.fail("%s: syntax error in expression", printNode(x))
	return 0
}

// expr evaluates the expression of $((…)) and its like. bash expands parameters
// before it reads the expression: what $x holds may be operators, as in $((3 $op 4)),
// and does not change in $((x++ + $x)). Where that makes a difference, the text is
// put together first and parsed then.
func (p *proc) expr(x syntax.ArithmExpr) int64 {
	var s expansionScan
	if s.look(p, x); !s.odd && !(s.dollar && s.assigns) {
		return p.arithm(x)
	}
	w, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Document(strings.NewReader(printNode(x)))
	if err != nil || w == nil {
		return p.arithm(x)
	}
	var text strings.Builder
	for _, part := range w.Parts {
		if lit, ok := part.(*syntax.Lit); ok {
			text.WriteString(strings.ReplaceAll(lit.Value, `"`, ""))
		} else {
			text.WriteString(p.quoted([]syntax.WordPart{part}))
		}
	}
	return p.valueOf(text.String())
}

// An expansionScan tells what an expression of several operands has in it.
type expansionScan struct {
	dollar  bool // a $x
	odd     bool // a $x whose value is more than one operand
	assigns bool // an assignment
}

func (s *expansionScan) look(p *proc, x syntax.ArithmExpr) {
	if s.odd || !p.deeper() {
		return
	}
	defer p.shallower()
	switch x := x.(type) {
	case *syntax.BinaryArithm:
		if _, ok := assignOps[x.Op]; ok {
			s.assigns = true
		}
		s.operand(p, x.X)
		s.operand(p, x.Y)
	case *syntax.UnaryArithm:
		if x.Op == syntax.Inc || x.Op == syntax.Dec {
			s.assigns = true
		}
		s.operand(p, x.X)
	case *syntax.ParenArithm:
		s.operand(p, x.X)
	}
}

func (s *expansionScan) operand(p *proc, x syntax.ArithmExpr) {
	w, ok := x.(*syntax.Word)
	if !ok {
		s.look(p, x)
		return
	}
	if len(w.Parts) != 1 {
		return
	}
	pe, ok := w.Parts[0].(*syntax.ParamExp)
	if !ok || pe.Short && pe.Index != nil { // a[i] has no dollar
		return
	}
	s.dollar = true
	if pe.Index != nil || pe.Exp != nil || pe.Repl != nil || pe.Slice != nil || pe.Length || pe.Excl {
		return
	}
	text := strings.TrimSpace(p.fetch(reference{name: pe.Param.Value}).str(" "))
	switch {
	case len(text) > maxExpr || isName(text):
		return
	case text == "":
		s.odd = true
		return
	}
	_, isNumber, err := number(text)
	s.odd = !isNumber || err != nil
}

// operand evaluates a number, a name, or an expansion that gives an expression.
func (p *proc) operand(w *syntax.Word) int64 {
	if len(w.Parts) == 1 {
		switch part := w.Parts[0].(type) {
		case *syntax.Lit:
			return p.arithmText(part.Value)
		case *syntax.ParamExp:
			if part.Short && part.Index != nil { // a[i] without a dollar
				ref := reference{name: part.Param.Value, sub: true, index: p.indexText(part.Param.Value, part.Index)}
				return p.valueOf(p.fetch(ref).str(" "))
			}
		}
	}
	return p.valueOf(p.word(w))
}

// valueOf evaluates what an expansion or a variable gave. Nothing in it is expanded
// or quoted again.
func (p *proc) valueOf(s string) int64 {
	if strings.ContainsAny(s, "$`\"'\\") {
		p.fail("%s: syntax error: operand expected", s)
		return 0
	}
	return p.arithmText(s)
}

// arithmText evaluates text: a number fast, a name by its value, anything else
// by parsing it as an expression.
func (p *proc) arithmText(s string) int64 {
	if n, ok := smallInt(s); ok {
		return n
	}
	s = strings.TrimSpace(s)
	if s == "" {
		return 0
	}
	if isName(s) {
		return p.nameValue(s)
	}
	n, ok, err := number(s)
	if err != nil {
		p.fail("%s: %v", s, err)
		return 0
	}
	if ok {
		return n
	}
	return p.expression(s)
}

// smallInt reads plain decimal digits.
func smallInt(s string) (int64, bool) {
	if s == "" || len(s) > 18 || s[0] == '0' && len(s) > 1 {
		return 0, false
	}
	n := int64(0)
	for i := range len(s) {
		c := s[i] - '0'
		if c > 9 {
			return 0, false
		}
		n = n*10 + int64(c)
	}
	return n, true
}

func (p *proc) nameValue(name string) int64 {
	s, ok := p.get(name)
	if !ok && p.opts.nounset {
		p.bad = stopper{errorString(name + ": unbound variable"), 127}
		return 0
	}
	if n, ok := smallInt(s); ok {
		return n
	}
	if p.named++; p.named > maxNesting {
		p.fail("%s: expression recursion level exceeded", name)
		p.named--
		return 0
	}
	n := p.valueOf(s)
	p.named--
	return n
}

// number reads the forms of a constant: 10, -10, 0x1f, 017, 2#101.
func number(s string) (int64, bool, error) {
	neg := false
	if s[0] == '-' || s[0] == '+' {
		neg = s[0] == '-'
		s = strings.TrimSpace(s[1:])
	}
	if s == "" || s[0] < '0' || s[0] > '9' {
		return 0, false, nil
	}
	for i := range len(s) {
		if c := s[i]; !isLetter(c) && (c < '0' || c > '9') && c != '#' && c != '_' && c != '@' {
			return 0, false, nil
		}
	}
	n, err := constant(s)
	if neg {
		n = -n
	}
	return n, true, err
}

func constant(s string) (int64, error) {
	if base, digits, ok := strings.Cut(s, "#"); ok {
		b, err := strconv.Atoi(base)
		if err != nil || b < 2 || b > 64 {
			return 0, fmt.Errorf("invalid arithmetic base (error token is %q)", s)
		}
		return inBase(digits, int64(b))
	}
	switch {
	case strings.HasPrefix(s, "0x") || strings.HasPrefix(s, "0X"):
		return inBase(s[2:], 16)
	case s[0] == '0' && len(s) > 1:
		return inBase(s[1:], 8)
	}
	return inBase(s, 10)
}

func inBase(s string, base int64) (int64, error) {
	n := int64(0)
	for i := range len(s) {
		d := digit(s[i], base)
		if d >= base {
			return 0, fmt.Errorf("value too great for base (error token is %q)", s)
		}
		n = n*base + d
	}
	return n, nil
}

func digit(c byte, base int64) int64 {
	switch {
	case c >= '0' && c <= '9':
		return int64(c - '0')
	case c >= 'a' && c <= 'z':
		return int64(c-'a') + 10
	case c >= 'A' && c <= 'Z' && base <= 36:
		return int64(c-'A') + 10
	case c >= 'A' && c <= 'Z':
		return int64(c-'A') + 36
	case c == '@':
		return 62
	case c == '_':
		return 63
	}
	return 99
}

// expression parses text as an expression; the parser's own cache is the word
// list of the session.
func (p *proc) expression(s string) int64 {
	x, err := parseExpr(s)
	if err != nil {
		p.fail("%s: syntax error in expression", s)
		return 0
	}
	if p.named++; p.named > maxNesting {
		p.fail("%s: expression recursion level exceeded", s)
		p.named--
		return 0
	}
	n := p.arithm(x)
	p.named--
	return n
}

func (p *proc) unary(x *syntax.UnaryArithm) int64 {
	switch x.Op {
	case syntax.Inc, syntax.Dec:
		ref, ok := p.assignable(x.X)
		if !ok {
			return 0
		}
		old := p.valueOf(p.fetch(ref).str(" "))
		now := old + 1
		if x.Op == syntax.Dec {
			now = old - 1
		}
		p.assignRef(ref, itoa(now))
		if x.Post {
			return old
		}
		return now
	}
	n := p.arithm(x.X)
	switch x.Op {
	case syntax.Not:
		return truth(n == 0)
	case syntax.BitNegation:
		return ^n
	case syntax.Minus:
		return -n
	}
	return n
}

func truth(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// assignable returns the variable an expression assigns to.
func (p *proc) assignable(x syntax.ArithmExpr) (reference, bool) {
	if w, ok := x.(*syntax.Word); ok && len(w.Parts) == 1 {
		switch part := w.Parts[0].(type) {
		case *syntax.Lit:
			if isName(part.Value) {
				return reference{name: part.Value}, true
			}
		case *syntax.ParamExp:
			if part.Index != nil && part.Short {
				return reference{name: part.Param.Value, sub: true, index: p.indexText(part.Param.Value, part.Index)}, true
			}
			if s := p.word(w); isName(s) {
				return reference{name: s}, true
			}
		}
	}
	p.fail("%s: attempted assignment to non-variable", printNode(x))
	return reference{}, false
}

func (p *proc) binaryArithm(x *syntax.BinaryArithm) int64 {
	switch x.Op {
	case syntax.AndArit:
		return truth(p.arithm(x.X) != 0 && p.arithm(x.Y) != 0)
	case syntax.OrArit:
		return truth(p.arithm(x.X) != 0 || p.arithm(x.Y) != 0)
	case syntax.Comma:
		p.arithm(x.X)
		return p.arithm(x.Y)
	case syntax.TernQuest:
		alt, ok := x.Y.(*syntax.BinaryArithm)
		if !ok {
			p.fail("%s: syntax error in expression", printNode(x))
			return 0
		}
		if p.arithm(x.X) != 0 {
			return p.arithm(alt.X)
		}
		return p.arithm(alt.Y)
	}
	if op, ok := assignOps[x.Op]; ok {
		return p.assignArithm(x, op)
	}
	a, b := p.arithm(x.X), p.arithm(x.Y)
	if p.bad != nil {
		return 0
	}
	return p.apply(x.Op, a, b, x)
}

// assignOps maps += to +; plain = maps to Comma, which keeps the right side.
var assignOps = map[syntax.BinAritOperator]syntax.BinAritOperator{
	syntax.Assgn: syntax.Comma, syntax.AddAssgn: syntax.Add, syntax.SubAssgn: syntax.Sub, syntax.MulAssgn: syntax.Mul,
	syntax.QuoAssgn: syntax.Quo, syntax.RemAssgn: syntax.Rem, syntax.AndAssgn: syntax.And, syntax.OrAssgn: syntax.Or,
	syntax.XorAssgn: syntax.Xor, syntax.ShlAssgn: syntax.Shl, syntax.ShrAssgn: syntax.Shr, syntax.PowAssgn: syntax.Pow,
}

func (p *proc) assignArithm(x *syntax.BinaryArithm, op syntax.BinAritOperator) int64 {
	ref, ok := p.assignable(x.X)
	if !ok {
		return 0
	}
	n := p.arithm(x.Y)
	if op != syntax.Comma {
		n = p.apply(op, p.valueOf(p.fetch(ref).str(" ")), n, x)
	}
	if p.bad == nil {
		p.assignRef(ref, itoa(n))
	}
	return n
}

func (p *proc) apply(op syntax.BinAritOperator, a, b int64, x syntax.Node) int64 {
	switch op {
	case syntax.Add:
		return a + b
	case syntax.Sub:
		return a - b
	case syntax.Mul:
		return a * b
	case syntax.Quo, syntax.Rem:
		return p.divide(op, a, b, x)
	case syntax.Pow:
		return p.power(a, b)
	case syntax.Eql:
		return truth(a == b)
	case syntax.Neq:
		return truth(a != b)
	case syntax.Lss:
		return truth(a < b)
	case syntax.Gtr:
		return truth(a > b)
	case syntax.Leq:
		return truth(a <= b)
	case syntax.Geq:
		return truth(a >= b)
	case syntax.And:
		return a & b
	case syntax.Or:
		return a | b
	case syntax.Xor:
		return a ^ b
	case syntax.Shl:
		return a << (uint64(b) & 63)
	case syntax.Shr:
		return a >> (uint64(b) & 63)
	}
	p.fail("%s: syntax error in expression", printNode(x))
	return 0
}

func (p *proc) divide(op syntax.BinAritOperator, a, b int64, x syntax.Node) int64 {
	switch {
	case b == 0:
		p.fail("%s: division by 0 (error token is \"0\")", printNode(x))
		return 0
	case b == -1: // the smallest number has no positive twin
		if op == syntax.Rem {
			return 0
		}
		return -a
	case op == syntax.Rem:
		return a % b
	}
	return a / b
}

func (p *proc) power(a, b int64) int64 {
	if b < 0 {
		p.fail("exponent less than 0 (error token is \"%d\")", b)
		return 0
	}
	n := int64(1)
	for ; b > 0; b >>= 1 {
		if b&1 != 0 {
			n *= a
		}
		a *= a
	}
	return n
}
