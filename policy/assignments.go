package policy

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// maxTracked bounds the variables and functions that are tracked, since every branch copies them.
const maxTracked = 256

func (w *walker) set(name string, v value) {
	w.checkControlVariable(name, v)
	w.assignValue(name, v)
}

// assignValue is set without the check of control variables, for a value that is restored or removed.
func (w *walker) assignValue(name string, v value) {
	array, _, isElement := strings.Cut(name, "[")
	if isElement || w.fixed[name] {
		name, v = array, anything // a[0], or a readonly name that keeps what it has
	}
	if name == "" {
		return
	}
	w.sc.copyMaps()
	if _, known := w.sc.vars[name]; !known && len(w.sc.vars) >= maxTracked {
		w.sc.lost = true
		return
	}
	w.sc.vars[name] = v
	delete(w.sc.arrays, name)
}

// setChecked judges and sets a variable that is set by other means than x=y.
func (w *walker) setChecked(name string, v value) {
	if w.p.checks.strict {
		w.refuse(nil, judgeVariable(name, false))
	}
	w.set(name, v)
}

// assign walks a plain assignment. Control variables are refused, since they may be exported already.
func (w *walker) assign(a *syntax.Assign, exported bool) {
	v := w.assignedValue(a)
	if a.Name == nil {
		return
	}
	name := a.Name.Value
	if w.p.checks.strict {
		w.refuse(nil, judgeVariable(name, exported))
	}
	if exported {
		w.addTo(&w.exports, name)
	}
	if a.Naked {
		return
	}
	w.checkExported(name, v)
	w.checkZone(name, v)
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
		w.evaluate(v, "declare -i", 0)
	}
	if v.late && v.text == "" && w.substitutes(a.Value) {
		w.addTo(&w.named, name)
	}
	w.set(name, v)
	if a.Array != nil && !a.Append {
		w.setArray(name, a.Array)
	}
}

// assignedValue returns the value of an assignment and judges what is nested in it.
func (w *walker) assignedValue(a *syntax.Assign) value {
	if a.Index != nil && a.Name != nil {
		w.judgeSubscript(a.Name.Value, a.Index)
	}
	if a.Array == nil {
		v := w.expandUnsplit(a.Value)
		if len(v.text) > 2048 {
			return anything
		}
		return v
	}
	w.cost.spend(costWord * len(a.Array.Elems))
	for _, e := range a.Array.Elems {
		if e.Index != nil && a.Name != nil {
			w.judgeSubscript(a.Name.Value, e.Index)
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
	return slices.ContainsFunc(words, func(w *syntax.Word) bool { return hasWord(makePrograms, plainWord(w).text) })
}

// prefixAssign walks an assignment before a command, which goes into its environment.
func (w *walker) prefixAssign(a *syntax.Assign, building bool) {
	v := w.assignedValue(a)
	if a.Name != nil {
		w.checkControlVariable(a.Name.Value, v)
	}
	if a.Name == nil || !w.p.checks.strict || a.Name.Value == "IFS" {
		return
	}
	w.refuse(nil, judgeVariable(a.Name.Value, true))
	if building && !v.late {
		w.refuse(nil, refuseMakeText(a.Name.Value, v.text))
	}
	w.checkZone(a.Name.Value, v)
}

// checkExported judges the value of an exported variable.
func (w *walker) checkExported(name string, v value) {
	if w.exports[name] && w.p.checks.strict && !v.late {
		w.refuse(nil, refuseMakeText(name, v.text))
	}
}

// checkZone judges the value of TZ.
func (w *walker) checkZone(name string, v value) {
	if name == "TZ" && w.p.checks.strict {
		w.refuse(nil, refuseZoneFile(v.text, v.loose))
	}
}

// declClause walks export, declare, local, readonly and typeset.
func (w *walker) declClause(cmd *syntax.DeclClause) {
	exported := cmd.Variant.Value == "export"
	for _, a := range cmd.Args {
		if a.Name == nil && a.Value != nil { // an option, or a word made at run time
			opt := w.expandUnsplit(a.Value)
			w.attributes(opt.text, cmd.Args)
			exported = exported || strings.HasPrefix(opt.text, "-") && strings.Contains(opt.text, "x")
			w.refuseStrict(judgeDeclared(cmd.Variant.Value, word{value: opt}))
		}
		w.checkDeclaration(cmd, a)
	}
	for _, a := range cmd.Args {
		if a.Name == nil {
			continue
		}
		if _, ok := w.sc.vars[a.Name.Value]; ok && a.Naked && exported && w.p.checks.strict {
			w.refuse(nil, judgeVariable(a.Name.Value, true))
			w.addTo(&w.exports, a.Name.Value)
			w.checkExported(a.Name.Value, w.sc.vars[a.Name.Value])
			continue
		}
		if v := cmd.Variant.Value; v == "local" || v == "declare" || v == "typeset" {
			w.saveLocal(a.Name.Value)
		}
		w.assign(a, exported)
		if cmd.Variant.Value == "readonly" || w.declaresReadonly(cmd) {
			w.addTo(&w.fixed, a.Name.Value)
		}
		if v := w.sc.vars[a.Name.Value]; w.p.checks.strict || w.p.checks.opaque {
			w.evaluatedIfInteger(cmd, v)
		}
	}
}

// attributes tracks the names declared with -i and -A.
func (w *walker) attributes(opt string, args []*syntax.Assign) {
	w.cost.spend(costWord * len(args))
	for _, a := range args {
		if a.Name == nil || !strings.HasPrefix(opt, "-") {
			continue
		}
		if strings.Contains(opt, "i") {
			w.addTo(&w.ints, a.Name.Value)
		}
		if strings.Contains(opt, "A") {
			w.addTo(&w.assoc, a.Name.Value)
		}
	}
}

// declaresReadonly reports whether a declaration has the option -r.
func (w *walker) declaresReadonly(cmd *syntax.DeclClause) bool {
	w.cost.spend(costSource * len(cmd.Args))
	for _, a := range cmd.Args {
		if a.Name == nil && a.Value != nil && strings.HasPrefix(a.Value.Lit(), "-") && strings.Contains(a.Value.Lit(), "r") {
			return true
		}
	}
	return false
}

func (w *walker) addTo(set *map[string]bool, name string) {
	if *set == nil {
		*set = make(map[string]bool)
	}
	(*set)[name] = true
	w.cost.spend(costEntry)
}

// evaluatedIfInteger judges the value of a variable declared with -i, which the shell evaluates.
func (w *walker) evaluatedIfInteger(cmd *syntax.DeclClause, v value) {
	w.cost.spend(costSource * len(cmd.Args))
	for _, a := range cmd.Args {
		if a.Name == nil && a.Value != nil && strings.ContainsAny(a.Value.Lit(), "in") &&
			strings.HasPrefix(a.Value.Lit(), "-") {
			w.evaluate(v, cmd.Variant.Value+" -i", 0)
		}
	}
}

// checkDeclaration judges a word of declare and the like for a runner that never calls Call: the shell expands a
// list in quotes and a subscript, and a reference is another name for a variable.
func (w *walker) checkDeclaration(cmd *syntax.DeclClause, a *syntax.Assign) {
	if !w.p.checks.opaque || a.Value == nil {
		return
	}
	v := w.reevaluate(a.Value)
	if a.Name == nil || strings.HasPrefix(strings.TrimSpace(v.text), "(") {
		c := w.newCommand(literals(cmd.Variant.Value))
		w.refuse(nil, c.judgeBuiltin(cmd.Variant.Value, []word{{value: value{text: v.text, late: v.late}}}))
	}
	w.cost.spend(costSource * len(cmd.Args))
	if a.Name == nil || !declaresReference(cmd) {
		return
	}
	w.refuseEvaluatedText(v.text, cmd.Variant.Value+" -n")
	w.checkControlVariable(v.text, anything)
}

// declaresReference reports whether a declaration has the option -n.
func declaresReference(cmd *syntax.DeclClause) bool {
	for _, a := range cmd.Args {
		if a.Name == nil && a.Value != nil && strings.HasPrefix(a.Value.Lit(), "-") && strings.Contains(a.Value.Lit(), "n") {
			return cmd.Variant.Value != "export"
		}
	}
	return false
}
