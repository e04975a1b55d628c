package policy

import (
	"slices"
	"strings"
)

// judgeWrapper judges the command that this one runs; ok is false if it runs none.
func (c *command) judgeWrapper(name string, args []word) (f *finding, ok bool) {
	switch name {
	case "env":
		return judgeEnv(c, args), true
	case "xargs":
		return judgeXargs(c, args), true
	case "find":
		return judgeFind(c, args), true
	case "command":
		return judgeCommand(c, args), true
	case "eval":
		return judgeEval(c, args), true
	case "trap":
		return judgeTrap(c, args), true
	case "sh", "bash", "dash", "zsh", "ksh":
		return judgeShell(c, args), true
	case "uv":
		return judgeUv(c, args), true
	}
	wrap := c.p.wrapping(name)
	if wrap == nil {
		return nil, false
	}
	_, n, f := c.parseOwn(wrap, args)
	if f != nil {
		return f, true
	}
	n = min(n+wrap.skip, len(args))
	if f := c.refuseLateWords(args[:n]); f != nil {
		return f, true
	}
	return c.judgeInner(args[n:]), true
}

// judgeEnv judges the variables and the command of env. -S, which splits a string into more options, is not on
// the list.
func judgeEnv(c *command, args []word) *finding {
	_, n, f := c.parseOwn(wrapping("env"), args)
	if f != nil {
		return f
	}
	if f := c.refuseLateWords(args[:n]); f != nil {
		return f
	}
	args = args[n:]
	for len(args) > 0 {
		name, text, ok := strings.Cut(args[0].text, "=")
		if !ok {
			break
		}
		if w := args[0]; c.p.checks.opaque && w.late && (w.splits || !strings.Contains(w.head, "=")) {
			return refuseUndecided("env", w, "put it in double quotes, with the name before it: env \"NAME=$x\"")
		}
		if c.p.checks.strict {
			if f := judgeVariable(name, true); f != nil {
				return f
			}
			if f := refuseZoneFile(text, args[0].loose); f != nil && name == "TZ" {
				return f
			}
			if f := refuseMakeText(name, text); f != nil && !args[0].late &&
				slices.ContainsFunc(args, func(w word) bool { return hasWord(makePrograms, w.text) }) {
				return f
			}
		}
		c.cost.spend(costParam + costSource*len(args))
		if f := c.judgeControlVariable(name, value{text: text, late: args[0].late}); f != nil {
			return f
		}
		args = args[1:]
	}
	return c.judgeInner(args)
}

// judgeCommand judges the builtin command; with -v it only looks up a name.
func judgeCommand(c *command, args []word) *finding {
	if len(args) > 0 && (args[0].text == "-v" || args[0].text == "-V") {
		return nil
	}
	_, n, f := c.parseOwn(wrapping("command"), args)
	if f == nil {
		f = c.refuseLateWords(args[:n])
	}
	if f != nil {
		return f
	}
	return c.judgeInner(args[n:])
}

// judgeXargs judges the command of xargs with the words that it reads. A file of arguments (-a), which was not
// judged, is not on the list.
func judgeXargs(c *command, args []word) *finding {
	own, n, f := c.parseOwn(wrapping("xargs"), args)
	if f == nil {
		f = c.refuseLateWords(args[:n])
	}
	if f != nil {
		return f
	}
	inner := args[n:]
	if len(inner) == 0 {
		return nil // it runs echo
	}
	if c.input.dashes && c.p.checks.strict && knownReads(inner[0].text) != "always" &&
		(c.p.wrapping(inner[0].text) != nil || !hasAny(inner, "--")) {
		// touch -- -rf; ls | xargs -d'\n' rm
		return refusal("xargs: options", "a name that the script made may be taken for an option",
			"put -- before the names, or feed xargs from find")
	}
	mark := replaceMark(own)
	read := c.wordsFromInput(own, mark != "")
	if mark == "" {
		return c.judgeXargsInner(append(inner[:len(inner):len(inner)], read...))
	}
	for _, w := range read {
		c.cost.spend(substituteCost(inner, w))
		if f := c.judgeXargsInner(substituteMark(inner, mark, w)); f != nil {
			return f
		}
	}
	return c.judgeXargsInner(inner)
}

func (c *command) judgeXargsInner(inner []word) *finding {
	f := c.judgeInner(inner)
	if f == nil || f.effect == Allow {
		return nil
	}
	if !f.late && !f.ruled && c.input.kind == inputConfined {
		name, _, _ := strings.Cut(c.input.git, "\n")
		f = f.foundBySearch(name, "leave .git out of the search, or take the names from git ls-files")
	}
	if f.late && f.where != "command name" {
		// Only Call would see more, and Call does not see what xargs reads.
		f.late, f.where = false, "xargs: "+f.where
		f.why = "the names that " + inner[0].text + " is given come from unchecked text"
		f.hint = "feed xargs from find, ls or git ls-files"
		if c.p.checks.opaque {
			f.hint += ", or put -- before the names: xargs " + inner[0].text + " --"
		}
	}
	return f
}

// wordsFromInput returns the words that xargs reads, as far as they are known. Text with quotes is unknown, since
// xargs has its own quoting.
func (c *command) wordsFromInput(own *arguments, lines bool) []word {
	unknown := []word{{value: anything, splits: !lines}}
	zero := own.has("-0", "--null")
	delim, cut := own.get("-d", "--delimiter")
	if cut && delim.text != "\\n" && delim.text != "\n" && delim.text != "\\0" || c.input.blanks && !cut && !zero &&
		!lines {
		return unknown // cut elsewhere than at lines, a name becomes others
	}
	c.cost.spend(costText * len(c.input.text))
	switch c.input.kind {
	case inputKnown:
		if strings.ContainsAny(c.input.text, "\\'\"") {
			return unknown
		}
		var out []word
		for s := range strings.FieldsFuncSeq(c.input.text, func(r rune) bool {
			return r == ' ' || r == '\n' || r == '\t' ||
				r == 0
		}) {
			out = append(out, literal(s))
			if len(out) > 64 {
				return unknown
			}
		}
		return out
	case inputUnknown:
		return unknown
	}
	out := literals(insideName)
	if name, _, some := strings.Cut(c.input.git, "\n"); some {
		out = append(out, literal(name))
	}
	return out
}

// replaceMark returns the text that xargs -I replaces.
func replaceMark(own *arguments) string {
	mark := ""
	for _, o := range own.options {
		switch o.name {
		case "-I":
			mark = o.val.text
		case "-i", "--replace":
			mark = o.val.text
			if mark == "" {
				mark = "{}"
			}
		}
	}
	return mark
}

// substituteCost is the cost of substituteMark. Each byte of the command may be the mark.
func substituteCost(words []word, name word) int {
	cost := costWord * len(words)
	for _, w := range words {
		cost += len(w.text) * (1 + len(name.text))
	}
	return cost
}

// substituteMark replaces the mark by a name. A mark in the command's own name makes that unknown.
func substituteMark(words []word, mark string, name word) []word {
	out := make([]word, len(words))
	for i, w := range words {
		if strings.Contains(w.text, mark) {
			if name.late && !w.late {
				w.head, _, _ = strings.Cut(w.text, mark)
			}
			w.text = strings.ReplaceAll(w.text, mark, name.text)
			w.late, w.loose = w.late || name.late || i == 0, w.loose || name.loose
		}
		out[i] = w
	}
	return out
}
