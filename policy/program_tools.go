package policy

import "strings"

// makeWords judges targets and variables given to make.
func (c *command) makeWords(a *arguments) *finding {
	if f, ok := a.get("-f", "--file", "--makefile"); ok && harmlessDevice(f.text) {
		return c.refused("-f", "a makefile that comes through a pipe is never judged", "write it to a file")
	}
	if f := c.elsewhere(a, "-C", "--directory"); f != nil {
		return f
	}
	for _, w := range a.operands {
		name, text, isVar := strings.Cut(w.text, "=")
		if !isVar {
			continue
		}
		if f := c.makeVariable(name, w.with(text)); f != nil {
			return f
		}
	}
	return c.anyProgram(a.operands)
}

// codeFlags are the options whose value is program text.
var codeFlags = map[string]string{"python": "c", "python3": "c", "node": "ep", "ruby": "e", "perl": "eE", "php": "r"}

// interpreter judges the words of a language's interpreter. The program
// text itself is not judged: the sandbox holds it.
func (c *command) interpreter(name string, args []word) *finding {
	inPlace := false
	for i := 0; i < len(args); i++ {
		t := args[i].text
		inPlace = inPlace || (name == "perl" || name == "ruby") && editsInPlace(t)
		cluster := len(t) > 1 && t[0] == '-' && t[1] != '-' && !strings.ContainsAny(t, "/.IMm")
		if cluster && strings.IndexByte(codeFlags[name], t[len(t)-1]) >= 0 || t == "--eval" || t == "--print" {
			i++ // the program text
			continue
		}
		if f := c.anyWord(args[i]); f != nil {
			return f
		}
		if inPlace && c.p.opts.Root != "" && !strings.HasPrefix(t, "-") {
			if f := c.guarded(args[i]); f != nil {
				return f
			}
		}
	}
	if !strings.HasPrefix(name, "python") {
		return nil
	}
	if module, _ := pythonModule(args); module == "pty" {
		return c.refused("-m pty", "it starts a shell, and what the shell reads is never judged",
			"write the commands into the script itself")
	}
	if rest, ok := afterPip(args); ok {
		return c.reachesOut("pip", rest)
	}
	return nil
}

// editsInPlace reports whether an option of perl or ruby, such as -i.bak or -pi,
// has it write the files it is given.
func editsInPlace(t string) bool {
	letters, _, _ := strings.Cut(t, ".")
	return len(t) > 1 && t[0] == '-' && strings.IndexByte("-IMmxCDVFdrW", t[1]) < 0 && strings.Contains(letters, "i")
}

// afterPip returns the words behind python -m pip, in all its spellings.
func afterPip(args []word) ([]word, bool) {
	module, rest := pythonModule(args)
	module, _, _ = strings.Cut(module, ".") // pip.__main__
	return rest, module == "pip" || module == "ensurepip"
}

// pythonModule returns the module that python is told to run, and what it is given.
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

func (c *command) toolOrNil(words []word) *finding {
	if f := c.tool(words); f != nil && f.effect != Allow {
		return f
	}
	return nil
}

// tool judges one tool: what wraps or is known is judged as if it stood alone.
func (c *command) tool(words []word) *finding {
	inner := command{p: c.p, cost: c.cost, words: words}
	r := c.p.rules.find(inner.texts())
	name := words[0].text
	if c.p.known(name) == nil && !c.p.runsOthers(name) && (r == nil || r.effect != Deny) {
		return nil
	}
	return c.inner(words)
}

// runsOthers reports whether a program by that name runs the rest of its words.
func (p *Policy) runsOthers(name string) bool {
	return p.wrapping(name) != nil
}

// tox judges the command that tox is told to run, and settings that are commands.
func (c *command) tox(args []word) *finding {
	for i, w := range args {
		key, _, _ := strings.Cut(w.text, "=")
		if inList(" -x --override ", key) || strings.HasPrefix(key, "-x") {
			return c.refused(key, "a setting of tox may be a command", "change tox.ini instead")
		}
		if w.text == "--" && i+1 < len(args) && hasAny(args[:i], "exec", "e") {
			return c.toolOrNil(args[i+1:])
		}
	}
	return nil
}

// dotnetProperties refuses the properties that are commands of the build.
func (c *command) dotnetProperties(args []word) *finding {
	for _, w := range args {
		low := strings.ToLower(w.text)
		if strings.Contains(low, "buildevent=") || strings.Contains(low, "customcommands=") ||
			strings.Contains(low, "csctoolexe=") || strings.Contains(low, "csctoolpath=") {
			return c.refused(w.text, "the property is a command that the build runs", "set it in the project file")
		}
	}
	return nil
}
