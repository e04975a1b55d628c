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
		if f := c.makeVariable(name, word{text: text, late: w.late, loose: w.loose, src: w.src}); f != nil {
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
	for i := 0; i < len(args); i++ {
		t := args[i].text
		cluster := len(t) > 1 && t[0] == '-' && t[1] != '-' && !strings.ContainsAny(t, "/.IMm")
		if cluster && strings.IndexByte(codeFlags[name], t[len(t)-1]) >= 0 || t == "--eval" || t == "--print" {
			i++ // the program text
			continue
		}
		if f := c.anyWord(args[i]); f != nil {
			return f
		}
	}
	return nil
}

// tools judges npx and its kin, which run a tool of the project. Its tools are
// the repository's code; a program that is known by name is judged as such.
func (c *command) tools(name string, args []word) *finding {
	args, f := c.toolOptions(name, args)
	if f != nil {
		return f
	}
	if name != "npx" {
		if len(args) > 0 && (name == "yarn" || name == "pnpm") && !inList(ownCommands, args[0].text) {
			return c.toolOrNil(args) // a tool of node_modules/.bin, as with npx
		}
		if len(args) == 0 || !runsTool(name, args[0].text) {
			return nil
		}
		if name == "npm" {
			if f := c.npmCall(args[1:]); f != nil {
				return f
			}
		}
		if args, f = c.toolOptions(name, args[1:]); f != nil {
			return f
		}
	}
	// An option that takes a value looks like one that does not: in npx -p x sh
	// the tool may be x or sh.
	for i := 0; i < min(2, len(args)); i++ {
		if f := c.toolOrNil(args[i:]); f != nil {
			return f
		}
		if !c.afterOption(args[0]) {
			break
		}
	}
	return nil
}

func (c *command) toolOrNil(words []word) *finding {
	if f := c.tool(words); f != nil && f.effect != Allow {
		return f
	}
	return nil
}

// runsTool reports whether a subcommand runs the program named after it.
func runsTool(name, sub string) bool {
	switch sub {
	case "exec", "dlx":
		return name != "cargo"
	case "run":
		return name != "npm" && name != "cargo"
	case "x", "exe", "explore":
		return name == "npm"
	}
	return false
}

// toolOptions skips options. npx -c gives its text to a shell.
func (c *command) toolOptions(name string, args []word) ([]word, *finding) {
	for len(args) > 0 && strings.HasPrefix(args[0].text, "-") {
		if name == "npx" || name == "npm" || name == "pnpm" {
			if f := c.npmCall(args[:1]); f != nil {
				return nil, f
			}
		}
		args = args[1:]
	}
	return args, nil
}

// npmCall refuses npx -c 'script' in all its spellings.
func (c *command) npmCall(args []word) *finding {
	for _, w := range args {
		t := w.text
		if t == "--" {
			return nil
		}
		cluster := len(t) > 1 && t[0] == '-' && t[1] != '-' && strings.Contains(t, "c")
		if cluster || strings.HasPrefix(t, "--c") && strings.HasPrefix("--call", strings.SplitN(t, "=", 2)[0]) {
			return c.refused(t, "what it gives to a shell is never judged", "name the tool and its arguments")
		}
	}
	return nil
}

// afterOption reports whether the word before w is an option without "=".
func (c *command) afterOption(w word) bool {
	for i, have := range c.words {
		if have == w && i > 1 {
			before := c.words[i-1].text
			return strings.HasPrefix(before, "-") && before != "--" && !strings.Contains(before, "=")
		}
	}
	return false
}

// tool judges one tool: what wraps or is known is judged as if it stood alone.
func (c *command) tool(words []word) *finding {
	inner := command{p: c.p, words: words}
	r := c.p.rules.find(inner.texts())
	name := words[0].text
	if _, known := programs[name]; !known && !runsOthers(name) && (r == nil || r.effect != Deny) {
		return nil
	}
	return c.inner(words)
}

// runsOthers reports whether a program by that name runs the rest of its words.
func runsOthers(name string) bool {
	switch name {
	case "env", "xargs", "find", "command", "eval", "trap", "sh", "bash", "dash", "zsh", "ksh", "uv":
		return true
	}
	_, ok := wrappers[name]
	return ok
}

// packages judges package managers: what they do to the project is allowed,
// what they do to the user's configuration is not.
func (c *command) packages(name string, args []word) *finding {
	if f := c.creates(name, args); f != nil && name != "cargo" && !strings.HasPrefix(name, "pip") {
		return f
	}
	for i, w := range args {
		key, _, _ := strings.Cut(w.text, "=")
		switch key {
		case "-g", "--global", "--location", "--script-shell", "--userconfig", "--globalconfig", "--node-options", "--init-module", "--user", "--root-user-action":
			if name != "pip" && name != "pip3" || key == "--user" {
				return c.refused(key, "it reaches beyond the project", "install into the project")
			}
		case "--config", "-Z", "--python":
			if name == "cargo" || name == "pip" || name == "pip3" {
				return c.refused(key, "it can make another program run", "leave it out")
			}
		case "config", "set", "login", "logout", "adduser", "publish", "unpublish", "owner", "token", "yank", "link":
			reads := i+1 < len(args) && (args[i+1].text == "list" || args[i+1].text == "get" || args[i+1].text == "ls")
			if i == 0 && !reads {
				return refusal(name+": "+key, "it changes the user's configuration or publishes", "change the files of the project instead")
			}
		}
	}
	return nil
}
