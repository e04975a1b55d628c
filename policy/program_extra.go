package policy

import (
	"regexp"
	"strings"
	"sync"
)

// extra judges what a list of options can not say about a program.
func (c *command) extra(name string, a *arguments) *finding {
	if f := c.reachesOut(name, a.operands); f != nil {
		return f
	}
	switch name {
	case "test", "[":
		return c.testWords(a.operands)
	case "printf":
		if name, ok := printfName(a.operands); ok {
			return c.plainNames([]word{name})
		}
	case "read":
		if array, ok := a.get("-a"); ok {
			return c.plainNames(append(a.operands, array))
		}
		return c.plainNames(a.operands)
	case "unset", "mapfile", "readarray":
		return c.plainNames(a.operands)
	case "getopts":
		return c.plainNames(a.operands[min(1, len(a.operands)):min(2, len(a.operands))])
	case "let":
		return c.evaluatedWords(a.operands)
	case "export", "declare", "local", "typeset", "readonly":
		return c.declaredWords(name, a)
	case "set", "shopt":
		if hasAny(c.words, "allexport") {
			return c.refused("-o", "it would export every variable", "export the ones that are needed")
		}
		return c.shellOptions(name, a)
	case "kill":
		return c.kill(a.operands)
	case "cd", "pushd":
		return c.changeDir(a.operands)
	case "date":
		if when, ok := a.get("-d", "--date"); ok {
			if f := zoneInside(when.text); f != nil {
				return f
			}
		}
		return c.date(a.operands)
	case "touch":
		if when, ok := a.get("-d", "--date"); ok {
			return zoneInside(when.text)
		}
	case "csplit":
		return c.csplit(a)
	case "patch":
		return c.patch(a)
	case "ln":
		return c.link(a)
	case "chmod":
		return c.mode(a.operands)
	case "sed":
		return c.sed(a)
	case "awk", "gawk", "mawk", "nawk":
		return c.awk(a)
	case "jq":
		return c.jq(a.operands)
	case "yq":
		return c.yq(a.operands)
	case "tar":
		return c.tar(a)
	case "curl":
		return c.curl(a)
	case "wget":
		if _, named := a.get("--content-disposition"); named && c.p.opts.Root != "" {
			return c.refused("--content-disposition", serverNames, "name the file with -O")
		}
		if _, named := a.get("-O", "--output-document"); !named {
			if f := c.downloads(a.operands); f != nil {
				return f
			}
		}
		return c.addresses(a.operands)
	case "make":
		return c.makeWords(a)
	case "git":
		return c.git(a.operands)
	case "go":
		return c.goTool(a.operands)
	case "python", "python3", "node", "ruby", "perl", "php":
		return c.interpreter(name, a.operands)
	case "npm", "yarn", "pnpm":
		if f := c.creates(name, a.operands); f != nil {
			return f
		}
		return c.tools(name, a.operands)
	case "npx", "bundle", "conda", "mamba", "composer", "gem":
		return c.tools(name, a.operands)
	case "cargo":
		return c.cargo(a.operands)
	case "cmake":
		return c.cmake(a.operands)
	case "java", "javac":
		return c.jvm(a.operands)
	case "mvn", "gradle":
		if f := c.jvm(a.operands); f != nil {
			return f
		}
		return c.goals(name, a.operands)
	case "ctest":
		return c.ctest(a.operands)
	case "tox":
		return c.tox(a.operands)
	case "dotnet":
		return c.dotnetProperties(a.operands)
	case "cp", "mv":
		if _, linked := a.get("-s", "--symbolic-link"); linked {
			if f := c.toTemp(a.operands); f != nil {
				return f
			}
		}
		return c.backups(a, "-S", "--suffix")
	case "split":
		return c.split(a)
	case "strings":
		return c.stringsFiles(a.operands)
	case "zip":
		a.operands = c.zipped()
	case "gzip", "gunzip", "bzip2", "bunzip2", "xz", "unxz", "zstd":
		return c.unpack(name, a)
	}
	return nil
}

// testWords judges test and [: files after file operators, and names that
// the shell would evaluate.
func (c *command) testWords(args []word) *finding {
	if f := c.evaluatedWords(args); f != nil {
		return f
	}
	for i, w := range args {
		if (w.text == "-v" || w.text == "-R") && i+1 < len(args) && args[i+1].loose {
			return refusal(c.words[0].text+": "+w.text, "the shell would evaluate a name that is only known at run time",
				"write the variable's name out")
		}
		fileTest := len(w.text) == 2 && w.text[0] == '-' && strings.IndexByte("bcdefghkLpOGrSsuwxN", w.text[1]) >= 0
		pair := w.text == "-nt" || w.text == "-ot" || w.text == "-ef"
		if pair && i > 0 {
			if f := c.file(args[i-1], false); f != nil {
				return f
			}
		}
		if (fileTest || pair) && i+1 < len(args) {
			if f := c.file(args[i+1], false); f != nil {
				return f
			}
		}
	}
	return nil
}

// evaluatedWords refuses 'a[$(touch x)]': the shell runs what a subscript
// holds when it evaluates the name.
func (c *command) evaluatedWords(args []word) *finding {
	for _, w := range args {
		if strings.Contains(w.text, "[") && runsWhenEvaluated(w.text) {
			return refusal(c.words[0].text, "evaluating "+w.text+" runs the command inside it", "use plain names and numbers")
		}
	}
	return nil
}

var elementName = sync.OnceValue(
	func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*(\[[A-Za-z0-9_@*]*\])?$`) })

func (c *command) plainNames(args []word) *finding {
	for _, w := range args {
		if w.loose || w.late && (w.text == insideName || !elementName().MatchString(w.text)) {
			return refusal(c.words[0].text, "which variable is set is only known at run time", "write the variable's name out")
		}
		if w.text != "" && !w.late && !elementName().MatchString(w.text) && runsWhenEvaluated(w.text) {
			return refusal(c.words[0].text, "evaluating "+w.text+" runs the command inside it", "use plain variable names")
		}
		name, _, _ := strings.Cut(w.text, "[")
		if f := judgeVariable(name, false); f != nil {
			return f
		}
		if name == "TZ" {
			return zoneFile("", true)
		}
	}
	return nil
}

func (c *command) declaredWords(name string, a *arguments) *finding {
	_, x := a.get("-x")
	if x {
		name = "export"
	}
	for _, w := range a.operands {
		if f := judgeDeclared(name, w); f != nil {
			return f
		}
		if f := c.evaluatedWords([]word{w}); f != nil {
			return f
		}
	}
	return nil
}

// changeDir judges cd; without a directory it goes home.
func (c *command) changeDir(args []word) *finding {
	if len(args) == 0 && c.words[0].text == "cd" {
		home := c.p.opts.Home
		if home == "" {
			home = "/home"
		}
		return c.file(literal(home), false)
	}
	for _, w := range args {
		if f := c.entersGit(w); f != nil && c.p.opts.Root != "" {
			return f
		}
	}
	return nil
}

// entersGit refuses to go where nothing may be written by any name. Other
// guarded directories may be looked at from inside.
func (c *command) entersGit(w word) *finding {
	for _, text := range append(c.reached(w.text), w.text) {
		if f := gitPath(text); f != nil {
			return f
		}
	}
	return nil
}

// link judges ln. A symbolic link is read from where it lies, so a target
// that climbs may lead out even if it does not from here.
func (c *command) link(a *arguments) *finding {
	if f := c.backups(a, "-S", "--suffix"); f != nil {
		return f
	}
	_, s := a.get("-s", "--symbolic")
	if !s || len(a.operands) == 0 {
		return nil
	}
	targets := a.operands[:max(1, len(a.operands)-1)]
	if _, t := a.get("-t", "--target-directory"); t {
		targets = a.operands // ln -s -t DIR names no link at the end
	}
	for _, w := range targets {
		if goesUp(w.text) {
			return c.refused("-s", "a link that climbs with .. may lead out of the root", "link to a path without ..")
		}
	}
	return c.toTemp(targets)
}

// toTemp refuses links to temporary files: outside of the sandbox they lead to
// somebody else's.
func (c *command) toTemp(targets []word) *finding {
	for _, w := range targets {
		if fromMktemp(w.text) {
			return c.refused("-s", "the link would lead out of the root once the sandbox is gone", "copy the file instead")
		}
	}
	return nil
}

// mode refuses set-user-id and its kin.
func (c *command) mode(args []word) *finding {
	if len(args) == 0 {
		return nil
	}
	m := args[0].text
	octal, ok := parseMode(m)
	if ok && (octal&0o6000 != 0 || strings.Contains(m, "s")) {
		return refusal("chmod: "+m, "the file would run with somebody else's rights", "leave the s bits alone")
	}
	return nil
}

var jqLoads = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(
		`(^|[^.A-Za-z0-9_$])(import|include|modulemeta|input_line_number_file)\b`) // .include is a key
})

// jq judges jq: its filter may not load modules, and its files are files.
func (c *command) jq(args []word) *finding {
	filter, data := false, false
	for i := 0; i < len(args); i++ {
		t := args[i].text
		switch {
		case t == "--arg" || t == "--argjson":
			i += 2
		case (t == "--slurpfile" || t == "--rawfile" || t == "--argfile") && i+2 < len(args):
			if f := c.file(args[i+2], false); f != nil {
				return f
			}
			i += 2
		case t == "--indent":
			i++
		case t == "--args" || t == "--jsonargs":
			data = true // further operands are texts
		case t == "-" || !strings.HasPrefix(t, "-"):
			if f := c.jqOperand(args[i], filter); f != nil && !(data && filter) {
				return f
			}
			filter = true
		default:
			if f := c.jqOption(t); f != nil {
				return f
			}
		}
	}
	return nil
}

func (c *command) jqOperand(w word, filterSeen bool) *finding {
	if filterSeen {
		return c.file(w, false)
	}
	if jqLoads().MatchString(w.text) {
		return refusal("jq: import", "a filter that loads modules reads other files", "put everything into the filter itself")
	}
	return nil
}

func (c *command) jqOption(t string) *finding {
	if strings.HasPrefix(t, "--") {
		if !inList(listed("jq-options"), t) {
			return c.refused(t, "the option is not on the list of options known to be safe", "leave "+t+" out")
		}
		return nil
	}
	if bad := strings.Trim(t[1:], "nRscrjaSCMeh"); bad != "" {
		return c.refused("-"+bad[:1], "the option is not on the list of options known to be safe",
			"leave it out, and write the filter as an argument")
	}
	return nil
}

var yqLoads = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\b(load|load_str|load_xml|load_props|load_base64|eval|strenv|envsubst|env)\b`)
})

func (c *command) yq(args []word) *finding {
	inPlace := hasAny(args, "--inplace", "--in-place") || hasLetter(args, "i")
	for _, w := range args {
		if strings.HasPrefix(w.text, "-") &&
			(strings.Contains(w.text, "from-file") || strings.Contains(w.text, "split-exp") || w.text == "-s") {
			return c.refused(w.text, "it reads or writes files that nobody sees", "write the expression as an argument")
		}
		if yqLoads().MatchString(w.text) && strings.ContainsAny(w.text, "(") {
			return refusal("yq: load", "the expression loads other files", "put everything into the expression itself")
		}
		if strings.HasPrefix(w.text, "/") || goesUp(w.text) && w.text != ".." || w.loose {
			if f := c.file(w, true); f != nil {
				return f
			}
		}
		if inPlace && c.p.opts.Root != "" && !strings.HasPrefix(w.text, "-") {
			if f := c.guarded(w); f != nil {
				return f
			}
		}
	}
	return nil
}

// tar judges what the list can not: the old bundle without a dash is sorted
// again, and an archive on another machine would be fetched with rsh.
func (c *command) tar(a *arguments) *finding {
	if f, ok := a.get("-f", "--file"); ok && strings.Contains(f.text, ":") {
		return c.refused("-f", "an archive name with a colon is on another machine", "use a file inside the root")
	}
	if m, ok := a.get("--mtime"); ok && m.text != "" && (m.text[0] == '/' || m.text[0] == '.') {
		if f := c.file(m, false); f != nil {
			return f // it takes the time of that file
		}
	}
	if f := c.elsewhere(a, "-C", "--directory"); f != nil {
		return f
	}
	if len(c.words) < 2 || c.words[1].text == "" || c.words[1].text[0] == '-' {
		return nil
	}
	args := append([]word(nil), c.words[1:]...)
	args[0].text = "-" + args[0].text
	b, f := c.oldTar(builtin("tar"), args)
	if f != nil {
		return f
	}
	a.operands = b
	return nil
}

// oldTar reads "tar xzf a.tar": the values of the bundle's letters follow it
// in order.
func (c *command) oldTar(prog *program, args []word) ([]word, *finding) {
	rest := args[1:]
	for _, letter := range args[0].text[1:] {
		kind, ok := prog.options[string(letter)]
		if !ok {
			return nil, c.unlisted("-"+string(letter), prog)
		}
		if kind == '@' && len(rest) > 0 {
			if strings.Contains(rest[0].text, ":") {
				return nil, c.refused("-f", "an archive name with a colon is on another machine", "use a file inside the root")
			}
			if f := c.file(rest[0], true); f != nil {
				return nil, f
			}
			if letter == 'C' {
				c.alsoAt(rest[0])
			}
			rest = rest[1:]
		}
	}
	b, f := c.parseArgs(prog, rest)
	if f != nil {
		return nil, f
	}
	return b.operands, nil
}

// shellOptions allows by list the switches of shopt and set -o: without
// globskipdots * finds "..", lastpipe and posix change which variables stay.
func (c *command) shellOptions(name string, a *arguments) *finding {
	names := a.operands
	if name == "set" {
		names = nil
		for _, o := range a.options {
			if o.name == "-o" {
				names = append(names, o.val)
			}
		}
	}
	for _, w := range names {
		if w.late || w.text != "" &&
			!inList(" nullglob failglob extglob globstar nocasematch inherit_errexit checkwinsize errexit nounset pipefail xtrace verbose noglob noclobber braceexpand noexec ", w.text) {
			return refusal(name+": "+w.text, "this switch changes how the script is read", "leave it as it is")
		}
	}
	return nil
}

// date may show the time; an operand without + sets the clock.
func (c *command) date(args []word) *finding {
	for _, w := range args {
		if !strings.HasPrefix(w.text, "+") {
			return refusal("date: "+w.text, "an operand without + sets the clock",
				"write the format with a plus, such as date +%F")
		}
	}
	return nil
}

// csplit puts its suffix behind the prefix: -b '/../../x%d' is a path too.
func (c *command) csplit(a *arguments) *finding {
	if s, ok := a.get("-b", "--suffix-format"); ok && (s.late || strings.Contains(s.text, "/")) {
		return c.refused("-b", "the suffix would lead to another directory", "use a suffix without a slash")
	}
	a.operands = a.operands[:min(1, len(a.operands))] // the rest are patterns
	if prefix, ok := a.get("-f", "--prefix"); ok {
		return c.pieces(prefix)
	}
	return nil
}

// patch writes what its input names, .git/hooks too, unless a file is given.
func (c *command) patch(a *arguments) *finding {
	if len(a.operands) > 0 {
		return nil
	}
	_, input := a.get("-i", "--input")
	foreign := c.input.kind != inputUnknown && c.input.kind != inputKnown || c.input.file && !c.wrote
	if input && !c.wrote || !input && foreign {
		return nil // a patch the script can not have made itself
	}
	if !input && c.input.kind == inputKnown && !namesGuarded(c.input.text) {
		return nil
	}
	return refusal("patch: input", "the patch may name files in .git, which git runs",
		"name the file to patch as an operand, or use git apply")
}

// elsewhere judges files and operands from the directory an option goes to as
// well: in d, tar -C .. ../x is a file outside the root.
func (c *command) elsewhere(a *arguments, names ...string) *finding {
	moved := false
	for _, o := range a.options {
		for _, n := range names {
			if o.name == n {
				c.alsoAt(o.val)
				moved = true
			}
		}
	}
	for _, o := range a.options {
		if f := c.optionFile(o, moved && o.val.text != ""); f != nil {
			return f
		}
	}
	return nil
}

// alsoAt notes that some words are read in another directory.
func (c *command) alsoAt(w word) {
	here := c.dirs
	c.goTo(w)
	c.dirs = union(here, c.dirs)
}
