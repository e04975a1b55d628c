package policy

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// arithm judges what is nested in an arithmetic expression. The shell also evaluates the values of its variables,
// including subscripts.
func (w *walker) arithm(x syntax.ArithmExpr) {
	if x == nil {
		return
	}
	w.cost.source(x)
	syntax.Walk(x, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.BinaryArithm:
			if isAssignment(n.Op) {
				w.judgeArithmTarget(n.X)
			}
		case *syntax.UnaryArithm:
			if n.Op == syntax.Inc || n.Op == syntax.Dec {
				w.judgeArithmTarget(n.X)
			}
		}
		word, ok := n.(*syntax.Word)
		if !ok {
			return true
		}
		if name := word.Lit(); name != "" {
			w.evaluateText(name, "arithmetic", 0)
			return false
		}
		if name, index := arrayElement(word); name != "" {
			w.judgeSubscript(name, index)
			w.evaluateElements(name)
			return false
		}
		v := w.expandUnsplit(word)
		w.cost.source(word)
		v.loose = v.loose || v.late && v.text == "" && substitutes(word)
		w.evaluate(v, "arithmetic", 0)
		return false
	})
}

// substitutes reports whether a word contains a command substitution.
func substitutes(word *syntax.Word) bool {
	if word == nil {
		return false
	}
	found := false
	syntax.Walk(word, func(n syntax.Node) bool {
		_, is := n.(*syntax.CmdSubst)
		found = found || is
		return !found
	})
	return found
}

func (w *walker) substitutes(word *syntax.Word) bool {
	if word == nil {
		return false
	}
	w.cost.source(word)
	return substitutes(word)
}

// arrayElement splits a[i] as written in arithmetic.
func arrayElement(word *syntax.Word) (string, syntax.ArithmExpr) {
	if len(word.Parts) != 1 {
		return "", nil
	}
	p, ok := word.Parts[0].(*syntax.ParamExp)
	if !ok || p.Param == nil || p.Index == nil || !p.Short || p.Excl || p.Length || p.Slice != nil || p.Repl != nil ||
		p.Exp != nil {
		return "", nil
	}
	return p.Param.Value, p.Index
}

// evaluateElements judges the values that a[i] may evaluate.
func (w *walker) evaluateElements(name string) {
	all, ok := w.sc.arrays[name]
	if !ok || all == nil {
		if v, set := w.sc.vars[name]; set {
			w.evaluate(v, "arithmetic", 0)
		}
		return
	}
	w.cost.spend(costWord * len(all))
	for _, v := range all {
		w.evaluate(v, "arithmetic", 0)
	}
}

// judgeSubscript judges a subscript: text for an array declared with -A, arithmetic for all others.
func (w *walker) judgeSubscript(name string, x syntax.ArithmExpr) {
	if !w.assoc[name] {
		w.arithm(x)
		return
	}
	syntax.Walk(x, func(n syntax.Node) bool {
		if word, ok := n.(*syntax.Word); ok {
			w.refuseEvaluatedText(w.expandUnsplit(word).text, "subscript")
			return false
		}
		return true
	})
}

// judgeArithmTarget judges the name that ((PATH=1)) sets.
func (w *walker) judgeArithmTarget(x syntax.ArithmExpr) {
	word, ok := x.(*syntax.Word)
	if !ok || !w.p.checks.strict {
		return
	}
	name := word.Lit()
	if len(word.Parts) == 1 && name == "" {
		if p, ok := word.Parts[0].(*syntax.ParamExp); ok && p.Param != nil && p.Short && p.Index != nil &&
			!p.Dollar.IsValid() {
			name = p.Param.Value
		}
	}
	if name == "" {
		w.refuse(nil, refusal("arithmetic", "which variable is set is only known at run time",
			"write the variable's name out"))
		return
	}
	w.refuse(nil, judgeVariable(name, false))
}

func (w *walker) judgeParamSubscript(name string, x syntax.ArithmExpr, v value) {
	if x == nil {
		return
	}
	w.judgeSubscript(name, x)
	w.refuseEvaluatedText(v.text, "subscript")
}

// refuseEvaluatedText refuses text that runs a command when the shell evaluates it as a name or a number:
// 'a[$(touch x)]'.
func (w *walker) refuseEvaluatedText(text, where string) {
	if (w.p.checks.strict || w.p.checks.opaque) && runsWhenEvaluated(text) {
		w.refuse(nil, refusal(where, "evaluating "+shown(text)+" runs the command inside it", "use plain names and numbers"))
	}
}

// maxNames bounds a chain of variables whose values are names of one another.
const maxNames = 8

// shown is a text for a message, cut short where it is long.
func shown(text string) string {
	const most = 120
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}

// evaluate judges a value that the shell evaluates as arithmetic or as a name. An unknown value, such as a file
// name, may be 'a[$(touch x)]'.
func (w *walker) evaluate(v value, where string, depth int) {
	if !w.p.checks.strict {
		if w.p.checks.opaque {
			w.evaluateText(v.text, where, depth) // what is known of it
		}
		return
	}
	if v.loose || v.late && v.text == insideName || depth > maxNames {
		w.refuse(nil, refusal(where,
			"the shell would evaluate a value that is only known at run time, and run a command inside it",
			"compare with [ … ] instead, or take the number from wc, grep -c or seq"))
		return
	}
	w.evaluateText(v.text, where, depth)
}

// evaluateText judges a text that the shell evaluates, and the values of the names in it: with X='a[$(touch x)]'
// and Y=X, ((Y)) runs touch. Each name is followed once.
func (w *walker) evaluateText(text, where string, depth int) {
	w.cost.spend(costParam + costText*len(text))
	w.refuseEvaluatedText(text, where)
	sets := strings.Contains(text, "=") || strings.Contains(text, "++") || strings.Contains(text, "--")
	for _, name := range strings.FieldsFunc(text, func(r rune) bool { return r < 0x80 && !isNameByte(byte(r)) }) {
		if !isName(name) {
			continue
		}
		if f := judgeVariable(name, false); f != nil && sets && w.p.checks.strict {
			w.refuse(nil, f)
		}
		w.evaluateName(name, where, depth)
	}
}

// evaluateName judges the value of a name in evaluated text.
func (w *walker) evaluateName(name, where string, depth int) {
	w.cost.spend(2 * costParam)
	v, known := w.lookup(name)
	if !known {
		return
	}
	active, seen := w.followed[name]
	switch {
	case active && w.p.checks.strict:
		w.refuse(nil, refusal(where, "the value of "+name+" refers to "+name+" itself, which never comes to a number",
			"calculate with the number: "+name+"=$(("+name+" + 1))"))
		return
	case seen:
		return
	}
	if w.followed == nil {
		w.followed = make(map[string]bool)
	}
	w.followed[name] = true
	v.loose = v.loose || w.named[name] && v.late && v.text == "" // X=$(ls); ((X))
	w.evaluate(v, where, depth+1)
	w.followed[name] = false
	if depth == 0 {
		w.followed = nil // what comes next may set the names anew
	}
}

func runsWhenEvaluated(text string) bool {
	return strings.Contains(text, "$(") || strings.Contains(text, "`") || strings.Contains(text, "${")
}

func isAssignment(op syntax.BinAritOperator) bool {
	switch op {
	case syntax.Assgn, syntax.AddAssgn, syntax.SubAssgn, syntax.MulAssgn, syntax.QuoAssgn, syntax.RemAssgn,
		syntax.AndAssgn, syntax.OrAssgn, syntax.XorAssgn, syntax.ShlAssgn, syntax.ShrAssgn:
		return true
	}
	return false
}
