package shell

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"hako/shell/regex"
	"hako/shell/vfs"
)

// testClause runs [[ … ]].
func (p *proc) testClause(c *syntax.TestClause) {
	ok := p.testExpr(c.X)
	if p.bad != nil && !stops(p.bad) {
		var s stopper
		if !errors.As(p.bad, &s) {
			p.errorf("%v", p.bad)
			p.bad = nil
			p.status = 2
			return
		}
	}
	if p.failed() {
		return
	}
	p.status = int(truth(!ok))
}

// testExpr evaluates a condition. The parser nests "a && b || c" and "! a || b" to
// the right, whatever binds tighter, so the tree is read as the list it was written
// as: "!" negates one term, and && binds tighter than ||.
func (p *proc) testExpr(x syntax.TestExpr) bool {
	if !p.deeper() {
		return false
	}
	defer p.shallower()
	value, join := true, syntax.AndTest
	for x != nil && p.bad == nil {
		want := true
		for not, ok := negated(x); ok; not, ok = negated(x) {
			want, x = !want, not
		}
		term, op, rest := firstTerm(x)
		if join == syntax.OrTest || value {
			value = p.testTerm(term) == want
		}
		if op == syntax.OrTest && value {
			return true
		}
		join, x = op, rest
	}
	return value
}

// negated returns what a "!" stands before.
func negated(x syntax.TestExpr) (syntax.TestExpr, bool) {
	u, ok := x.(*syntax.UnaryTest)
	if !ok || u.Op != syntax.TsNot {
		return nil, false
	}
	return u.X, true
}

// firstTerm cuts off what follows the first && or ||.
func firstTerm(x syntax.TestExpr) (term syntax.TestExpr, op syntax.BinTestOperator, rest syntax.TestExpr) {
	if b, ok := x.(*syntax.BinaryTest); ok && (b.Op == syntax.AndTest || b.Op == syntax.OrTest) {
		return b.X, b.Op, b.Y
	}
	return x, 0, nil
}

func (p *proc) testTerm(x syntax.TestExpr) bool {
	switch x := x.(type) {
	case *syntax.Word:
		return p.word(x) != ""
	case *syntax.ParenTest:
		return p.testExpr(x.X)
	case *syntax.UnaryTest:
		w, _ := x.X.(*syntax.Word)
		return p.unaryTest(x.Op.String(), p.word(w))
	case *syntax.BinaryTest:
		return p.binaryTest(x)
	}
	return false
}

func (p *proc) binaryTest(x *syntax.BinaryTest) bool {
	xw, _ := x.X.(*syntax.Word)
	yw, _ := x.Y.(*syntax.Word)
	left := p.word(xw)
	switch x.Op {
	case syntax.TsMatch, syntax.TsMatchShort, syntax.TsNoMatch:
		m := p.compile(p.pattern(yw), p.opts.nocasematch).Match(left)
		return m == (x.Op != syntax.TsNoMatch)
	case syntax.TsReMatch:
		return p.regexMatch(left, yw)
	case syntax.TsEql, syntax.TsNeq, syntax.TsLss, syntax.TsGtr, syntax.TsLeq, syntax.TsGeq:
		return p.testInts(x.Op.String(), left, p.word(yw))
	case syntax.TsBefore:
		return left < p.word(yw)
	case syntax.TsAfter:
		return left > p.word(yw)
	}
	return p.compareFiles(x.Op.String(), left, p.word(yw))
}

// regexMatch runs =~ and sets BASH_REMATCH. Quoted parts of the expression
// stand for themselves.
func (p *proc) regexMatch(s string, w *syntax.Word) bool {
	re, err := regex.Compile(p.regexSource(w), regex.Options{Syntax: regex.ERE, Fold: p.opts.nocasematch})
	if err != nil {
		p.fail("%v", err)
		return false
	}
	loc := re.Find([]byte(s), 0, nil)
	v := p.vars.own("BASH_REMATCH")
	v.kind, v.set = indexed, true
	v.clear()
	if loc == nil {
		return false
	}
	elems := make([]newElem, len(loc)/2)
	for i := range elems {
		if loc[2*i] >= 0 {
			elems[i].value = s[loc[2*i]:loc[2*i+1]]
		}
	}
	p.fillArray(v, elems)
	return true
}

func (p *proc) regexSource(w *syntax.Word) string {
	var b strings.Builder
	for _, part := range w.Parts {
		switch part := part.(type) {
		case *syntax.Lit:
			b.WriteString(part.Value)
		case *syntax.SglQuoted, *syntax.DblQuoted:
			b.WriteString(regexQuote(p.word(&syntax.Word{Parts: []syntax.WordPart{part}})))
		default:
			b.WriteString(p.word(&syntax.Word{Parts: []syntax.WordPart{part}}))
		}
	}
	return b.String()
}

func regexQuote(s string) string {
	var b strings.Builder
	for i := range len(s) {
		if strings.IndexByte(`\.[]()*+?{}|^$`, s[i]) >= 0 {
			b.WriteByte('\\')
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// testInts compares expressions. One that is wrong makes the term false, and the
// condition goes on.
func (p *proc) testInts(op, a, b string) bool {
	is := compareInts(op, p.valueOf(a), p.valueOf(b))
	var unbound stopper
	if p.bad != nil && !stops(p.bad) && !errors.As(p.bad, &unbound) {
		p.errorf("[[: %v", p.bad)
		p.bad = nil
		return false
	}
	return is
}

func compareInts(op string, a, b int64) bool {
	switch op {
	case "-eq":
		return a == b
	case "-ne":
		return a != b
	case "-lt":
		return a < b
	case "-gt":
		return a > b
	case "-le":
		return a <= b
	}
	return a >= b
}

func (p *proc) compareFiles(op, a, b string) bool {
	x, errX := p.ses.FS.Stat(p.path(a))
	y, errY := p.ses.FS.Stat(p.path(b))
	switch op {
	case "-nt":
		return errX == nil && (errY != nil || x.ModTime().After(y.ModTime()))
	case "-ot":
		return errY == nil && (errX != nil || x.ModTime().Before(y.ModTime()))
	}
	return errX == nil && errY == nil && vfs.SameFile(x, y)
}

// unaryTest answers -f, -z, -v and the others.
func (p *proc) unaryTest(op, arg string) bool {
	switch op {
	case "-z":
		return arg == ""
	case "-n":
		return arg != ""
	case "-v":
		return p.isSet(arg)
	case "-R":
		v := p.vars.get(arg)
		return v != nil && v.attrs&nameref != 0
	case "-o":
		return p.isOn(arg)
	case "-t":
		return false // never a terminal
	}
	return p.fileTest(op, arg)
}

func (p *proc) isSet(name string) bool {
	ref := p.referenceOf(name)
	return ref.name != "" && p.fetch(ref).set
}

func (p *proc) fileTest(op, name string) bool {
	if n, ok := devFD(name); ok {
		d := p.fds.get(n)
		return d != nil && (op == "-e" || op == "-r" && d.r != nil || op == "-w" && d.w != nil)
	}
	if op == "-L" || op == "-h" {
		info, err := p.ses.FS.Lstat(p.path(name))
		return err == nil && info.Mode()&fs.ModeSymlink != 0
	}
	if name == "" {
		return false
	}
	info, err := p.ses.FS.Stat(p.path(name))
	if err != nil {
		return false
	}
	return fileIs(op, info)
}

func fileIs(op string, info vfs.Info) bool {
	mode := info.Mode()
	switch op {
	case "-e", "-a":
		return true
	case "-f":
		return mode.IsRegular()
	case "-d":
		return mode.IsDir()
	case "-s":
		return info.Size() > 0
	case "-r":
		return mode&0o444 != 0
	case "-w":
		return mode&0o222 != 0
	case "-x":
		return mode&0o111 != 0
	case "-c":
		return mode&fs.ModeCharDevice != 0
	case "-b":
		return mode&fs.ModeDevice != 0 && mode&fs.ModeCharDevice == 0
	case "-p":
		return mode&fs.ModeNamedPipe != 0
	case "-S":
		return mode&fs.ModeSocket != 0
	case "-k":
		return mode&fs.ModeSticky != 0
	case "-g":
		return mode&fs.ModeSetgid != 0
	case "-u":
		return mode&fs.ModeSetuid != 0
	}
	return true // -O -G -N: everything here is the user's own and new
}

// testCommand runs test and [ with their words.
func (p *proc) testCommand(name string, args []string) error {
	t := &tester{p: p, args: args}
	ok, err := t.run()
	if stops(err) {
		return err
	}
	if err != nil {
		p.errorf("%s: %v", name, err)
		return Status(2)
	}
	if !ok {
		return Status(1)
	}
	return nil
}

// tester reads the words of test. Up to four words are read by their number,
// as POSIX says; more by precedence.
type tester struct {
	p    *proc
	args []string
	pos  int
}

const unaryOps = " -a -b -c -d -e -f -g -h -k -n -o -p -r -s -t -u -v -w -x -z -G -L -N -O -R -S "

const binaryOps = " = == != < > -eq -ne -lt -gt -le -ge -nt -ot -ef "

func isUnary(s string) bool  { return len(s) == 2 && strings.Contains(unaryOps, " "+s+" ") }
func isBinary(s string) bool { return s != "" && strings.Contains(binaryOps, " "+s+" ") }

func (t *tester) run() (bool, error) {
	a := t.args
	switch len(a) {
	case 0:
		return false, nil
	case 1:
		return a[0] != "", nil
	case 2:
		if a[0] == "!" {
			return a[1] == "", nil
		}
		if isUnary(a[0]) {
			return t.p.unaryTest(a[0], a[1]), nil
		}
		return false, fmt.Errorf("%s: unary operator expected", a[0])
	case 3:
		if isBinary(a[1]) {
			return t.compare(a[0], a[1], a[2])
		}
		switch {
		case a[1] == "-a":
			return a[0] != "" && a[2] != "", nil
		case a[1] == "-o":
			return a[0] != "" || a[2] != "", nil
		case a[0] == "!":
			sub := &tester{p: t.p, args: a[1:]}
			ok, err := sub.run()
			return !ok, err
		case a[0] == "(" && a[2] == ")":
			return a[1] != "", nil
		}
		return false, fmt.Errorf("%s: binary operator expected", a[1])
	case 4:
		if a[0] == "!" {
			sub := &tester{p: t.p, args: a[1:]}
			ok, err := sub.run()
			return !ok, err
		}
	}
	ok, err := t.or()
	if err == nil && t.pos < len(t.args) {
		err = errors.New("too many arguments")
	}
	return ok, err
}

func (t *tester) peek() string {
	if t.pos < len(t.args) {
		return t.args[t.pos]
	}
	return ""
}

func (t *tester) or() (bool, error) {
	ok, err := t.and()
	for err == nil && t.peek() == "-o" {
		t.pos++
		var more bool
		more, err = t.and()
		ok = ok || more
	}
	return ok, err
}

func (t *tester) and() (bool, error) {
	ok, err := t.primary()
	for err == nil && t.peek() == "-a" {
		t.pos++
		var more bool
		more, err = t.primary()
		ok = ok && more
	}
	return ok, err
}

func (t *tester) primary() (bool, error) {
	if !t.p.deeper() {
		err := t.p.bad
		t.p.bad = nil
		return false, err
	}
	defer t.p.shallower()
	left := len(t.args) - t.pos
	if left == 0 {
		return false, errors.New("argument expected")
	}
	word := t.args[t.pos]
	switch {
	case left >= 3 && isBinary(t.args[t.pos+1]):
		t.pos += 3
		return t.compare(word, t.args[t.pos-2], t.args[t.pos-1])
	case word == "!":
		t.pos++
		ok, err := t.primary()
		return !ok, err
	case word == "(":
		t.pos++
		ok, err := t.or()
		if err == nil && t.peek() != ")" {
			err = errors.New("`)' expected")
		}
		t.pos++
		return ok, err
	case left >= 2 && isUnary(word):
		t.pos += 2
		return t.p.unaryTest(word, t.args[t.pos-1]), nil
	}
	t.pos++
	return word != "", nil
}

func (t *tester) compare(a, op, b string) (bool, error) {
	switch op {
	case "=", "==":
		return a == b, nil
	case "!=":
		return a != b, nil
	case "<":
		return a < b, nil
	case ">":
		return a > b, nil
	case "-nt", "-ot", "-ef":
		return t.p.compareFiles(op, a, b), nil
	}
	x, err := strconv.ParseInt(strings.TrimSpace(a), 10, 64)
	if err != nil {
		return false, fmt.Errorf("%s: integer expression expected", a)
	}
	y, err := strconv.ParseInt(strings.TrimSpace(b), 10, 64)
	if err != nil {
		return false, fmt.Errorf("%s: integer expression expected", b)
	}
	return compareInts(op, x, y), nil
}
