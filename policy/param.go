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
	w.cost.spend(costParam)
	name := part.Param.Value
	v, known := w.lookup(name)
	if bare(part) {
		return v
	}
	if name == "!" {
		v = anything // ${!:-1} need not be a job's number
	}
	w.subscript(name, part.Index, v)
	switch {
	case part.Names != 0, part.Length:
		return someNumber
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

// setByShell knows the variables that the shell changes on its own, whatever
// the script put there: [[ ../x =~ .* ]] fills BASH_REMATCH.
func setByShell(name string) bool {
	switch name {
	case "_", "DIRSTACK", "FUNCNAME", "GROUPS", "-":
		return true
	}
	return strings.HasPrefix(name, "BASH") && name != "BASHPID" || strings.HasPrefix(name, "COMP_") ||
		strings.HasPrefix(name, "READLINE_")
}

// positional returns $1, $@ and $*. Those of the script itself come from
// whoever asked for the run, not from the script.
func (w *walker) positional(name string) (value, bool) {
	if name == "@" || name == "*" {
		if w.sc.args == nil {
			return value{late: true}, true
		}
		v := joined(w.sc.args)
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

// maxValue bounds the text of a value that is kept.
const maxValue = 64 << 10

// joined is "$*".
func joined(args []value) value {
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

// indirect is ${!x}: the value of the variable that x names.
func (w *walker) indirect(part *syntax.ParamExp, v value) value {
	if part.Index != nil {
		w.evaluated(v.text, "${!"+part.Param.Value+"}")
		return someNumber // ${!a[@]}, the indices
	}
	w.evaluates(v, "${!"+part.Param.Value+"}", 0)
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
				w.sets(name, arg)
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
		if (w.p.checks.strict || w.p.checks.opaque) && strings.Contains(arg.text, "P") {
			w.refuse(nil, refusal("${x@P}", "prompt expansion runs the substitutions inside the value",
				"use $"+name+" as it is"))
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
	if len(v.text) > 4096 || v.loose || part.Index != nil || sizeOf(part) > maxOperator {
		return anything
	}
	w.cost.spend(costMatch * (costWord + (1+len(v.text))*sizeOf(part)/4))
	if v.late && v.text == "" || v.late && v.text == insideName {
		return value{text: v.text, late: true}
	}
	out, err := worked(part, v.text)
	if err != nil || len(out) > 4096 {
		return anything
	}
	return value{text: out, late: v.late}
}

// maxOperator bounds the source of an operator that is worked out: a pattern in
// it may make the text many times as long, or take its square in time.
const maxOperator = 512

// worked works out an operator. The library panics at patterns that it cannot
// compile.
func worked(part *syntax.ParamExp, text string) (out string, err error) {
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

// arithm judges what is nested in an arithmetic expression. The shell also
// evaluates the values of the variables it names, subscripts and all.
func (w *walker) arithm(x syntax.ArithmExpr) {
	if x == nil {
		return
	}
	w.cost.source(x)
	syntax.Walk(x, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.BinaryArithm:
			if isAssignment(n.Op) {
				w.arithmTarget(n.X)
			}
		case *syntax.UnaryArithm:
			if n.Op == syntax.Inc || n.Op == syntax.Dec {
				w.arithmTarget(n.X)
			}
		}
		word, ok := n.(*syntax.Word)
		if !ok {
			return true
		}
		if name := word.Lit(); name != "" {
			w.evaluatesText(name, "arithmetic", 0)
			return false
		}
		if name, index := element(word); name != "" {
			w.subscriptOf(name, index)
			w.evaluatesElements(name)
			return false
		}
		v := w.one(word)
		w.cost.source(word)
		v.loose = v.loose || v.late && v.text == "" && substitutes(word)
		w.evaluates(v, "arithmetic", 0)
		return false
	})
}

// substitutes reports whether a word holds the output of a command.
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

// element takes a[i] apart, as arithmetic spells it.
func element(word *syntax.Word) (string, syntax.ArithmExpr) {
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

// evaluatesElements judges the values that a[i] may evaluate.
func (w *walker) evaluatesElements(name string) {
	all, ok := w.sc.arrays[name]
	if !ok || all == nil {
		if v, set := w.sc.vars[name]; set {
			w.evaluates(v, "arithmetic", 0)
		}
		return
	}
	w.cost.spend(costWord * len(all))
	for _, v := range all {
		w.evaluates(v, "arithmetic", 0)
	}
}

// subscriptOf judges a subscript: text for an array declared with -A,
// arithmetic for all others.
func (w *walker) subscriptOf(name string, x syntax.ArithmExpr) {
	if !w.assoc[name] {
		w.arithm(x)
		return
	}
	syntax.Walk(x, func(n syntax.Node) bool {
		if word, ok := n.(*syntax.Word); ok {
			w.evaluated(w.one(word).text, "subscript")
			return false
		}
		return true
	})
}

// arithmTarget judges the name that ((PATH=1)) sets. One that an expansion
// spells is only known at run time.
func (w *walker) arithmTarget(x syntax.ArithmExpr) {
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

func (w *walker) subscript(name string, x syntax.ArithmExpr, v value) {
	if x == nil {
		return
	}
	w.subscriptOf(name, x)
	w.evaluated(v.text, "subscript")
}

// evaluated refuses text that the shell is about to evaluate when evaluating
// it would run something: 'a[$(touch x)]' as a name or a number.
func (w *walker) evaluated(text, where string) {
	if (w.p.checks.strict || w.p.checks.opaque) && runsWhenEvaluated(text) {
		w.refuse(nil, refusal(where, "evaluating "+shown(text)+" runs the command inside it", "use plain names and numbers"))
	}
}

// maxNames bounds how long a chain of names is that stand for one another.
const maxNames = 8

// shown is a text for a message, cut short where it is long.
func shown(text string) string {
	const most = 120
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}

// evaluates judges a value that the shell takes for arithmetic or for a name.
// A value nobody has seen may be 'a[$(touch x)]', and so may a file's name.
func (w *walker) evaluates(v value, where string, depth int) {
	if !w.p.checks.strict {
		if w.p.checks.opaque {
			w.evaluatesText(v.text, where, depth) // what is known of it
		}
		return
	}
	if v.loose || v.late && v.text == insideName || depth > maxNames {
		w.refuse(nil, refusal(where,
			"the shell would evaluate a value that is only known at run time, and run a command inside it",
			"compare with [ … ] instead, or take the number from wc, grep -c or seq"))
		return
	}
	w.evaluatesText(v.text, where, depth)
}

// evaluatesText follows the names in a text that the shell evaluates: with
// X='a[$(touch x)]' and Y=X, ((Y)) runs touch.
//
// A name is followed once, however often it comes up: its value is the same.
func (w *walker) evaluatesText(text, where string, depth int) {
	w.cost.spend(costParam + costText*len(text))
	w.evaluated(text, where)
	sets := strings.Contains(text, "=") || strings.Contains(text, "++") || strings.Contains(text, "--")
	for _, name := range strings.FieldsFunc(text, func(r rune) bool { return r < 0x80 && !isNameByte(byte(r)) }) {
		if !isName(name) {
			continue
		}
		if f := judgeVariable(name, false); f != nil && sets && w.p.checks.strict {
			w.refuse(nil, f)
		}
		w.follow(name, where, depth)
	}
}

// follow evaluates what a name stands for.
func (w *walker) follow(name, where string, depth int) {
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
	w.evaluates(v, where, depth+1)
	w.followed[name] = false
	if depth == 0 {
		w.followed = nil // what comes next may set the names anew
	}
}

func runsWhenEvaluated(text string) bool {
	return strings.Contains(text, "$(") || strings.Contains(text, "`") || strings.Contains(text, "${")
}
