package awk

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"hako/shell/stream"
)

// maxWriters bounds how many files may be open for writing; each has a buffer.
const maxWriters = 1000

// mainInput goes through the operands.
type mainInput struct {
	cur  *reader
	next int  // index in ARGV
	any  bool // a file operand was seen
	done bool
}

// A writer is an open output.
type writer struct {
	*stream.Writer
	file io.Closer
}

// openMain moves on to the next operand that is a file.
func (m *machine) openMain() bool {
	in := &m.main
	for !in.done {
		in.next++
		if in.next >= whole(m.globals[vARGC].num()) {
			in.done = true
			if in.any {
				return false
			}
			return m.openOperand("-")
		}
		v := m.arrays[aARGV].find(fmt.Sprint(in.next))
		if v == nil || m.str(v) == "" {
			continue
		}
		arg := m.str(v)
		if name, val, ok := strings.Cut(arg, "="); ok && IsName(name) {
			m.setByName(name, val)
			continue
		}
		in.any = true
		m.admit(arg)
		if m.openOperand(arg) {
			return true
		}
	}
	return false
}

// IsName reports whether s can be the name of a variable.
func IsName(s string) bool {
	for i := range len(s) {
		if !isLetter(s[i]) && (i == 0 || !isDigit(s[i])) {
			return false
		}
	}
	return s != ""
}

// openOperand makes the named file the main input.
func (m *machine) openOperand(name string) bool {
	m.store(&m.globals[vFILENAME], fromOutside(name))
	m.globals[vARGIND] = num(float64(m.main.next))
	m.fnr = 0
	r, err := m.open(name)
	if err != nil {
		if len(m.prog.code.beginFile) > 0 {
			m.store(&m.globals[vERRNO], str(m.reason(err)))
			m.all(m.prog.code.beginFile)
			return false
		}
		fail(0, "cannot open file `%s' for reading: %s", name, m.reason(err))
	}
	if r == nil {
		m.warn(0, "command line argument `%s' is a directory: skipped", name)
		return false
	}
	m.main.cur = r
	return true
}

// open opens a file for reading; a nil reader is a directory.
func (m *machine) open(name string) (*reader, error) {
	if name == "-" || name == "/dev/stdin" {
		return &reader{src: m.cfg.Stdin, end: m.cfg.Stdin == nil}, nil
	}
	if m.cfg.Open == nil {
		return nil, errors.New("No such file or directory")
	}
	if m.cfg.IsDir != nil && m.cfg.IsDir(name) {
		return nil, nil
	}
	f, err := m.cfg.Open(name)
	if err != nil {
		return nil, err
	}
	return &reader{src: stream.NewReader(f), close: f}, nil
}

// mainRecord reads the next record of the main input.
func (m *machine) mainRecord() (string, bool) {
	for {
		if m.main.cur == nil {
			if !m.openMain() {
				return "", false
			}
			m.fileBegins()
			continue // BEGINFILE may have said nextfile
		}
		rec, end, ok := m.main.cur.read(m)
		if ok {
			m.nr++
			m.fnr++
			m.setRT(end)
			return rec, true
		}
		m.closeMain()
	}
}

func (m *machine) setRT(end string) {
	if rt := &m.globals[vRT]; rt.s != end {
		m.store(rt, value{s: end, k: text, part: true})
	}
}

func (m *machine) fileBegins() {
	if len(m.prog.code.beginFile) == 0 {
		return
	}
	m.store(&m.globals[vERRNO], str(""))
	switch m.all(m.prog.code.beginFile) {
	case ctlNextFile:
		m.closeMain()
	case ctlExit:
		panic(unwind{ctlExit})
	}
}

func (m *machine) closeMain() {
	if m.main.cur == nil {
		return
	}
	if m.all(m.prog.code.endFile) == ctlExit {
		panic(unwind{ctlExit})
	}
	m.main.cur.shut(m)
	m.main.cur = nil
}

// records runs the rules on every record.
func (m *machine) records() ctl {
	for {
		rec, ok := m.mainRecord()
		if !ok {
			return ctlNone
		}
		m.tick()
		m.setRecord(rec)
		for i := range m.prog.code.rules {
			c := m.prog.code.rules[i](m)
			if c == ctlNone {
				continue
			}
			if c == ctlExit {
				return c
			}
			if c == ctlNextFile {
				m.closeMain()
			}
			break
		}
	}
}

// getlineFile is getline from a file: 1, 0 at its end, -1.
func (m *machine) getlineFile(name string) (string, float64) {
	r := m.readers[name]
	if r == nil {
		var err error
		r, err = m.open(name)
		if err != nil || r == nil {
			why := "Is a directory"
			if err != nil {
				why = m.reason(err)
			}
			m.store(&m.globals[vERRNO], str(why))
			return "", -1
		}
		m.hold(stream.Size)
		m.readers[strings.Clone(name)] = r
	}
	rec, end, ok := r.read(m)
	if !ok {
		return "", 0
	}
	m.setRT(end)
	return rec, 1
}

// output returns where print > name goes.
func (m *machine) output(name string, more bool, line int) *stream.Writer {
	switch name {
	case "/dev/stdout", "-":
		return m.out
	case "":
		fail(line, "expression for `>' redirection has null string value")
	}
	if w := m.writers[name]; w != nil {
		return w.Writer
	}
	w, err := m.create(name, more)
	if err != nil {
		fail(line, "cannot redirect to `%s': %s", name, m.reason(err))
	}
	m.hold(stream.Size)
	m.writers[strings.Clone(name)] = w
	return w.Writer
}

func (m *machine) create(name string, more bool) (*writer, error) {
	if name == "/dev/stderr" {
		return &writer{stream.NewWriter(m.cfg.Error), nil}, nil
	}
	if m.cfg.Create == nil {
		return nil, errors.New("Permission denied")
	}
	if len(m.writers) >= maxWriters {
		return nil, errors.New("Too many open files")
	}
	f, err := m.cfg.Create(name, more)
	if err != nil {
		return nil, err
	}
	return &writer{stream.NewWriter(f), f}, nil
}

// close is the function of that name: 0 or the status of a command, or -1 if
// nothing of that name is open.
func (m *machine) close(name, how string) float64 {
	result := m.closeCommand(name, how)
	if r := m.readers[name]; r != nil {
		delete(m.readers, name)
		r.shut(m)
		m.hold(-stream.Size)
		result = 0
	}
	if w := m.writers[name]; w != nil {
		delete(m.writers, name)
		m.hold(-stream.Size)
		result = 0
		if w.shut() != nil {
			result = -1
		}
	}
	return result
}

func (w *writer) shut() error {
	err := w.Flush()
	w.Release()
	if w.file == nil {
		return err
	}
	if e := w.file.Close(); err == nil {
		err = e
	}
	return err
}

// closeAll closes what the program left open.
func (m *machine) closeAll(stopped error) (err error) {
	for _, w := range m.writers {
		if e := w.shut(); err == nil {
			err = e
		}
	}
	if e := m.cmds.closeAll(stopped); err == nil {
		err = e
	}
	for _, r := range m.readers {
		r.release()
	}
	if m.main.cur != nil {
		m.main.cur.release()
	}
	return err
}

// flush is fflush(); an empty name means everything.
func (m *machine) flush(name string, line int) float64 {
	if name == "" {
		m.flushAll()
		return 0
	}
	if name == "/dev/stdout" {
		m.flushOut()
		return 0
	}
	found := m.writers[name] != nil
	if found {
		_ = m.writers[name].Flush() // reported by the next write and by close
	}
	for _, c := range m.cmds.open {
		if c.in != nil && c.text == name {
			found = true
			_ = c.in.Flush()
		}
	}
	if !found {
		m.warn(line, "fflush: `%s' is not an open file, pipe or co-process", name)
	}
	return truth(found) - 1
}

func (m *machine) flushOut() {
	if m.out.Flush() != nil {
		panic(&abort{m.out.Err()})
	}
}

// flushAll writes out everything that was printed.
func (m *machine) flushAll() {
	m.flushOut()
	for _, w := range m.writers {
		_ = w.Flush() // reported by the next write and by close
	}
	for _, c := range m.cmds.open {
		if c.in != nil {
			_ = c.in.Flush()
		}
	}
}
