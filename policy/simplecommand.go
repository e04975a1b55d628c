package policy

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// simpleCommand walks the assignments and words of a simple command and judges it.
func (w *walker) simpleCommand(cmd *syntax.CallExpr) {
	if len(cmd.Args) == 0 {
		w.made = pipeInput{kind: inputKnown}
		for _, a := range cmd.Assigns {
			w.assign(a, false)
		}
		return
	}
	if len(cmd.Assigns) > 0 {
		building := startsMake(cmd.Args)
		for _, a := range cmd.Assigns {
			w.prefixAssign(a, building)
		}
	}
	var buf [8]word
	words := w.appendFields(buf[:0], cmd.Args)
	if len(words) == 0 {
		return
	}
	w.made = w.outputOf(words)
	w.judge(words)
	f := w.sc.funcs[words[0].text]
	if f == nil {
		w.applyBuiltin(words)
		return
	}
	// A function may print anything, and its name says nothing about what it
	// changes; its body was walked for that.
	w.made = unknownInput
	if f.maybe {
		w.applyBuiltin(words)
		w.sc.dirs, w.ok = nil, nil
	}
}

// judge records the verdict on a command, or walks the function it calls.
func (w *walker) judge(words []word) {
	if w.quiet {
		return
	}
	if words[0].late {
		w.unknownCommand(words)
		return
	}
	if fn := w.sc.funcs[words[0].text]; fn != nil {
		w.callFunction(fn, words)
		if !fn.maybe {
			return
		}
	}
	c := w.newCommand(words)
	f := c.judge()
	w.add(&f, words)
	if !w.p.checks.strict {
		return // paths are not judged
	}
	w.linked = w.linked || words[0].text == "ln" && hasShortOption(words[1:], "s") || words[0].text == "cp" &&
		hasShortOption(words[1:], "s")
	w.moved = w.moved || words[0].text == "mv"
	w.wrote = w.wrote || !w.makesNoFiles(words)
}

// makesNoFiles reports whether a command creates no files, even through a command that it runs.
func (w *walker) makesNoFiles(words []word) bool {
	byWords := hasWord(" sort shuf awk gawk mawk nawk find ", words[0].text) // sort -o, print > "file", -exec
	if isReadOnlyProgram(words[0].text) && !byWords {
		return true
	}
	r := readOnlyJudge{p: w.p, cost: w.cost}
	return r.command(words, 0)
}

// isReadOnlyProgram reports whether a program creates no files. Git counts as one: the names of its files were in
// the repository before.
func isReadOnlyProgram(name string) bool {
	if hasWord(" : true false test [ echo printf expr let git find jq patch ", name) {
		return true
	}
	prog := builtin(name)
	return prog != nil && !prog.writes && !prog.whole && !prog.free
}

// newCommand returns a command with the context of the walk.
func (w *walker) newCommand(words []word) command {
	return command{p: w.p, cost: w.cost, words: words, dirs: w.sc.dirs, input: w.sc.input, depth: w.wrapped,
		wrote: w.wrote, linked: w.linked, nested: w.nested}
}

// unknownCommand records the verdict on a command whose name is only known at run time. If it would read names
// from a pipe it cannot wait for Call, which sees the words of xargs but not the names that xargs reads.
func (w *walker) unknownCommand(words []word) {
	f := finding{effect: Deny, late: true, where: "command name",
		why: "the command's name is only known at run time", hint: "write the name out"}
	if w.p.rules.everything != nil && w.p.rules.everything.effect == Allow {
		f = finding{effect: Allow, late: true, why: w.p.rules.everything.why, where: w.p.rules.everything.where,
			lateSettled: w.p.checks.opaque}
	}
	w.add(&f, words)
	if last := &w.out[len(w.out)-1]; w.p.checks.strict && w.sc.input.kind == inputUnknown {
		last.Late = false
	}
}

// redirect judges a redirection and sets the input of the command.
func (w *walker) redirect(r *syntax.Redirect) {
	switch r.Op {
	case syntax.Hdoc, syntax.DashHdoc:
		v := value{}
		if r.Hdoc != nil {
			v = w.expandUnsplit(r.Hdoc)
		}
		w.setInput(v)
		return
	case syntax.WordHdoc:
		w.setInput(w.expandUnsplit(r.Word))
		return
	}
	w.setRedirectName(r)
	v := w.expandUnsplit(r.Word)
	target := word{value: v, src: r.Word}
	if r.Op == syntax.RdrIn || r.Op == syntax.RdrInOut || r.Op == syntax.DplIn {
		w.sc.input = pipeInput{kind: inputUnknown, file: r.Op == syntax.RdrIn && !target.late}
	} else if !harmlessDevice(target.text) && !isDescriptor(r.Op.String(), target) {
		w.wrote = true
	}
	w.cost.spend(costJudge)
	words := []word{literal(r.Op.String()), target}
	c := w.newCommand(words)
	if f := c.judgeRedirect(r.Op.String(), target); f.effect != Allow || target.late {
		w.refuse(words, &f)
	}
}

// setRedirectName handles {PATH}>x, which assigns a number to PATH.
func (w *walker) setRedirectName(r *syntax.Redirect) {
	if r.N == nil || !strings.HasPrefix(r.N.Value, "{") {
		return
	}
	w.setChecked(strings.Trim(r.N.Value, "{}"), someNumber)
}

func (w *walker) setInput(v value) {
	w.sc.input = pipeInput{kind: inputKnown, text: v.text}
	if v.late {
		w.sc.input = unknownInput
	}
}

func (w *walker) procSubst(part *syntax.ProcSubst) {
	if w.p.checks.foreground {
		w.refuse(nil, refusal("process substitution", "it runs a command beside the script, through a file outside of it",
			"use a pipe, or write to a file first"))
	}
	w.subshell(func() { w.stmts(part.Stmts) })
}

// substitution walks $(…) and returns its possible output.
func (w *walker) substitution(part *syntax.CmdSubst) value {
	made := w.made
	w.subshell(func() { w.stmts(part.Stmts) })
	out := w.made
	w.made = made
	if len(part.Stmts) != 1 {
		return anything
	}
	switch out.kind {
	case inputKnown:
		return value{text: strings.TrimRight(out.text, "\n")}
	case inputConfined:
		if out.blanks {
			return anything // cat $(find .) may find 'a /etc/passwd'
		}
		if out.number {
			return someNumber
		}
		if !out.sure {
			return value{late: true} // $(find . -name nope)/etc/passwd
		}
		return someName
	}
	return anything
}

// test walks the expression of [[ … ]].
func (w *walker) test(x syntax.TestExpr) {
	switch x := x.(type) {
	case *syntax.BinaryTest:
		w.test(x.X)
		w.test(x.Y)
		switch x.Op {
		case syntax.TsEql, syntax.TsNeq, syntax.TsLeq, syntax.TsGeq, syntax.TsLss, syntax.TsGtr:
			w.testNumber(x.X)
			w.testNumber(x.Y)
		case syntax.TsNewer, syntax.TsOlder, syntax.TsDevIno:
			w.testPath(x.X)
			w.testPath(x.Y)
		}
	case *syntax.UnaryTest:
		w.test(x.X)
		switch x.Op {
		case syntax.TsVarSet, syntax.TsRefVar, syntax.TsFdTerm:
			w.testNumber(x.X)
		case syntax.TsEmpStr, syntax.TsNempStr, syntax.TsOptSet, syntax.TsNot, syntax.TsParen:
		default:
			w.testPath(x.X)
		}
	case *syntax.ParenTest:
		w.test(x.X)
	case *syntax.Word:
		w.expandUnsplit(x)
	}
}

func (w *walker) testNumber(x syntax.TestExpr) {
	src, ok := x.(*syntax.Word)
	if !ok {
		return
	}
	w.evaluate(w.reevaluate(src), "[[", 0)
}

func (w *walker) testPath(x syntax.TestExpr) {
	src, ok := x.(*syntax.Word)
	if !ok || !w.p.checks.strict {
		return
	}
	v := w.reevaluate(src)
	c := w.newCommand(nil)
	file := word{value: v, src: src}
	w.refuse([]word{literal("[["), file}, c.path(file))
}

// reevaluate expands a word whose parts have been judged before.
func (w *walker) reevaluate(src *syntax.Word) value {
	saved := w.quiet
	w.quiet = true
	v := w.expandUnsplit(src)
	w.quiet = saved
	return v
}
