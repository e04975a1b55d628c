package policy

import "strings"

// judgeFind judges a find expression.
func judgeFind(c *command, args []word) *finding {
	strict := c.p.checks.strict
	if f := c.judgeLateFind(args); f != nil {
		return f
	}
	expression := false
	name := insideName
	var reached found
	if hasAny(args, "-exec", "-ok", "-execdir", "-okdir") {
		reached = c.searchGit(args)
	}
	for i := 0; i < len(args); i++ {
		t := args[i].text
		if !expression && !isFindExpression(t) {
			if f := c.judgeStart(args[i]); f != nil {
				return f
			}
			if c.refuseProtected(args[i]) != nil {
				name = args[i].text + "/" + insideName // what it finds begins with where it starts
			}
			continue
		}
		switch t {
		case "-H", "-L", "-P":
		default:
			expression = true
		}
		switch t {
		case "-exec", "-ok", "-execdir", "-okdir":
			n, f := c.judgeFindExec(t, name, args[i+1:])
			if git := reached.given[i+1]; f == nil && git != "" {
				if _, f = c.judgeFindExec(t, git, args[i+1:]); f != nil {
					f = f.foundBySearch(git, "narrow the search with -name, or leave .git out: -not -path '*/.git/*'")
				}
			}
			if f != nil {
				return f
			}
			i += n
			continue
		case "-delete":
			if f := c.refuseOption("-delete", "it removes everything it finds without asking",
				"list the files first, then remove them by name with rm"); f != nil && strict {
				return f
			}
			continue
		}
		if !strict {
			i += findTakes(t) // -name -exec looks for a name
			continue
		}
		if _, ok := findTests()[t]; !ok {
			return c.refuseOption(t, "this part of the expression is not on the list of those that only look", "leave "+t+" out")
		}
		n, f := c.judgeFindTest(t, args[i+1:])
		if f != nil {
			return f
		}
		i += n
	}
	return nil
}

func isFindExpression(t string) bool {
	return len(t) > 1 && t[0] == '-' || t == "!" || t == "(" || t == ")" || t == ","
}

func (c *command) judgeStart(w word) *finding {
	if !c.p.checks.strict {
		return nil
	}
	return c.file(w, false)
}

// findTests are the parts of a find expression that only read.
func findTests() options { return wrapping("find").tests }

// findTakes returns how many words follow a test.
func findTakes(test string) int {
	if findTests()[test] == 0 {
		return 0
	}
	return 1
}

// judgeFindTest judges the value of a test and returns how many words it took.
func (c *command) judgeFindTest(test string, rest []word) (int, *finding) {
	kind := findTests()[test]
	if kind == 0 || len(rest) == 0 {
		return 0, nil
	}
	if kind == '@' {
		return 1, c.file(rest[0], false)
	}
	return 1, nil
}

// judgeFindExec judges the command behind -exec with the found name in place of {}.
func (c *command) judgeFindExec(action, found string, rest []word) (int, *finding) {
	if c.p.checks.strict && action != "-exec" {
		if f := c.refuseOption(action, "it runs commands in other directories, or asks at a terminal that is not there",
			"use -exec, or pipe the names to xargs"); f != nil {
			return 0, f
		}
	}
	end := findEnd(rest)
	if end == 0 {
		return 0, nil
	}
	if c.p.checks.opaque && isOption(rest[0]) {
		return end + 1, nil // no program is called so
	}
	c.cost.spend(costParam * (1 + end))
	inner := make([]word, end)
	for i, w := range rest[:end] {
		if strings.Contains(w.text, "{}") {
			if i == 0 {
				return 0, c.refuseOption(action, "the command's name comes from what find finds", "write the name out")
			}
			w.text = strings.ReplaceAll(w.text, "{}", found)
		}
		inner[i] = w
	}
	f := c.judgeInner(inner)
	if f != nil && f.effect != Allow {
		f.where = "find: " + action + " (" + f.where + ")"
		return end, f
	}
	return end + 1, nil
}

// findEnd returns how many words the command behind -exec has.
func findEnd(rest []word) int {
	end := 0
	for end < len(rest) && rest[end].text != ";" && (rest[end].text != "+" || end == 0 || rest[end-1].text != "{}") {
		end++
	}
	return end
}

// judgeLateFind refuses late words that may make find run something else: one that becomes -exec runs the word
// behind it, unless that is an option; one that becomes ; ends the command early.
func (c *command) judgeLateFind(args []word) *finding {
	if !c.p.checks.opaque {
		return nil
	}
	adrift := false // a word before may be a test that takes the next as its value
	for i := 0; i < len(args); i++ {
		w := args[i]
		switch {
		case w.late && w.splits:
			return refuseUndecided("find", w, "put it in double quotes")
		case w.mayBeAnything() && i+1 < len(args) && !isOption(args[i+1]), w.late && w.head != "" &&
			strings.Trim(w.head, ";+{}") == "":
			return refuseUndecided("find", w, "put ./ before it, or write it out")
		case w.mayBeAnything():
			adrift = true
		case !w.late && findTakes(w.text) > 0 && i+1 < len(args):
			switch next := args[i+1]; {
			case adrift && isFindExec(next):
				return refuseUndecided("find", next, "write it without "+next.text)
			case !adrift && !next.splits:
				i++
			}
		case isFindExec(w):
			n, f := judgeLateFindExec(args[i+1:])
			if f != nil {
				return f
			}
			i += n
		}
	}
	return nil
}

// judgeLateFindExec is judgeLateFind for the words behind -exec, and returns how many they are.
func judgeLateFindExec(rest []word) (int, *finding) {
	end := findEnd(rest)
	var late *word
	for i := range rest[:end] {
		w := &rest[i]
		switch {
		case late != nil && (w.mayBeAnything() || isFindExec(*w)):
			return 0, refuseUndecided("find", *w, "write out what stands for it")
		case w.late && w.splits:
			return 0, refuseUndecided("find", *w, "put it in double quotes")
		case w.mayBeAnything():
			late = w
		}
	}
	return end, nil
}

func isFindExec(w word) bool {
	return !w.late && hasWord(" -exec -ok -execdir -okdir ", w.text)
}
