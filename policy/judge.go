package policy

import (
	"cmp"
	"path"
	"slices"
	"strings"
	"sync"

	"hako/run/fault"
)

// A command is one command to judge, with its context.
type command struct {
	p      *Policy
	cost   *costMeter
	words  []word
	dirs   []string // possible working directories; nil means any inside the root
	input  pipeInput
	rule   *rule // the rule that allows it
	depth  int   // how many commands run it, one by the other
	wrote  bool  // the script may have written files before
	linked bool  // the script may have made symbolic links before
	nested bool  // it is in the arguments of another program: only what a rule denies is refused

	readOnly bool // no file may be written at all
	expanded bool // the words were expanded by the shell, and Script has judged their sources
}

// maxWrapped bounds commands that run one another: env env env ….
const maxWrapped = 16

func (c *command) judge() finding {
	if len(c.words) == 0 {
		return finding{effect: Deny, why: "there is no command", where: "command name", hint: "name a command"}
	}
	name := c.words[0]
	if name.late {
		return finding{effect: Deny, late: true, why: "the command's name is only known at run time", where: "command name",
			hint: "write the name out"}
	}
	if c.depth > maxWrapped {
		return finding{effect: Deny, why: "commands are wrapped in one another too deeply", where: name.text,
			hint: "run the inner command itself"}
	}
	c.cost.spend(c.costOfRules())
	r := c.findRule()
	if r == nil && c.nested && !c.mayBeAllowed() {
		r = &noRuleDenies
	}
	if f := c.refuseByRule(r, name.text); f != nil {
		return *f
	}
	c.rule = r
	done := finding{effect: r.effect, why: r.why, where: r.where}
	if r.effect == Ask {
		done.hint = "a person has to agree"
		if done.why == "" {
			done.why = "a rule asks for approval"
		}
	}
	if f := c.judgeProgram(); f != nil && f.effect <= done.effect {
		done = *f
	}
	if c.p.checks.opaque && done.effect == Allow {
		if f := c.judgeLate(); f != nil {
			return *f
		}
		done.lateSettled = true
	}
	return done
}

// costOfRules is the cost of comparing the words of a command with the rules and its program.
func (c *command) costOfRules() int {
	rules := len(c.p.rules.byName[c.words[0].text]) + len(c.p.rules.globs)
	return costJudge + len(c.words)*(2*costWord+costSource*rules)
}

// findRule returns the most specific rule for the command, or nil.
func (c *command) findRule() *rule {
	name, args := c.words[0].text, withoutLate(c.words[1:])
	if !c.p.checks.opaque {
		return c.p.rules.find(name, args)
	}
	r := c.pathRule(name, args)
	if base := path.Base(name); base != name && (r == nil || r.name() != name) {
		// In /bin, ./rm is the rm of the rules.
		if by := c.p.rules.find(base, args); by != nil && by.effect != Allow && (r == nil || by.effect < r.effect) {
			return by
		}
	}
	return r
}

// withoutLate returns words as if their known text were all of it.
func withoutLate(words []word) []word {
	if !slices.ContainsFunc(words, func(w word) bool { return w.late }) {
		return words
	}
	return literals(textsOf(words)...)
}

// pathRule returns the rule for the command's name as it is written.
func (c *command) pathRule(name string, args []word) *rule {
	if hasParentDir(name) || c.mayBeSystemProgram(name) {
		return nil // ./../../bin/rm is no program of the project
	}
	r := c.p.rules.find(name, args)
	if own := projectPath(name); r == nil && own != name {
		r = c.p.rules.find(own, args)
	}
	return r
}

// systemDirs are the top directories of installed programs.
const systemDirs = " bin sbin usr lib lib32 lib64 libx32 proc .hako "

// mayBeSystemProgram reports whether a relative path may name an installed program, because the script changed
// its directory.
func (c *command) mayBeSystemProgram(name string) bool {
	if !strings.Contains(name, "/") || path.IsAbs(name) {
		return false
	}
	for _, d := range c.dirs {
		top, _, _ := strings.Cut(strings.TrimPrefix(path.Join(d, name), "/"), "/")
		if hasWord(systemDirs, top) {
			return true
		}
	}
	return false
}

// projectPath normalizes the path of a program: bin/x is ./bin/x.
func projectPath(name string) string {
	if strings.Contains(name, "/") && name[0] != '/' && !strings.HasPrefix(name, "./") {
		return "./" + name
	}
	return name
}

// hasParentDir reports whether a path contains .. before its last part.
func hasParentDir(name string) bool {
	return strings.HasPrefix(name, "../") || strings.Contains(name, "/../")
}

// refuseByRule refuses a command that no rule allows, that a rule denies, or that is named by a path: a file ./ls
// in the workspace is not the ls of the rules.
func (c *command) refuseByRule(r *rule, name string) *finding {
	if c.p.checks.strict && strings.Contains(name, "/") && (r == nil || len(r.words) == 0 || r.words[0] != name) {
		return refusal("path as name", "programs are run by name, not by path",
			"use the name of an installed program, without a slash")
	}
	switch {
	case r == nil && c.p.checks.strict && name == "git" && c.gitOption() != nil:
		return c.gitOption() // says more than that x is no subcommand
	case r == nil && c.mayBeAllowed():
		return c.refuseLate(nil, c.firstLate())
	case r == nil:
		return byRule(refusal("no rule", "no rule allows it", cached(&c.cost.hints, name, func() string { return c.hintToAllow(name) })), name)
	case r.effect == Deny:
		why := r.why
		if why == "" {
			why = "a rule denies it"
		}
		hint := c.alternativeTo(r)
		if strings.Contains(name, "/") && r.name() == path.Base(name) {
			hint = "if it is a script of the project, run it with bash: bash " + name
		}
		return byRule(refusal(r.where, why, hint), name)
	}
	return nil
}

// gitOption returns the refusal of an option before git's subcommand.
func (c *command) gitOption() *finding {
	_, f := c.parseGitOptions(c.words[1:])
	return f
}

// byRule marks a refusal as that of a rule, or of the lack of one.
func byRule(f *finding, name string) *finding {
	f.ruled, f.unlisted = true, name
	return f
}

// hintToAllow tells how to permit a command that no rule names, or which of its subcommands are allowed.
func (c *command) hintToAllow(name string) string {
	var allowed []string
	for _, i := range c.p.rules.byName[name] {
		if r := &c.p.rules.all[i]; r.effect != Deny && len(r.words) > 1 {
			allowed = append(allowed, r.words[1])
		}
	}
	if len(allowed) > 0 {
		return "allowed of " + name + " are: " + strings.Join(allowed, ", ")
	}
	c.cost.spend(costHint)
	if near, ok := fault.Nearest(name, c.p.names()); ok && near != name {
		return "did you mean " + near + "? to permit it, add a rule: allow " + name
	}
	return cmp.Or(alternatives()[name], "to permit it, add a rule: allow "+quoteAll([]string{name}))
}

func (c *command) alternativeTo(r *rule) string {
	return cmp.Or(alternatives()[r.text()], alternatives()[r.name()],
		"do it another way; this rule is not meant to be worked around")
}

// alternatives maps refused commands to what to use in their place.
var alternatives = sync.OnceValue(func() map[string]string {
	text, _ := ruleFiles.ReadFile("rules/alternatives.txt")
	out := make(map[string]string)
	for line := range strings.Lines(string(text)) {
		if command, hint, ok := strings.Cut(strings.TrimSpace(line), ": "); ok && command[0] != '#' {
			out[command] = hint
		}
	}
	return out
})

func (p *Policy) names() []string {
	out := make([]string, 0, len(p.rules.all))
	for i := range p.rules.all {
		if r := &p.rules.all[i]; r.effect == Allow && len(r.words) == 1 {
			out = append(out, r.words[0])
		}
	}
	return out
}

// judgeProgram applies what is known about the program to its arguments, and judges the command that it would
// run.
func (c *command) judgeProgram() *finding {
	name, args := c.words[0].text, c.words[1:]
	if c.p.checks.opaque {
		name = path.Base(name) // cd /bin; ./env rm
	}
	if f, ok := c.judgeWrapper(name, args); ok {
		if c.p.checks.callback && f != nil && !f.ruled {
			return nil
		}
		return f
	}
	if c.p.checks.opaque && !c.expanded {
		return c.nestedCommands(name, args)
	}
	if !c.p.checks.strict {
		return nil
	}
	if prog := c.p.known(name); prog != nil {
		return c.judgeKnownProgram(name, prog, args)
	}
	return c.judgeUnknownProgram(args)
}

// judgeInner judges the command that this one would run.
func (c *command) judgeInner(words []word) *finding {
	if len(words) == 0 {
		return nil
	}
	in := command{p: c.p, cost: c.cost, words: words, dirs: c.dirs, input: c.input, depth: c.depth + 1, wrote: c.wrote,
		linked: c.linked, nested: c.nested, expanded: c.expanded}
	f := in.judge()
	if f.effect == Allow {
		return &finding{effect: Allow, why: f.why, where: f.where, late: f.late}
	}
	return &f
}

// judgeScript judges shell source that this command would run.
func (c *command) judgeScript(src word) *finding {
	if src.late {
		return &finding{effect: Deny, late: true, why: "the script it runs is only known at run time", where: c.words[0].text,
			hint: "write the commands into the script itself"}
	}
	if c.depth+1 > maxWrapped {
		return refusal(c.words[0].text, "scripts are wrapped in one another too deeply",
			"write the commands into the script itself")
	}
	c.cost.spend(costScript + costParse*len(src.text))
	f, err := ParseScript(src.text)
	if err != nil {
		return refusal(c.words[0].text, "the script inside cannot be parsed", "write the commands into the script itself")
	}
	if c.p.checks.opaque {
		c.cost.spend(2*costScript + costShape*len(src.text))
		if bad := refuseMisreadText(c.words[0].text, src.text, f, c.plainShell()); bad != nil {
			return bad
		}
	}
	w := &walker{p: c.p, cost: c.cost, sc: scope{cost: c.cost, dirs: c.dirs, input: c.input}, wrapped: c.depth + 1,
		wrote: c.wrote, linked: c.linked, nested: c.nested}
	w.stmts(f.Stmts)
	w.walkUncalled()
	worst := finding{effect: Allow}
	for _, v := range w.out {
		if v.Effect < worst.effect {
			worst = finding{effect: v.Effect, why: v.Why, where: v.Where, hint: v.Hint, late: v.Late, ruled: true,
				unlisted: v.Name}
		}
	}
	if worst.effect == Allow {
		return nil
	}
	return &worst
}

// refuseOption refuses an option, unless the rule for the command names it.
func (c *command) refuseOption(option, why, hint string) *finding {
	if c.rule != nil && c.rule.effect == Allow && slices.Contains(c.rule.flags, option) {
		return nil
	}
	return refusal(c.words[0].text+": "+option, why, hint)
}
