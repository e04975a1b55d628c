package policy

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

func (w *walker) forClause(cmd *syntax.ForClause) {
	iter, ok := cmd.Loop.(*syntax.WordIter)
	if !ok {
		c := cmd.Loop.(*syntax.CStyleLoop)
		w.arithm(c.Init)
		w.forgetVariables(c)
		w.loop(cmd, func() {
			w.arithm(c.Cond)
			w.arithm(c.Post)
			w.stmts(cmd.Do)
		})
		return
	}
	items := w.appendFields(nil, iter.Items)
	if !iter.InPos.IsValid() {
		items = append(items, word{value: someName})
		if w.sc.args != nil {
			items = items[:0]
			for _, v := range w.sc.args {
				items = append(items, word{value: v})
			}
		}
	}
	if w.p.checks.strict {
		w.refuse(nil, judgeVariable(iter.Name.Value, false))
	}
	w.loop(cmd, func() {
		for _, v := range w.loopValues(cmd, items) {
			w.set(iter.Name.Value, v)
			w.stmts(cmd.Do)
		}
	})
}

// loopValues returns the values to walk the body of a loop with: each item, or one for all if there are too many.
func (w *walker) loopValues(loop syntax.Node, items []word) []value {
	if len(items) > 16 || !w.charge(loop, len(items)) {
		return []value{w.commonValue(items)}
	}
	out := make([]value, 0, len(items)+1)
	for _, it := range items {
		out = append(out, it.value)
	}
	if len(items) == 0 {
		out = append(out, value{late: true})
	}
	return out
}

// charge reports whether node may be walked n more times.
func (w *walker) charge(node syntax.Node, n int) bool {
	cost := n * (16 + int(node.End().Offset()) - int(node.Pos().Offset()))
	if cost < 0 || w.unfolded+cost > maxUnfolded {
		return false
	}
	w.unfolded += cost
	return true
}

// commonValue returns one value for many words: a name inside the root if all of them are, else anything.
func (w *walker) commonValue(items []word) value {
	c := w.newCommand(nil)
	for _, it := range items {
		if it.loose || len(it.text) > 0 && it.text[0] == '-' || c.path(it) != nil {
			return anything
		}
	}
	return someName
}

// loop walks a body that may run any number of times.
func (w *walker) loop(node syntax.Node, walk func()) {
	w.forgetVariables(node)
	w.cost.source(node)
	if w.sc.lost || changesDir(node) {
		w.sc.dirs = nil
	}
	before := w.sc.share()
	walk()
	w.sc.merge(&before)
	w.ok = nil
	w.repeatLoop(node, walk, &before)
}

// repeatLoop walks the body until the scope no longer changes: functions and builtins set variables that
// forgetVariables does not find.
func (w *walker) repeatLoop(node syntax.Node, walk func(), before *scope) {
	for range 3 {
		if w.sc.same(before) {
			return
		}
		if !w.charge(node, 1) {
			break
		}
		*before = w.sc.share()
		first := len(w.out)
		walk()
		w.out = append(w.out[:first], w.dropAllowed(w.out[first:])...)
		w.sc.merge(before)
		w.ok = nil
	}
	if !w.sc.same(before) {
		w.sc.forget()
	}
}

// dropAllowed removes verdicts that would only repeat those of the first walk.
func (w *walker) dropAllowed(vs []Verdict) []Verdict {
	out := vs[:0:0]
	for _, v := range vs {
		if v.Effect == Allow {
			w.cost.keep(-sizeOfVerdict(v))
			continue
		}
		out = append(out, v)
	}
	return out
}

// forgetVariables makes the variables unknown that node may set.
func (w *walker) forgetVariables(node syntax.Node) {
	if !w.charge(node, 1) {
		w.sc.forget()
		return
	}
	w.cost.source(node)
	syntax.Walk(node, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Assign:
			if n.Name != nil {
				w.set(n.Name.Value, valueAfterLoop(n))
			}
		case *syntax.CallExpr:
			if len(n.Args) > 0 {
				w.forgetCallVariables(n)
			}
		case *syntax.BinaryArithm:
			if word, ok := n.X.(*syntax.Word); ok && isAssignment(n.Op) {
				w.set(word.Lit(), someNumber)
			}
		case *syntax.UnaryArithm:
			if word, ok := n.X.(*syntax.Word); ok && (n.Op == syntax.Inc || n.Op == syntax.Dec) {
				w.set(word.Lit(), someNumber)
			}
		}
		return true
	})
}

// valueAfterLoop is what an assignment in a loop may leave in its variable.
func valueAfterLoop(a *syntax.Assign) value {
	if a.Value == nil || len(a.Value.Parts) != 1 || a.Append {
		return anything
	}
	part := a.Value.Parts[0]
	if q, ok := part.(*syntax.DblQuoted); ok && len(q.Parts) == 1 {
		part = q.Parts[0]
	}
	switch part := part.(type) {
	case *syntax.ArithmExp:
		return someNumber
	case *syntax.Lit:
		if part.Value != "" && strings.Trim(part.Value, "0123456789") == "" {
			return value{text: part.Value, late: true}
		}
	}
	return anything
}

// forgetCallVariables makes the variables unknown that a builtin may set.
func (w *walker) forgetCallVariables(call *syntax.CallExpr) {
	switch call.Args[0].Lit() {
	case "read", "mapfile", "readarray", "printf", "getopts", "unset", "export", "declare", "local", "typeset", "readonly",
		"let":
		w.cost.spend(costWord * len(call.Args))
		for _, a := range call.Args[1:] {
			if v, ok := w.sc.vars[a.Lit()]; ok && a.Lit() != "" {
				w.set(a.Lit(), value{v.text, true, true})
			}
		}
	case "set", "shift":
		if w.sc.args != nil {
			w.sc.args = unknownArgs()
		}
	case "eval":
		w.sc.forget()
	}
}

// changesDir reports whether node contains a cd outside of any subshell.
func changesDir(node syntax.Node) bool {
	found := false
	syntax.Walk(node, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Subshell, *syntax.CmdSubst:
			return false
		case *syntax.CallExpr:
			for _, a := range n.Args {
				switch a.Lit() {
				case "cd", "pushd", "popd":
					found = true
				}
			}
		}
		return !found
	})
	return found
}
