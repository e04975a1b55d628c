package policy

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// call walks a simple command: its assignments, its words, then itself.
func (w *walker) call(cmd *syntax.CallExpr) {
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
			w.prefix(a, building)
		}
	}
	var buf [8]word
	words := w.appendFields(buf[:0], cmd.Args)
	if len(words) == 0 {
		return
	}
	w.made = w.output(words)
	w.judge(words)
	f := w.sc.funcs[words[0].text]
	if f == nil {
		w.effects(words)
		return
	}
	// A function may print anything, and its name says nothing about what it
	// changes; its body was walked for that.
	w.made = unknownInput
	if f.maybe {
		w.effects(words)
		w.sc.dirs, w.ok = nil, nil
	}
}

// judge records the verdict on a command, or walks the function it calls.
func (w *walker) judge(words []word) {
	if w.quiet {
		return
	}
	if words[0].late {
		w.dynamic(words)
		return
	}
	if fn := w.sc.funcs[words[0].text]; fn != nil {
		w.invoke(fn, words)
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
	w.linked = w.linked || words[0].text == "ln" && hasLetter(words[1:], "s") || words[0].text == "cp" &&
		hasLetter(words[1:], "s")
	w.moved = w.moved || words[0].text == "mv"
	w.wrote = w.wrote || !w.looks(words)
}

// looks reports whether a command makes no files, even by running another.
func (w *walker) looks(words []word) bool {
	byWords := inList(" sort shuf awk gawk mawk nawk find ", words[0].text) // sort -o, print > "file", -exec
	if onlyLooks(words[0].text) && !byWords {
		return true
	}
	r := reader{p: w.p, cost: w.cost}
	return r.command(words, 0)
}

// onlyLooks reports whether a program makes no files. Git counts as one that
// does not: the names it brings were there before, in the repository.
func onlyLooks(name string) bool {
	if inList(" : true false test [ echo printf expr let git find jq patch ", name) {
		return true
	}
	prog := builtin(name)
	return prog != nil && !prog.writes && !prog.whole && !prog.free
}

// newCommand is a command with what the walk knows around it.
func (w *walker) newCommand(words []word) command {
	return command{p: w.p, cost: w.cost, words: words, dirs: w.sc.dirs, input: w.sc.input, depth: w.wrapped,
		wrote: w.wrote, linked: w.linked, nested: w.nested}
}

// dynamic records the verdict on a command whose name is not known yet. Where it
// would read names from a pipe, waiting for its name is not enough: Call sees
// the words of xargs, not the names it reads.
func (w *walker) dynamic(words []word) {
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

// maxTracked bounds the variables and functions the walk remembers, since
// every branch copies them.
const maxTracked = 256

func (w *walker) set(name string, v value) {
	w.obeys(name, v)
	w.put(name, v)
}

// put is set for what is there no more afterwards, or was there before.
func (w *walker) put(name string, v value) {
	array, _, isElement := strings.Cut(name, "[")
	if isElement || w.fixed[name] {
		name, v = array, anything // a[0], or a readonly name that keeps what it has
	}
	if name == "" {
		return
	}
	w.sc.own()
	if _, known := w.sc.vars[name]; !known && len(w.sc.vars) >= maxTracked {
		w.sc.lost = true
		return
	}
	w.sc.vars[name] = v
	delete(w.sc.arrays, name)
}

// assign walks a plain assignment. A variable that programs look at is
// refused, for it may be in the environment already.
func (w *walker) assign(a *syntax.Assign, exported bool) {
	v := w.assigned(a)
	if a.Name == nil {
		return
	}
	name := a.Name.Value
	if w.p.checks.strict {
		w.refuse(nil, judgeVariable(name, exported))
	}
	if exported {
		w.mark(&w.exports, name)
	}
	if a.Naked {
		return
	}
	w.exportedText(name, v)
	w.zone(name, v)
	if a.Append || a.Index != nil {
		old, _ := w.lookup(name)
		if a.Index != nil || old.late || old.loose {
			v = value{text: v.text, late: true, loose: true}
		} else {
			v.text = old.text + v.text
			v.late = v.late || old.late
		}
	}
	if w.ints[name] {
		w.evaluates(v, "declare -i", 0)
	}
	if v.late && v.text == "" && w.substitutes(a.Value) {
		w.mark(&w.named, name)
	}
	w.set(name, v)
	if a.Array != nil && !a.Append {
		w.setArray(name, a.Array)
	}
}

// assigned returns the value of an assignment and judges what is nested.
func (w *walker) assigned(a *syntax.Assign) value {
	if a.Index != nil && a.Name != nil {
		w.subscriptOf(a.Name.Value, a.Index)
	}
	if a.Array == nil {
		v := w.one(a.Value)
		if len(v.text) > 2048 {
			return anything
		}
		return v
	}
	w.cost.spend(costWord * len(a.Array.Elems))
	for _, e := range a.Array.Elems {
		if e.Index != nil && a.Name != nil {
			w.subscriptOf(a.Name.Value, e.Index)
		}
		if e.Value != nil {
			w.fields(e.Value)
		}
	}
	return anything
}

func (w *walker) setArray(name string, arr *syntax.ArrayExpr) {
	var all []value
	quiet := w.quiet
	w.quiet = true
	for _, e := range arr.Elems {
		if e.Index != nil || e.Value == nil {
			all = nil
			break
		}
		for _, f := range w.fields(e.Value) {
			if f.splits && w.p.checks.opaque {
				all = append(all, unknownArgs()...) // how many there are is not known
			}
			all = append(all, f.value)
			w.cost.keep(argSize + 8)
		}
	}
	w.quiet = quiet
	for range w.sc.arrays[name] {
		w.cost.keep(-argSize - 8)
	}
	if w.sc.arrays == nil {
		w.sc.arrays = make(map[string][]value)
	}
	w.sc.arrays[name] = all
}

// startsMake reports whether a command is make, or runs it.
func startsMake(words []*syntax.Word) bool {
	return slices.ContainsFunc(words, func(w *syntax.Word) bool { return inList(makes, plainWord(w).text) })
}

// prefix walks an assignment that goes into one command's environment.
func (w *walker) prefix(a *syntax.Assign, building bool) {
	v := w.assigned(a)
	if a.Name != nil {
		w.obeys(a.Name.Value, v)
	}
	if a.Name == nil || !w.p.checks.strict || a.Name.Value == "IFS" {
		return
	}
	w.refuse(nil, judgeVariable(a.Name.Value, true))
	if building && !v.late {
		w.refuse(nil, makeReads(a.Name.Value, v.text))
	}
	w.zone(a.Name.Value, v)
}

// exportedText judges what a variable holds that every command after it is given.
func (w *walker) exportedText(name string, v value) {
	if w.exports[name] && w.p.checks.strict && !v.late {
		w.refuse(nil, makeReads(name, v.text))
	}
}

// zone judges what the variable TZ is set to.
func (w *walker) zone(name string, v value) {
	if name == "TZ" && w.p.checks.strict {
		w.refuse(nil, zoneFile(v.text, v.loose))
	}
}

// declClause walks export, declare, local, readonly and typeset.
func (w *walker) declClause(cmd *syntax.DeclClause) {
	exported := cmd.Variant.Value == "export"
	for _, a := range cmd.Args {
		if a.Name == nil && a.Value != nil { // an option, or a word made at run time
			opt := w.one(a.Value)
			w.attributes(opt.text, cmd.Args)
			exported = exported || strings.HasPrefix(opt.text, "-") && strings.Contains(opt.text, "x")
			w.refuseStrict(judgeDeclared(cmd.Variant.Value, word{value: opt}))
		}
		w.declaresBlind(cmd, a)
	}
	for _, a := range cmd.Args {
		if a.Name == nil {
			continue
		}
		if _, ok := w.sc.vars[a.Name.Value]; ok && a.Naked && exported && w.p.checks.strict {
			w.refuse(nil, judgeVariable(a.Name.Value, true))
			w.mark(&w.exports, a.Name.Value)
			w.exportedText(a.Name.Value, w.sc.vars[a.Name.Value])
			continue
		}
		if v := cmd.Variant.Value; v == "local" || v == "declare" || v == "typeset" {
			w.noteLocal(a.Name.Value)
		}
		w.assign(a, exported)
		if cmd.Variant.Value == "readonly" || w.pinned(cmd) {
			w.mark(&w.fixed, a.Name.Value)
		}
		if v := w.sc.vars[a.Name.Value]; w.p.checks.strict || w.p.checks.opaque {
			w.evaluatedIfInteger(cmd, v)
		}
	}
}

// attributes remembers the names that declare -i and -A change for good.
func (w *walker) attributes(opt string, args []*syntax.Assign) {
	w.cost.spend(costWord * len(args))
	for _, a := range args {
		if a.Name == nil || !strings.HasPrefix(opt, "-") {
			continue
		}
		if strings.Contains(opt, "i") {
			w.mark(&w.ints, a.Name.Value)
		}
		if strings.Contains(opt, "A") {
			w.mark(&w.assoc, a.Name.Value)
		}
	}
}

// pinned reports whether declare -r makes its names readonly.
func (w *walker) pinned(cmd *syntax.DeclClause) bool {
	w.cost.spend(costSource * len(cmd.Args))
	for _, a := range cmd.Args {
		if a.Name == nil && a.Value != nil && strings.HasPrefix(a.Value.Lit(), "-") && strings.Contains(a.Value.Lit(), "r") {
			return true
		}
	}
	return false
}

func (w *walker) mark(set *map[string]bool, name string) {
	if *set == nil {
		*set = make(map[string]bool)
	}
	(*set)[name] = true
	w.cost.spend(costEntry)
}

// evaluatedIfInteger knows that declare -i evaluates the value.
func (w *walker) evaluatedIfInteger(cmd *syntax.DeclClause, v value) {
	w.cost.spend(costSource * len(cmd.Args))
	for _, a := range cmd.Args {
		if a.Name == nil && a.Value != nil && strings.ContainsAny(a.Value.Lit(), "in") &&
			strings.HasPrefix(a.Value.Lit(), "-") {
			w.evaluates(v, cmd.Variant.Value+" -i", 0)
		}
	}
}

// redirect judges a redirection and notes what it feeds.
func (w *walker) redirect(r *syntax.Redirect) {
	switch r.Op {
	case syntax.Hdoc, syntax.DashHdoc:
		v := value{}
		if r.Hdoc != nil {
			v = w.one(r.Hdoc)
		}
		w.inputText(v)
		return
	case syntax.WordHdoc:
		w.inputText(w.one(r.Word))
		return
	}
	w.redirectName(r)
	v := w.one(r.Word)
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

// redirectName knows that {PATH}>x puts a number into PATH.
func (w *walker) redirectName(r *syntax.Redirect) {
	if r.N == nil || !strings.HasPrefix(r.N.Value, "{") {
		return
	}
	w.sets(strings.Trim(r.N.Value, "{}"), someNumber)
}

// sets judges and notes a variable that is set by other means than x=y.
func (w *walker) sets(name string, v value) {
	if w.p.checks.strict {
		w.refuse(nil, judgeVariable(name, false))
	}
	w.set(name, v)
}

func (w *walker) inputText(v value) {
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
	w.apart(func() { w.stmts(part.Stmts) })
}

// substitution walks $(…) and returns what it may put into the word.
func (w *walker) substitution(part *syntax.CmdSubst) value {
	made := w.made
	w.apart(func() { w.stmts(part.Stmts) })
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
		w.one(x)
	}
}

func (w *walker) testNumber(x syntax.TestExpr) {
	src, ok := x.(*syntax.Word)
	if !ok {
		return
	}
	w.evaluates(w.again(src), "[[", 0)
}

func (w *walker) testPath(x syntax.TestExpr) {
	src, ok := x.(*syntax.Word)
	if !ok || !w.p.checks.strict {
		return
	}
	v := w.again(src)
	c := w.newCommand(nil)
	file := word{value: v, src: src}
	w.refuse([]word{literal("[["), file}, c.path(file))
}

// again evaluates a word whose insides were judged before.
func (w *walker) again(src *syntax.Word) value {
	saved := w.quiet
	w.quiet = true
	v := w.one(src)
	w.quiet = saved
	return v
}
