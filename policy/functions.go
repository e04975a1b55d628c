package policy

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// callFunction walks the body of a function with the arguments of a call.
func (w *walker) callFunction(f *fn, words []word) {
	f.called = true
	w.cost.spend(costStmt + costSource*len(w.stack))
	if w.jobs > 0 && slices.Contains(w.stack, f) {
		w.refuse(words, refusal("background &", "a function that starts itself in the background never stops", "use a loop"))
		return
	}
	args := w.positionalArgs(words[1:])
	deep := len(w.stack) >= 8
	if deep && allNumbers(args) {
		if f.counts {
			return
		}
		f.counts = true
	} else if deep || !w.charge(f.body, 1) || !w.chargeArgs(args) {
		if f.worst {
			return
		}
		f.worst = true
		args = unknownArgs()
	}
	saved := w.sc.args
	w.sc.args = args
	w.stack = append(w.stack, f)
	locals := w.locals
	w.locals = make(map[string]localName)
	w.stmt(f.body)
	w.restoreLocals(f.body)
	w.locals = locals
	w.stack = w.stack[:len(w.stack)-1]
	w.sc.args = saved
	w.ok = nil
}

// positionalArgs returns words as positional parameters.
func (w *walker) positionalArgs(words []word) []value {
	w.cost.spend(costWord * len(words))
	args := make([]value, len(words))
	for i, a := range words {
		if a.splits && w.p.checks.opaque {
			return unknownArgs() // f $x: the number of words is unknown
		}
		args[i] = a.value
	}
	return args
}

// A localName is the value of a variable before it was made local.
type localName struct {
	before value
	set    bool
}

// saveLocal saves the value of a name that local or declare hides until the function returns.
func (w *walker) saveLocal(name string) {
	if _, known := w.locals[name]; known || w.locals == nil {
		return
	}
	v, ok := w.sc.vars[name]
	w.locals[name] = localName{v, ok}
}

// restoreLocals restores the values of local names when a function returns. A declaration that may not have run
// makes the value unknown.
func (w *walker) restoreLocals(body *syntax.Stmt) {
	if len(w.locals) == 0 {
		return
	}
	sure := alwaysLocal(body)
	for name, l := range w.locals {
		switch now, ok := w.sc.vars[name]; {
		case ok == l.set && now == l.before:
		case !sure[name]:
			w.assignValue(name, anything)
		case l.set:
			w.assignValue(name, l.before)
		default:
			w.sc.copyMaps()
			delete(w.sc.vars, name)
			delete(w.sc.arrays, name)
		}
	}
}

// alwaysLocal returns the names that a function body declares unconditionally.
func alwaysLocal(body *syntax.Stmt) map[string]bool {
	out := make(map[string]bool)
	block, ok := body.Cmd.(*syntax.Block)
	if !ok {
		return out
	}
	for _, s := range block.Stmts {
		if d, ok := s.Cmd.(*syntax.DeclClause); ok && len(s.Redirs) == 0 {
			for _, a := range d.Args {
				if a.Name != nil {
					out[a.Name.Value] = true
				}
			}
		}
	}
	return out
}

// allNumbers recognizes the arguments of a counting recursion: fact $(($1-1)).
func allNumbers(args []value) bool {
	for _, v := range args {
		if v.loose || v.text == "" || strings.Trim(v.text, "0123456789") != "" {
			return false
		}
	}
	return true
}

// unknownArgs returns unknown positional parameters.
func unknownArgs() []value {
	args := make([]value, 9)
	for i := range args {
		args[i] = anything
	}
	return args
}

// chargeArgs bounds the arguments of calls: functions that double "$@" and call one another would make millions
// of words.
func (w *walker) chargeArgs(args []value) bool {
	cost := 16 * len(args)
	for _, v := range args {
		cost += len(v.text)
	}
	if len(args) > 1024 || w.unfolded+cost > maxUnfolded {
		return false
	}
	w.unfolded += cost
	return true
}

func (w *walker) defineFunction(cmd *syntax.FuncDecl) {
	if cmd.Name == nil {
		w.refuse(nil, refusal("function", "the function has no name", "write name() { … }"))
		return
	}
	if len(w.sc.funcs) >= maxTracked && w.p.checks.strict {
		w.refuse(nil, refusal("function", "there are too many functions to follow", "split the script"))
		return
	}
	f := &fn{body: cmd.Body}
	w.sc.copyMaps()
	if w.sc.funcs == nil {
		w.sc.funcs = make(map[string]*fn)
	}
	w.sc.funcs[cmd.Name.Value] = f
	w.declared = append(w.declared, f)
}

// walkUncalled walks the functions that were not called: a later script may call them.
func (w *walker) walkUncalled() {
	for i := 0; i < len(w.declared); i++ {
		if f := w.declared[i]; !f.called {
			f.called = true
			w.sc.args = nil
			w.stmt(f.body)
		}
	}
}

// A fn is a function of the script.
type fn struct {
	body   *syntax.Stmt
	maybe  bool // defined on some paths only
	called bool
	worst  bool // walked with unknown arguments, there is nothing worse to find
	counts bool // walked with numbers that are not known
}
