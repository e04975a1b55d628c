package awk

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"

	"hako/shell/stream"
)

// maxCommands bounds how many commands may be open at once; each has buffers
// and a goroutine.
const maxCommands = 64

// commandCost is what an open command holds in buffers.
const commandCost = 4 * stream.Size

// noCommands is what every attempt to start a command is told.
const noCommands = "commands cannot be started in sandbox mode"

// Streams are what a command is connected to.
type Streams struct {
	Stdin  *stream.Reader // nil: the program's own
	Stdout io.Writer      // nil: the program's own
	Env    []string       // name=value, all of them; nil: the program's own
}

// A command is one that was opened by a pipe and not closed yet. Its fields
// status and err belong to its goroutine until done is closed.
type command struct {
	text string
	op   token   // tPipe for print, tGetline, or tCoproc for both ways
	in   *writer // nil: it reads nothing of ours
	out  *reader // nil: its output is not for us
	lent *stream.Reader

	done   chan struct{}
	status int
	err    error
}

// commands are the open ones in order of opening.
type commands struct {
	open    []*command
	ctx     context.Context
	cancel  context.CancelCauseFunc
	sharing bool // one of them may read standard input at the same time as the program
}

// command returns the open command of that text, which it starts if need be.
func (m *machine) command(text string, op token, line int) *command {
	for _, c := range slices.Backward(m.cmds.open) {
		if c.op == op && c.text == text {
			return c
		}
	}
	sign := "|"
	if op == tCoproc {
		sign = "|&"
	}
	switch {
	case m.cfg.Command == nil:
		m.refuse()
	case text == "":
		fail(line, "expression for `%s' redirection has null string value", sign)
	case len(m.cmds.open) >= maxCommands:
		fail(line, "cannot open pipe `%s': Too many open files", text)
	}
	return m.start(&command{text: strings.Clone(text), op: op})
}

// toCommand returns where print | text goes.
func (m *machine) toCommand(text string, op token, line int) *stream.Writer {
	c := m.command(text, op, line)
	if c.in == nil {
		fail(line, "print: attempt to write to closed write end of two-way pipe")
	}
	return c.in.Writer
}

// refuse ends a program that wants to start a command and may not.
func (m *machine) refuse() { panic(&abort{&Error{m.name() + ": " + noCommands, 2}}) }

// start connects a command and lets it run beside the program.
func (m *machine) start(c *command) *command {
	if m.cmds.ctx == nil {
		m.cmds.ctx, m.cmds.cancel = context.WithCancelCause(m.ctx)
	}
	m.hold(commandCost)
	m.flushAll()
	var io Streams
	var ends []func() error // the command's own, closed when it is done
	if c.op != tGetline {
		r, w := stream.Pipe(m.cmds.ctx)
		c.in = &writer{stream.NewWriter(w), w}
		c.lent = stream.NewReader(r)
		ends = append(ends, r.Close)
	} else {
		c.lent = m.lend()
	}
	if c.op != tPipe {
		r, w := stream.Pipe(m.cmds.ctx)
		c.out = &reader{src: stream.NewReader(r), close: r}
		io.Stdout, ends = w, append(ends, w.Close)
	}
	io.Stdin, io.Env = c.lent, m.environ()
	run, err := m.cfg.Command(m.cmds.ctx, c.text, io)
	if err != nil {
		panic(&abort{err})
	}
	c.done = make(chan struct{})
	m.cmds.open = append(m.cmds.open, c)
	go func() {
		defer close(c.done)
		c.status, c.err = run()
		for _, end := range ends {
			_ = end() // an end of a pipe closes without error
		}
	}()
	return c
}

// lend returns standard input for a command that runs at the same time as the
// program. From now on both copy what they take, because a slice that one got
// would be overwritten by the other's reading.
func (m *machine) lend() *stream.Reader {
	in := m.cfg.Stdin
	if in == nil {
		return stream.NewBytes(nil)
	}
	if !m.cmds.sharing {
		m.cmds.sharing = true
		m.untake()
		in.OnWait(nil) // it flushes our output, which only we may do
	}
	return stream.NewReader(copying{in})
}

// untake forgets that what was read of standard input could be given back:
// another command reads on from there.
func (m *machine) untake() {
	if m.main.cur != nil {
		m.main.cur.taken = nil
	}
	for _, r := range m.readers {
		r.taken = nil
	}
}

// copying hides what else a Reader can do, so that it is read from by copying.
type copying struct{ io.Reader }

// environ returns the environment for a command, nil if it is as it was.
func (m *machine) environ() []string {
	env := m.arrays[aENVIRON]
	same := env.len() == len(m.cfg.Environ)
	for _, pair := range m.cfg.Environ {
		name, val, _ := strings.Cut(pair, "=")
		v := env.find(name)
		same = same && v != nil && m.str(v) == val
	}
	if same {
		return nil
	}
	list := make([]string, 0, env.len())
	for _, name := range env.mapKeys(env.rowKeys()) {
		list = append(list, name+"="+m.str(env.find(name)))
	}
	slices.Sort(list)
	return list
}

// system is the function of that name.
func (m *machine) system(text string) float64 {
	if m.cfg.Command == nil {
		m.refuse()
	}
	m.flushAll()
	if text == "" {
		return 0
	}
	io := Streams{Env: m.environ()}
	if m.cmds.sharing {
		io.Stdin = m.lend()
		defer io.Stdin.Release()
	}
	m.untake()
	run, err := m.cfg.Command(m.ctx, text, io)
	if err != nil {
		panic(&abort{err})
	}
	status, err := run()
	if err != nil {
		panic(&abort{err})
	}
	return float64(status)
}

// getlineCommand is getline from a command: 1, or 0 at its end.
func (m *machine) getlineCommand(text string, op token, line int) (string, float64) {
	c := m.command(text, op, line)
	if c.in != nil {
		_ = c.in.Flush() // that it reads no more does not keep us from reading
	}
	rec, end, ok := c.out.read(m)
	if !ok {
		if c.op == tGetline {
			m.ended(c)
		}
		return "", 0
	}
	m.setRT(end)
	return rec, 1
}

// ended waits for a command and stops the program if it was stopped.
func (m *machine) ended(c *command) {
	<-c.done
	if c.err != nil {
		panic(&abort{c.err})
	}
}

// lost ends the program because a print to w failed.
func (m *machine) lost(w *stream.Writer, err error, what string, line int) {
	for _, c := range m.cmds.open {
		if c.in == nil || c.in.Writer != w || !errors.Is(err, stream.ErrPipe) {
			continue
		}
		m.ended(c)
		fail(line, "%s to \"%s\" failed: Broken pipe", what, c.text)
	}
	panic(&abort{err})
}

// closeCommand is close() for commands of that text; how is "to" if only what
// they read shall end.
func (m *machine) closeCommand(text, how string) float64 {
	result := -1.0
	for _, c := range slices.Clone(m.cmds.open) {
		switch {
		case c.text != text:
		case c.op == tCoproc && how == "to":
			result = 0
			if c.in != nil {
				_ = c.in.shut() // it may have ended by itself
				c.in = nil
			}
		default:
			m.flushOut()
			m.cmds.open = slices.DeleteFunc(m.cmds.open, func(o *command) bool { return o == c })
			c.finish()
			m.hold(-commandCost)
			m.ended(c)
			result = float64(c.status)
		}
	}
	return result
}

// finish closes our ends of a command and waits for it.
func (c *command) finish() {
	if c.in != nil {
		_ = c.in.shut() // it may have ended by itself
	}
	if c.out != nil {
		c.out.release()
	}
	<-c.done
	c.lent.Release()
}

// closeAll ends all commands, the last one first. Those of a program that was
// stopped from outside are stopped too.
func (s *commands) closeAll(stopped error) (err error) {
	if s.cancel == nil {
		return nil
	}
	var own *Error
	if stopped != nil && !errors.As(stopped, &own) && !errors.Is(stopped, stream.ErrPipe) {
		s.cancel(stopped)
	}
	for _, c := range slices.Backward(s.open) {
		c.finish()
		if err == nil {
			err = c.err
		}
	}
	s.cancel(nil)
	return err
}
