package policy

import (
	"strings"

	"hako/internal/lazyregexp"
)

// judgeTest judges test and [: operands of file operators, and names that the shell evaluates.
func (c *command) judgeTest(args []word) *finding {
	if f := c.refuseEvaluated(args); f != nil {
		return f
	}
	for i, w := range args {
		if (w.text == "-v" || w.text == "-R") && i+1 < len(args) && args[i+1].loose {
			return refusal(c.words[0].text+": "+w.text, "the shell would evaluate a name that is only known at run time",
				"write the variable's name out")
		}
		fileTest := len(w.text) == 2 && w.text[0] == '-' && strings.IndexByte("bcdefghkLpOGrSsuwxN", w.text[1]) >= 0
		pair := w.text == "-nt" || w.text == "-ot" || w.text == "-ef"
		if pair && i > 0 {
			if f := c.file(args[i-1], false); f != nil {
				return f
			}
		}
		if (fileTest || pair) && i+1 < len(args) {
			if f := c.file(args[i+1], false); f != nil {
				return f
			}
		}
	}
	return nil
}

// refuseEvaluated refuses 'a[$(touch x)]': the shell runs the command in a subscript when it evaluates the name.
func (c *command) refuseEvaluated(args []word) *finding {
	for _, w := range args {
		if strings.Contains(w.text, "[") && runsWhenEvaluated(w.text) {
			return refusal(c.words[0].text, "evaluating "+w.text+" runs the command inside it", "use plain names and numbers")
		}
	}
	return nil
}

var elementName = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_]*(\[[A-Za-z0-9_@*]*\])?$`)

func (c *command) judgeVariableNames(args []word) *finding {
	for _, w := range args {
		if w.loose || w.late && (w.text == insideName || !elementName.Get().MatchString(w.text)) {
			return refusal(c.words[0].text, "which variable is set is only known at run time", "write the variable's name out")
		}
		if w.text != "" && !w.late && !elementName.Get().MatchString(w.text) && runsWhenEvaluated(w.text) {
			return refusal(c.words[0].text, "evaluating "+w.text+" runs the command inside it", "use plain variable names")
		}
		name, _, _ := strings.Cut(w.text, "[")
		if f := judgeVariable(name, false); f != nil {
			return f
		}
		if name == "TZ" {
			return refuseZoneFile("", true)
		}
	}
	return nil
}

func (c *command) judgeDeclarations(name string, a *arguments) *finding {
	x := a.has("-x")
	if x {
		name = "export"
	}
	for _, w := range a.operands {
		if f := judgeDeclared(name, w); f != nil {
			return f
		}
		if f := c.refuseEvaluated([]word{w}); f != nil {
			return f
		}
	}
	return nil
}

// judgeDeclared judges a word of declare, export and the like that the parser did not split: an option, or
// NAME=value in quotes.
func judgeDeclared(builtin string, w word) *finding {
	if strings.HasPrefix(w.text, "-") || strings.HasPrefix(w.text, "+") {
		if strings.ContainsAny(w.text, "nf") {
			return refusal(builtin+": "+w.text, "references and exported functions hide what runs", "use plain variables")
		}
		return nil
	}
	name, text, given := strings.Cut(w.text, "=")
	if !isName(strings.TrimSuffix(name, "+")) {
		return refusal(builtin, "the variable's name is not plain", "use letters, digits and underscores")
	}
	if f := refuseZoneFile(text, w.loose); f != nil && name == "TZ" && given {
		return f
	}
	if f := refuseMakeText(name, text); f != nil && builtin == "export" && given && !w.late {
		return f
	}
	return judgeVariable(strings.TrimSuffix(name, "+"), builtin == "export" || builtin == "declare" ||
		builtin == "typeset")
}

// judgeCd judges cd; without a directory it goes home.
func (c *command) judgeCd(args []word) *finding {
	if len(args) == 0 && c.words[0].text == "cd" {
		home := c.p.opts.Home
		if home == "" {
			home = "/home"
		}
		return c.file(literal(home), false)
	}
	for _, w := range args {
		if f := c.refuseGitEntry(w); f != nil && c.p.opts.Root != "" {
			return f
		}
	}
	return nil
}

// judgeBuiltin judges the builtins that run a program or evaluate their words.
func (c *command) judgeBuiltin(name string, args []word) *finding {
	switch name {
	case "hash":
		if hasLeadingLetter(args, 'p') {
			return c.refuseOption("-p", "it gives a command's name to another program", "call the program by its own name")
		}
	case "jobs":
		if hasLeadingLetter(args, 'x') {
			for len(args) > 0 && strings.HasPrefix(args[0].text, "-") {
				args = args[1:]
			}
			return c.judgeInner(args)
		}
	case "mapfile", "readarray":
		if hasLeadingLetter(args, 'C') {
			return c.refuseOption("-C", "it runs text as a command for the lines it reads",
				"read the lines first, then loop over them")
		}
		return c.refuseEvaluated(args)
	case "printf":
		if target, ok := printfName(args); ok {
			return c.refuseEvaluated([]word{target})
		}
	case "test", "[", "let", "read", "unset", "getopts", "wait":
		return c.refuseEvaluated(args)
	case "export", "declare", "typeset", "local", "readonly":
		for _, w := range args {
			_, text, _ := strings.Cut(w.text, "=")
			if list := strings.TrimSpace(text); (strings.HasPrefix(list, "(") || strings.HasPrefix(w.text, "(")) &&
				runsWhenEvaluated(w.text) {
				return refusal(name, "evaluating "+shown(w.text)+" runs the command inside it",
					"write the list without quotes: a=(…)")
			}
		}
		return c.refuseEvaluated(args)
	}
	return nil
}

// hasLeadingLetter reports whether the options before the first operand have a letter.
func hasLeadingLetter(args []word, letter byte) bool {
	for _, w := range args {
		if len(w.text) < 2 || w.text[0] != '-' || w.text == "--" {
			return false
		}
		if strings.IndexByte(w.text, letter) > 0 {
			return true
		}
	}
	return false
}

// judgeKill judges the builtin kill, which only knows the jobs of its script. A number may be that of any
// process, unless it comes from $!. Call sees only the number and relies on Script.
func (c *command) judgeKill(args []word) *finding {
	if c.depth > 0 {
		return c.refuseKill(c.words[0], "write kill %1 or kill $! as a command of its own")
	}
	if len(args) == 1 && args[0].text == "-l" {
		return nil
	}
	for _, w := range afterSignal(args) {
		number := c.expanded && w.text != "" && strings.Trim(w.text, "0123456789") == "" && strings.Trim(w.text, "0") != ""
		if w.loose || !strings.HasPrefix(w.text, "%") && !number {
			return c.refuseKill(w, "use kill %1 or kill $!; a command that takes too long is ended by the time limit")
		}
	}
	return nil
}

func (c *command) refuseKill(w word, hint string) *finding {
	f := refusal("kill: "+w.String(), "only the script's own jobs can be ended", hint)
	f.final = true
	return f
}

// afterSignal skips the signal: -9, -TERM, -s TERM or -n 9.
func afterSignal(args []word) []word {
	if len(args) > 0 && !args[0].late && len(args[0].text) > 1 && args[0].text[0] == '-' && args[0].text != "--" {
		takes := args[0].text == "-s" || args[0].text == "-n"
		args = args[1:]
		if takes && len(args) > 0 {
			args = args[1:]
		}
	}
	if len(args) > 0 && args[0].text == "--" {
		args = args[1:]
	}
	return args
}
