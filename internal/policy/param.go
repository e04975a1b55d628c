package policy

import (
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// A value is what a variable holds as far as it is known.
type value struct {
	text        string
	late, loose bool
}

// anything is a value that nothing is known about.
var anything = value{late: true, loose: true}

// bare reports whether part is a plain $x or ${x}.
func bare(part *syntax.ParamExp) bool {
	return !part.Excl && !part.Length && !part.Width && !part.IsSet && part.Index == nil && part.Slice == nil &&
		part.Repl == nil && part.Names == 0 && part.Exp == nil && part.NestedParam == nil && part.Flags == nil
}

// param returns the value of a parameter expansion and judges what is
// nested in it.
func (w *walker) param(part *syntax.ParamExp) value {
	if part.Param == nil {
		return anything
	}
	name := part.Param.Value
	v, known := w.lookup(name)
	if bare(part) {
		return v
	}
	w.subscript(part.Index, v)
	switch {
	case part.Names != 0, part.Length:
		return value{text: "1", late: true}
	case part.Excl:
		return w.indirect(part, v)
	case part.Slice != nil:
		w.arithm(part.Slice.Offset)
		w.arithm(part.Slice.Length)
	case part.Repl != nil:
		w.one(part.Repl.Orig)
		if with := w.one(part.Repl.With); with.late {
			return anything
		}
	case part.Exp != nil:
		return w.operator(part, name, v, known)
	case part.Index != nil:
		return anything
	}
	return w.compute(part, v)
}

// lookup returns a variable's value. One that the script never set is empty,
// for the environment is clean; the places everybody knows are filled in.
func (w *walker) lookup(name string) (value, bool) {
	if v, ok := w.sc.vars[name]; ok {
		return v, true
	}
	if w.sc.lost {
		return anything, true
	}
	switch name {
	case "HOME":
		return value{text: w.home(), late: true}, true
	case "PWD":
		if len(w.sc.dirs) == 1 {
			return value{text: w.sc.dirs[0], late: true}, true
		}
		return value{text: insideName, late: true}, true
	case "OLDPWD", "PATH", "SHELL", "BASH", "0", "_", "REPLY", "BASH_SOURCE", "TMPDIR":
		return anything, true
	case "?", "#", "$", "RANDOM", "SECONDS", "LINENO", "UID", "EUID", "PPID", "BASHPID", "EPOCHSECONDS":
		return value{text: "1", late: true}, true
	}
	if v, ok := w.positional(name); ok {
		return v, true
	}
	return value{late: true}, false
}

// positional returns $1, $@ and $*. Those of the script itself come from
// whoever asked for the run, not from the script.
func (w *walker) positional(name string) (value, bool) {
	if name == "@" || name == "*" {
		if w.sc.args == nil {
			return value{late: true}, true
		}
		var out value
		for i, v := range w.sc.args {
			if i > 0 {
				out.text += " "
			}
			out.text += v.text
			out.late, out.loose = out.late || v.late, out.loose || v.loose
		}
		return out, true
	}
	if strings.Trim(name, "0123456789") != "" || len(name) > 3 {
		return value{}, false
	}
	if w.sc.args == nil {
		return value{late: true}, true
	}
	n := 0
	for _, c := range name {
		n = n*10 + int(c-'0')
	}
	if n >= 1 && n <= len(w.sc.args) {
		return w.sc.args[n-1], true
	}
	return value{}, true
}

// indirect is ${!x}: the value of the variable that x names.
func (w *walker) indirect(part *syntax.ParamExp, v value) value {
	w.evaluated(v.text, "${!"+part.Param.Value+"}")
	if part.Index != nil {
		return value{text: "1", late: true} // ${!a[@]}, the indices
	}
	if v.late || part.Exp != nil {
		return anything
	}
	target, _ := w.lookup(v.text)
	return target
}

// operator is ${x:-w}, ${x#w}, ${x@Q} and the like.
func (w *walker) operator(part *syntax.ParamExp, name string, v value, known bool) value {
	arg := w.one(part.Exp.Word)
	switch part.Exp.Op {
	case syntax.DefaultUnset, syntax.DefaultUnsetOrNull, syntax.AssignUnset, syntax.AssignUnsetOrNull:
		if !known || !v.late && v.text == "" {
			if part.Exp.Op == syntax.AssignUnset || part.Exp.Op == syntax.AssignUnsetOrNull {
				w.set(name, arg)
			}
			return value{arg.text, true, arg.loose}
		}
		if v.late && !v.loose && harmless(v) {
			return value{arg.text, true, arg.loose} // it may be empty, and the default is no safer
		}
		return v
	case syntax.AlternateUnset, syntax.AlternateUnsetOrNull:
		switch {
		case !known, !v.late && v.text == "" && part.Exp.Op == syntax.AlternateUnsetOrNull:
			return value{late: true}
		case v.late && harmless(v):
			return anything // there or not, who knows
		}
		return value{arg.text, true, arg.loose || v.loose}
	case syntax.ErrorUnset, syntax.ErrorUnsetOrNull:
		return v
	case syntax.OtherParamOps:
		if w.p.manner.strict && strings.Contains(arg.text, "P") {
			w.refuse(nil, refusal("${x@P}", "prompt expansion runs the substitutions inside the value", "use $"+name+" as it is"))
		}
		return anything
	}
	if arg.late {
		return anything
	}
	return w.compute(part, v)
}

// compute works out an operator on a value that is known. Where it is not,
// cutting and replacing can turn any value into any other.
func (w *walker) compute(part *syntax.ParamExp, v value) value {
	if len(v.text) > 4096 || v.loose || part.Index != nil {
		return anything
	}
	if v.late && v.text == "" || v.late && v.text == insideName {
		return value{text: v.text, late: true}
	}
	cp := *part
	env := oneVariable{part.Param.Value, v.text}
	out, err := expand.Literal(&expand.Config{Env: env}, &syntax.Word{Parts: []syntax.WordPart{&cp}})
	if err != nil || len(out) > 4096 {
		return anything
	}
	return value{text: out, late: v.late}
}

// oneVariable is an environment with a single variable.
type oneVariable struct{ name, text string }

func (e oneVariable) Get(name string) expand.Variable {
	if name == e.name {
		return expand.Variable{Set: true, Kind: expand.String, Str: e.text}
	}
	return expand.Variable{}
}

func (e oneVariable) Each(fn func(string, expand.Variable) bool) { fn(e.name, e.Get(e.name)) }

// arithm judges what is nested in an arithmetic expression. The shell also
// evaluates the values of the variables it names, subscripts and all.
func (w *walker) arithm(x syntax.ArithmExpr) {
	if x == nil {
		return
	}
	syntax.Walk(x, func(n syntax.Node) bool {
		word, ok := n.(*syntax.Word)
		if !ok {
			return true
		}
		if name := word.Lit(); name != "" {
			if v, ok := w.sc.vars[name]; ok {
				w.evaluated(v.text, "arithmetic")
			}
			return false
		}
		w.evaluated(w.one(word).text, "arithmetic")
		return false
	})
}

func (w *walker) subscript(x syntax.ArithmExpr, v value) {
	if x == nil {
		return
	}
	w.arithm(x)
	w.evaluated(v.text, "subscript")
}

// evaluated refuses text that the shell is about to evaluate when evaluating
// it would run something: 'a[$(touch x)]' as a name or a number.
func (w *walker) evaluated(text, where string) {
	if w.p.manner.strict && runsWhenEvaluated(text) {
		w.refuse(nil, refusal(where, "evaluating "+text+" runs the command inside it", "use plain names and numbers"))
	}
}

func runsWhenEvaluated(text string) bool {
	return strings.Contains(text, "$(") || strings.Contains(text, "`") || strings.Contains(text, "${")
}
