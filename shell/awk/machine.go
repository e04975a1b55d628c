package awk

import (
	"context"
	"fmt"
	"strings"

	"hako/shell/stream"
)

// maxDepth bounds how deep functions of a program may call each other.
const maxDepth = 10000

// patience is how many steps pass between two looks at the context.
const patience = 1000

// bytesPerStep is how much of a string is worth a step.
const bytesPerStep = 1 << 10

// ctl says how a statement ended.
type ctl uint8

const (
	ctlNone ctl = iota
	ctlBreak
	ctlContinue
	ctlNext
	ctlNextFile
	ctlExit
	ctlReturn
)

// A fatal ends the program with a message. It travels as a panic, because the
// closures an expression is made of return values and nothing else.
type fatal struct {
	line int
	why  string
}

// An abort ends the program with an error from outside: a limit, a closed pipe.
type abort struct{ err error }

// An unwind carries next, nextfile and exit out of a function.
type unwind struct{ ctl ctl }

func fail(line int, format string, args ...any) { panic(&fatal{line, fmt.Sprintf(format, args...)}) }

// machine is a program at work.
type machine struct {
	ctx  context.Context
	cfg  *Config
	prog *Program
	out  *stream.Writer

	globals []value
	arrays  []*array
	stack   []value  // the variables of all functions at work
	args    []value  // arguments being gathered
	locals  []value  // those of the function at work, on the stack
	base    int      // where they begin
	tables  []*array // the arrays of the function at work
	depth   int
	frames  int // bytes charged for functions at work
	ret     value

	rec    record
	nr     float64
	fnr    float64
	status int
	steps  int

	// What special variables hold, ready for use.
	fs                              *splitter
	rs                              recordEnd
	ofs, ors, subsep, convfmt, ofmt string
	ignoreCase                      bool

	main    mainInput
	readers map[string]*reader
	writers map[string]*writer
	cmds    commands
	dynamic regexCache
	ranges  []bool // which range patterns are open
	random  random
	chars   charIndex

	held, pending int64 // bytes charged, and those not yet
	digits        [32]byte
	key           []byte   // a subscript being put together
	scratch       []byte   // a string on its way to a regular expression
	buf           []byte   // a result being built
	parts         []string // pieces of a string being split
	loc           []int
}

func newMachine(ctx context.Context, prog *Program, cfg *Config) *machine {
	for _, re := range prog.patterns {
		re.eng.Until(ctx.Done())
	}
	m := &machine{
		ctx: ctx, cfg: cfg, prog: prog, out: cfg.Output,
		globals: make([]value, prog.slots), arrays: make([]*array, prog.arrays),
		steps: patience, rec: record{by: spaceSplitter, done: true},
		readers: make(map[string]*reader), writers: make(map[string]*writer),
		ranges: make([]bool, len(prog.rules)),
	}
	for i := range m.arrays {
		m.arrays[i] = newArray()
	}
	m.random.seed(0)
	return m
}

// setUp gives the special variables their first values.
func (m *machine) setUp() {
	for slot, s := range map[int]string{vFS: " ", vOFS: " ", vORS: "\n", vRS: "\n", vSUBSEP: "\x1c", vCONVFMT: "%.6g",
		vOFMT: "%.6g", vFPAT: "[^[:space:]]+"} {
		m.globals[slot] = str(s)
		if slot != vFPAT {
			m.refresh(slot)
		}
	}
	if m.cfg.CSV {
		m.fs = csvSplitter
	}
	if m.cfg.HasFS {
		m.setGlobal(vFS, fromOutside(unescapeAll(m.cfg.FS)))
	}
	m.globals[vRLENGTH] = num(-1)
	m.globals[vRSTART] = num(0)
	for _, pair := range m.cfg.Environ {
		name, val, _ := strings.Cut(pair, "=")
		m.setElement(m.arrays[aENVIRON], name, fromOutside(val))
	}
	m.setElement(m.arrays[aARGV], "0", str(m.name()))
	for i, arg := range m.cfg.Args {
		m.setElement(m.arrays[aARGV], fmt.Sprint(i+1), fromOutside(arg))
	}
	m.globals[vARGC] = num(float64(len(m.cfg.Args) + 1))
	m.setElement(m.arrays[aPROCINFO], "version", str("5.2.1"))
	for _, pair := range m.cfg.Vars {
		name, val, _ := strings.Cut(pair, "=")
		m.setByName(name, val)
	}
}

func (m *machine) name() string {
	if m.cfg.Name == "" {
		return "awk"
	}
	return m.cfg.Name
}

// setByName assigns from the command line.
func (m *machine) setByName(name, val string) {
	s := m.prog.globals[name]
	switch {
	case s == nil: // the program never looks at it
	case s.array:
		fail(0, "cannot use array `%s' as a variable", name)
	default:
		m.setGlobal(s.slot, fromOutside(unescapeAll(val)))
	}
}

// run goes through the program from BEGIN to END.
func (m *machine) run() (err error) {
	end := m.phase(func() ctl { m.setUp(); return m.all(m.prog.code.begin) }, &err)
	code := &m.prog.code
	if err == nil && end != ctlExit && len(code.rules)+len(code.end)+len(code.beginFile)+len(code.endFile) > 0 {
		for end = ctlNext; end == ctlNext && err == nil; { // a function may end a record early
			end = m.phase(m.records, &err)
		}
	}
	if err == nil {
		m.phase(func() ctl { return m.all(code.end) }, &err)
	}
	return err
}

// phase runs f and turns what ends it early into an error or a way of ending.
func (m *machine) phase(f func() ctl, err *error) (end ctl) {
	defer func() {
		switch e := recover().(type) {
		case nil:
		case *abort:
			*err = e.err
		case *fatal:
			*err = &Error{m.locate(e.line) + "fatal: " + e.why, 2}
		case unwind:
			end = e.ctl
			m.unwound()
		default:
			panic(e)
		}
	}()
	return f()
}

// unwound forgets the functions a jump left.
func (m *machine) unwound() {
	m.hold(-m.frames)
	m.depth, m.base, m.frames, m.locals, m.tables = 0, 0, 0, nil, nil
	clear(m.stack)
	m.stack, m.args = m.stack[:0], m.args[:0]
}

// locate begins a message with the place in program and input.
func (m *machine) locate(line int) string {
	head := m.name() + ": "
	if line > 0 {
		head += fmt.Sprintf("%s:%d: ", m.prog.where, line)
		if m.fnr > 0 {
			file := m.globals[vFILENAME].s
			if file == "" {
				file = "-"
			}
			head += fmt.Sprintf("(FILENAME=%s FNR=%.0f) ", file, m.fnr)
		}
	}
	return head
}

func (m *machine) warn(line int, format string, args ...any) {
	if m.cfg.Error != nil {
		_ = m.out.Flush() // the next print reports it
		fmt.Fprintf(m.cfg.Error, "%swarning: %s\n", m.locate(line), fmt.Sprintf(format, args...))
	}
}

func (m *machine) all(list []stmtFn) ctl {
	for _, s := range list {
		if c := s(m); c != ctlNone {
			return c
		}
	}
	return ctlNone
}

// tick counts a step of the program and looks at the context now and then.
func (m *machine) tick() {
	if m.steps--; m.steps <= 0 {
		m.look()
	}
}

// spend counts n bytes that are looked at as steps.
func (m *machine) spend(n int) {
	if n >= bytesPerStep {
		if m.steps -= n / bytesPerStep; m.steps <= 0 {
			m.look()
		}
	}
}

func (m *machine) look() {
	m.steps = patience
	if m.ctx.Err() != nil {
		panic(&abort{context.Cause(m.ctx)})
	}
	m.settle()
}

// fits refuses a value of n bytes that the limits have no room for.
func (m *machine) fits(n int) {
	m.spend(n)
	if n < 4096 || m.cfg.Grow == nil {
		return
	}
	m.grow(int64(n))
	m.cfg.Grow(-int64(n))
}

// hold charges n bytes that stay until they are given back. Small sums are
// gathered first: the limiter is shared with other commands.
func (m *machine) hold(n int) {
	m.pending += int64(n)
	if m.pending > 32<<10 || m.pending < -32<<10 {
		m.settle()
	}
}

func (m *machine) settle() {
	n := m.pending
	m.pending = 0
	if n > 0 {
		m.grow(n)
		m.held += n
	} else if n < 0 {
		m.held += n
		m.grow(n)
	}
}

func (m *machine) grow(n int64) {
	if m.cfg.Grow == nil {
		return
	}
	if err := m.cfg.Grow(n); err != nil {
		panic(&abort{err})
	}
}

// release gives back all that was charged.
func (m *machine) release() {
	if m.cfg.Grow != nil && m.held != 0 {
		_ = m.cfg.Grow(-m.held) // giving back is not refused
	}
}

func (m *machine) reason(err error) string {
	if m.cfg.Reason == nil {
		return err.Error()
	}
	return m.cfg.Reason(err)
}
