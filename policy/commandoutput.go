package policy

import (
	"path"
	"slices"
	"strings"

	"hako/internal/lazyregexp"
)

// outputOf returns what is known about the standard output of a command.
func (w *walker) outputOf(words []word) pipeInput {
	w.cost.spend(costWord + costSource*len(words))
	name, args := words[0].text, words[1:]
	switch name {
	case "true", "false", ":", "test", "[":
		return pipeInput{kind: inputKnown}
	case "cd":
		if len(args) == 1 && !args[0].late && args[0].text != "-" {
			return pipeInput{kind: inputKnown}
		}
	case "echo":
		return echoOutput(args)
	case "printf":
		return printfOutput(args)
	case "pwd":
		if len(w.sc.dirs) == 1 {
			return pipeInput{kind: inputKnown, text: w.sc.dirs[0]}
		}
		return pipeInput{kind: inputConfined, sure: true}
	case "expr":
		return w.exprOutput(args)
	case "mktemp":
		if name := mktempOutput(args); w.p.checks.opaque && name != "" {
			return pipeInput{kind: inputKnown, text: name}
		}
	case "tr":
		if w.sc.input.number && hasAny(args, "-d") {
			return w.sc.input
		}
	case "rg", "grep":
		out := w.grepOutput(args)
		if out.kind == inputConfined && out.git == "" && !out.number {
			c := w.newCommand(words)
			out.git = c.listedGit(name, args)
		}
		return out
	case "sort", "uniq", "head", "tail", "tac", "shuf", "cat":
		if name == "cat" && len(args) == 0 {
			return w.sc.input
		}
		if w.readsNoFile(words) && !hasShortOption(args, "c") {
			return w.someLines(w.sc.input)
		}
	case "xargs":
		return w.xargsOutput(args)
	}
	if !hasWord(namePrinters, name) || !w.staysInside(args) {
		return unknownInput
	}
	return w.namesOutput(words)
}

// namePrinters are programs that print names and numbers only, with some options.
const namePrinters = " find ls fd du stat sha256sum md5sum wc nproc id date mktemp seq basename uname whoami realpath " +
	"dirname git go jq awk "

// namesOutput is the output of a program that prints names and numbers, whose arguments stay inside the root.
func (w *walker) namesOutput(words []word) pipeInput {
	name, args, c := words[0].text, words[1:], w.newCommand(words)
	sure := pipeInput{kind: inputConfined, sure: true}
	if sure.number = printsNumber(name, args); sure.number {
		return sure
	}
	switch name {
	case "find":
		if !hasAny(args, "-printf", "-exec", "-fprintf", "-execdir", "-ls") {
			out := w.listingOutput(args)
			out.dashes = false // the names it finds begin with where it started
			out.git = c.searchGit(args).shown
			return out
		}
	case "ls", "fd", "du", "stat", "sha256sum", "md5sum":
		if listsNamesOnly(name, args) {
			out := w.listingOutput(args)
			if name == "ls" || name == "fd" {
				out.git = c.listedGit(name, args)
			}
			return out
		}
	case "wc", "nproc", "id":
		sure.number = operands(args) == 0 && (name != "id" || hasAny(args, "-u", "-g"))
		return sure
	case "date":
		sure.number = len(args) == 1 && strings.HasPrefix(args[0].text, "+%") &&
			strings.Trim(args[0].text[1:], "%sYmdHMSNj") == ""
		return sure
	case "mktemp", "seq", "basename", "uname", "whoami", "realpath":
		return sure
	case "dirname":
		if w.staysInside(parentDirs(args)) {
			return sure
		}
	case "git":
		return w.gitOutput(args)
	case "go":
		if len(args) > 0 && args[0].text == "list" && plainPackages(args[1:]) {
			return confinedInput
		}
	}
	return unknownInput
}

// exprOutput is the output of expr, which may print any of its arguments.
func (w *walker) exprOutput(args []word) pipeInput {
	if printsNumber("expr", args) && w.staysInside(args) {
		return pipeInput{kind: inputConfined, sure: true, number: true}
	}
	for _, a := range args {
		if a.late && a.text != "1" || strings.ContainsAny(a.text, "/.") {
			return unknownInput
		}
	}
	return confinedInput
}

// listingOutput is the output of a program that lists files. If the script created files, a name may be 'a
// /etc/passwd', which is two names to xargs.
func (w *walker) listingOutput(args []word) pipeInput {
	return pipeInput{kind: inputConfined, blanks: w.wrote && !hasAny(args, "-print0", "-z", "--zero", "-0"),
		dashes: w.wrote}
}

// listsNamesOnly reports whether a listing has only names and numbers: --time-style and --printf print their
// values, and ls -l prints the targets of links.
func listsNamesOnly(name string, args []word) bool {
	for _, a := range args {
		switch t := a.text; {
		case name == "ls" && strings.HasPrefix(t, "--"):
			key, _, _ := strings.Cut(t[2:], "=")
			if !hasWord(" all almost-all directory recursive reverse sort time zero group-directories-first color ", key) &&
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

// hasOwnFormat reports whether an option makes git print text of the caller's choice.
func hasOwnFormat(args []word) bool {
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

// mktempOutput returns a name such as mktemp prints, or "". It begins with a slash, so that in rm "$(mktemp)" it
// is not an option.
func mktempOutput(args []word) string {
	name := "/tmp/tmp.x"
	for _, a := range args {
		switch {
		case a.late:
			return ""
		case strings.HasPrefix(a.text, "/"):
			name = a.text
		case !hasWord(" -d -q --directory --quiet ", a.text):
			return ""
		}
	}
	return name
}

// parentDirs returns the parents of absolute paths: that of the root is outside.
func parentDirs(args []word) (all []word) {
	for _, a := range args {
		if path.IsAbs(a.text) {
			all = append(all, word{value: value{path.Dir(a.text), a.late, a.loose}})
		}
	}
	return all
}

// someLines is what is known about an unknown part of a text.
func (w *walker) someLines(f pipeInput) pipeInput {
	if f.kind != inputKnown {
		return f
	}
	w.cost.spend(2 * costText * len(f.text))
	var items []word
	for _, s := range strings.Fields(f.text) {
		items = append(items, literal(s))
	}
	if w.commonValue(items).loose {
		return unknownInput
	}
	return confinedInput
}

// staysInside reports whether no argument can put a path outside of the root into the output, as date
// +/etc/passwd does.
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

// hasShortOption reports whether a cluster of short options has one of the letters.
func hasShortOption(args []word, letters string) bool {
	for _, a := range args {
		if len(a.text) > 1 && a.text[0] == '-' && (a.text[1] == '-' || strings.ContainsAny(a.text, letters)) {
			return true
		}
	}
	return false
}

// readsNoFile reports whether a program is given no file operand: in sort -u 5, 5 is one.
func (w *walker) readsNoFile(words []word) bool {
	c := w.newCommand(words)
	a, f := c.parseArgs(w.p.known(words[0].text), words[1:])
	if f != nil || len(a.operands) > 0 {
		return false
	}
	cut := a.has("-s", "--separator")
	return !cut || words[0].text != "tac"
}

// xargsOutput is the output of xargs grep -l and xargs ls.
func (w *walker) xargsOutput(args []word) pipeInput {
	for len(args) > 0 && strings.HasPrefix(args[0].text, "-") {
		args = args[1:]
	}
	if len(args) > 0 {
		switch args[0].text {
		case "ls":
			return pipeInput{kind: inputConfined, git: w.sc.input.git}
		case "grep", "rg":
			if hasShortOption(args[1:], "l") {
				out := w.grepOutput(args[1:])
				out.git = w.sc.input.git
				return out
			}
		}
	}
	return unknownInput
}

// grepOutput is the output of grep: lines of its input, or names of its files.
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
				!hasShortOption(args, "rRHlL")}
		}
	}
	if operands(args) <= 1 && !hasShortOption(args, "orRhn") {
		out := w.someLines(w.sc.input)
		out.git = w.cost.filterGit(out.git, args)
		return out
	}
	return unknownInput
}

func (w *walker) gitOutput(args []word) pipeInput {
	if len(args) > 0 && !hasOwnFormat(args) {
		switch args[0].text {
		case "rev-parse", "rev-list", "merge-base", "describe":
			return pipeInput{kind: inputConfined, sure: true}
		case "ls-files", "ls-tree":
			return w.listingOutput(args)
		case "branch":
			if !hasShortOption(args, "v") || hasAny(args, "--show-current") {
				return confinedInput
			}
		case "diff":
			if hasAny(args, "--name-only") {
				return w.listingOutput(args)
			}
		case "show", "log": // only without the messages
			if hasAny(args, "--name-only") && hasAny(args, "--format=", "--pretty=", "--pretty=format:") {
				return w.listingOutput(args)
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
	return slices.ContainsFunc(args, func(w word) bool { return slices.Contains(texts, w.text) })
}

// operands counts the operands; a number after an option counts as its value.
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

func echoOutput(args []word) pipeInput {
	var b strings.Builder
	options := true
	for i, a := range args {
		if a.late {
			return unknownInput
		}
		if options && (a.text == "-n" || a.text == "-e" || a.text == "-ne" || a.text == "-en" || a.text == "-E") {
			if strings.Contains(a.text, "e") {
				return echoEscapesOutput(args[i+1:])
			}
			continue
		}
		options = false
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(a.text)
	}
	return pipeInput{kind: inputKnown, text: b.String()}
}

// mayHoldNUL reports whether escapes may spell a NUL byte, which ends the text here but not in a pipe.
func mayHoldNUL(text string) bool {
	return strings.Contains(text, `\0`) || strings.Contains(text, `\x0`) || strings.Contains(text, `\c`) ||
		strings.Contains(text, `\u0`) || strings.Contains(text, `\U0`)
}

func echoEscapesOutput(args []word) pipeInput {
	f := echoOutput(args)
	if mayHoldNUL(f.text) {
		return unknownInput
	}
	if f.kind == inputKnown {
		f.text = ansiC(f.text)
	}
	return f
}

// printfOutput evaluates printf with %s, %b and %d.
func printfOutput(args []word) pipeInput {
	for _, a := range args {
		if a.late {
			return unknownInput
		}
	}
	if len(args) > 0 && args[0].text == "--" {
		args = args[1:]
	}
	if len(args) == 0 || strings.HasPrefix(args[0].text, "-") {
		return pipeInput{kind: inputKnown}
	}
	for _, a := range args {
		if mayHoldNUL(a.text) {
			return unknownInput // printf '%s\0' a b is two words to xargs -0
		}
	}
	format, rest := ansiC(args[0].text), args[1:]
	if strings.Count(format, "%") != strings.Count(format, "%s")+strings.Count(format, "%b")+strings.Count(format, "%d") {
		return unknownInput
	}
	var b strings.Builder
	for first := true; first || len(rest) > 0 && strings.Contains(format, "%"); first = false {
		for i := 0; i < len(format); i++ {
			if format[i] != '%' {
				b.WriteByte(format[i])
				continue
			}
			i++
			if len(rest) > 0 {
				b.WriteString(printfArg(format[i], rest[0].text))
				rest = rest[1:]
			}
		}
		if b.Len() > 1<<16 {
			return unknownInput
		}
	}
	return pipeInput{kind: inputKnown, text: b.String()}
}

func printfArg(verb byte, text string) string {
	if verb == 'b' {
		return ansiC(text)
	}
	return text
}

// printfName returns the variable that printf -v sets.
func printfName(args []word) (word, bool) {
	if len(args) == 0 || !strings.HasPrefix(args[0].text, "-v") {
		return word{}, false
	}
	if args[0].text != "-v" {
		return word{value: value{text: args[0].text[2:], late: args[0].late}}, true
	}
	if len(args) == 1 {
		return word{}, false
	}
	return args[1], true
}

// printsNumber reports whether a command prints whole numbers or nothing, so that arithmetic may use its output.
func printsNumber(name string, args []word) bool {
	switch name {
	case "stat":
		return len(args) > 1 && args[0].text == "-c" && hasWord(" %s %Y %X %Z %W %b %h %i %u %g ", args[1].text) &&
			plainOperands(args[2:])
	case "jq":
		for len(args) > 0 && hasWord(" -r -s -c -e ", args[0].text) {
			args = args[1:]
		}
		return len(args) > 0 && !args[0].late && len(args[0].text) < maxTried && countsLength.Get().MatchString(args[0].text) &&
			plainOperands(args[1:])
	case "seq":
		return len(args) > 0 && !slices.ContainsFunc(args, func(w word) bool { return !isNumber(w) })
	case "expr":
		return len(args) == 3 && isNumber(args[0]) && isNumber(args[2]) && !args[1].late &&
			hasWord(" + - * / % ", args[1].text)
	case "awk":
		return len(args) > 0 && !args[0].late && strings.ReplaceAll(args[0].text, " ", "") == "END{printNR}" &&
			plainOperands(args[1:])
	case "git":
		return len(args) > 1 && args[0].text == "rev-list" && args[1].text == "--count" && plainOperands(args[2:])
	}
	return false
}

// plainOperands reports whether all words are literal names. A name found by a pattern may be an option, or NR=x,
// which awk evaluates.
func plainOperands(args []word) bool {
	return !slices.ContainsFunc(args, func(w word) bool {
		return w.late || strings.HasPrefix(w.text, "-") || strings.ContainsAny(w.text, "*?[(=")
	})
}

// countsLength matches a jq filter that ends with length, which is always a number.
var countsLength = lazyregexp.New(`^(\.[A-Za-z0-9_.\[\]]*( *\| *[a-z]+)? *\| *)?length$`)

// plainPackages reports whether go list is given packages only, so that it prints their names.
func plainPackages(args []word) bool {
	return !slices.ContainsFunc(args, func(w word) bool { return w.late || strings.HasPrefix(w.text, "-") })
}

// isNumber reports whether a word is a number.
func isNumber(w word) bool {
	return !w.loose && w.text != "" && strings.Trim(w.text, "0123456789") == ""
}
