package policy

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// orders judges a variable that shells and programs take orders from.
func (c *command) orders(name string, v value) *finding {
	if !c.p.checks.opaque || c.p.rules.everything != nil {
		return nil
	}
	switch {
	case inList(listed("forbidden-variables"), name), strings.HasPrefix(name, "BASH_FUNC_"),
		name == "PS4" && (v.late || runsWhenEvaluated(v.text)), // set -x runs what is in it
		name == "ENV" && strings.ContainsAny(v.text, "/$`"):    // ENV=test is no file
		return refusal("environment "+name, "the shell takes orders from "+name+", and runs what nobody has judged",
			"leave "+name+" as it is")
	case strings.HasSuffix(name, "MAKEFLAGS") && strings.Contains(v.text, "--eval"):
		return refusal("environment "+name, "make would run what --eval says", "put it into the Makefile")
	case name == "TAR_OPTIONS":
		return c.commandsIn(c.p.find("tar"), fieldsOf(v.text))
	case name == "GOFLAGS":
		return c.nestedInGo(append(literals("build"), fieldsOf(v.text)...))
	case inList(listed("command-variables"), name) && !v.late, strings.HasPrefix(name, "GIT_CONFIG_") && !v.late:
		f := c.nestedScript(literal(strings.TrimLeft(v.text, "!|")))
		if f == nil || !f.ruled {
			return nil // most values are no scripts
		}
		f.where = "environment " + name + " (" + f.where + ")"
		return f
	}
	return nil
}

func fieldsOf(text string) []word {
	var out []word
	for _, s := range strings.Fields(text) {
		out = append(out, literal(s))
	}
	return out
}

// obeys judges a variable the script sets.
func (w *walker) obeys(name string, v value) {
	if !w.p.checks.opaque || w.quiet {
		return
	}
	name, _, _ = strings.Cut(name, "[")
	c := w.newCommand(literals(name))
	w.refuse(nil, c.orders(name, v))
}

// declaresBlind judges a word of declare and its kin where nobody watches: a
// list in quotes is expanded, so is a subscript, and a reference is another
// name for a variable.
func (w *walker) declaresBlind(cmd *syntax.DeclClause, a *syntax.Assign) {
	if !w.p.checks.opaque || a.Value == nil {
		return
	}
	v := w.again(a.Value)
	if a.Name == nil || strings.HasPrefix(strings.TrimSpace(v.text), "(") {
		c := w.newCommand(literals(cmd.Variant.Value))
		w.refuse(nil, c.evaluating(cmd.Variant.Value, []word{{value: value{text: v.text, late: v.late}}}))
	}
	w.cost.spend(costSource * len(cmd.Args))
	if a.Name == nil || !refers(cmd) {
		return
	}
	w.evaluated(v.text, cmd.Variant.Value+" -n")
	w.obeys(v.text, anything)
}

// refers reports whether declare makes its names stand for others.
func refers(cmd *syntax.DeclClause) bool {
	for _, a := range cmd.Args {
		if a.Name == nil && a.Value != nil && strings.HasPrefix(a.Value.Lit(), "-") && strings.Contains(a.Value.Lit(), "n") {
			return cmd.Variant.Value != "export"
		}
	}
	return false
}

// evaluating judges the builtins that run a program or evaluate their words.
func (c *command) evaluating(name string, args []word) *finding {
	switch name {
	case "hash":
		if letterBefore(args, 'p') {
			return c.refused("-p", "it gives a command's name to another program", "call the program by its own name")
		}
	case "jobs":
		if letterBefore(args, 'x') {
			for len(args) > 0 && strings.HasPrefix(args[0].text, "-") {
				args = args[1:]
			}
			return c.inner(args)
		}
	case "mapfile", "readarray":
		if letterBefore(args, 'C') {
			return c.refused("-C", "it runs text as a command for the lines it reads",
				"read the lines first, then loop over them")
		}
		return c.evaluatedWords(args)
	case "printf":
		if target, ok := printfName(args); ok {
			return c.evaluatedWords([]word{target})
		}
	case "test", "[", "let", "read", "unset", "getopts", "wait":
		return c.evaluatedWords(args)
	case "export", "declare", "typeset", "local", "readonly":
		for _, w := range args {
			_, text, _ := strings.Cut(w.text, "=")
			if list := strings.TrimSpace(text); (strings.HasPrefix(list, "(") || strings.HasPrefix(w.text, "(")) &&
				runsWhenEvaluated(w.text) {
				return refusal(name, "evaluating "+shown(w.text)+" runs the command inside it",
					"write the list without quotes: a=(…)")
			}
		}
		return c.evaluatedWords(args)
	}
	return nil
}

// letterBefore reports whether the options before the first operand hold a
// letter.
func letterBefore(args []word, letter byte) bool {
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
