package awk

import "hako/shell/stream"

func (c *compiler) print(s *printStmt) stmtFn {
	before := c.effects
	out := c.destination(s)
	if s.format {
		return c.printf(s, out)
	}
	if len(s.args) == 0 {
		return func(m *machine) ctl { m.printRecord(out(m), s.line); return ctlNone }
	}
	vals := c.vals(s.args)
	if c.effects != before {
		return func(m *machine) ctl {
			base := m.gather(vals)
			w := out(m)
			for i := base; i < len(m.args); i++ {
				if i > base {
					w.WriteString(m.ofs)
				}
				m.printValue(w, &m.args[i])
			}
			m.drop(base)
			m.endPrint(w, s.line)
			return ctlNone
		}
	}
	return func(m *machine) ctl {
		w := out(m)
		for i, f := range vals {
			if i > 0 {
				w.WriteString(m.ofs)
			}
			v := f(m)
			m.printValue(w, &v)
		}
		m.endPrint(w, s.line)
		return ctlNone
	}
}

func (c *compiler) vals(list []expr) []valFn {
	vals := make([]valFn, len(list))
	for i, e := range list {
		vals[i] = c.val(e)
	}
	return vals
}

// gather evaluates arguments onto the list of arguments and returns where they begin.
func (m *machine) gather(vals []valFn) int {
	base := len(m.args)
	for _, f := range vals {
		v := f(m)
		m.args = append(m.args, v)
	}
	return base
}

func (m *machine) drop(base int) {
	clear(m.args[base:])
	m.args = m.args[:base]
}

// destination compiles where a print goes.
func (c *compiler) destination(s *printStmt) func(*machine) *stream.Writer {
	if s.op == tEOF {
		return func(m *machine) *stream.Writer { return m.out }
	}
	name, op, more, line := c.str(s.dest), s.op, s.op == tAppend, s.line
	if op == tPipe || op == tCoproc {
		return func(m *machine) *stream.Writer { return m.toCommand(name(m), op, line) }
	}
	return func(m *machine) *stream.Writer { return m.output(name(m), more, line) }
}

func (m *machine) printRecord(w *stream.Writer, line int) {
	w.WriteString(m.record())
	m.endPrint(w, line)
}

func (m *machine) endPrint(w *stream.Writer, line int) {
	w.WriteString(m.ors)
	m.check(w, "print", line)
}

// check stops the program when nobody reads what it prints.
func (m *machine) check(w *stream.Writer, what string, line int) {
	if err := w.Err(); err != nil {
		m.lost(w, err, what, line)
	}
	if w != m.out && m.cfg.Error != nil && m.writers["/dev/stderr"] != nil && w == m.writers["/dev/stderr"].Writer {
		_ = w.Flush() // messages do not wait
	}
}

// printValue writes one argument of print, numbers by way of OFMT.
func (m *machine) printValue(w *stream.Writer, v *value) {
	if v.k != number {
		w.WriteString(v.s)
		return
	}
	w.Write(m.appendNum(m.digits[:0], v.n, m.ofmt))
}

func (c *compiler) printf(s *printStmt, out func(*machine) *stream.Writer) stmtFn {
	format := c.format(s.args, s.line)
	return func(m *machine) ctl {
		m.buf = format(m, m.buf[:0])
		w := out(m)
		w.Write(m.buf)
		m.trim()
		m.check(w, "printf", s.line)
		return ctlNone
	}
}

// trim lets go of a result buffer that grew large.
func (m *machine) trim() {
	if cap(m.buf) > 1<<16 {
		m.buf = nil
	}
}

// format compiles the arguments of printf into something that appends the result.
func (c *compiler) format(args []expr, line int) func(*machine, []byte) []byte {
	rest := c.vals(args[1:])
	if lit, ok := args[0].(*strLit); ok {
		verbs := parseFormat(lit.s)
		return func(m *machine, b []byte) []byte {
			base := m.gather(rest)
			b = m.appendFormat(b, verbs, m.args[base:], lit.s, line)
			m.drop(base)
			return b
		}
	}
	format := c.str(args[0])
	return func(m *machine, b []byte) []byte {
		f := format(m)
		base := m.gather(rest)
		m.fits(20 * len(f))
		b = m.appendFormat(b, parseFormat(f), m.args[base:], f, line)
		m.drop(base)
		return b
	}
}
