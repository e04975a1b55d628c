package awk

import (
	"math"
	"strings"
)

// A builtin is what the parser must know of a function of the language.
type builtin struct {
	min, max int
	yields   nature
	arrays   uint // which arguments are arrays, as bits
}

const many = math.MaxInt

var builtins = map[string]builtin{
	"and": {2, many, yieldsNum, 0}, "asort": {1, 3, yieldsNum, 3}, "asorti": {1, 3, yieldsNum, 3},
	"atan2": {2, 2, yieldsNum, 0}, "close": {1, 2, yieldsNum, 0}, "compl": {1, 1, yieldsNum, 0},
	"cos": {1, 1, yieldsNum, 0}, "exp": {1, 1, yieldsNum, 0}, "fflush": {0, 1, yieldsNum, 0},
	"gensub": {3, 4, yieldsStr, 0}, "gsub": {2, 3, yieldsNum, 0}, "index": {2, 2, yieldsNum, 0},
	"int": {1, 1, yieldsNum, 0}, "isarray": {1, 1, yieldsNum, 0}, "length": {0, 1, yieldsNum, 0},
	"log": {1, 1, yieldsNum, 0}, "lshift": {2, 2, yieldsNum, 0}, "match": {2, 3, yieldsNum, 4},
	"mktime": {1, 2, yieldsNum, 0}, "or": {2, many, yieldsNum, 0}, "patsplit": {2, 4, yieldsNum, 10},
	"rand": {0, 0, yieldsNum, 0}, "rshift": {2, 2, yieldsNum, 0}, "sin": {1, 1, yieldsNum, 0},
	"split": {2, 4, yieldsNum, 10}, "sprintf": {1, many, yieldsStr, 0}, "sqrt": {1, 1, yieldsNum, 0},
	"srand": {0, 1, yieldsNum, 0}, "strftime": {0, 3, yieldsStr, 0}, "strtonum": {1, 1, yieldsNum, 0},
	"sub": {2, 3, yieldsNum, 0}, "substr": {2, 3, yieldsValue, 0}, "system": {1, 1, yieldsNum, 0},
	"systime": {0, 0, yieldsNum, 0}, "tolower": {1, 1, yieldsStr, 0}, "toupper": {1, 1, yieldsStr, 0},
	"typeof": {1, 1, yieldsStr, 0}, "xor": {2, many, yieldsNum, 0},
}

// numeric holds the functions of one number.
var numeric = map[string]func(float64) float64{
	"int": math.Trunc, "sin": math.Sin, "cos": math.Cos, "exp": math.Exp,
}

func (c *compiler) builtinNum(e *builtinCall) numFn {
	if f := numeric[e.name]; f != nil {
		x := c.num(e.args[0])
		return func(m *machine) float64 { return f(x(m)) }
	}
	switch e.name {
	case "length":
		return c.length(e)
	case "index":
		a, b := c.str(e.args[0]), c.str(e.args[1])
		return func(m *machine) float64 {
			s := a(m)
			return m.index(s, b(m))
		}
	case "match":
		return c.matchCall(e)
	case "split":
		return c.split(e)
	case "patsplit":
		return c.patsplit(e)
	case "sub", "gsub":
		return c.sub(e)
	case "asort", "asorti":
		return c.asort(e)
	case "and", "or", "xor", "lshift", "rshift", "compl":
		return c.bits(e)
	case "close", "fflush", "system":
		return c.fileCall(e)
	case "isarray":
		is := truth(isArray(e.args[0]))
		return func(*machine) float64 { return is }
	}
	return c.mathCall(e)
}

func isArray(e expr) bool {
	v, ok := e.(*varRef)
	return ok && v.sym.array
}

func (c *compiler) mathCall(e *builtinCall) numFn {
	args := make([]numFn, len(e.args))
	for i, a := range e.args {
		if e.name != "strtonum" && e.name != "mktime" {
			args[i] = c.num(a)
		}
	}
	line := e.line
	switch e.name {
	case "atan2":
		return func(m *machine) float64 { y := args[0](m); return math.Atan2(y, args[1](m)) }
	case "sqrt", "log":
		return c.rooted(e.name, args[0], line)
	case "rand":
		c.effects++
		return func(m *machine) float64 { return m.random.next() }
	case "srand":
		c.effects++
		return func(m *machine) float64 {
			seed := float64(m.now().Unix())
			if len(args) > 0 {
				seed = args[0](m)
			}
			return m.random.seed(seed)
		}
	case "systime":
		return func(m *machine) float64 { return float64(m.now().Unix()) }
	case "mktime":
		s := c.str(e.args[0])
		return func(m *machine) float64 { return m.mktime(s(m)) }
	}
	v := c.val(e.args[0])
	return func(m *machine) float64 {
		x := v(m)
		m.spend(4 * len(x.s))
		return strtonum(&x)
	}
}

// rooted compiles functions that are not defined for negative numbers.
func (c *compiler) rooted(name string, x numFn, line int) numFn {
	f := math.Sqrt
	if name == "log" {
		f = math.Log
	}
	return func(m *machine) float64 {
		n := x(m)
		if n < 0 {
			if name == "log" {
				m.warn(line, "%s: received negative argument %s", name, m.numString(n, "%.6g"))
			} else {
				m.warn(line, "%s: called with negative argument %s", name, m.numString(n, "%.6g"))
			}
			return math.Copysign(math.NaN(), -1)
		}
		return f(n)
	}
}

// strtonum reads octal and hexadecimal numbers too.
func strtonum(v *value) float64 {
	v.examine()
	s := strings.TrimLeft(v.s, " \t\n")
	digits, minus := strings.CutPrefix(s, "-")
	n := v.num()
	switch {
	case v.k == number || len(digits) < 2 || digits[0] != '0':
		return n
	case digits[1]|32 == 'x':
		n = wholeNumber(leading(digits[2:], "0123456789abcdefABCDEF"), 16)
	case strings.ContainsAny(digits, "89.eE"):
		return n
	default:
		n = wholeNumber(leading(digits, "01234567"), 8)
	}
	if minus {
		return -n
	}
	return n
}

// leading returns the part of s before any character that is not allowed.
func leading(s, allowed string) string {
	if s = s[:len(s)-len(strings.TrimLeft(s, allowed))]; s == "" {
		return "0"
	}
	return s
}

func (c *compiler) length(e *builtinCall) numFn {
	if len(e.args) == 0 {
		return func(m *machine) float64 { return float64(m.chars.count(m, m.record())) }
	}
	if isArray(e.args[0]) {
		arr := c.array(e.args[0].(*varRef))
		return func(m *machine) float64 { return float64(arr(m).len()) }
	}
	s := c.str(e.args[0])
	return func(m *machine) float64 { return float64(m.chars.count(m, s(m))) }
}

// bits compiles the functions that treat numbers as rows of bits.
func (c *compiler) bits(e *builtinCall) numFn {
	args := make([]numFn, len(e.args))
	for i, a := range e.args {
		args[i] = c.num(a)
	}
	name, line := e.name, e.line
	return func(m *machine) float64 {
		x := bitsOf(name, args[0](m), line)
		if name == "compl" {
			return float64(^x & (1<<53 - 1))
		}
		for _, f := range args[1:] {
			y := bitsOf(name, f(m), line)
			switch name {
			case "and":
				x &= y
			case "or":
				x |= y
			case "xor":
				x ^= y
			case "lshift":
				x <<= y
			case "rshift":
				x >>= y
			}
		}
		return float64(x)
	}
}

func bitsOf(name string, n float64, line int) uint64 {
	if n < 0 {
		fail(line, "%s: received negative value %.6g", name, n)
	}
	return uint64(min(n, 1<<63))
}

func (c *compiler) fileCall(e *builtinCall) numFn {
	c.effects++
	name := func(*machine) string { return "" }
	if len(e.args) > 0 {
		name = c.str(e.args[0])
	}
	switch e.name {
	case "system":
		return func(m *machine) float64 { return m.system(name(m)) }
	case "close":
		how := func(*machine) string { return "" }
		if len(e.args) > 1 {
			how = c.str(e.args[1])
		}
		return func(m *machine) float64 { return m.close(name(m), how(m)) }
	}
	line := e.line
	return func(m *machine) float64 { return m.flush(name(m), line) }
}

func (c *compiler) builtinStr(e *builtinCall) strFn {
	switch e.name {
	case "sprintf":
		format := c.format(e.args, e.line)
		return func(m *machine) string {
			buf := m.buf // an argument may use it too
			m.buf = nil
			b := format(m, buf[:0])
			m.buf = b
			s := string(b)
			m.trim()
			return s
		}
	case "tolower", "toupper":
		f := strings.ToLower
		if e.name == "toupper" {
			f = strings.ToUpper
		}
		s := c.str(e.args[0])
		return func(m *machine) string {
			text := s(m)
			m.fits(3 * len(text))
			return changeCase(text, f)
		}
	case "gensub":
		return c.gensub(e)
	case "strftime":
		return c.strftime(e)
	}
	return c.typeof(e.args[0])
}

// changeCase leaves bytes that are no characters alone.
func changeCase(s string, f func(string) string) string {
	if strings.ToValidUTF8(s, "") == s {
		return f(s)
	}
	b := []byte(s)
	for i, c := range b {
		if c < 0x80 {
			b[i] = f(string(rune(c)))[0]
		}
	}
	return string(b)
}

func (c *compiler) typeof(e expr) strFn {
	if isArray(e) {
		return func(*machine) string { return "array" }
	}
	if _, ok := e.(*regexLit); ok {
		return func(*machine) string { return "number" }
	}
	v := c.val(e)
	return func(m *machine) string {
		x := v(m)
		x.examine()
		return [...]string{unset: "untyped", number: "number", text: "string", input: "string", strnum: "strnum"}[x.k]
	}
}
