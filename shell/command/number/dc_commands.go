package number

import (
	"fmt"
	"math/big"
	"strings"

	"hako/shell/command/internal/cli"
)

// command carries out one letter.
func (m *dc) command(c byte, f *dcFrame) {
	switch {
	case strings.IndexByte("+-*/%^~|v", c) >= 0:
		m.calculate(c)
	case strings.IndexByte("pnPf", c) >= 0:
		m.show(c)
	case strings.IndexByte("slSL:;", c) >= 0:
		m.register(c, m.letter(f))
	case strings.IndexByte("<>=", c) >= 0:
		m.compare(string(c), m.letter(f))
	case c == '!':
		if f.pos < len(f.text) && strings.IndexByte("<>=", f.text[f.pos]) >= 0 {
			f.pos++
			m.compare("!"+f.text[f.pos-1:f.pos], m.letter(f))
			return
		}
		f.skipLine()
		cli.Check(bcError("commands cannot be started from the virtual shell"))
	case strings.IndexByte("cdrRzZXakioKIO", c) >= 0:
		m.arrange(c)
	case c == 'x':
		m.execute(m.pop())
	case c == '?':
		line, err := m.call.Stdin.Line()
		if err == nil {
			m.enter(string(line))
		}
	case c == 'q':
		m.quit(2)
	case c == 'Q':
		m.quit(max(m.num().int(), 0))
	default:
		cli.Check(bcError(fmt.Sprintf("'%c' (%04o) unimplemented", c, c)))
	}
}

func (m *dc) letter(f *dcFrame) byte {
	if f.pos >= len(f.text) {
		cli.Check(bcError("unexpected EOS"))
	}
	f.pos++
	return f.text[f.pos-1]
}

// quit leaves n macros; q at the top ends the program.
func (m *dc) quit(n int) {
	if n >= len(m.frames) && n == 2 {
		cli.Check(errQuitDC)
	}
	m.leave(n)
}

func (m *dc) calculate(c byte) {
	switch c {
	case 'v':
		x := m.num()
		if x.sign() < 0 {
			cli.Check(bcError("square root of negative number"))
		}
		m.push(dcValue{n: m.sqrt(x, m.scale)})
		return
	case '|':
		m.modExp()
		return
	}
	x, y := m.nums()
	err := cli.Try(func() { m.push(dcValue{n: m.operate(c, x, y)}) })
	if err != nil { // a failed operation leaves its operands
		m.push(dcValue{n: x})
		m.push(dcValue{n: y})
		cli.Check(err)
	}
}

func (m *dc) operate(c byte, x, y calcNum) calcNum {
	switch c {
	case '+':
		return m.add(x, y)
	case '-':
		return m.sub(x, y)
	case '*':
		return m.mul(x, y, m.scale)
	case '/':
		return m.div(x, y, m.scale)
	case '%':
		if y.sign() == 0 {
			cli.Check(bcError("remainder by zero"))
		}
		return m.mod(x, y, m.scale)
	case '^':
		if y.scale > 0 && m.cmp(y, m.rescale(y, 0)) != 0 {
			fmt.Fprintln(m.call.Stderr, "Runtime warning: non-zero scale in exponent")
		}
		return m.pow(x, y, m.scale)
	}
	q, rest := m.div(x, y, m.scale), m.mod(x, y, m.scale) // c is '~'
	m.push(dcValue{n: q})
	return rest
}

// modExp raises to a power modulo a number.
func (m *dc) modExp() {
	m.need(3)
	mod, e, base := m.rescale(m.num(), 0), m.rescale(m.num(), 0), m.rescale(m.num(), 0)
	switch {
	case mod.sign() == 0:
		cli.Check(errDivide)
	case e.sign() < 0:
		cli.Check(bcError("negative exponent"))
	}
	m.room(mod.n.BitLen() * 64) // many multiplications, none of which can be interrupted
	m.room(e.n.BitLen() * 64)
	m.push(dcValue{n: calcNum{new(big.Int).Exp(base.n, e.n, mod.n), 0}})
}

func (m *dc) show(c byte) {
	switch c {
	case 'p':
		m.need(1)
		m.write(m.stack[len(m.stack)-1], "\n")
	case 'n':
		m.write(m.pop(), "")
	case 'f':
		for i := len(m.stack) - 1; i >= 0; i-- {
			m.write(m.stack[i], "\n")
		}
	case 'P':
		v := m.pop()
		if v.n.n != nil {
			v.s = string(new(big.Int).Abs(m.rescale(v.n, 0).n).Bytes())
		}
		_, _ = m.call.Stdout.WriteString(v.s) // the writer keeps its error
	}
}

func (m *dc) write(v dcValue, end string) {
	if v.n.n == nil {
		_, _ = m.call.Stdout.WriteString(v.s + end)
		return
	}
	calcWrap(m.call.Stdout, m.text(v.n, m.obase), 0, m.width)
	_, _ = m.call.Stdout.WriteString(end)
}

// register uses the register of that name.
func (m *dc) register(c, name byte) {
	r := m.regs[name]
	if r == nil {
		r = &dcRegister{}
		m.regs[name] = r
	}
	switch c {
	case 's':
		v := m.pop()
		m.hold(v.size())
		if len(r.vals) == 0 {
			r.vals, r.arrays = append(r.vals, dcValue{}), append(r.arrays, nil)
		}
		top := &r.vals[len(r.vals)-1]
		m.hold(-top.size())
		*top = v
	case 'l':
		m.push(r.top())
	case 'S':
		v := m.pop()
		m.hold(v.size())
		r.vals, r.arrays = append(r.vals, v), append(r.arrays, nil)
	case 'L':
		if len(r.vals) == 0 {
			cli.Check(bcError(fmt.Sprintf("stack register '%c' (%04o) is empty", name, name)))
		}
		v := r.top()
		r.vals, r.arrays = r.vals[:len(r.vals)-1], r.arrays[:len(r.arrays)-1]
		m.push(v)
		m.hold(-v.size())
	case ':':
		m.need(2)
		i, v := m.num().int(), m.pop()
		m.element(r, i)
		m.hold(v.size() + 48)
		r.arrays[len(r.arrays)-1][i] = v
	case ';':
		v, ok := m.element(r, m.num().int())
		if !ok {
			v = dcValue{n: calcInt(0)}
		}
		m.push(v)
	}
}

// top returns what a register holds; one never used holds 0.
func (r *dcRegister) top() dcValue {
	if r == nil || len(r.vals) == 0 {
		return dcValue{n: calcInt(0)}
	}
	return r.vals[len(r.vals)-1]
}

// element returns an element of a register's array, which exists afterwards.
func (m *dc) element(r *dcRegister, i int) (dcValue, bool) {
	if i < 0 || i > 1<<24 {
		cli.Check(bcError("array index must be a nonnegative integer"))
	}
	if len(r.vals) == 0 {
		m.hold(96)
		r.vals, r.arrays = append(r.vals, dcValue{n: calcInt(0)}), append(r.arrays, nil)
	}
	last := len(r.arrays) - 1
	if r.arrays[last] == nil {
		r.arrays[last] = map[int]dcValue{}
	}
	v, ok := r.arrays[last][i]
	return v, ok
}

// compare runs a register if the comparison of the top of the stack with the value below holds.
func (m *dc) compare(op string, name byte) {
	below, top := m.nums()
	c := m.cmp(top, below)
	holds := map[string]bool{">": c > 0, "<": c < 0, "=": c == 0, "!>": c <= 0, "!<": c >= 0, "!=": c != 0}[op]
	if !holds {
		return
	}
	m.execute(m.regs[name].top())
}

// execute carries out a string; a number goes to the stack.
func (m *dc) execute(v dcValue) {
	if v.n.n == nil {
		m.enter(v.s)
	} else {
		m.push(v)
	}
}

// arrange carries out commands for the stack, the scale and the bases.
func (m *dc) arrange(c byte) {
	switch c {
	case 'c':
		for len(m.stack) > 0 {
			m.pop()
		}
	case 'd':
		m.need(1)
		m.push(m.stack[len(m.stack)-1])
	case 'r':
		m.need(2)
		n := len(m.stack)
		m.stack[n-1], m.stack[n-2] = m.stack[n-2], m.stack[n-1]
	case 'R':
		m.rotate(m.num().int())
	case 'z':
		m.push(dcValue{n: calcInt(int64(len(m.stack)))})
	case 'Z', 'X', 'a':
		m.push(m.measure(c, m.pop()))
	case 'k':
		n := m.num().int()
		if n < 0 || n > calcMaxScale {
			cli.Check(bcError("scale must be a nonnegative number"))
		}
		m.scale = n
	case 'i':
		n := m.num().int()
		if n < 2 || n > 16 {
			cli.Check(bcError("input base must be a number between 2 and 16 (inclusive)"))
		}
		m.ibase = n
	case 'o':
		n := m.num().int()
		if n < 2 {
			cli.Check(bcError("output base must be a number greater than 1"))
		}
		m.obase = min(n, 1_000_000)
	default:
		m.push(dcValue{n: calcInt(int64(map[byte]int{'K': m.scale, 'I': m.ibase, 'O': m.obase}[c]))})
	}
}

// rotate moves the top n values by one place, towards the top if n is positive.
func (m *dc) rotate(n int) {
	size := min(max(n, -n), len(m.stack))
	if size < 2 {
		return
	}
	part := m.stack[len(m.stack)-size:]
	if n > 0 {
		first := part[0]
		copy(part, part[1:])
		part[size-1] = first
		return
	}
	last := part[size-1]
	copy(part[1:], part)
	part[0] = last
}

// measure answers Z (digits), X (scale) and a (the character of a number).
func (m *dc) measure(c byte, v dcValue) dcValue {
	isText := v.n.n == nil
	switch {
	case c == 'a' && isText:
		return dcValue{s: v.s[:min(1, len(v.s))]}
	case c == 'a':
		return dcValue{s: string(
			[]byte{byte(new(big.Int).And(new(big.Int).Abs(m.rescale(v.n, 0).n), big.NewInt(255)).Int64())})}
	case c == 'X' && isText:
		return dcValue{n: calcInt(0)}
	case c == 'X':
		return dcValue{n: calcInt(int64(v.n.scale))}
	case isText:
		return dcValue{n: calcInt(int64(len(v.s)))}
	}
	return dcValue{n: calcInt(int64(v.n.length()))}
}
