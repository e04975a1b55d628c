// Package policy decides whether a shell command may run, and gives the reason.
//
// A policy is a list of rules, one per line: an effect, words of a command, and
// after # the reason.
//
//	allow cat            # show a file
//	ask   git push       # leaves this machine
//	deny  git push -f    # rewrites history that others rely on
//
// A script is judged twice: as a syntax tree before anything is expanded
// ([Policy.Program]), and command by command with the expanded words
// ([Policy.Call]). Besides the rules the policy applies what it knows about
// programs: which options run other programs, which operands are files. It runs
// nothing, asks nobody and does not read files. What it does not understand is
// denied.
package policy

import (
	"cmp"
	"context"
	"path"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Options locate a policy in a file system.
type Options struct {
	Root string // absolute directory that paths must stay in; empty means that paths are not judged
	Dir  string // current directory; empty means Root
	Home string // value of ~ and $HOME; empty means a directory outside of the root

	// Resolve follows the symbolic links in an absolute path as far as it exists. A
	// dangling last link is followed, too, since writing to it creates its target.
	// Nil means that a path is judged by its spelling alone.
	Resolve func(path string) string
}

// A Policy is a set of rules with the checks of a profile. A nil Policy denies
// everything. A Policy is immutable, so it may be shared.
type Policy struct {
	rules   ruleSet
	opts    Options
	checks  checks
	profile string

	programs *Programs // taught by the user; nil means none
}

// checks say how much of a script is judged besides its command names.
type checks struct {
	strict     bool // options by list, paths inside the root, environment by list
	foreground bool // no background jobs, coprocesses, process substitution
	jobs       bool // background jobs nevertheless: the runner ends them with the script
	opaque     bool // the runner never calls Call, so late words are judged at once
	callback   bool // what a command runs in turn comes back to Call, so options need no second look
}

// At returns the policy with another current directory. An empty dir changes nothing.
func (p *Policy) At(dir string) *Policy {
	if p == nil || dir == "" || dir == p.opts.Dir || p.opts.Root == "" && !p.checks.strict {
		return p // without paths to judge there is no need for a copy
	}
	q := *p
	q.opts.Dir = dir
	return &q
}

// Root returns the directory that paths must stay in, or "".
func (p *Policy) Root() string {
	if p == nil {
		return ""
	}
	return p.opts.Root
}

// noPolicy is the verdict of a nil policy.
func noPolicy(argv []string) Verdict {
	return Verdict{Argv: argv, Why: "there is no policy",
		Hint: "start with a profile: virtual, host, container or outside"}
}

// Script judges a script by its source, before anything is expanded. It returns
// the verdicts on its commands, redirections and constructs in the order of the
// source.
func (p *Policy) Script(src string) ([]Verdict, error) {
	f, err := ParseScript(src)
	if err != nil {
		return nil, err
	}
	return p.Program(f), nil
}

// Program is Script for a script that is already parsed. A script that would
// take too much work to judge gets a single verdict: it is denied as a whole.
func (p *Policy) Program(f *syntax.File) (out []Verdict) {
	if p == nil {
		return []Verdict{noPolicy(nil)}
	}
	defer func() {
		if over := overrunFinding(recover()); over != nil {
			out = []Verdict{over.verdict(literals("script"))}
		}
	}()
	cost := newCostMeter()
	w := p.walk(f, cost, false, false)
	if w.concurrent && (w.wrote || w.linked || w.moved) {
		// Concurrent commands have no order: all of them are judged as if whatever
		// the script writes, links and moves were there already.
		cost.bytes = maxKept
		w = p.walk(f, cost, w.wrote, w.linked || w.moved)
	}
	if p.checks.opaque {
		w.refuse(nil, refuseAmbiguous(f))
	}
	return w.out
}

func (p *Policy) walk(f *syntax.File, cost *costMeter, wrote, linked bool) *walker {
	w := &walker{p: p, cost: cost, sc: scope{cost: cost, dirs: p.startDirs()}, wrote: wrote, linked: linked}
	w.stmts(f.Stmts)
	w.walkUncalled()
	return w
}

// Call judges one command by its expanded words. It decides about what Script
// could only judge in part.
func (p *Policy) Call(argv []string) Verdict {
	if p == nil {
		return noPolicy(argv)
	}
	if r := p.rules.everything; r != nil && len(argv) > 0 {
		return Verdict{Effect: r.effect, Argv: argv, Why: r.why, Where: r.where}
	}
	c := command{p: p, cost: newCostMeter(), words: literals(argv...), dirs: p.startDirs(), input: confinedInput,
		expanded: true}
	return c.bounded(c.judge)
}

// CallAt is Call for a command that runs in dir.
func (p *Policy) CallAt(dir string, argv []string) Verdict { return p.At(dir).Call(argv) }

// Redirect judges the file that a redirection opens; op is the operator, such as
// ">" or "<". Descriptors ("2>&1") are not files and need not be judged.
func (p *Policy) Redirect(op, file string) Verdict {
	if p == nil {
		return noPolicy([]string{op, file})
	}
	c := command{p: p, cost: newCostMeter(), words: literals(op, file), dirs: p.startDirs(), expanded: true}
	return c.bounded(func() finding { return c.judgeRedirect(op, c.words[1]) })
}

// RedirectAt is Redirect for a redirection in dir.
func (p *Policy) RedirectAt(dir, op, file string) Verdict { return p.At(dir).Redirect(op, file) }

// bounded returns the verdict of a judgement that may turn out to cost too much.
func (c *command) bounded(judge func() finding) (v Verdict) {
	defer func() {
		if f := overrunFinding(recover()); f != nil {
			v = f.verdict(c.words)
		}
	}()
	return judge().verdict(c.words)
}

func (p *Policy) startDirs() []string {
	dir := cmp.Or(p.opts.Dir, p.opts.Root)
	if dir == "" && p.checks.opaque {
		dir = "/workspace/project" // where a container's shell starts
	}
	if dir = cmp.Or(dir, "/"); !path.IsAbs(dir) {
		dir = path.Join(p.opts.Root, dir)
	}
	return []string{dir}
}

// Judged is a script that was parsed and judged before anything is expanded.
type Judged struct {
	Program  *syntax.File // the judged tree; nil if it was judged in another process
	Verdicts []Verdict

	// Text is the tree printed by [Reprint], and Printed the verdict on that. Both
	// are empty unless they were requested.
	Text    string
	Printed Verdict
}

// ScriptAt judges a script that starts in dir. Program is the script as parsed by
// [ParseScript]; nil means that ScriptAt parses it. Reprinted requests the text of
// the tree, for a runner that parses the text itself.
func (p *Policy) ScriptAt(_ context.Context, dir, script string, program *syntax.File, reprinted bool) (Judged, error) {
	if program == nil {
		parsed, err := ParseScript(script)
		if err != nil {
			return Judged{}, err
		}
		program = parsed
	}
	j := Judged{Program: program, Verdicts: p.At(dir).Program(program)}
	if reprinted {
		j.Text, j.Printed = Reprint(program)
	}
	return j, nil
}

// Source prints a tree as shell source, for records and for people.
func Source(program *syntax.File) string {
	var b strings.Builder
	if err := syntax.NewPrinter().Print(&b, program); err != nil {
		return ""
	}
	return b.String()
}
