package policy

import "strings"

// nestedInCmake judges cmake -E, which runs others and is a rm of its own, what
// compilers are started with, and what --build hands on to make.
func (c *command) nestedInCmake(args []word) *finding {
	for len(args) > 0 && args[0].text != "-E" {
		if args[0].text == "--" {
			return c.nestedInMake(args[1:])
		}
		if name, text, ok := strings.Cut(args[0].text, "="); ok && !args[0].late && strings.Contains(name, "_LAUNCHER") {
			if f := c.nestedWords(fieldsOf(strings.ReplaceAll(text, ";", " "))); f != nil {
				return f
			}
		}
		args = args[1:]
	}
	if len(args) < 2 {
		return nil
	}
	rest := args[2:]
	switch args[1].text {
	case "rm":
		return c.nestedWords(args[1:])
	case "time":
		return c.nestedWords(rest)
	case "chdir":
		return c.nestedWords(rest[min(1, len(rest)):])
	case "env":
		for len(rest) > 0 && (strings.HasPrefix(rest[0].text, "-") || strings.Contains(rest[0].text, "=")) {
			rest = rest[1:]
		}
		return c.nestedWords(rest)
	}
	return nil
}

// nestedInTool judges the tool that npx and its kin run, by name or as shell text.
func (c *command) nestedInTool(name string, args []word) *finding {
	if name == "npx" {
		return c.nestedBehindOptions(name, args)
	}
	for _, i := range openings(args) {
		if i >= len(args) {
			return nil
		}
		if f := c.nestedInSubcommand(name, args[i:]); f != nil {
			return f
		}
	}
	return nil
}

// nestedInSubcommand judges words that may begin with a subcommand that runs a tool.
func (c *command) nestedInSubcommand(name string, args []word) *finding {
	sub := args[0].text
	switch {
	case sub == "run" && name != "conda" && name != "mamba":
		return nil // run takes a script of the project
	case name == "composer" && sub == "exec":
		return c.nestedWords(withoutDashes(args[1:]))
	case runsTool(name, sub):
		return c.nestedBehindOptions(name, args[1:])
	case name == "yarn" && (sub == "workspace" || sub == "workspaces"):
		return c.nestedBehindOptions(name, behindExec(args))
	case (name == "yarn" || name == "pnpm") && !inList(builtin(name).words("subcommands"), sub) && !args[0].late:
		return c.nestedWords(args)
	}
	return nil
}

// nestedBehindOptions judges the tool that stands behind options.
func (c *command) nestedBehindOptions(name string, args []word) *finding {
	shell := name == "npx" || name == "npm" || name == "pnpm"
	for i := 0; i < len(args); i++ {
		t := args[i].text
		key, text, given := strings.Cut(t, "=")
		switch {
		case t == "--":
			return c.nestedWords(args[i+1:])
		case !strings.HasPrefix(t, "-"):
			f := c.nestedWords(args[i:])
			if f != nil || i == 0 || strings.Contains(args[i-1].text, "=") || inList(listed("tool-flags"), args[i-1].text) ||
				i > 1 && inList(listed("tool-value-options"), args[i-2].text) {
				return f
			}
			if i+1 < len(args) && !args[i+1].late {
				return c.nestedWords(args[i+1:]) // an option nobody knows may take a value
			}
			return nil
		case shell && (key == "-c" || len(key) > 3 && strings.HasPrefix("--call", key)):
			val := word{value: value{text: text, late: args[i].late}}
			if !given && i+1 < len(args) {
				val = args[i+1]
			}
			return c.nestedScript(val)
		case inList(listed("tool-value-options"), t):
			i++
		}
	}
	return nil
}

// nestedInJava judges what the virtual machine of Java runs when it breaks down.
func (c *command) nestedInJava(args []word) *finding {
	for _, w := range args {
		if key, text, ok := strings.Cut(strings.TrimPrefix(w.text, "-J"), "="); ok && breaksDown(key) {
			return c.nestedScript(word{value: value{text: text, late: w.late}})
		}
	}
	return nil
}

// nestedInCtest judges the command that ctest is told to test with.
func (c *command) nestedInCtest(args []word) *finding {
	for i, w := range args {
		if w.text == "--test-command" {
			return c.nestedWords(args[i+1:])
		}
	}
	return nil
}

// nestedInMaven judges what exec:exec runs.
func (c *command) nestedInMaven(args []word) *finding {
	program, words := "", ""
	for _, w := range args {
		if text, ok := strings.CutPrefix(w.text, "-Dexec.executable="); ok {
			program = text
		} else if text, ok := strings.CutPrefix(w.text, "-Dexec.args="); ok {
			words = text
		}
	}
	return c.nestedWords(fieldsOf(program + " " + words))
}
