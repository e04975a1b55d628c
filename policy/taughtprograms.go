package policy

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"hako/shell/spec"
)

// Programs describes programs that hako does not know. It is immutable.
type Programs struct {
	byName map[string]*program
	names  []string
}

// Names lists the programs in the order of the file.
func (p *Programs) Names() []string { return slices.Clone(p.names) }

// taughtFields are the fields of a user's file besides those of package spec.
var taughtFields = [...]string{"takes", "runs", "forbidden-options", "forbidden-subcommands"}

// maxPrograms is the size of the largest file of programs.
const maxPrograms = 1 << 20

// ParsePrograms reads a file of programs; docs/policy.md describes its format.
//
// A file adds programs. It cannot change what hako knows about a program, nor does it allow a program to run:
// that is for the rules.
func ParsePrograms(name string, r io.Reader) (*Programs, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxPrograms+1))
	if err != nil {
		return nil, malformed(name, err.Error(), "")
	}
	if len(text) > maxPrograms {
		return nil, malformed(name, fmt.Sprintf("it has more than %d bytes", maxPrograms), "describe fewer programs")
	}
	form := spec.Dialect{Host: true, Fields: taughtFields[:], Like: builtinSpec}
	specs, err := form.Parse(strings.TrimPrefix(string(text), "\ufeff"))
	var wrong *spec.Error
	if errors.As(err, &wrong) {
		return nil, malformed(fmt.Sprintf("%s:%d", name, wrong.Line), wrong.Why, programsHint)
	}
	if err != nil {
		return nil, malformed(name, err.Error(), programsHint)
	}
	set := &Programs{byName: make(map[string]*program)}
	for _, s := range specs {
		if why := set.add(s); why != "" {
			return nil, malformed(fmt.Sprintf("%s:%d", name, s.Line), why, programsHint)
		}
	}
	return set, nil
}

const programsHint = "docs/policy.md describes files of programs"

// add adds a program; why is the reason if it cannot.
func (p *Programs) add(s *spec.Spec) (why string) {
	prog := newProgram(s)
	for _, name := range append([]string{s.Name}, s.Also...) {
		first, _, sub := strings.Cut(name, " ")
		switch {
		case !isCommandName(first):
			return fmt.Sprintf("%q is not a command name", first)
		case builtinPrograms().find(first) != nil || spec.Lookup(first) != nil:
			return "hako knows " + first + " itself: a file can add programs, not change what is known about one"
		case p.byName[name] != nil:
			return name + " is there twice"
		case sub && p.byName[first] == nil:
			return "there is no program " + first + " before its subcommand"
		case sub && p.byName[first].command:
			return first + " runs the command in its operands, so it has no subcommands"
		}
		p.byName[name] = prog
		p.names = append(p.names, name)
		if sub {
			p.byName[first].hasSubcommands = true
		}
	}
	return prog.unfit()
}

// unfit returns the reason why a user's file may not describe a program like this, or "".
func (p *program) unfit() string {
	switch {
	case p.spec.Judged:
		return "judged: code is for programs that hako has a function for"
	case p.command && p.free:
		return "where the command begins cannot be told if any option may be given"
	}
	for name := range strings.FieldsSeq(p.words("runs")) {
		if _, ok := p.takes[name]; !ok {
			return "runs: the field takes does not list " + name
		}
	}
	return ""
}

// Teach returns the policy with descriptions of more programs. It does not allow them to run.
func (p *Policy) Teach(programs *Programs) *Policy {
	if p == nil || programs == nil {
		return p
	}
	q := *p
	q.programs = programs
	return &q
}

// find returns the description of a program or subcommand, nil if there is none.
func (p *Policy) find(name string) *program {
	if prog := builtinPrograms().find(name); prog != nil {
		return prog
	}
	if p == nil || p.programs == nil {
		return nil
	}
	return p.programs.byName[name]
}

// known returns a program that does not run the command in its operands, nil if there is none.
func (p *Policy) known(name string) *program {
	if strings.Contains(name, " ") {
		return nil // the spec of a subcommand
	}
	if prog := p.find(name); prog != nil && !prog.command && !prog.unlisted {
		return prog
	}
	return nil
}

// wrapping returns a program that runs the command in its operands, nil if there is none.
func (p *Policy) wrapping(name string) *program {
	if prog := p.find(name); prog != nil && prog.command {
		return prog
	}
	return nil
}

// taught reports whether a user's file describes a program or subcommand.
func (p *Policy) taught(name string) bool { return p.programs != nil && p.programs.byName[name] != nil }

// judgeTaughtSubcommand judges a program of a user's file that has subcommands.
func (c *command) judgeTaughtSubcommand(name string, prog *program, args []word) *finding {
	_, n, f := c.parseOwn(prog, args)
	if f != nil || n >= len(args) {
		return f
	}
	sub := name + " " + args[n].text
	inner := c.p.find(sub)
	if inner == nil {
		return refusal(name+": "+args[n].text, "nothing is known about this subcommand",
			"describe it in the file of policy.programs, or use another")
	}
	return cmp.Or(c.judgeTaughtCommands(prog, args[:n]), c.judgeKnownProgram(sub, inner, args[n+1:]))
}

// judgeTaughtCommands judges the options of a user's file whose value is a command.
func (c *command) judgeTaughtCommands(prog *program, args []word) *finding {
	if prog.runs == nil {
		return nil
	}
	for _, o := range parseLoosely(prog.takes, args).options {
		if !slices.Contains(prog.runs, o.name) {
			continue
		}
		if f := c.judgeScript(o.val); f != nil && f.effect != Allow {
			f.where = c.words[0].text + ": " + o.name + " (" + f.where + ")"
			return f
		}
	}
	return nil
}
