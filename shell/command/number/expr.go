package number

import (
	"context"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"hako/shell"
	"hako/shell/command/internal/cli"
	"hako/shell/regex"
)

var Expr = shell.Command{Name: "expr", Run: runExpr}

// maxExprDepth bounds nested parentheses and keywords.
const maxExprDepth = 1000

// exprParser evaluates as it reads. While skip is set, values do not matter and
// nothing may fail.
type exprParser struct {
	ctx   context.Context
	c     *shell.Call
	words []string
	pos   int
	depth int
	skip  int
}

func runExpr(ctx context.Context, c *shell.Call) error {
	words := c.Args
	if len(words) > 0 && words[0] == "--" {
		words = words[1:]
	}
	if len(words) == 0 {
		return cli.WithStatus(cli.Misuse(c, "missing operand"), 2)
	}
	v := ""
	err := cli.Try(func() { v = (&exprParser{ctx: ctx, c: c, words: words}).evaluate() })
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		return c.Fail(2, "%v", err)
	}
	if _, err := c.Stdout.WriteString(v + "\n"); err != nil {
		return err
	}
	if exprNull(v) {
		return shell.Status(1)
	}
	return nil
}

// fail ends the evaluation with an error.
func (p *exprParser) fail(format string, args ...any) { cli.Check(fmt.Errorf(format, args...)) }

func (p *exprParser) evaluate() string {
	v := p.or()
	if p.pos < len(p.words) {
		p.fail("syntax error: unexpected argument %s", cli.QuoteCurly(p.words[p.pos]))
	}
	return v
}

// exprNull reports whether a value counts as false: empty, or a zero.
func exprNull(s string) bool {
	digits := strings.TrimPrefix(s, "-")
	return s == "" || digits != "" && strings.Trim(digits, "0") == ""
}

func (p *exprParser) peek() string {
	if p.pos < len(p.words) {
		return p.words[p.pos]
	}
	return ""
}

// accept takes the next word if it is one of words; "" if it is not.
func (p *exprParser) accept(words ...string) string {
	if p.pos < len(p.words) && slices.Contains(words, p.words[p.pos]) {
		p.pos++
		return p.words[p.pos-1]
	}
	return ""
}

func (p *exprParser) nest() {
	if p.depth++; p.depth > maxExprDepth {
		p.fail("expression nests too deep")
	}
}

func (p *exprParser) or() string {
	p.nest()
	defer func() { p.depth-- }()
	left := p.and()
	for p.accept("|") != "" {
		decided := !exprNull(left)
		right := p.skipIf(decided, p.and)
		if !decided {
			left = right
			if exprNull(left) {
				left = "0"
			}
		}
	}
	return left
}

func (p *exprParser) and() string {
	left := p.compare()
	for p.accept("&") != "" {
		decided := exprNull(left)
		right := p.skipIf(decided, p.compare)
		if decided || exprNull(right) {
			left = "0"
		}
	}
	return left
}

// skipIf reads an operand; skip means that its value does not matter.
func (p *exprParser) skipIf(skip bool, f func() string) string {
	if skip {
		p.skip++
		defer func() { p.skip-- }()
	}
	return f()
}

func (p *exprParser) compare() string {
	left := p.sum()
	for op := p.comparison(); op != ""; op = p.comparison() {
		left = strconv.Itoa(cli.BoolInt(compareExpr(op, left, p.sum())))
	}
	return left
}

func (p *exprParser) comparison() string { return p.accept("<=", "<", ">=", ">", "==", "=", "!=") }

func compareExpr(op, a, b string) bool {
	x, okA := exprInt(a)
	y, okB := exprInt(b)
	order := strings.Compare(a, b)
	if okA && okB {
		order = x.Cmp(y)
	}
	switch op {
	case "<":
		return order < 0
	case "<=":
		return order <= 0
	case ">":
		return order > 0
	case ">=":
		return order >= 0
	case "!=":
		return order != 0
	}
	return order == 0
}

// exprInt reads a whole number.
func exprInt(s string) (*big.Int, bool) {
	if digits := strings.TrimPrefix(s, "-"); digits == "" || strings.Trim(digits, "0123456789") != "" ||
		len(digits) > 100_000 {
		return nil, false
	}
	return new(big.Int).SetString(s, 10)
}

func (p *exprParser) sum() string {
	left := p.product()
	for op := p.accept("+", "-"); op != ""; op = p.accept("+", "-") {
		left = p.arith(op, left, p.product())
	}
	return left
}

func (p *exprParser) product() string {
	left := p.match()
	for op := p.accept("*", "/", "%"); op != ""; op = p.accept("*", "/", "%") {
		left = p.arith(op, left, p.match())
	}
	return left
}

func (p *exprParser) arith(op, left, right string) string {
	if p.skip > 0 {
		return "0"
	}
	cli.Check(p.ctx.Err())
	x, okA := exprInt(left)
	y, okB := exprInt(right)
	if !okA || !okB {
		p.fail("non-integer argument")
	}
	switch op {
	case "+":
		x.Add(x, y)
	case "-":
		x.Sub(x, y)
	case "*":
		x.Mul(x, y)
	default:
		if y.Sign() == 0 {
			p.fail("division by zero")
		}
		q, r := new(big.Int).QuoRem(x, y, new(big.Int))
		if x = q; op == "%" {
			x = r
		}
	}
	return x.String()
}

func (p *exprParser) match() string {
	left := p.keyword()
	for p.accept(":") != "" {
		left = p.matched(left, p.keyword())
	}
	return left
}

// matched is "string : regex": the first group, or how many characters match.
func (p *exprParser) matched(s, pattern string) string {
	if p.skip > 0 {
		return ""
	}
	held := &cli.Memory{C: p.c}
	defer held.Release()
	re, err := regex.Compile("^"+strings.TrimPrefix(pattern, "^"), held.Bound(p.ctx, regex.Options{}))
	cli.Check(err)
	loc := re.Find([]byte(s), 0, nil)
	cli.Check(re.Err())
	grouped := re.NumSubexp() > 0
	switch {
	case loc == nil && !grouped:
		return "0"
	case loc == nil || grouped && loc[2] < 0:
		return ""
	case grouped:
		return s[loc[2]:loc[3]]
	}
	return strconv.Itoa(utf8.RuneCountInString(s[:loc[1]]))
}

// keyword reads one of the functions, or an operand.
func (p *exprParser) keyword() string {
	p.nest()
	defer func() { p.depth-- }()
	word := p.accept("match", "substr", "index", "length", "+")
	switch word {
	case "":
		return p.operand()
	case "+":
		return p.token()
	}
	first := p.keyword()
	switch word {
	case "match":
		return p.matched(first, p.keyword())
	case "length":
		return strconv.Itoa(utf8.RuneCountInString(first))
	case "index":
		return exprIndex(first, p.keyword())
	}
	pos := p.keyword()
	return exprSubstr(first, pos, p.keyword())
}

func exprIndex(s, chars string) string {
	i := strings.IndexAny(s, chars)
	if i < 0 {
		return "0"
	}
	return strconv.Itoa(utf8.RuneCountInString(s[:i]) + 1)
}

func exprSubstr(s, pos, length string) string {
	from, okA := exprInt(pos)
	n, okB := exprInt(length)
	count := utf8.RuneCountInString(s)
	if !okA || !okB || from.Sign() <= 0 || n.Sign() <= 0 || from.Cmp(big.NewInt(int64(count))) > 0 {
		return ""
	}
	s = exprTail(s, int(from.Int64())-1)
	if n.Cmp(big.NewInt(int64(count))) >= 0 {
		return s
	}
	return s[:len(s)-len(exprTail(s, int(n.Int64())))]
}

// exprTail returns s without its first n characters; bytes that are none count as one each.
func exprTail(s string, n int) string {
	for i := range s {
		if n == 0 {
			return s[i:]
		}
		n--
	}
	return ""
}

func (p *exprParser) operand() string {
	if p.accept("(") == "" {
		if p.peek() == ")" {
			p.fail("syntax error: unexpected ')'")
		}
		return p.token()
	}
	v := p.or()
	if p.accept(")") == "" {
		if p.pos < len(p.words) {
			p.fail("syntax error: expecting ')' instead of %s", cli.QuoteCurly(p.peek()))
		}
		p.fail("syntax error: expecting ')' after %s", cli.QuoteCurly(p.words[p.pos-1]))
	}
	return v
}

func (p *exprParser) token() string {
	if p.pos >= len(p.words) {
		p.fail("syntax error: missing argument after %s", cli.QuoteCurly(p.words[p.pos-1]))
	}
	p.pos++
	return p.words[p.pos-1]
}
