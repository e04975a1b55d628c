package policy

import "strings"

// makeTools are the variables whose value make's own rules run.
const makeTools = " AR AS CC CXX CPP FC M2C PC CO GET LEX YACC LINT MAKEINFO TEX TEXI2DVI WEAVE CWEAVE TANGLE CTANGLE RM LD INSTALL "

// makeVariable judges NAME=value given to make. The value goes into the lines
// that a shell reads, and some values are commands.
func (c *command) makeVariable(name string, val word) *finding {
	name = strings.TrimRight(name, ":?+!")
	if !isName(name) || name == "SHELL" || name == "MAKEFLAGS" || name == "MAKE" || strings.ContainsAny(val.text, "$`;|&<>\n") {
		return refusal("make: "+name+"=", "the variable could run another program", "set it in the Makefile")
	}
	fields := strings.Fields(val.text)
	if !inList(makeTools, name) || len(fields) == 0 {
		return nil
	}
	words := make([]word, len(fields))
	for i, s := range fields {
		words[i] = word{text: s}
	}
	if strings.Contains(fields[0], "/") {
		return refusal("make: "+name+"=", "programs are run by name, not by path", "use the name of an installed program")
	}
	return c.toolOrNil(words)
}

// cmake judges cmake -E, which is a box of commands of its own and runs
// others, and what --build hands on to make.
func (c *command) cmake(args []word) *finding {
	for i, w := range args {
		switch w.text {
		case "-E":
			return c.cmakeTool(args[i+1:])
		case "--":
			return c.makeVariables(args[i+1:])
		}
	}
	return nil
}

func (c *command) makeVariables(args []word) *finding {
	for _, w := range args {
		if name, text, ok := strings.Cut(w.text, "="); ok && !strings.HasPrefix(name, "-") {
			if f := c.makeVariable(name, word{text: text, late: w.late, loose: w.loose, src: w.src}); f != nil {
				return f
			}
		} else if strings.HasPrefix(w.text, "--eval") || strings.HasPrefix(w.text, "-E") {
			return c.refused("--eval", "make would run what it is given", "put it into the Makefile")
		}
	}
	return nil
}

func (c *command) cmakeTool(args []word) *finding {
	if len(args) == 0 || inList(" capabilities echo true false sleep make_directory touch compare_files environment ", args[0].text) {
		return nil
	}
	rest := args[1:]
	switch args[0].text {
	case "time":
		return c.inner(rest)
	case "env":
		for len(rest) > 0 && (strings.HasPrefix(rest[0].text, "-") || strings.Contains(rest[0].text, "=")) {
			if name, _, ok := strings.Cut(rest[0].text, "="); !ok || strings.HasPrefix(name, "-") || c.p.manner.strict && judgeVariable(name, true) != nil {
				return c.refused("-E env", "programs take orders from the environment", "leave the environment as it is")
			}
			rest = rest[1:]
		}
		return c.inner(rest)
	}
	return refusal("cmake: -E "+args[0].text, "it is one of cmake's own commands, whose words are not known", "use the command of that name, such as cp or rm")
}

// reaches are, by program, options and first words that name a program to run
// or reach beyond the project.
var reaches = map[string]string{
	"npm":      " explore edit --editor --git --shell --viewer --browser ",
	"pnpm":     " --shell-mode --store-dir --global-dir --global-bin-dir ",
	"yarn":     " global --script-shell --use-yarnrc --global-folder ",
	"composer": " global --global ",
	"cargo":    " install uninstall ",
	"mypy":     " --python-executable ",
	"pylint":   " --init-hook ",
	"gradle":   " -I --init-script ",
	"gem":      " push owner signin yank ",
}

// reachesOut refuses what [reaches] lists.
func (c *command) reachesOut(name string, args []word) *finding {
	list, ok := reaches[name]
	if !ok {
		return nil
	}
	first := true
	for _, w := range args {
		key, _, _ := strings.Cut(w.text, "=")
		option := strings.HasPrefix(key, "-")
		if key == "--" {
			return nil
		}
		if (option || first) && inList(list, key) {
			return c.refused(key, "it runs a program of the caller's choice, or reaches beyond the project", "leave it out")
		}
		first = first && option
	}
	return nil
}

// creates refuses npm init NAME and its kin, which fetch a program and run it.
func (c *command) creates(name string, args []word) *finding {
	var words []string
	for _, w := range args {
		if !strings.HasPrefix(w.text, "-") {
			words = append(words, w.text)
		}
	}
	if len(words) > 1 && (words[0] == "create" || words[0] == "init" || words[0] == "innit") {
		return refusal(name+": "+words[0], "it fetches a program and runs it", "write the files of the project, or use "+name+" init without a name")
	}
	return nil
}

// ownCommands are the subcommands of yarn and pnpm. Any other first word is a
// script of the project or a tool in node_modules/.bin.
const ownCommands = " add audit autoclean bin build cache check create dedupe deploy exec explain fetch import info init install i list ls licenses link outdated pack patch prune publish rebuild rb remove un uninstall " +
	"root run run-script server start store t test tst unlink up update upgrade upgrade-interactive version versions why workspace workspaces plugin rebuild config set login logout owner tag team help node npm constraints stage unplug "
