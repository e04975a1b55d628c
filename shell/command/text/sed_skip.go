package text

import (
	"bytes"
	"context"

	"hako/shell/regex"
)

// A sedGate tells where the next line is that a command of the outermost level
// can do anything about. Lines that pass all gates go out as they came in,
// without a cycle of their own.
type sedGate struct {
	cmd *sedCommand
	re  *regex.Regexp // the pattern a line must match first; nil if numbers decide
	at  int           // the next such line of the block; below pos it is out of date
}

// makeGates looks at the script once. No gates means that every line needs its
// cycle.
func (in *sedInput) makeGates() error {
	list := in.run.script.commands
	for i := 0; i < len(list); i++ {
		cmd := &list[i]
		g := sedGate{cmd: cmd, at: -1}
		switch {
		case cmd.not:
			in.gates = nil
			return nil
		case cmd.from == nil && cmd.name == 's':
			g.re = cmd.subst.regex.re
		case cmd.from != nil && cmd.from.kind == '/':
			g.re = cmd.from.regex.re
		case cmd.from != nil && (cmd.from.kind == 'n' || cmd.from.kind == '$'):
		default:
			in.gates = nil
			return nil
		}
		numeric := cmd.from != nil && cmd.from.kind != '/'
		if g.re == nil && !numeric || g.re != nil && in.run.end != '\n' {
			in.gates = nil
			return nil
		}
		in.gates = append(in.gates, g)
		if cmd.name == '{' {
			i = cmd.target - 1
		}
	}
	return nil
}

func (in *sedInput) resetGates() {
	for i := range in.gates {
		in.gates[i].at = -1
	}
}

// skip passes over lines that no command can do anything about.
func (in *sedInput) skip() error {
	if len(in.gates) == 0 {
		return nil
	}
	for {
		ok, err := in.fill(true)
		if !ok || err != nil {
			return err
		}
		if in.idle() {
			in.pos = len(in.block)
			return nil
		}
		to := len(in.block)
		for i := range in.gates {
			to = min(to, in.gate(&in.gates[i]))
		}
		if to > in.pos {
			if err := in.pass(to); err != nil {
				return err
			}
		}
		if in.pos < len(in.block) {
			return nil
		}
		if in.run.ctx.Err() != nil {
			return context.Cause(in.run.ctx)
		}
	}
}

// pass prints the lines up to to, or drops them, and counts them if that matters.
func (in *sedInput) pass(to int) error {
	part := in.block[in.pos:to]
	if in.run.script.numbers {
		in.line += bytes.Count(part, []byte{in.run.end})
		if part[len(part)-1] != in.run.end {
			in.line++
		}
	}
	in.pos = to
	out := in.run.out
	if !in.run.quiet {
		out.raw(part)
		out.missing = part[len(part)-1] != in.run.end
	}
	return out.err()
}

// gate returns where the next line of interest starts, or the end of the block.
func (in *sedInput) gate(g *sedGate) int {
	if g.cmd.active {
		return in.pos
	}
	if g.re != nil {
		if g.at < in.pos {
			if g.at, _ = g.re.FindMatchingLine(in.block, in.pos); g.at < 0 {
				g.at = len(in.block)
			}
		}
		if g.re.Err() != nil {
			return in.pos // the cycle will report it
		}
		return g.at
	}
	if g.cmd.from.kind == '$' {
		return bytes.LastIndexByte(in.block[:len(in.block)-1], in.run.end) + 1
	}
	return in.lineAt(g, g.cmd.from.n-in.line-1)
}

// lineAt returns where the line starts that n others precede.
func (in *sedInput) lineAt(g *sedGate, n int) int {
	if n < 0 {
		return len(in.block)
	}
	if g.at >= in.pos {
		return g.at
	}
	at := in.pos
	if count := bytes.Count(in.block[at:], []byte{in.run.end}); count < n {
		g.at = len(in.block)
		return g.at
	}
	for ; n > 0; n-- {
		at += recordEnd(in.block[at:], in.run.end)
	}
	g.at = at
	return at
}

// idle reports that no command can ever do anything again and nothing is to be
// printed, so that the rest of the input need not be read.
func (in *sedInput) idle() bool {
	s := in.run
	if !s.quiet || s.separate || in.file == nil || len(in.names) > 0 {
		return false
	}
	for i := range in.gates {
		cmd := in.gates[i].cmd
		if cmd.active || cmd.from == nil || cmd.from.kind != 'n' || cmd.from.n > in.line {
			return false
		}
	}
	in.finish()
	return true
}
