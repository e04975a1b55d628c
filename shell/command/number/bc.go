package number

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"hako/shell"
	"hako/shell/command/internal/cli"
)

var Bc = shell.Command{Name: "bc", Run: runBC}

// maxBCInput bounds the program text.
const maxBCInput = 4 << 20

// maxBCDepth bounds how deep functions call each other.
const maxBCDepth = 2000

// bc is a session of the language.
type bc struct {
	calculator
	bcParser
	call         *shell.Call
	vars         map[string]calcNum
	arrays       map[string]map[int]calcNum
	scale        int
	ibase, obase int
	last, ret    calcNum
	library      bool
	column       int // of the output
	width        int
	level        int
	file         string
}

func runBC(ctx context.Context, c *shell.Call) error {
	m := &bc{
		calculator: calculator{ctx: ctx, limiter: c.Limiter, clips: true}, bcParser: bcParser{fns: map[string]*bcFunc{}},
		call: c,
		vars: map[string]calcNum{}, arrays: map[string]map[int]calcNum{},
		ibase: 10, obase: 10, last: calcInt(0), ret: calcInt(0), width: lineLength(c, "BC_LINE_LENGTH"),
	}
	defer m.release()
	version := false
	names, err := cli.Parse(c, cli.Flags{"l": func() { m.library, m.scale = true, 20 }, "v": &version})
	if err != nil {
		return err
	}
	if version {
		_, err := c.Stdout.WriteString("bc of hako, a language like GNU bc 1.07\n")
		return err
	}
	for _, name := range names {
		if _, err := c.FS.Stat(c.Path(name)); err != nil {
			fmt.Fprintf(c.Stderr, "File %s is unavailable.\n", name)
			return shell.Status(1)
		}
	}
	for in := range c.Inputs(append(names, "-")) {
		m.file = in.Name
		if in.Name == "-" {
			m.file = "(standard_in)"
		}
		text, err := io.ReadAll(io.LimitReader(in, maxBCInput))
		if err != nil {
			return err
		}
		if done, err := m.source(string(text)); done || err != nil {
			return err
		}
	}
	return cli.StatusOr(cli.BoolInt(c.Failed()), nil)
}

// lineLength is the width at which numbers are broken; 0 never.
func lineLength(c *shell.Call, name string) int {
	s, _ := c.Getenv(name)
	if n, err := strconv.Atoi(s); err == nil && (n == 0 || n > 2) {
		return n
	}
	return 70
}

// warn prints a line after the results so far, also where both go to one file.
func (m *bc) warn(format string, args ...any) {
	m.call.Stdout.Flush()
	fmt.Fprintf(m.call.Stderr, format+"\n", args...)
}

// source runs a program text line by line; done means that the program ended itself.
func (m *bc) source(text string) (done bool, err error) {
	m.src, m.pos, m.line, m.deep = text, 0, 1, 0
	ready := false
	for {
		end, problem := m.guarded(func() string {
			if !ready {
				m.next()
				ready = true
			}
			return m.inputLine()
		})
		switch {
		case problem == nil:
		case errors.Is(problem, errBCSyntax):
			m.warn("%s %d: syntax error", m.file, m.line)
			m.skipLine()
			ready = false
		case bcReports(problem):
			m.warn("Runtime error (func=(main), adr=%d): %v", bcAddress(problem), problem)
			m.skipRest()
		default:
			return true, problem
		}
		if err := m.call.Stdout.Err(); err != nil {
			return true, err
		}
		if end == "quit" {
			return true, nil
		}
		if ready && m.kind == 0 {
			return false, nil
		}
	}
}

// bcAddress is the address that GNU bc reports for the simplest program with the error.
func bcAddress(err error) int {
	if errors.Is(err, errRoot) {
		return 4
	}
	return 3
}

// A bcError is a runtime error, after which the program continues.
type bcError string

func (e bcError) Error() string { return string(e) }

func bcReports(err error) bool {
	_, own := errors.AsType[bcError](err)
	return own || errors.Is(err, errDivide) || errors.Is(err, errRoot) || errors.Is(err, errTooLong)
}

// guarded runs f and returns the error that stopped it.
func (m *bc) guarded(f func() string) (end string, err error) {
	deep := m.deep
	if err = cli.Try(func() { end = f() }); err != nil {
		m.deep, m.level = deep, 0
	}
	return end, err
}

// skipLine skips the rest of a line with a syntax error.
func (m *bc) skipLine() {
	if m.is("\n") {
		return
	}
	n := strings.IndexByte(m.src[m.pos:], '\n')
	if n < 0 {
		n = len(m.src) - m.pos - 1
	}
	m.pos += n + 1
	m.line++
}

// skipRest skips the rest of a line with a runtime error.
func (m *bc) skipRest() {
	for m.kind != 0 && !m.is("\n") {
		if _, err := m.guarded(func() string { m.next(); return "" }); err != nil {
			return
		}
	}
}

// inputLine runs the statements up to the end of a line.
func (m *bc) inputLine() string {
	for {
		m.tick()
		switch {
		case m.kind == 0:
			return ""
		case m.is("\n"):
			m.next()
			return ""
		case m.accept(";"):
			continue
		case m.accept("define"):
			m.defineHere()
			continue
		}
		s := m.statement()
		if !m.ends() || m.is("}") {
			m.fail()
		}
		if s == nil {
			continue
		}
		if end := m.exec(s); end == "quit" {
			return end
		}
	}
}

// defineHere reads a function whose keyword was just read.
func (m *bc) defineHere() {
	before := m.pos
	m.pos -= len(m.tok)
	m.define()
	m.hold(4 * (m.pos - min(before, m.pos)))
}

// exec runs a statement and returns how it ended: "", break, continue, return or quit.
func (m *bc) exec(n *bcNode) string {
	m.tick()
	if n == nil {
		return ""
	}
	switch n.op {
	case "do":
		m.eval(n.kids[0])
	case "show":
		m.last = m.eval(n.kids[0])
		m.print(m.text(m.last, m.obase) + "\n")
	case "text":
		m.print(n.name)
	case "print":
		for _, k := range n.kids {
			if k.op == "text" {
				m.print(unescapeBC(k.name))
			} else {
				m.last = m.eval(k)
				m.print(m.text(m.last, m.obase))
			}
		}
	case "block":
		for _, k := range n.kids {
			if end := m.exec(k); end != "" {
				return end
			}
		}
	case "if":
		if m.eval(n.kids[0]).sign() != 0 {
			return m.exec(n.kids[1])
		} else if len(n.kids) > 2 {
			return m.exec(n.kids[2])
		}
	case "for":
		return m.loop(n)
	case "return":
		m.ret = calcInt(0)
		if len(n.kids) > 0 {
			m.ret = m.eval(n.kids[0])
		}
		return "return"
	case "halt", "quit":
		return "quit"
	default:
		return n.op
	}
	return ""
}

func (m *bc) loop(n *bcNode) string {
	if n.kids[0] != nil {
		m.eval(n.kids[0])
	}
	for n.kids[1] == nil || m.eval(n.kids[1]).sign() != 0 {
		m.tick()
		if err := m.call.Stdout.Err(); err != nil {
			cli.Check(err)
		}
		switch end := m.exec(n.kids[3]); end {
		case "", "continue":
		case "break":
			return ""
		default:
			return end
		}
		if n.kids[2] != nil {
			m.eval(n.kids[2])
		}
	}
	return ""
}

// print writes text; only numbers are broken into lines, and they have no newline inside.
func (m *bc) print(s string) {
	line, newline := strings.CutSuffix(s, "\n")
	if strings.Contains(line, "\n") || !newline && strings.Trim(line, "0123456789ABCDEF.- ") != "" {
		_, _ = m.call.Stdout.WriteString(s) // the writer keeps its error
		m.column = len(s) - strings.LastIndexByte(s, '\n') - 1
		return
	}
	m.column = calcWrap(m.call.Stdout, line, m.column, max(m.width-1, 0)) // a column less than dc
	if newline {
		_ = m.call.Stdout.WriteByte('\n')
		m.column = 0
	}
}

func unescapeBC(s string) string {
	return strings.NewReplacer(`\a`, "\a", `\b`, "\b", `\f`, "\f", `\n`, "\n", `\r`, "\r", `\q`, `"`, `\t`, "\t", `\\`,
		`\`).Replace(s)
}
