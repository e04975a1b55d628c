package policy

import (
	"errors"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// A value is a text as far as it is known before the script runs.
type value struct {
	text  string // the known parts; the others count as empty
	late  bool   // some part is only known at run time
	loose bool   // that part may be anything, such as a path outside the root
}

// Values that are only known at run time.
var (
	anything   = value{late: true, loose: true}
	someNumber = value{text: "1", late: true}
	someName   = value{text: insideName, late: true} // of a file inside the root
)

// isPlainParam reports whether part is a plain $x or ${x}.
func isPlainParam(part *syntax.ParamExp) bool {
	return !part.Excl && !part.Length && !part.Width && !part.IsSet && part.Index == nil && part.Slice == nil &&
		part.Repl == nil && part.Names == 0 && part.Exp == nil && part.NestedParam == nil && part.Flags == nil
}

// param returns the value of a parameter expansion and judges what is nested in it.
func (w *walker) param(part *syntax.ParamExp) value {
	if part.Param == nil {
		return anything
	}
	w.cost.spend(costParam)
	name := part.Param.Value
	v, known := w.lookup(name)
	if isPlainParam(part) {
		return v
	}
	if name == "!" {
		v = anything // ${!:-1} need not be a job's number
	}
	w.judgeParamSubscript(name, part.Index, v)
	switch {
	case part.Names != 0, part.Length:
		return someNumber
	case part.Excl:
		return w.indirect(part, v)
	case part.Slice != nil:
		w.arithm(part.Slice.Offset)
		w.arithm(part.Slice.Length)
	case part.Repl != nil:
		w.expandUnsplit(part.Repl.Orig)
		if with := w.expandUnsplit(part.Repl.With); with.late {
			return anything
		}
	case part.Exp != nil:
		return w.operator(part, name, v, known)
	case part.Index != nil:
		return anything
	}
	return w.applyOperator(part, v)
}

// lookup returns the value of a variable. An unset variable is empty, since scripts start with a clean
// environment.
func (w *walker) lookup(name string) (value, bool) {
	if setByShell(name) {
		return anything, true
	}
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
		return someName, true
	case "IFS":
		return value{text: " \t\n"}, true // cat x${IFS}../y has three words
	case "OLDPWD", "PATH", "SHELL", "0", "REPLY", "TMPDIR", "OPTARG", "HOSTNAME", "HOSTTYPE", "MACHTYPE", "OSTYPE",
		"MAPFILE", "COPROC":
		return anything, true
	case "!":
		return value{text: ownJob, late: true}, true
	case "?", "#", "$", "RANDOM", "SECONDS", "LINENO", "UID", "EUID", "PPID", "BASHPID", "EPOCHSECONDS":
		return someNumber, true
	}
	if v, ok := w.positional(name); ok {
		return v, true
	}
	return value{late: true}, false
}

// setByShell reports whether the shell sets a variable on its own: [[ ../x =~ .* ]] fills BASH_REMATCH.
func setByShell(name string) bool {
	switch name {
	case "_", "DIRSTACK", "FUNCNAME", "GROUPS", "-":
		return true
	}
	return strings.HasPrefix(name, "BASH") && name != "BASHPID" || strings.HasPrefix(name, "COMP_") ||
		strings.HasPrefix(name, "READLINE_")
}

// positional returns $1, $@ and $*. Those of the script itself come from the caller, who is trusted with them.
func (w *walker) positional(name string) (value, bool) {
	if name == "@" || name == "*" {
		if w.sc.args == nil {
			return value{late: true}, true
		}
		v := joinValues(w.sc.args)
		w.cost.spend(costWord*len(w.sc.args) + len(v.text))
		return v, true
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
	if k := len(w.sc.args); k > 0 && w.sc.args[k-1] == anything {
		return anything, true // how many there are is not known either
	}
	return value{}, true
}

// maxValue bounds the text of a tracked value.
const maxValue = 64 << 10

// joinValues returns "$*".
func joinValues(args []value) value {
	var out value
	var text strings.Builder
	for i, v := range args {
		if i > 0 {
			text.WriteByte(' ')
		}
		text.WriteString(v.text)
		out.late, out.loose = out.late || v.late, out.loose || v.loose
		if text.Len() > maxValue {
			return anything
		}
	}
	out.text = text.String()
	return out
}

// indirect returns ${!x}.
func (w *walker) indirect(part *syntax.ParamExp, v value) value {
	if part.Index != nil {
		w.refuseEvaluatedText(v.text, "${!"+part.Param.Value+"}")
		return someNumber // ${!a[@]}, the indices
	}
	w.evaluate(v, "${!"+part.Param.Value+"}", 0)
	if v.late || part.Exp != nil {
		return anything
	}
	target, _ := w.lookup(v.text)
	return target
}

// operator returns ${x:-w}, ${x#w}, ${x@Q} and the like.
func (w *walker) operator(part *syntax.ParamExp, name string, v value, known bool) value {
	arg := w.expandUnsplit(part.Exp.Word)
	switch part.Exp.Op {
	case syntax.DefaultUnset, syntax.DefaultUnsetOrNull, syntax.AssignUnset, syntax.AssignUnsetOrNull:
		if !known || !v.late && v.text == "" {
			if part.Exp.Op == syntax.AssignUnset || part.Exp.Op == syntax.AssignUnsetOrNull {
				w.setChecked(name, arg)
			}
			return value{arg.text, true, arg.loose}
		}
		if v.late && !v.loose && isNumberOrName(v) {
			return value{arg.text, true, arg.loose} // it may be empty, and the default is no safer
		}
		return v
	case syntax.AlternateUnset, syntax.AlternateUnsetOrNull:
		switch {
		case !known, !v.late && v.text == "" && part.Exp.Op == syntax.AlternateUnsetOrNull:
			return value{late: true}
		case v.late && isNumberOrName(v):
			return anything // there or not, who knows
		}
		return value{arg.text, true, arg.loose || v.loose}
	case syntax.ErrorUnset, syntax.ErrorUnsetOrNull:
		return v
	case syntax.OtherParamOps:
		if (w.p.checks.strict || w.p.checks.opaque) && strings.Contains(arg.text, "P") {
			w.refuse(nil, refusal("${x@P}", "prompt expansion runs the substitutions inside the value",
				"use $"+name+" as it is"))
		}
		return anything
	}
	if arg.late {
		return anything
	}
	return w.applyOperator(part, v)
}

// applyOperator applies an operator to a known value. Cutting and replacing can turn an unknown value into any
// other.
func (w *walker) applyOperator(part *syntax.ParamExp, v value) value {
	if len(v.text) > 4096 || v.loose || part.Index != nil || sizeOf(part) > maxOperator {
		return anything
	}
	w.cost.spend(costMatch * (costWord + (1+len(v.text))*sizeOf(part)/4))
	if v.late && v.text == "" || v.late && v.text == insideName {
		return value{text: v.text, late: true}
	}
	out, err := expandOperator(part, v.text)
	if err != nil || len(out) > 4096 {
		return anything
	}
	return value{text: out, late: v.late}
}

// maxOperator bounds the source of an operator that is applied: a pattern may multiply the text, or take
// quadratic time.
const maxOperator = 512

// expandOperator applies an operator. The library panics on patterns that it cannot compile.
func expandOperator(part *syntax.ParamExp, text string) (out string, err error) {
	defer func() {
		if thrown := recover(); thrown != nil {
			err = errNotWorked
		}
	}()
	cp := *part
	env := oneVariable{part.Param.Value, text}
	return expand.Literal(&expand.Config{Env: env}, &syntax.Word{Parts: []syntax.WordPart{&cp}})
}

var errNotWorked = errors.New("the operator cannot be worked out")

// oneVariable is an environment with a single variable.
type oneVariable struct{ name, text string }

func (e oneVariable) Get(name string) expand.Variable {
	if name == e.name {
		return expand.Variable{Set: true, Kind: expand.String, Str: e.text}
	}
	return expand.Variable{}
}

func (e oneVariable) Each(fn func(string, expand.Variable) bool) { fn(e.name, e.Get(e.name)) }
