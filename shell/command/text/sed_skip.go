package text

import (
	"bytes"
	"context"

	"hako/shell/command/internal/cli"
	"hako/shell/regex"
)

// A sedSelector finds the next line that a command of the outermost level can affect.
// Lines that no selector finds are copied without running the script.
type sedSelector struct {
	cmd *sedCommand
	re  *regex.Regexp // the pattern a line must match first; nil if numbers decide
	at  int           // the next such line of the block; less than pos if it is unknown
}

// makeSelectors makes the selectors of a script. Without any, the script runs on every line.
func (in *sedInput) makeSelectors() {
	list := in.run.script.commands
	for i := 0; i < len(list); i++ {
		cmd := &list[i]
		g := sedSelector{cmd: cmd, at: -1}
		switch {
		case cmd.from == nil && cmd.name == 's':
			g.re = cmd.subst.regex.re
		case cmd.from != nil && cmd.from.kind == '/':
			g.re = cmd.from.regex.re
		}
		numeric := cmd.from != nil && (cmd.from.kind == 'n' || cmd.from.kind == '$')
		if cmd.not || g.re == nil && !numeric || g.re != nil && in.run.end != '\n' {
			in.selectors = nil
			return
		}
		in.selectors = append(in.selectors, g)
		if cmd.name == '{' {
			i = cmd.target - 1
		}
	}
}

func (in *sedInput) resetSelectors() {
	for i := range in.selectors {
		in.selectors[i].at = -1
	}
}

// skip copies the lines that no command can affect.
func (in *sedInput) skip() {
	for len(in.selectors) > 0 && in.fill(true) {
		if in.idle() {
			in.pos = len(in.block)
			return
		}
		to := len(in.block)
		for i := range in.selectors {
			to = min(to, in.nextSelected(&in.selectors[i]))
		}
		if to > in.pos {
			in.pass(to)
		}
		if in.pos < len(in.block) {
			return
		}
		cli.Check(context.Cause(in.run.ctx))
	}
}

// pass prints the lines before to, or drops them, and counts them if numbers matter.
func (in *sedInput) pass(to int) {
	part := in.block[in.pos:to]
	if in.run.script.numbers {
		in.line += bytes.Count(part, []byte{in.run.end})
		if part[len(part)-1] != in.run.end {
			in.line++
		}
	}
	in.pos = to
	if out := in.run.out; !in.run.quiet {
		out.raw(part)
		out.missing = part[len(part)-1] != in.run.end
	}
	cli.Check(in.run.out.w.Err())
}

// nextSelected returns where the next line of a selector starts, or the end of the block.
func (in *sedInput) nextSelected(g *sedSelector) int {
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

// lineAt returns where the line after n others starts.
func (in *sedInput) lineAt(g *sedSelector, n int) int {
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

// idle reports whether no command can have an effect anymore and nothing is printed, so
// that the rest of the input need not be read.
func (in *sedInput) idle() bool {
	s := in.run
	if !s.quiet || s.separate || in.file == nil || len(in.names) > 0 {
		return false
	}
	for i := range in.selectors {
		cmd := in.selectors[i].cmd
		if cmd.active || cmd.from == nil || cmd.from.kind != 'n' || cmd.from.n > in.line {
			return false
		}
	}
	in.finish()
	return true
}
