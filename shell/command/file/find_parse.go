package file

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"hako/run/fault"
	"hako/shell/command/internal/cli"
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

func (f *finder) parse(words []string) (e findExpr, err error) {
	defer cli.Catch(&err)
	y, m, d := f.now.In(datetime.ZoneOrUTC(f.c)).Date()
	f.dayStart = time.Date(y, m, d, 0, 0, 0, 0, datetime.ZoneOrUTC(f.c))
	p := &findParser{f: f, words: words}
	if len(words) == 0 {
		return f.print("\n"), nil
	}
	e = p.list()
	if p.at < len(words) {
		p.stray()
	}
	if !f.acted {
		e = both(e, f.print("\n"))
	}
	return e, nil
}

// fail ends the parsing with an error; [finder.parse] returns it.
func fail(format string, args ...any) { cli.Check(fmt.Errorf(format, args...)) }

func (p *findParser) stray() {
	if w := p.words[p.at]; w != ")" {
		fail("paths must precede expression: `%s'", w)
	}
	fail("invalid expression; you have too many ')'")
}

func (p *findParser) peek() string {
	if p.at < len(p.words) {
		return p.words[p.at]
	}
	return ""
}

func (p *findParser) list() findExpr {
	return p.chain(p.or, []string{","}, func(_ bool) bool { return true })
}

func (p *findParser) or() findExpr {
	return p.chain(p.and, []string{"-o", "-or"}, func(left bool) bool { return !left })
}

// chain reads operands that are joined by one of the operators. more decides by
// the result of the left side whether the right one is evaluated.
func (p *findParser) chain(operand func() findExpr, operators []string, more func(left bool) bool) findExpr {
	left := operand()
	for slices.Contains(operators, p.peek()) {
		p.at++
		first, right := left, operand()
		left = func(file *findFile) bool {
			if ok := first(file); !more(ok) {
				return ok
			}
			return right(file)
		}
	}
	return left
}

func (p *findParser) and() findExpr {
	left := p.not()
	for p.at < len(p.words) && !slices.Contains([]string{")", ",", "-o", "-or"}, p.peek()) {
		if w := p.peek(); w == "-a" || w == "-and" {
			p.at++
		}
		left = both(left, p.not())
	}
	return left
}

func both(a, b findExpr) findExpr {
	return func(file *findFile) bool { return a(file) && b(file) }
}

func (p *findParser) not() findExpr {
	w := p.peek()
	if w != "!" && w != "-not" {
		return p.primary()
	}
	if p.at++; p.at >= len(p.words) {
		fail("expected an expression after '%s'", w)
	}
	defer p.nest()()
	e := p.not()
	return func(file *findFile) bool { return !e(file) }
}

// nest counts a level; the function it returns leaves it.
func (p *findParser) nest() func() {
	if p.depth++; p.depth > maxNesting {
		fail("invalid expression; it is nested too deeply")
	}
	return func() { p.depth-- }
}

func (p *findParser) primary() findExpr {
	if p.at >= len(p.words) {
		fail("expected an expression after '%s'", p.words[p.at-1])
	}
	w := p.words[p.at]
	switch w {
	case "(":
		return p.group()
	case ")":
		fail("invalid expression; you have used a ')' where an expression was expected")
	case "-a", "-and", "-o", "-or", ",":
		fail("invalid expression; you have used a binary operator '%s' with nothing before it.", w)
	}
	if !strings.HasPrefix(w, "-") {
		p.stray()
	}
	p.at++
	return p.predicate(w)
}

func (p *findParser) group() findExpr {
	p.at++
	defer p.nest()()
	if p.at >= len(p.words) {
		fail("invalid expression; expected to find a ')' but didn't see one. " +
			"Perhaps you need an extra predicate after '('")
	}
	if p.peek() == ")" {
		fail("invalid expression; empty parentheses are not allowed.")
	}
	e := p.list()
	if p.peek() != ")" {
		fail("invalid expression; I was expecting to find a ')' somewhere but did not see one.")
	}
	p.at++
	return e
}

// predicate makes the test, action or option called w.
func (p *findParser) predicate(w string) findExpr {
	if e, ok := p.f.plain(w); ok {
		return e
	}
	if w == "-exec" || w == "-execdir" {
		return p.exec(w)
	}
	if w == "-ok" || w == "-okdir" {
		fail("%s: there is nobody to ask here; use -exec", w)
	}
	make, ok := findTests[w]
	if !ok {
		p.unknown(w)
	}
	if p.at >= len(p.words) {
		fail("missing argument to `%s'", w)
	}
	value := p.words[p.at]
	p.at++
	return make(p.f, w, value)
}

func (p *findParser) unknown(w string) {
	names := []string{"-print", "-print0", "-delete", "-empty", "-prune", "-exec", "-ls", "-quit", "-depth", "-not"}
	if near, ok := fault.Nearest(w, slices.AppendSeq(names, maps.Keys(findTests))); ok {
		fail("unknown predicate `%s'\nfind: did you mean `%s'?", w, near)
	}
	fail("unknown predicate `%s'", w)
}

// A count is a numeric test: exactly n, more (+n) or less (-n).
type count struct {
	sign byte
	n    int64
}

// parseCountTest reads a numeric test; message is the error for any other text.
func parseCountTest(s, message string, args ...any) count {
	c := count{}
	if s != "" && (s[0] == '+' || s[0] == '-') {
		c.sign, s = s[0], s[1:]
	}
	n, err := strconv.ParseInt(s, 10, 62)
	if err != nil || n < 0 {
		fail(message, args...)
	}
	c.n = n
	return c
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
