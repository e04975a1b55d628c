package policy

import (
	"slices"
	"strings"
)

// In a container neither options nor paths are judged, and interpreters may run anything. But a command in the
// arguments of a program, as in sed '1e rm -rf x' or git rebase -x 'rm -rf x', is judged: what a rule denies, and text
// that cannot be parsed, is denied there, too. A program without a rule is allowed.
//
// Late words are not judged in this way: go test "$x" is allowed, although $x may be -exec.

// noRuleDenies stands in for the rule that a nested command lacks.
var noRuleDenies = rule{effect: Allow, why: "no rule denies it", where: "no rule"}

// judgesNested reports whether commands inside a program's text are judged one by one, rather than refused.
func (c *command) judgesNested() bool { return c.p.checks.opaque && !c.readOnly }

// nestedScript judges shell text that this command runs.
func (c *command) nestedScript(src word) *finding {
	if strings.TrimSpace(src.text) == "" && !src.late {
		return nil
	}
	d := *c
	d.nested = true
	return d.judgeScript(src)
}

// nestedWords judges a command that this one runs, given as words.
func (c *command) nestedWords(words []word) *finding {
	d := *c
	d.nested = true
	if f := d.judgeInner(words); f != nil && f.effect != Allow {
		return f
	}
	return nil
}

// nestedCommands judges the commands in the arguments of a program, and the builtins that evaluate their words.
func (c *command) nestedCommands(name string, args []word) *finding {
	if prog := c.p.find(name); prog != nil && prog.runs != nil {
		return c.judgeCommandOptions(prog, normalizeOptions(name, args))
	}
	switch name {
	case "sed":
		return c.nestedInSed(args)
	case "awk", "gawk", "mawk", "nawk":
		return c.nestedInAwk(args)
	case "git":
		return c.nestedInGit(args)
	case "fd":
		return c.nestedInFd(args)
	case "go":
		return c.nestedInGo(args)
	case "make":
		return c.nestedInMake(args)
	case "cmake":
		return c.nestedInCmake(args)
	case "npx", "npm", "yarn", "pnpm", "conda", "mamba", "bundle", "composer", "gem":
		return c.packageManager(name, args)
	case "java", "javac":
		return c.nestedInJava(args)
	case "ctest":
		return c.ctest(args)
	case "mvn":
		return c.nestedInMaven(args)
	}
	return c.judgeBuiltin(name, args)
}

// judgeCommandOptions judges the options whose value is a command.
func (c *command) judgeCommandOptions(prog *program, args []word) *finding {
	c.cost.spend(4 * costParam * len(args))
	for _, o := range parseLoosely(prog.takes, args).options {
		if !slices.Contains(prog.runs, o.name) {
			continue
		}
		if o.name == "--checkpoint-action" {
			text, ok := strings.CutPrefix(o.val.text, "exec=")
			if !ok && !o.val.late {
				continue // it only prints, or sleeps
			}
			o.val.text = text
		}
		if f := c.nestedScript(o.val); f != nil {
			f.where = c.words[0].text + ": " + o.name + " (" + f.where + ")"
			return f
		}
	}
	return nil
}

// normalizeOptions rewrites unusual options: the letters of tar cIf take the words behind them in order, and zip
// has an option of two letters.
func normalizeOptions(name string, args []word) []word {
	switch {
	case name == "zip":
		out := append([]word(nil), args...)
		for i := range out {
			if out[i].text == "-TT" {
				out[i].text = "--unzip-command"
			}
		}
		return out
	case name != "tar" || len(args) == 0 || args[0].late || strings.HasPrefix(args[0].text, "-"):
		return args
	}
	rest := args[1:]
	var out []word
	for _, letter := range args[0].text {
		out = append(out, literal("-"+string(letter)))
		if strings.ContainsRune("fCXbTVKNHgLIF", letter) && len(rest) > 0 {
			out = append(out, rest[0])
			rest = rest[1:]
		}
	}
	return append(out, rest...)
}

// nestedInFd judges the commands that fd runs on the names it finds.
func (c *command) nestedInFd(args []word) *finding {
	for i := 0; i < len(args); i++ {
		t := args[i].text
		if t == "--" {
			return nil
		}
		letters := ""
		if len(t) > 1 && t[0] == '-' && t[1] != '-' {
			letters, _, _ = strings.Cut(t[1:], "=")
		}
		at := strings.IndexAny(letters, "xXteEdSjc")
		exec := t == "--exec" || t == "--exec-batch" || at >= 0 && (letters[at] == 'x' || letters[at] == 'X')
		_, joined, given := strings.Cut(t, "=")
		if given && (strings.HasPrefix(t, "--exec=") || strings.HasPrefix(t, "--exec-batch=")) {
			exec = true
		}
		if !exec {
			continue
		}
		words := args[i+1:]
		if at >= 0 && at+1 < len(letters) {
			joined, given = letters[at+1:], true // -xrm
		}
		if given {
			words = append([]word{{value: value{text: joined, late: args[i].late}}}, words...)
		}
		end := 0
		for end < len(words) && words[end].text != ";" {
			end++
		}
		if end > 0 && strings.Contains(words[0].text, "{") {
			return refusal("fd: "+t, "the command's name comes from what fd finds", "write the name out")
		}
		if f := c.nestedWords(words[:end]); f != nil {
			return f
		}
		i += end
	}
	return nil
}

func literalFields(text string) []word {
	var out []word
	for _, s := range strings.Fields(text) {
		out = append(out, literal(s))
	}
	return out
}
