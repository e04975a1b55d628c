package policy

import "mvdan.cc/sh/v3/syntax"

// ProgramAt is Program for a script that begins in dir.
func (p *Policy) ProgramAt(dir string, f *syntax.File) []Verdict { return p.in(dir).Program(f) }

// CallAt is Call for a command that is run in dir. An empty dir is the policy's
// own, and where neither paths nor options are judged it makes no difference.
func (p *Policy) CallAt(dir string, argv []string) Verdict { return p.in(dir).Call(argv) }

// RedirectAt is Redirect for a redirection that is made in dir.
func (p *Policy) RedirectAt(dir, op, file string) Verdict { return p.in(dir).Redirect(op, file) }

// in spares a policy that does not look at paths the copy that At makes.
func (p *Policy) in(dir string) *Policy {
	if p == nil || dir == "" || p.opts.Root == "" && !p.checks.strict {
		return p
	}
	return p.At(dir)
}
