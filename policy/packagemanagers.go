package policy

import "strings"

// What npm, pip, cargo and similar programs do to the project is allowed. Refused
// are changes of the user's settings, publishing, and running a program that is
// named in the arguments, unless that program may run.

// openings returns the indexes at which the words after the options may begin: in
// npm --x y exec, y may be the value of --x or a subcommand. The last one is certain.
func openings(args []word) (at []int) {
	for i, w := range args {
		switch {
		case w.text == "--":
			return append(at, i+1)
		case strings.HasPrefix(w.text, "-"):
		case i > 0 && hasWord(wordList("value-options"), args[i-1].text):
		default:
			at = append(at, i)
			if i == 0 || !mayTakeValue(args[i-1].text) {
				return at
			}
		}
	}
	return at
}

// mayTakeValue reports whether the word behind an option may be its value.
func mayTakeValue(option string) bool {
	return strings.HasPrefix(option, "-") && !strings.Contains(option, "=") && !hasWord(wordList("tool-flags"), option)
}

// packageManager judges npx, npm exec and the like, which run a tool of the
// project. The tool itself is the repository's code; a program that is known by
// name is judged as if it stood alone.
func (c *command) packageManager(name string, args []word) *finding {
	if name == "npx" {
		return c.toolBehindOptions(name, args)
	}
	for _, i := range openings(args) {
		if i >= len(args) {
			return nil
		}
		if f := c.toolSubcommand(name, args[i:]); f != nil {
			return f
		}
		if f := c.refuseCallOption(name, args[:i]); f != nil {
			return f
		}
	}
	return nil
}

// toolSubcommand judges words that may begin with a subcommand that runs a tool.
func (c *command) toolSubcommand(name string, args []word) *finding {
	sub, opaque := args[0].text, c.p.checks.opaque
	switch {
	case opaque && sub == "run" && name != "conda" && name != "mamba":
		return nil // a script of the project
	case name == "npm" && runsTool(name, sub):
		if f := c.refuseCallOption(name, beforeDashes(args)); f != nil {
			return f // npm takes its own options behind the tool, too
		}
		return c.toolBehindOptions(name, args[1:])
	case sub == "exec" && (name == "composer" || name == "yarn" && !opaque):
		return c.tool(joinedCommand(args[1:]))
	case runsTool(name, sub):
		return c.toolBehindOptions(name, args[1:])
	case name == "yarn" && (sub == "workspace" || sub == "workspaces"):
		return c.toolBehindOptions(name, behindExec(args))
	case (name == "yarn" || name == "pnpm") && !hasWord(builtin(name).words("subcommands"), sub) &&
		!(opaque && args[0].late):
		return c.tool(args) // in node_modules/.bin, as with npx
	}
	return nil
}

// behindExec returns the words behind exec, as in yarn workspace NAME exec.
func behindExec(args []word) []word {
	for i, w := range args {
		if w.text == "exec" {
			return args[i+1:]
		}
	}
	return nil
}

// joinedCommand returns the command that composer or yarn joins for a shell:
// composer exec rm -- -rf x.
func joinedCommand(args []word) (words []word) {
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
			words = append(words, literalFields(w.text)...)
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

// toolBehindOptions judges the tool that stands behind options.
func (c *command) toolBehindOptions(name string, args []word) *finding {
	if c.p.checks.opaque {
		return c.nestedTool(name, args)
	}
	at := openings(args)
	own := args // the words that are not the tool's
	if len(at) > 0 {
		own = args[:at[len(at)-1]]
	}
	if f := c.refuseCallOption(name, own); f != nil {
		return f
	}
	for _, i := range at {
		if f := c.tool(args[min(i, len(args)):]); f != nil {
			return f
		}
	}
	return nil
}

// nestedTool is toolBehindOptions for a runner that never calls Call.
func (c *command) nestedTool(name string, args []word) *finding {
	for i := 0; i < len(args); i++ {
		t := args[i].text
		key, text, given := strings.Cut(t, "=")
		switch {
		case t == "--":
			return c.nestedWords(args[i+1:])
		case !strings.HasPrefix(t, "-"):
			f := c.nestedWords(args[i:])
			if f != nil || i == 0 || strings.Contains(args[i-1].text, "=") ||
				hasWord(wordList("tool-flags"), args[i-1].text) ||
				i > 1 && hasWord(wordList("tool-value-options"), args[i-2].text) {
				return f
			}
			if i+1 < len(args) && !args[i+1].late {
				return c.nestedWords(args[i+1:]) // an unknown option may take a value
			}
			return nil
		case takesCallOption(name) && (key == "-c" || len(key) > 3 && strings.HasPrefix("--call", key)):
			val := args[i].with(text)
			if !given && i+1 < len(args) {
				val = args[i+1]
			}
			return c.nestedScript(val)
		case hasWord(wordList("tool-value-options"), t):
			i++
		}
	}
	return nil
}

// tool judges a tool of the project. Wrappers and known programs are judged as if
// they stood alone; what no rule denies is the repository's code.
func (c *command) tool(words []word) *finding {
	if len(words) == 0 {
		return nil
	}
	if c.p.checks.opaque {
		return c.nestedWords(words)
	}
	name, r := words[0].text, c.p.rules.find(words[0].text, withoutLate(words[1:]))
	if c.p.known(name) == nil && c.p.wrapping(name) == nil && (r == nil || r.effect != Deny) {
		return nil
	}
	return notAllowed(c.judgeInner(words))
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

// takesCallOption reports whether a program has the option -c, --call.
func takesCallOption(name string) bool { return name == "npx" || name == "npm" || name == "pnpm" }

// refuseCallOption refuses npx -c 'script' in all its spellings: a shell runs the text.
func (c *command) refuseCallOption(name string, args []word) *finding {
	if !takesCallOption(name) || c.p.checks.opaque {
		return nil
	}
	for _, w := range args {
		t := w.text
		key, _, _ := strings.Cut(t, "=")
		cluster := len(t) > 1 && t[0] == '-' && t[1] != '-' && strings.Contains(t, "c")
		if cluster || strings.HasPrefix(t, "--c") && strings.HasPrefix("--call", key) {
			return c.refuseOption(t, "what it gives to a shell is never judged", "name the tool and its arguments")
		}
	}
	return nil
}

// refuseForbidden refuses the forbidden options and subcommands of a program:
// those that reach beyond the project, publish, or run another program.
func (c *command) refuseForbidden(name string, args []word) *finding {
	for _, w := range beforeDashes(args) {
		key, _, _ := strings.Cut(w.text, "=")
		if f := c.refuseForbiddenOption(name, key); f != nil {
			return f
		}
	}
	if name == "cargo" && len(args) > 0 && strings.HasPrefix(args[0].text, "+") {
		args = args[1:] // the toolchain
	}
	forbidden := c.p.find(name).words("forbidden-subcommands")
	for _, i := range openings(args) {
		shows := i+1 < len(args) && hasWord(wordList("show-words"), args[i+1].text)
		if i < len(args) && hasWord(forbidden, args[i].text) && !shows {
			return c.refuseOption(args[i].text,
				"it changes the user's settings, publishes, or runs a program of the caller's choice",
				"change the files of the project instead")
		}
	}
	return nil
}

// refuseForbiddenOption refuses an option by its name or, for programs that accept
// abbreviations, by the beginning of its name.
func (c *command) refuseForbiddenOption(name, key string) *finding {
	abbreviated := len(key) > 4 && hasWord(" npm npx pip pip3 ", name) && strings.HasPrefix(key, "--")
	for option := range strings.FieldsSeq(c.p.find(name).words("forbidden-options")) {
		joined := len(option) == 2 && option[1] >= 'A' && option[1] <= 'Z' &&
			strings.HasPrefix(key, option) // gradle -Ix.gradle
		if option == key || joined || abbreviated && strings.HasPrefix(option, key) {
			return c.refuseOption(key, "it reaches beyond the project, or makes another program run", "leave it out")
		}
	}
	return nil
}

// refuseCreate refuses npm init NAME and the like, which fetch a program and run it.
func (c *command) refuseCreate(name string, args []word) *finding {
	for _, i := range openings(args) {
		if i >= len(args) || !hasWord(" create init innit ", args[i].text) {
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
