package policy

import "strings"

// What npm, pip, cargo and their kin do to the project is allowed. What they do
// to the user's settings, to other machines, or by running a program that is
// named to them, is judged here.

// openings returns where the words after options may begin: in npm --x y exec,
// y may be the value of --x or a subcommand. Only the last of them is sure.
func openings(args []word) (at []int) {
	for i, w := range args {
		switch {
		case w.text == "--":
			return append(at, i+1)
		case strings.HasPrefix(w.text, "-"):
		case i > 0 && inList(listed("value-options"), args[i-1].text):
		default:
			at = append(at, i)
			if i == 0 || !maybeTakes(args[i-1].text) {
				return at
			}
		}
	}
	return at
}

// maybeTakes reports whether the word behind an option may be its value.
func maybeTakes(option string) bool {
	return strings.HasPrefix(option, "-") && !strings.Contains(option, "=") && !inList(listed("tool-flags"), option)
}

// tools judges npx and its kin, which run a tool of the project. Its tools are
// the repository's code; a program that is known by name is judged as such.
func (c *command) tools(name string, args []word) *finding {
	if name == "npx" {
		return c.toolBehind(name, args)
	}
	for _, i := range openings(args) {
		if i >= len(args) {
			return nil
		}
		if f := c.toolSubcommand(name, args[i:]); f != nil {
			return f
		}
		if f := c.callText(name, args[:i]); f != nil {
			return f
		}
	}
	return nil
}

// toolSubcommand judges words that may begin with a subcommand that runs a tool.
func (c *command) toolSubcommand(name string, args []word) *finding {
	sub := args[0].text
	switch {
	case name == "npm" && runsTool(name, sub):
		if f := c.callText(name, beforeDashes(args)); f != nil {
			return f // npm takes its own options behind the tool too
		}
		return c.toolBehind(name, args[1:])
	case name == "composer" && sub == "exec", name == "yarn" && sub == "exec":
		if words := withoutDashes(args[1:]); len(words) > 0 {
			return c.toolOrNil(words)
		}
	case runsTool(name, sub):
		return c.toolBehind(name, args[1:])
	case name == "yarn" && (sub == "workspace" || sub == "workspaces"):
		return c.toolBehind(name, behindExec(args))
	case (name == "yarn" || name == "pnpm") && !inList(builtin(name).words("subcommands"), sub):
		return c.toolOrNil(args) // a tool of node_modules/.bin, as with npx
	}
	return nil
}

// behindExec are the words behind exec, as in yarn workspace NAME exec.
func behindExec(args []word) []word {
	for i, w := range args {
		if w.text == "exec" {
			return args[i+1:]
		}
	}
	return nil
}

// withoutDashes is the command that composer or yarn puts together out of its words for a
// shell: composer exec rm -- -rf x.
func withoutDashes(args []word) (words []word) {
	at := openings(args)
	if len(at) == 0 {
		return nil
	}
	for _, w := range args[min(at[0], len(args)):] {
		switch {
		case w.text == "--":
		case w.late:
			words = append(words, w)
		default:
			words = append(words, fieldsOf(w.text)...)
		}
	}
	return words
}

// beforeDashes returns the words before --.
func beforeDashes(args []word) []word {
	for i, w := range args {
		if w.text == "--" {
			return args[:i]
		}
	}
	return args
}

// toolBehind judges the tool that stands behind options.
func (c *command) toolBehind(name string, args []word) *finding {
	at := openings(args)
	own := args // the words that are not the tool's
	if len(at) > 0 {
		own = args[:at[len(at)-1]]
	}
	if f := c.callText(name, own); f != nil {
		return f
	}
	for _, i := range at {
		if i < len(args) {
			if f := c.toolOrNil(args[i:]); f != nil {
				return f
			}
		}
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

// callText refuses npx -c 'script' in all its spellings: its text goes to a shell.
func (c *command) callText(name string, args []word) *finding {
	if name != "npx" && name != "npm" && name != "pnpm" {
		return nil
	}
	for _, w := range args {
		t := w.text
		cluster := len(t) > 1 && t[0] == '-' && t[1] != '-' && strings.Contains(t, "c")
		if cluster || strings.HasPrefix(t, "--c") && strings.HasPrefix("--call", strings.SplitN(t, "=", 2)[0]) {
			return c.refused(t, "what it gives to a shell is never judged", "name the tool and its arguments")
		}
	}
	return nil
}

// reachesOut refuses the forbidden options and subcommands of a program: those
// that reach beyond the project, publish, or make another program run.
func (c *command) reachesOut(name string, args []word) *finding {
	for _, w := range beforeDashes(args) {
		key, _, _ := strings.Cut(w.text, "=")
		if f := c.optionBeyond(name, key); f != nil {
			return f
		}
	}
	if name == "cargo" && len(args) > 0 && strings.HasPrefix(args[0].text, "+") {
		args = args[1:] // the toolchain
	}
	list := c.p.find(name).words("forbidden-subcommands")
	for _, i := range openings(args) {
		if i < len(args) && inList(list, args[i].text) && !looksOnly(args[i+1:]) {
			return c.refused(args[i].text, "it changes the user's settings, publishes, or runs a program of the caller's choice",
				"change the files of the project instead")
		}
	}
	return nil
}

func looksOnly(args []word) bool { return len(args) > 0 && inList(listed("show-words"), args[0].text) }

// optionBeyond refuses an option by its name or, where the program takes it for
// the whole, by a beginning of its name.
func (c *command) optionBeyond(name, key string) *finding {
	list := c.p.find(name).words("forbidden-options")
	short := len(key) > 4 && (name == "npm" || name == "npx" || name == "pip" || name == "pip3") &&
		strings.HasPrefix(key, "--")
	for _, option := range strings.Fields(list) {
		joined := len(option) == 2 && option[1] >= 'A' && option[1] <= 'Z' &&
			strings.HasPrefix(key, option) // gradle -Ix.gradle
		if option == key || joined || short && strings.HasPrefix(option, key) {
			return c.refused(key, "it reaches beyond the project, or makes another program run", "leave it out")
		}
	}
	return nil
}

// creates refuses npm init NAME and its kin, which fetch a program and run it.
func (c *command) creates(name string, args []word) *finding {
	for _, i := range openings(args) {
		if i >= len(args) || !inList(" create init innit ", args[i].text) {
			continue
		}
		for _, w := range args[i+1:] {
			if !strings.HasPrefix(w.text, "-") {
				return refusal(name+": "+args[i].text, "it fetches a program and runs it",
					"write the files of the project, or use "+name+" init without a name")
			}
		}
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
