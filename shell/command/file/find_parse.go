package file

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"hako/run/fault"
	"hako/shell/command/internal/datetime"
)

// A findParser reads the expression: "," binds weakest, then -o, then -a, then !.
type findParser struct {
	f     *finder
	words []string
	at    int
	depth int
}

// maxNesting bounds parentheses so that parsing cannot exhaust the stack.
const maxNesting = 1000

func (f *finder) parse(words []string) (findExpr, error) {
	y, m, d := f.now.In(datetime.ZoneOrUTC(f.c)).Date()
	f.dayStart = time.Date(y, m, d, 0, 0, 0, 0, datetime.ZoneOrUTC(f.c))
	p := &findParser{f: f, words: words}
	if len(words) == 0 {
		return f.print("\n"), nil
	}
	e, err := p.list()
	if err != nil {
		return nil, err
	}
	if p.at < len(words) {
		return nil, p.stray()
	}
	if f.acted {
		return e, nil
	}
	return both(e, f.print("\n")), nil
}

func (p *findParser) stray() error {
	if w := p.words[p.at]; w != ")" {
		return fmt.Errorf("paths must precede expression: `%s'", w)
	}
	return errors.New("invalid expression; you have too many ')'")
}

func (p *findParser) peek() string {
	if p.at < len(p.words) {
		return p.words[p.at]
	}
	return ""
}

func (p *findParser) list() (findExpr, error) {
	return p.chain(p.or, []string{","}, func(_ bool) bool { return true })
}

func (p *findParser) or() (findExpr, error) {
	return p.chain(p.and, []string{"-o", "-or"}, func(left bool) bool { return !left })
}

// chain reads operands that are joined by one of the operators. more decides by
// the result of the left side whether the right one is evaluated.
func (p *findParser) chain(operand func() (findExpr, error), operators []string, more func(left bool) bool) (
	findExpr, error) {
	left, err := operand()
	for err == nil && slices.Contains(operators, p.peek()) {
		p.at++
		var right findExpr
		first := left
		right, err = operand()
		left = func(file *findFile) (bool, error) {
			if ok, err := first(file); err != nil || !more(ok) {
				return ok, err
			}
			return right(file)
		}
	}
	return left, err
}

func (p *findParser) and() (findExpr, error) {
	left, err := p.not()
	for err == nil && p.at < len(p.words) && !slices.Contains([]string{")", ",", "-o", "-or"}, p.peek()) {
		if w := p.peek(); w == "-a" || w == "-and" {
			p.at++
		}
		var right findExpr
		right, err = p.not()
		left = both(left, right)
	}
	return left, err
}

func both(a, b findExpr) findExpr {
	return func(file *findFile) (bool, error) {
		if ok, err := a(file); !ok || err != nil {
			return false, err
		}
		return b(file)
	}
}

func (p *findParser) not() (findExpr, error) {
	w := p.peek()
	if w != "!" && w != "-not" {
		return p.primary()
	}
	p.at++
	if p.at >= len(p.words) {
		return nil, fmt.Errorf("expected an expression after '%s'", w)
	}
	if p.depth++; p.depth > maxNesting {
		return nil, errors.New("invalid expression; it is nested too deeply")
	}
	defer func() { p.depth-- }()
	e, err := p.not()
	return func(file *findFile) (bool, error) {
		ok, err := e(file)
		return !ok, err
	}, err
}

func (p *findParser) primary() (findExpr, error) {
	if p.at >= len(p.words) {
		return nil, fmt.Errorf("expected an expression after '%s'", p.words[p.at-1])
	}
	w := p.words[p.at]
	switch w {
	case "(":
		return p.group()
	case ")":
		return nil, errors.New("invalid expression; you have used a ')' where an expression was expected")
	case "-a", "-and", "-o", "-or", ",":
		return nil, fmt.Errorf("invalid expression; you have used a binary operator '%s' with nothing before it.", w)
	}
	if !strings.HasPrefix(w, "-") {
		return nil, p.stray()
	}
	p.at++
	return p.predicate(w)
}

func (p *findParser) group() (findExpr, error) {
	p.at++
	if p.depth++; p.depth > maxNesting {
		return nil, errors.New("invalid expression; it is nested too deeply")
	}
	defer func() { p.depth-- }()
	if p.at >= len(p.words) {
		return nil, errors.New("invalid expression; expected to find a ')' but didn't see one. Perhaps you need an extra predicate after '('")
	}
	if p.peek() == ")" {
		return nil, errors.New("invalid expression; empty parentheses are not allowed.")
	}
	e, err := p.list()
	if err != nil {
		return nil, err
	}
	if p.peek() != ")" {
		return nil, errors.New("invalid expression; I was expecting to find a ')' somewhere but did not see one.")
	}
	p.at++
	return e, nil
}

// predicate makes the test, action or option called w.
func (p *findParser) predicate(w string) (findExpr, error) {
	if e, ok := p.f.plain(w); ok {
		return e, nil
	}
	if w == "-exec" || w == "-execdir" {
		return p.exec(w)
	}
	if w == "-ok" || w == "-okdir" {
		return nil, fmt.Errorf("%s: there is nobody to ask here; use -exec", w)
	}
	make, ok := findTests[w]
	if !ok {
		return nil, p.unknown(w)
	}
	if p.at >= len(p.words) {
		return nil, fmt.Errorf("missing argument to `%s'", w)
	}
	value := p.words[p.at]
	p.at++
	return make(p.f, w, value)
}

func (p *findParser) unknown(w string) error {
	names := []string{"-print", "-print0", "-delete", "-empty", "-prune", "-exec", "-ls", "-quit", "-depth", "-not"}
	if near, ok := fault.Nearest(w, slices.AppendSeq(names, maps.Keys(findTests))); ok {
		return fmt.Errorf("unknown predicate `%s'\nfind: did you mean `%s'?", w, near)
	}
	return fmt.Errorf("unknown predicate `%s'", w)
}

// A count is a numeric test: exactly n, more (+n) or less (-n).
type count struct {
	sign byte
	n    int64
}

func parseCountTest(s string) (count, bool) {
	c := count{}
	if s != "" && (s[0] == '+' || s[0] == '-') {
		c.sign, s = s[0], s[1:]
	}
	n, err := strconv.ParseInt(s, 10, 62)
	c.n = n
	return c, err == nil && n >= 0
}

func (c count) holds(n int64) bool {
	switch c.sign {
	case '+':
		return n > c.n
	case '-':
		return n < c.n
	}
	return n == c.n
}
