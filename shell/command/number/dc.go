package number

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"hako/shell"
	"hako/shell/command/internal/cli"
)

var Dc = shell.Command{Name: "dc", Run: runDC}

// A dcValue is a number, or a string if n.n is nil.
type dcValue struct {
	n calcNum
	s string
}

func (v dcValue) size() int {
	if v.n.n != nil {
		return v.n.size()
	}
	return 48 + len(v.s)
}

// dcRegister is a stack of values, each with an array.
type dcRegister struct {
	vals   []dcValue
	arrays []map[int]dcValue
}

// dcFrame is text being carried out.
type dcFrame struct {
	text string
	pos  int
}

type dc struct {
	calculator
	call         *shell.Call
	stack        []dcValue
	regs         map[byte]*dcRegister
	frames       []dcFrame
	scale        int
	ibase, obase int
	width        int
}

// maxDCInput bounds the text of one source.
const maxDCInput = 4 << 20

// maxDCFrames bounds macros that call each other; a call at the end of a macro replaces it.
const maxDCFrames = 100_000

// errQuitDC ends the program.
var errQuitDC = errors.New("quit")

func runDC(ctx context.Context, c *shell.Call) error {
	m := &dc{
		calculator: calculator{ctx: ctx, limiter: c.Limiter}, call: c, regs: map[byte]*dcRegister{},
		ibase: 10, obase: 10, width: lineLength(c, "DC_LINE_LENGTH"),
	}
	defer m.release()
	version := false
	var programs []cli.Option
	program := func(o cli.Option) error { programs = append(programs, o); return nil }
	names, err := cli.Parse(c, cli.Flags{"V": &version, "e": program, "f": program})
	if err != nil {
		return err
	}
	if version {
		_, err := c.Stdout.WriteString("dc of hako, a language like GNU dc 1.4\n")
		return err
	}
	for _, o := range programs {
		if o.Name == "e" {
			err = m.run(o.Value)
		} else {
			err = m.files([]string{o.Value})
		}
		if err != nil {
			return m.end(err)
		}
	}
	if len(names) > 0 || len(programs) == 0 {
		err = m.files(names)
	}
	return m.end(err)
}

// end turns the end of the program by q into success.
func (m *dc) end(err error) error {
	if errors.Is(err, errQuitDC) {
		return nil
	}
	if err == nil {
		return cli.StatusOr(cli.BoolInt(m.call.Failed()), nil)
	}
	return err
}

func (m *dc) files(names []string) error {
	for in := range m.call.Inputs(names) {
		text, err := io.ReadAll(io.LimitReader(in, maxDCInput))
		if err != nil {
			return err
		}
		if err := m.run(string(text)); err != nil {
			return err
		}
	}
	return nil
}

// run carries out one text with all that it calls. A command that fails is
// reported and passed over.
func (m *dc) run(text string) error {
	m.leave(len(m.frames))
	m.hold(32)
	m.frames = append(m.frames, dcFrame{text: text})
	for len(m.frames) > 0 {
		err := cli.Try(m.step)
		_, own := errors.AsType[bcError](err)
		switch {
		case err == nil:
		case own, errors.Is(err, errTooLong), errors.Is(err, errRoot):
			fmt.Fprintf(m.call.Stderr, "%s: %s\n", m.call.Name, strings.ToLower(err.Error()))
		case errors.Is(err, errDivide):
			fmt.Fprintf(m.call.Stderr, "%s: divide by zero\n", m.call.Name)
		default:
			return err
		}
		if err := m.call.Stdout.Err(); err != nil {
			return err
		}
	}
	return nil
}

// step carries out one command.
func (m *dc) step() {
	m.tick()
	f := &m.frames[len(m.frames)-1]
	if f.pos >= len(f.text) {
		m.leave(1)
		return
	}
	c := f.text[f.pos]
	f.pos++
	switch {
	case isNumberByte(c) || c == '_':
		f.pos--
		m.push(dcValue{n: m.number(f)})
	case c == ' ' || c == '\n' || c == '\t' || c == '\r':
	case c == '#':
		f.skipLine()
	case c == '[':
		m.push(dcValue{s: f.bracketed()})
	default:
		m.command(c, f)
	}
}

func (f *dcFrame) skipLine() {
	line, _, _ := strings.Cut(f.text[f.pos:], "\n")
	f.pos += len(line)
}

// number reads a number at the frame's position.
func (m *dc) number(f *dcFrame) calcNum {
	minus := f.text[f.pos] == '_'
	if minus {
		f.pos++
	}
	start, points := f.pos, 0
	for f.pos < len(f.text) && isNumberByte(f.text[f.pos]) {
		if f.text[f.pos] == '.' {
			if points++; points > 1 {
				break
			}
		}
		f.pos++
	}
	n := m.parseNum(f.text[start:f.pos], m.ibase)
	if minus {
		return m.neg(n)
	}
	return n
}

// bracketed reads a string behind its bracket.
func (f *dcFrame) bracketed() string {
	start := f.pos
	for depth := 1; f.pos < len(f.text); f.pos++ {
		switch f.text[f.pos] {
		case '[':
			depth++
		case ']':
			if depth--; depth == 0 {
				f.pos++
				return f.text[start : f.pos-1]
			}
		}
	}
	return f.text[start:]
}

func (m *dc) push(v dcValue) {
	m.hold(v.size())
	m.stack = append(m.stack, v)
}

func (m *dc) pop() dcValue {
	if len(m.stack) == 0 {
		cli.Check(bcError("stack empty"))
	}
	v := m.stack[len(m.stack)-1]
	m.stack = m.stack[:len(m.stack)-1]
	m.hold(-v.size())
	return v
}

// need refuses a command for which too little is on the stack.
func (m *dc) need(n int) {
	if len(m.stack) < n {
		cli.Check(bcError("stack empty"))
	}
}

// nums pops two numbers: what was below, and the top.
func (m *dc) nums() (x, y calcNum) {
	m.need(2)
	for _, v := range m.stack[len(m.stack)-2:] {
		if v.n.n == nil {
			cli.Check(bcError("non-numeric value"))
		}
	}
	y = m.pop().n
	return m.pop().n, y
}

// num pops one number.
func (m *dc) num() calcNum {
	m.need(1)
	if m.stack[len(m.stack)-1].n.n == nil {
		cli.Check(bcError("non-numeric value"))
	}
	return m.pop().n
}

// enter begins to carry out a text. A frame that has nothing more to do makes
// room first, so that a loop written as recursion does not grow.
func (m *dc) enter(text string) {
	if f := m.frames[len(m.frames)-1]; strings.TrimSpace(f.text[f.pos:]) == "" && len(m.frames) > 1 {
		m.leave(1)
	}
	if len(m.frames) > maxDCFrames {
		cli.Check(errors.New("macros call each other too deep"))
	}
	m.hold(32)
	m.frames = append(m.frames, dcFrame{text: text})
}

// leave ends the innermost n texts; ending the outermost ends the program.
func (m *dc) leave(n int) {
	n = min(n, len(m.frames))
	m.frames = m.frames[:len(m.frames)-n]
	m.hold(-32 * n)
}
