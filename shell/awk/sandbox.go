package awk

import (
	"fmt"
	"io"
	"io/fs"
	"slices"
)

// What a program in the sandbox is told, in the words of gawk.
const (
	noSystem      = "'system' function not allowed in sandbox mode"
	noRedirection = "redirection not allowed in sandbox mode"
	noNewFile     = "cannot add a new file (%s) to ARGV in sandbox mode"
)

// A reach is a place where a program reaches for something that is not its
// input or standard output.
type reach struct {
	where string
	line  int
	why   string
}

// reaches notes such a place; the first counts.
func (p *parser) reaches(line int, why string) {
	if p.prog.reach == nil {
		p.prog.reach = &reach{p.where, line, why}
	}
}

// sealed returns the world that is left in the sandbox, or why the program may
// not run there. The parser has found all there is to find, so taking the means
// away too is a second wall, not the first.
func (c *Config) sealed(prog *Program) (*Config, error) {
	name := c.Name
	if name == "" {
		name = "awk"
	}
	if r := prog.reach; r != nil {
		return nil, &Error{fmt.Sprintf("%s: %s:%d: fatal: %s", name, r.where, r.line, r.why), 2}
	}
	s := *c
	s.Command, s.Create, s.Environ = nil, nil, nil
	if c.Open != nil {
		s.Open = func(name string) (io.ReadCloser, error) {
			if !slices.Contains(c.Args, name) {
				return nil, fs.ErrPermission
			}
			return c.Open(name)
		}
	}
	return &s, nil
}

// admit ends a program in the sandbox that has put a file among its operands
// which was none of them.
func (m *machine) admit(arg string) {
	if m.cfg.Sandbox && !slices.Contains(m.cfg.Args, arg) {
		fail(0, noNewFile, arg)
	}
}
