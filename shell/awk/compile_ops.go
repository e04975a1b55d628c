package awk

import (
	"math"
	"strings"
)

func (c *compiler) arith(e *arith) numFn {
	a, b, line := c.num(e.a), c.num(e.b), e.line
	switch e.op {
	case tPlus:
		return func(m *machine) float64 { return a(m) + b(m) }
	case tMinus:
		return func(m *machine) float64 { return a(m) - b(m) }
	case tStar:
		return func(m *machine) float64 { return a(m) * b(m) }
	}
	op := operation(e.op, line)
	return func(m *machine) float64 {
		x := a(m)
		return op(x, b(m))
	}
}

// operation returns the arithmetic behind an operator.
func operation(op token, line int) func(x, y float64) float64 {
	switch op {
	case tPlus:
		return func(x, y float64) float64 { return x + y }
	case tMinus:
		return func(x, y float64) float64 { return x - y }
	case tStar:
		return func(x, y float64) float64 { return x * y }
	case tSlash:
		return func(x, y float64) float64 {
			if y == 0 {
				fail(line, "division by zero attempted")
			}
			return x / y
		}
	case tPercent:
		return func(x, y float64) float64 {
			if y == 0 {
				fail(line, "division by zero attempted in `%%'")
			}
			return modulo(x, y)
		}
	}
	return power
}

// modulo is the remainder of C; whole numbers do not need its full care.
func modulo(x, y float64) float64 {
	if i, j := int64(x), int64(y); float64(i) == x && float64(j) == y && i > -1<<53 && i < 1<<53 && j != 0 && i >= 0 {
		return float64(i % j)
	}
	return math.Mod(x, y)
}

// power multiplies for whole exponents, which is exact where the result is.
func power(x, y float64) float64 {
	if y != math.Trunc(y) || math.Abs(y) > 1024 {
		return math.Pow(x, y)
	}
	n, result := int(math.Abs(y)), 1.0
	for base := x; n > 0; n >>= 1 {
		if n&1 == 1 {
			result *= base
		}
		base *= base
	}
	if y < 0 {
		return 1 / result
	}
	return result
}

func (c *compiler) compare(e *compare) condFn {
	op := e.op
	na, nb := natureOf(e.a), natureOf(e.b)
	switch {
	case na == yieldsStr || nb == yieldsStr:
		a, b := c.str(e.a), c.str(e.b)
		if op == tEq {
			return func(m *machine) bool {
				x, y := a(m), b(m)
				return x == y || m.ignoreCase && m.orderText(x, y) == 0
			}
		}
		return func(m *machine) bool {
			x := a(m)
			return compares(op, m.orderText(x, b(m)))
		}
	case na == yieldsNum && nb == yieldsNum:
		return compareNums(op, c.num(e.a), c.num(e.b))
	}
	a, b := c.val(e.a), c.val(e.b)
	return func(m *machine) bool {
		x := a(m)
		y := b(m)
		return compares(op, m.order(&x, &y))
	}
}

func compareNums(op token, a, b numFn) condFn {
	switch op {
	case tLt:
		return func(m *machine) bool { return a(m) < b(m) }
	case tLe:
		return func(m *machine) bool { return a(m) <= b(m) }
	case tEq:
		return func(m *machine) bool { return a(m) == b(m) }
	case tNe:
		return func(m *machine) bool { return a(m) != b(m) }
	case tGt:
		return func(m *machine) bool { return a(m) > b(m) }
	}
	return func(m *machine) bool { return a(m) >= b(m) }
}

func (c *compiler) concat(e *concat) strFn {
	parts := make([]strFn, len(e.parts))
	for i, p := range e.parts {
		parts[i] = c.str(p)
	}
	if len(parts) == 2 {
		a, b := parts[0], parts[1]
		return func(m *machine) string {
			x, y := a(m), b(m)
			m.fits(len(x) + len(y))
			return x + y
		}
	}
	return func(m *machine) string {
		var few [8]string
		list, size := few[:0], 0
		for _, p := range parts {
			s := p(m)
			size += len(s)
			m.fits(size)
			list = append(list, s)
		}
		return strings.Join(list, "")
	}
}

// array compiles a reference to a whole array.
func (c *compiler) array(v *varRef) func(*machine) *array {
	slot := v.sym.slot
	if v.sym.local {
		return func(m *machine) *array { return m.tables[slot] }
	}
	return func(m *machine) *array { return m.arrays[slot] }
}

// element compiles a reference to an element, which comes into being by it.
func (c *compiler) element(e *indexRef) func(*machine) *value {
	arr := c.array(e.array)
	if len(e.subs) > 1 {
		key := c.keys(e.subs)
		return func(m *machine) *value {
			k := key(m)
			return m.atBytes(arr(m), k)
		}
	}
	if natureOf(e.subs[0]) == yieldsStr {
		s := c.naturalStr(e.subs[0])
		return func(m *machine) *value { return m.at(arr(m), s(m)) }
	}
	v := c.val(e.subs[0])
	return func(m *machine) *value {
		x := v(m)
		if x.k != number {
			return m.at(arr(m), x.s)
		}
		return m.atNum(arr(m), x.n)
	}
}

// keys compiles several subscripts into one, joined by SUBSEP.
func (c *compiler) keys(subs []expr) func(*machine) []byte {
	vals := make([]valFn, len(subs))
	for i, e := range subs {
		vals[i] = c.val(e)
	}
	return func(m *machine) []byte {
		var few [4]value
		list, size := few[:0], 0
		for _, v := range vals { // all of them first: a subscript may have subscripts
			x := v(m)
			size += len(x.s) + len(m.subsep)
			list = append(list, x)
		}
		m.fits(size)
		m.key = m.key[:0]
		for i := range list {
			if i > 0 {
				m.key = append(m.key, m.subsep...)
			}
			m.key = m.appendKey(m.key, &list[i])
		}
		return m.key
	}
}

func (c *compiler) member(e *member) condFn {
	arr, key := c.array(e.array), c.keys(e.subs)
	return func(m *machine) bool {
		k := key(m)
		return arr(m).findBytes(k) != nil
	}
}
