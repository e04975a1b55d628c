package number

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"hako/shell/command/internal/cli"
)

// eval computes an expression.
func (m *bc) eval(n *bcNode) calcNum {
	m.tick()
	switch n.op {
	case "num":
		return m.parseNum(n.name, m.ibase)
	case "var", "item", "special":
		return m.get(n)
	case "paren":
		return m.eval(n.kids[0])
	case "neg":
		return m.neg(m.eval(n.kids[0]))
	case "=":
		v := m.eval(n.kids[1])
		m.set(n.kids[0], v)
		return m.get(n.kids[0])
	case "++", "--", "post++", "post--":
		old := m.get(n.kids[0])
		step := calcInt(1)
		if strings.HasSuffix(n.op, "--") {
			step = calcInt(-1)
		}
		m.set(n.kids[0], m.add(old, step))
		if n.op[0] == 'p' {
			return old
		}
		return m.get(n.kids[0])
	case "call":
		return m.invoke(n)
	case "length":
		return calcInt(int64(m.eval(n.kids[0]).length()))
	case "scale":
		return calcInt(int64(m.eval(n.kids[0]).scale))
	case "sqrt":
		return m.sqrt(m.eval(n.kids[0]), m.scale)
	case "!":
		return calcBool(m.eval(n.kids[0]).sign() == 0)
	case "array":
		cli.Check(errBCSyntax)
	}
	return m.operate(n.op, m.eval(n.kids[0]), m.eval(n.kids[1]))
}

func (m *bc) operate(op string, x, y calcNum) calcNum {
	switch op {
	case "+":
		return m.add(x, y)
	case "-":
		return m.sub(x, y)
	case "*":
		return m.mul(x, y, m.scale)
	case "/":
		return m.div(x, y, m.scale)
	case "%":
		return m.mod(x, y, m.scale)
	case "^":
		if y.scale > 0 && m.cmp(y, m.rescale(y, 0)) != 0 {
			m.warn("Runtime warning (func=(main), adr=8): non-zero scale in exponent")
		}
		return m.pow(x, y, m.scale)
	case "&&":
		return calcBool(x.sign() != 0 && y.sign() != 0)
	case "||":
		return calcBool(x.sign() != 0 || y.sign() != 0)
	}
	c := m.cmp(x, y)
	switch op {
	case "<":
		return calcBool(c < 0)
	case "<=":
		return calcBool(c <= 0)
	case ">":
		return calcBool(c > 0)
	case ">=":
		return calcBool(c >= 0)
	case "==":
		return calcBool(c == 0)
	}
	return calcBool(c != 0)
}

func (m *bc) get(n *bcNode) calcNum {
	switch n.op {
	case "var":
		if v, ok := m.vars[n.name]; ok {
			return v
		}
	case "item":
		if v, ok := m.arrays[n.name][m.index(n)]; ok {
			return v
		}
	case "special":
		switch n.name {
		case "scale":
			return calcInt(int64(m.scale))
		case "ibase":
			return calcInt(int64(m.ibase))
		case "obase":
			return calcInt(int64(m.obase))
		}
		return m.last
	}
	return calcInt(0)
}

func (m *bc) index(n *bcNode) int {
	i := m.eval(n.kids[0]).int()
	if i < 0 || i > 1<<24 {
		cli.Check(bcError(fmt.Sprintf("Array %s subscript out of bounds.", n.name)))
	}
	return i
}

func (m *bc) set(n *bcNode, v calcNum) {
	switch n.op {
	case "var":
		m.keep(m.vars[n.name], v)
		m.vars[n.name] = v
	case "item":
		i := m.index(n)
		if m.arrays[n.name] == nil {
			m.arrays[n.name] = map[int]calcNum{}
		}
		m.keep(m.arrays[n.name][i], v)
		m.arrays[n.name][i] = v
	case "special":
		m.setSpecial(n.name, v)
	}
}

// keep charges for a value that takes the place of another.
func (m *bc) keep(old, v calcNum) {
	size := v.size()
	if old.n != nil {
		size -= old.size()
	}
	m.hold(size)
}

func (m *bc) setSpecial(name string, v calcNum) {
	i := v.int()
	switch name {
	case "scale":
		if i > calcMaxScale {
			cli.Check(errTooLong)
		}
		m.scale = max(i, 0)
	case "ibase":
		m.ibase = min(max(i, 2), 16)
	case "obase":
		m.obase = min(max(i, 2), 1_000_000)
	case "last":
		m.last = v
	}
}

// invoke calls a function: its parameters and automatic variables hide those
// of the same name until it returns.
func (m *bc) invoke(n *bcNode) calcNum {
	f := m.fns[n.name]
	if f == nil {
		if m.library {
			if v, ok := m.libraryCall(n); ok {
				return v
			}
		}
		cli.Check(bcError(fmt.Sprintf("Function %s not defined.", n.name)))
	}
	if len(f.params) != len(n.kids) {
		cli.Check(bcError("Parameter number mismatch"))
	}
	if m.level++; m.level > maxBCDepth {
		cli.Check(bcError("functions call each other too deep"))
	}
	restore := m.bind(f, n.kids)
	defer restore()
	m.ret = calcInt(0)
	if end := m.exec(f.body); end == "quit" {
		cli.Check(bcError("halt inside a function"))
	}
	m.level--
	v := m.ret
	m.ret = calcInt(0)
	return v
}

// bind gives parameters their values and returns what undoes it.
func (m *bc) bind(f *bcFunc, args []*bcNode) (restore func()) {
	vals := make([]calcNum, len(args))
	lists := make([]map[int]calcNum, len(args))
	for i, a := range args {
		if strings.HasSuffix(f.params[i], "[]") {
			if a.op != "array" && a.op != "var" {
				cli.Check(bcError("Parameter type mismatch"))
			}
			lists[i] = m.copyArray(a.name)
		} else {
			vals[i] = m.eval(a)
		}
	}
	names := slices.Concat(f.params, f.autos)
	oldVars, oldArrays := map[string]calcNum{}, map[string]map[int]calcNum{}
	for i, full := range names {
		name, isArray := strings.CutSuffix(full, "[]")
		v, list := calcInt(0), map[int]calcNum(nil)
		if i < len(args) {
			v, list = vals[i], lists[i]
		}
		if isArray {
			oldArrays[name] = m.arrays[name]
			m.arrays[name] = list
		} else {
			oldVars[name] = m.vars[name]
			m.vars[name] = v
		}
	}
	m.hold(200 * len(names))
	return func() {
		m.hold(-200 * len(names))
		for name, v := range oldVars {
			m.vars[name] = v
			if v.n == nil {
				delete(m.vars, name)
			}
		}
		maps.Copy(m.arrays, oldArrays)
	}
}

func (m *bc) copyArray(name string) map[int]calcNum {
	list := make(map[int]calcNum, len(m.arrays[name]))
	for i, v := range m.arrays[name] {
		m.hold(v.size())
		list[i] = v
	}
	return list
}
