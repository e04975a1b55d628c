package number

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"unicode/utf8"

	"hako/shell"
	"hako/shell/command/internal/cli"
	"hako/shell/regex"
)

var Expr = shell.Command{Name: "expr", Run: runExpr}

// maxExprDepth bounds nested parentheses and keywords.
const maxExprDepth = 1000

// exprParser evaluates as it reads. While skip is set nothing may fail: the
// value is not wanted.
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
		c.Warn("missing operand")
		fmt.Fprintf(c.Stderr, "Try '%s --help' for more information.\n", c.Name)
		return shell.Status(2)
	}
	p := &exprParser{ctx: ctx, c: c, words: words}
	v, err := p.or()
	if err == nil && p.pos < len(words) {
		err = fmt.Errorf("syntax error: unexpected argument %s", cli.QuoteCurly(words[p.pos]))
	}
	var broken exprBroken
	switch {
	case errors.As(err, &broken):
		return broken.err
	case err != nil:
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

// exprBroken is an error that is not about the expression.
type exprBroken struct{ err error }

func (e exprBroken) Error() string { return e.err.Error() }

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

func (p *exprParser) accept(words ...string) string {
	for _, w := range words {
		if p.pos < len(p.words) && p.words[p.pos] == w {
			p.pos++
			return w
		}
	}
	return ""
}

func (p *exprParser) or() (string, error) {
	if p.depth++; p.depth > maxExprDepth {
		return "", errors.New("expression nests too deep")
	}
	defer func() { p.depth-- }()
	left, err := p.and()
	for err == nil && p.accept("|") != "" {
		decided := !exprNull(left)
		right, e := p.unwanted(decided, p.and)
		err = e
		if !decided {
			left = right
			if exprNull(left) {
				left = "0"
			}
		}
	}
	return left, err
}

func (p *exprParser) and() (string, error) {
	left, err := p.compare()
	for err == nil && p.accept("&") != "" {
		decided := exprNull(left)
		right, e := p.unwanted(decided, p.compare)
		err = e
		if decided || exprNull(right) {
			left = "0"
		}
	}
	return left, err
}

// unwanted reads an operand whose value matters only if not is false.
func (p *exprParser) unwanted(not bool, f func() (string, error)) (string, error) {
	if not {
		p.skip++
		defer func() { p.skip-- }()
	}
	return f()
}

func (p *exprParser) compare() (string, error) {
	left, err := p.sum()
	for err == nil {
		op := p.accept("<=", "<", ">=", ">", "==", "=", "!=")
		if op == "" {
			break
		}
		var right string
		if right, err = p.sum(); err == nil {
			left = exprBool(compareExpr(op, left, right))
		}
	}
	return left, err
}

func exprBool(b bool) string {
	if b {
		return "1"
	}
	return "0"
}

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

func (p *exprParser) sum() (string, error) {
	left, err := p.product()
	for err == nil {
		op := p.accept("+", "-")
		if op == "" {
			break
		}
		left, err = p.arith(op, left, p.product)
	}
	return left, err
}

func (p *exprParser) product() (string, error) {
	left, err := p.match()
	for err == nil {
		op := p.accept("*", "/", "%")
		if op == "" {
			break
		}
		left, err = p.arith(op, left, p.match)
	}
	return left, err
}

func (p *exprParser) arith(op, left string, f func() (string, error)) (string, error) {
	right, err := f()
	if err != nil || p.skip > 0 {
		return "0", err
	}
	if p.ctx.Err() != nil {
		return "", exprBroken{context.Cause(p.ctx)}
	}
	x, okA := exprInt(left)
	y, okB := exprInt(right)
	if !okA || !okB {
		return "", errors.New("non-integer argument")
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
			return "", errors.New("division by zero")
		}
		q, r := new(big.Int).QuoRem(x, y, new(big.Int))
		if x = q; op == "%" {
			x = r
		}
	}
	return x.String(), nil
}

func (p *exprParser) match() (string, error) {
	left, err := p.keyword()
	for err == nil && p.accept(":") != "" {
		var right string
		if right, err = p.keyword(); err == nil {
			left, err = p.matched(left, right)
		}
	}
	return left, err
}

// matched is "string : regex": the first group, or how many characters match.
func (p *exprParser) matched(s, pattern string) (string, error) {
	if p.skip > 0 {
		return "", nil
	}
	held := &cli.Memory{C: p.c}
	defer held.Release()
	re, err := regex.Compile("^"+strings.TrimPrefix(pattern, "^"), held.Bound(p.ctx, regex.Options{}))
	if err != nil {
		return "", err
	}
	loc := re.Find([]byte(s), 0, nil)
	if err := re.Err(); err != nil {
		return "", err
	}
	grouped := re.NumSubexp() > 0
	switch {
	case loc == nil && grouped:
		return "", nil
	case loc == nil:
		return "0", nil
	case !grouped:
		return fmt.Sprint(utf8.RuneCountInString(s[:loc[1]])), nil
	case loc[2] < 0:
		return "", nil
	}
	return s[loc[2]:loc[3]], nil
}

// keyword reads one of the functions, or an operand.
func (p *exprParser) keyword() (string, error) {
	if p.depth++; p.depth > maxExprDepth {
		return "", errors.New("expression nests too deep")
	}
	defer func() { p.depth-- }()
	word := p.peek()
	counts := map[string]int{"match": 2, "substr": 3, "index": 2, "length": 1, "+": 0}
	n, ok := counts[word]
	if !ok || p.pos+1 > len(p.words) {
		return p.operand()
	}
	p.pos++
	if word == "+" {
		return p.token()
	}
	var args [3]string
	for i := range n {
		var err error
		if args[i], err = p.keyword(); err != nil {
			return "", err
		}
	}
	switch word {
	case "match":
		return p.matched(args[0], args[1])
	case "length":
		return fmt.Sprint(utf8.RuneCountInString(args[0])), nil
	case "index":
		return exprIndex(args[0], args[1]), nil
	}
	return exprSubstr(args[0], args[1], args[2]), nil
}

func exprIndex(s, chars string) string {
	i := strings.IndexAny(s, chars)
	if i < 0 {
		return "0"
	}
	return fmt.Sprint(utf8.RuneCountInString(s[:i]) + 1)
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

func (p *exprParser) operand() (string, error) {
	if p.accept("(") == "" {
		if p.peek() == ")" && p.pos < len(p.words) {
			return "", errors.New("syntax error: unexpected ')'")
		}
		return p.token()
	}
	v, err := p.or()
	if err == nil && p.accept(")") == "" {
		if p.pos < len(p.words) {
			return "", fmt.Errorf("syntax error: expecting ')' instead of %s", cli.QuoteCurly(p.peek()))
		}
		return "", fmt.Errorf("syntax error: expecting ')' after %s", cli.QuoteCurly(p.words[p.pos-1]))
	}
	return v, err
}

func (p *exprParser) token() (string, error) {
	if p.pos >= len(p.words) {
		return "", fmt.Errorf("syntax error: missing argument after %s", cli.QuoteCurly(p.words[p.pos-1]))
	}
	p.pos++
	return p.words[p.pos-1], nil
}
