package policy

import (
	"path"
	"strconv"
	"strings"
)

// applyBuiltin applies what a builtin changes for the commands after it.
func (w *walker) applyBuiltin(words []word) {
	args := words[1:]
	switch words[0].text {
	case "command", "builtin":
		for len(args) > 0 && hasWord(" command builtin ", args[0].text) {
			args = args[1:]
		}
		if len(args) > 0 && !strings.HasPrefix(args[0].text, "-") {
			w.applyBuiltin(args)
		}
	case "cd":
		w.chdir(args)
	case "pushd", "popd":
		w.sc.dirs = union(w.sc.dirs, nil)
		w.ok = nil
	case "read", "mapfile", "readarray":
		w.readInto(args)
	case "printf":
		if name, ok := printfName(args); ok {
			w.set(name.text, anything)
		}
	case "getopts":
		if len(args) > 1 {
			w.set(args[1].text, someName)
			w.set("OPTARG", anything)
		}
	case "unset":
		w.unset(args)
	case "export", "declare", "typeset", "local", "readonly":
		w.declareQuoted(words[0].text, args)
	case "set":
		w.setArgs(args)
	case "shift":
		w.shift(args)
	case "eval", "source", ".":
		w.sc.forget()
	}
}

// declareQuoted applies declare and the like where quotes hide the assignment from the parser.
func (w *walker) declareQuoted(builtin string, args []word) {
	for _, a := range args {
		w.cost.spend(costWord + costSource*len(args))
		name, text, ok := strings.Cut(a.text, "=")
		name = strings.TrimSuffix(name, "+")
		if !isName(name) {
			continue
		}
		if builtin != "export" && builtin != "readonly" {
			w.saveLocal(name)
		}
		v := value{text, a.late, a.loose}
		if hasShortOption(args, "i") {
			w.addTo(&w.ints, name)
			w.evaluate(v, builtin+" -i", 0)
		}
		if ok {
			w.checkZone(name, v)
			w.set(name, v)
		}
		if builtin == "readonly" || hasShortOption(args, "r") {
			w.addTo(&w.fixed, name)
		}
	}
}

// unset removes variables and functions. If a function may be removed, the program of its name is judged, too.
func (w *walker) unset(args []word) {
	for _, a := range args {
		w.cost.spend(costEntry * (2 + len(w.sc.funcs)))
		if a.late {
			w.sc.forget()
		}
		w.assignValue(a.text, value{late: true})
		for name, f := range w.sc.funcs {
			f.maybe = f.maybe || a.late || name == a.text
		}
	}
}

func (w *walker) chdir(args []word) {
	for len(args) > 0 && strings.HasPrefix(args[0].text, "-") && len(args[0].text) > 1 {
		args = args[1:]
	}
	if len(args) != 1 || args[0].late || args[0].text == "-" || w.sc.dirs == nil {
		w.sc.dirs, w.ok = nil, nil
		return
	}
	ok := make([]string, 0, len(w.sc.dirs))
	for _, d := range w.sc.dirs {
		w.cost.spend(costPath + costText*(len(d)+len(args[0].text)))
		if path.IsAbs(args[0].text) {
			d = "/"
		}
		ok = union(ok, []string{path.Join(d, args[0].text)})
	}
	w.sc.dirs, w.ok = union(w.sc.dirs, ok), ok
}

// readInto assigns what is known about the input to the variables of read and mapfile.
func (w *walker) readInto(args []word) {
	w.cost.spend(costSource*len(w.sc.input.text) + costEntry*len(args))
	v := anything
	if w.sc.input.kind == inputConfined {
		v = someName
	}
	if w.sc.input.kind == inputKnown && strings.Trim(w.sc.input.text, "0123456789 \n") == "" {
		v = someNumber
	}
	w.set("REPLY", v)
	w.set("MAPFILE", v)
	for _, a := range args {
		if !strings.HasPrefix(a.text, "-") {
			w.set(a.text, v)
		} else if _, name, ok := strings.Cut(a.text, "a"); ok {
			w.set(name, v) // read -raNAME
		}
	}
}

func (w *walker) setArgs(args []word) {
	args, ok := afterSwitches(args)
	if !ok {
		return
	}
	w.sc.args = w.positionalArgs(args)
}

// afterSwitches skips the options of set, and reports whether there are arguments: set -f -- a b sets $1 and $2.
func afterSwitches(args []word) ([]word, bool) {
	for len(args) > 0 {
		t := args[0].text
		switch {
		case t == "--" || t == "-":
			return args[1:], true
		case !args[0].late && (t == "-o" || t == "+o") && len(args) > 1:
			args = args[2:]
		case len(t) > 1 && (t[0] == '-' || t[0] == '+'):
			args = args[1:]
		default:
			return args, true
		}
	}
	return nil, false
}

func (w *walker) shift(args []word) {
	n := 1
	if len(args) > 0 {
		n, _ = strconv.Atoi(args[0].text)
	}
	if w.sc.args != nil && n >= 0 {
		w.sc.args = w.sc.args[min(n, len(w.sc.args)):]
	}
}
