package policy

import (
	"path"
	"strconv"
	"strings"
)

// effects notes what a builtin changes for the commands after it.
func (w *walker) effects(words []word) {
	args := words[1:]
	switch words[0].text {
	case "command", "builtin":
		for len(args) > 0 && inList(" command builtin ", args[0].text) {
			args = args[1:]
		}
		if len(args) > 0 && !strings.HasPrefix(args[0].text, "-") {
			w.effects(args)
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

// declareQuoted notes what "declare" and its kin do when quotes hide them from
// the parser.
func (w *walker) declareQuoted(builtin string, args []word) {
	for _, a := range args {
		w.cost.spend(costWord + costSource*len(args))
		name, text, ok := strings.Cut(a.text, "=")
		name = strings.TrimSuffix(name, "+")
		if !isName(name) {
			continue
		}
		if builtin != "export" && builtin != "readonly" {
			w.noteLocal(name)
		}
		v := value{text, a.late, a.loose}
		if hasLetter(args, "i") {
			w.mark(&w.ints, name)
			w.evaluates(v, builtin+" -i", 0)
		}
		if ok {
			w.zone(name, v)
			w.set(name, v)
		}
		if builtin == "readonly" || hasLetter(args, "r") {
			w.mark(&w.fixed, name)
		}
	}
}

// unset forgets variables and functions. A function that may be gone leaves
// the program of its name to be judged.
func (w *walker) unset(args []word) {
	for _, a := range args {
		w.cost.spend(costEntry * (2 + len(w.sc.funcs)))
		if a.late {
			w.sc.forget()
		}
		w.put(a.text, value{late: true})
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

// readInto gives the variables of read and mapfile what is known about the
// text they read.
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
	w.sc.args = w.argsOf(args)
}

// afterSwitches skips the switches of set: set -f -- a b sets $1 and $2. It
// reports whether the arguments change.
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

// output says what is known about a command's standard output.
func (w *walker) output(words []word) pipeInput {
	w.cost.spend(costWord + costSource*len(words))
	unknown := unknownInput
	args := words[1:]
	switch words[0].text {
	case "true", "false", ":", "test", "[":
		return pipeInput{kind: inputKnown}
	case "cd":
		if len(args) == 1 && !args[0].late && args[0].text != "-" {
			return pipeInput{kind: inputKnown}
		}
	case "echo":
		return echoed(args)
	case "printf":
		return printed(args)
	case "pwd":
		if len(w.sc.dirs) == 1 {
			return pipeInput{kind: inputKnown, text: w.sc.dirs[0]}
		}
		return pipeInput{kind: inputConfined, sure: true}
	case "find":
		if !hasAny(args, "-printf", "-exec", "-fprintf", "-execdir", "-ls") && w.staysInside(args) {
			out := w.names(args)
			out.dashes = false // the names it finds begin with where it started
			c := w.newCommand(words)
			out.git = c.searched(args).shown
			return out
		}
	case "stat", "jq", "expr", "awk", "git", "seq":
		if printsNumber(words[0].text, args) && w.staysInside(args) {
			return pipeInput{kind: inputConfined, sure: true, number: true}
		}
	}
	switch words[0].text {
	case "ls", "fd", "du", "stat", "sha256sum", "md5sum":
		if w.staysInside(args) && onlyNames(words[0].text, args) {
			out := w.names(args)
			if inList(" ls fd ", words[0].text) {
				c := w.newCommand(words)
				out.git = c.shows(words[0].text, args)
			}
			return out
		}
	case "wc", "nproc", "id":
		if w.staysInside(args) {
			return pipeInput{kind: inputConfined, sure: true, number: operands(args) == 0 &&
				(words[0].text != "id" || hasAny(args, "-u", "-g"))}
		}
	case "tr":
		if w.sc.input.number && hasAny(args, "-d") {
			return w.sc.input
		}
	case "date":
		if w.staysInside(args) {
			return pipeInput{kind: inputConfined, sure: true, number: len(args) == 1 && strings.HasPrefix(args[0].text, "+%") &&
				strings.Trim(args[0].text[1:], "%sYmdHMSNj") == ""}
		}
	case "mktemp":
		if name := madeTemp(args); w.p.checks.opaque && name != "" {
			return pipeInput{kind: inputKnown, text: name}
		}
		if w.staysInside(args) {
			return pipeInput{kind: inputConfined, sure: true}
		}
	case "seq", "basename", "uname", "whoami", "realpath":
		if w.staysInside(args) {
			return pipeInput{kind: inputConfined, sure: true}
		}
	case "dirname":
		if w.staysInside(args) && w.staysInside(parents(args)) {
			return pipeInput{kind: inputConfined, sure: true}
		}
	case "expr":
		for _, a := range args {
			if a.late && a.text != "1" || strings.ContainsAny(a.text, "/.") {
				return unknown
			}
		}
		return confinedInput
	case "git":
		if w.staysInside(args) {
			return w.gitOutput(args)
		}
	case "go":
		if len(args) > 0 && args[0].text == "list" && plainPackages(args[1:]) && w.staysInside(args) {
			return confinedInput
		}
	case "rg", "grep":
		out := w.grepOutput(args)
		if out.kind == inputConfined && out.git == "" && !out.number {
			c := w.newCommand(words)
			out.git = c.shows(words[0].text, args)
		}
		return out
	case "sort", "uniq", "head", "tail", "tac", "shuf", "cat":
		if words[0].text == "cat" && len(args) == 0 {
			return w.sc.input
		}
		if w.filters(words) && !hasLetter(args, "c") {
			return w.some(w.sc.input)
		}
	case "xargs":
		return w.xargsOutput(args)
	}
	return unknown
}

// names is the output of a program that lists files. A script that made files
// may have made 'a /etc/passwd', which is two names to xargs.
func (w *walker) names(args []word) pipeInput {
	return pipeInput{kind: inputConfined, blanks: w.wrote && !hasAny(args, "-print0", "-z", "--zero", "-0"),
		dashes: w.wrote}
}

// onlyNames reports whether a listing shows names and numbers alone: --time-style
// and --printf print what they are given, and ls -l shows where links lead.
func onlyNames(name string, args []word) bool {
	for _, a := range args {
		switch t := a.text; {
		case name == "ls" && strings.HasPrefix(t, "--"):
			key, _, _ := strings.Cut(t[2:], "=")
			if !inList(" all almost-all directory recursive reverse sort time zero group-directories-first color ", key) &&
				t != "--" {
				return false
			}
		case name == "ls" && len(t) > 1 && t[0] == '-' && strings.Trim(t[1:], "1aArRtSdUhcuXvp") != "":
			return false
		case name == "stat" && (strings.Contains(t, "\\") || strings.Contains(t, "%N") || strings.Contains(t, "%m")):
			return false
		}
	}
	return true
}

// ownFormat reports whether an option makes git print a text of its own.
func ownFormat(args []word) bool {
	for _, a := range args {
		key, text, _ := strings.Cut(a.text, "=")
		switch key {
		case "--line-prefix", "--src-prefix", "--dst-prefix", "--prefix", "--output-indicator-new":
			return true
		case "--format", "--pretty":
			if text != "" && text != "format:" || a.text == key {
				return true
			}
		}
	}
	return false
}

// madeTemp is a name such as mktemp makes, or "": it begins with a slash, so that
// rm "$(mktemp)" gets no option.
func madeTemp(args []word) string {
	name := "/tmp/tmp.x"
	for _, a := range args {
		switch {
		case a.late:
			return ""
		case strings.HasPrefix(a.text, "/"):
			name = a.text
		case !inList(" -d -q --directory --quiet ", a.text):
			return ""
		}
	}
	return name
}

// parents are the directories of absolute paths: that of the root is outside.
func parents(args []word) (all []word) {
	for _, a := range args {
		if path.IsAbs(a.text) {
			all = append(all, word{value: value{path.Dir(a.text), a.late, a.loose}})
		}
	}
	return all
}

// some is what is known about a part of a text, when which part is not.
func (w *walker) some(f pipeInput) pipeInput {
	if f.kind != inputKnown {
		return f
	}
	w.cost.spend(2 * costText * len(f.text))
	var items []word
	for _, s := range strings.Fields(f.text) {
		items = append(items, literal(s))
	}
	if w.common(items).loose {
		return unknownInput
	}
	return confinedInput
}

// staysInside reports whether no argument can put a path outside the root into the
// output: date +/etc/passwd prints just that.
func (w *walker) staysInside(args []word) bool {
	c := w.newCommand(nil)
	for _, a := range args {
		t := strings.TrimLeft(a.text, "+")
		if i := strings.IndexByte(t, '='); i >= 0 && strings.HasPrefix(t, "-") {
			t = t[i+1:]
		}
		if a.loose || c.path(literal(t)) != nil || goesUp(t) {
			return false
		}
		if strings.Contains(t, "/") && (strings.ContainsAny(t, " \t\n\\") || strings.Contains(t, "%n") ||
			strings.Contains(t, "%t")) {
			return false
		}
	}
	return true
}

// hasLetter reports whether a cluster of short options holds one of letters.
func hasLetter(args []word, letters string) bool {
	for _, a := range args {
		if len(a.text) > 1 && a.text[0] == '-' && (a.text[1] == '-' || strings.ContainsAny(a.text, letters)) {
			return true
		}
	}
	return false
}

// filters reports whether a program is given no file: in sort -u 5, 5 is one.
func (w *walker) filters(words []word) bool {
	c := w.newCommand(words)
	a, f := c.parseArgs(w.p.known(words[0].text), words[1:])
	if f != nil || len(a.operands) > 0 {
		return false
	}
	_, cut := a.get("-s", "--separator")
	return !cut || words[0].text != "tac"
}

// xargsOutput knows xargs grep -l and xargs ls.
func (w *walker) xargsOutput(args []word) pipeInput {
	for len(args) > 0 && strings.HasPrefix(args[0].text, "-") {
		args = args[1:]
	}
	if len(args) > 0 {
		switch args[0].text {
		case "ls":
			return pipeInput{kind: inputConfined, git: w.sc.input.git}
		case "grep", "rg":
			if hasLetter(args[1:], "l") {
				out := w.grepOutput(args[1:])
				out.git = w.sc.input.git
				return out
			}
		}
	}
	return unknownInput
}

// grepOutput knows that grep passes lines on, or names files it was given.
func (w *walker) grepOutput(args []word) pipeInput {
	for _, a := range args {
		if strings.HasPrefix(a.text, "--label") {
			return unknownInput // what it prints instead of a name
		}
	}
	for _, a := range args {
		t := a.text
		if t == "--files" || t == "--files-with-matches" || t == "--count" || t == "-c" ||
			len(t) > 1 && t[0] == '-' && t[1] != '-' && strings.ContainsAny(t, "lL") && !strings.ContainsAny(t, "ef") {
			return pipeInput{kind: inputConfined, number: (t == "-c" || t == "--count") && operands(args) <= 2 &&
				!hasLetter(args, "rRHlL")}
		}
	}
	if operands(args) <= 1 && !hasLetter(args, "orRhn") {
		out := w.some(w.sc.input)
		out.git = w.cost.sifted(out.git, args)
		return out
	}
	return unknownInput
}

func (w *walker) gitOutput(args []word) pipeInput {
	if len(args) > 0 && !ownFormat(args) {
		switch args[0].text {
		case "rev-parse", "rev-list", "merge-base", "describe":
			return pipeInput{kind: inputConfined, sure: true}
		case "ls-files", "ls-tree":
			return w.names(args)
		case "branch":
			if !hasLetter(args, "v") || hasAny(args, "--show-current") {
				return confinedInput
			}
		case "diff":
			if hasAny(args, "--name-only") {
				return w.names(args)
			}
		case "show", "log": // only without the messages
			if hasAny(args, "--name-only") && hasAny(args, "--format=", "--pretty=", "--pretty=format:") {
				return w.names(args)
			}
		case "grep":
			if hasAny(args, "-l", "--files-with-matches", "--name-only") {
				return confinedInput
			}
		}
	}
	return unknownInput
}

func hasAny(args []word, texts ...string) bool {
	for _, a := range args {
		for _, t := range texts {
			if a.text == t {
				return true
			}
		}
	}
	return false
}

// operands counts the words that are no options; a number after an option
// is taken for its value.
func operands(args []word) int {
	n := 0
	for i, a := range args {
		if len(a.text) > 0 && a.text[0] == '-' {
			continue
		}
		if i > 0 && strings.HasPrefix(args[i-1].text, "-") && strings.Trim(a.text, "+0123456789kMG") == "" {
			continue
		}
		n++
	}
	return n
}
