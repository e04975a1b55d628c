package policy

import "strings"

// codeFlags are the options whose value is program text.
var codeFlags = map[string]string{"python": "c", "python3": "c", "node": "ep", "ruby": "e", "perl": "eE", "php": "r"}

// judgeInterpreter judges the arguments of a language interpreter. The program text is not judged: the sandbox
// confines it.
func (c *command) judgeInterpreter(name string, args []word) *finding {
	inPlace := false
	for i := 0; i < len(args); i++ {
		t := args[i].text
		inPlace = inPlace || (name == "perl" || name == "ruby") && isInPlaceOption(t)
		cluster := len(t) > 1 && t[0] == '-' && t[1] != '-' && !strings.ContainsAny(t, "/.IMm")
		if cluster && strings.IndexByte(codeFlags[name], t[len(t)-1]) >= 0 || t == "--eval" || t == "--print" {
			i++ // the program text
			continue
		}
		if f := c.judgeUnknownWord(args[i]); f != nil {
			return f
		}
		if inPlace && c.p.opts.Root != "" && !strings.HasPrefix(t, "-") {
			if f := c.refuseProtected(args[i]); f != nil {
				return f
			}
		}
	}
	if !strings.HasPrefix(name, "python") {
		return nil
	}
	if module, _ := pythonModule(args); module == "pty" {
		return c.refuseOption("-m pty", "it starts a shell, and what the shell reads is never judged",
			"write the commands into the script itself")
	}
	if rest, ok := argsOfPip(args); ok {
		return c.refuseForbidden("pip", rest)
	}
	return nil
}

// isInPlaceOption reports whether an option of perl or ruby, such as -i.bak or -pi, makes it write its files.
func isInPlaceOption(t string) bool {
	letters, _, _ := strings.Cut(t, ".")
	return len(t) > 1 && t[0] == '-' && strings.IndexByte("-IMmxCDVFdrW", t[1]) < 0 && strings.Contains(letters, "i")
}

// argsOfPip returns the words behind python -m pip, in all its spellings.
func argsOfPip(args []word) ([]word, bool) {
	module, rest := pythonModule(args)
	module, _, _ = strings.Cut(module, ".") // pip.__main__
	return rest, module == "pip" || module == "ensurepip"
}

// pythonModule returns the module that python runs, and its arguments.
func pythonModule(args []word) (module string, rest []word) {
	for i := 0; i < len(args); i++ {
		t := args[i].text
		if len(t) < 2 || t[0] != '-' {
			return "", nil
		}
		switch at := strings.IndexAny(t, "mcWX"); {
		case t == "--check-hash-based-pycs":
			i++
		case t[1] == '-' || at < 0:
		case t[at] == 'c':
			return "", nil
		case t[at] == 'm' && at+1 < len(t):
			return t[at+1:], args[i+1:]
		case t[at] == 'm' && i+1 < len(args):
			return args[i+1].text, args[i+2:]
		case at+1 == len(t):
			i++ // the value of -W or -X
		}
	}
	return "", nil
}

// judgeUv judges uv run as the command that it runs. The other subcommands fetch and install; a rule must name
// them.
func judgeUv(c *command, args []word) *finding {
	before, n, f := c.parseOwn(wrapping("uv"), args)
	if f == nil {
		f = c.refuseLateWords(args[:min(n+1, len(args))])
	}
	if f != nil || n >= len(args) {
		return f
	}
	if sub := args[n].text; sub != "run" || args[n].late {
		if !c.p.checks.strict || c.rule != nil && len(c.rule.words) > 1 {
			return c.judgeUnknownProgram(args)
		}
		return refusal("uv: "+sub, "it fetches or installs packages", "only uv run is allowed; uv run runs what is installed")
	}
	rest := args[n+1:]
	own, m, f := c.parseOwn(wrapping("uv"), rest)
	if f == nil {
		f = c.refuseLateWords(rest[:min(m+1, len(rest))])
	}
	if f != nil {
		return f
	}
	own.options = append(before.options, own.options...)
	if v, ok := own.get("-p", "--python"); ok &&
		(v.loose || strings.Trim(strings.TrimPrefix(v.text, "python"), ".0123456789") != "") {
		return c.refuseOption("--python", "it could name any program", "give a version, such as 3.12")
	}
	for _, o := range own.options {
		if o.name == "--directory" {
			c.addDir(o.val)
		}
	}
	module := own.has("-m", "--module")
	return c.judgeUvRun(rest[m:], module)
}

// judgeUvRun judges the command of uv run: scripts and modules are Python. A rule that names the command, such as
// uv run pytest, allows it; what is known about the command still applies.
func (c *command) judgeUvRun(words []word, module bool) *finding {
	if len(words) == 0 {
		return nil
	}
	named := c.isNamedByRule(words)
	name := words[0].text
	switch {
	case module:
		words = append(literals("python", "-m"), words...)
	case name == "-" || strings.HasSuffix(name, ".py") || strings.HasSuffix(name, ".pyw"):
		words = append(literals("python"), words...)
	}
	in := command{p: c.p, cost: c.cost, words: words, dirs: c.dirs, input: c.input, rule: c.rule, depth: c.depth + 1,
		wrote: c.wrote, linked: c.linked}
	if !named || in.depth > maxWrapped || c.p.rules.find(words[0].text, withoutLate(words[1:])) != nil {
		return c.judgeInner(words)
	}
	return in.judgeProgram()
}

// isNamedByRule reports whether the words after uv run are those of the rule. A matching rule is not enough: uv
// run --extra pytest x runs x.
func (c *command) isNamedByRule(words []word) bool {
	if c.rule == nil || len(c.rule.words) <= 2 || len(c.rule.words)-2 > len(words) {
		return false
	}
	for i, want := range c.rule.words[2:] {
		if words[i].late || !wordMatches(want, words[i].text) {
			return false
		}
	}
	return true
}
