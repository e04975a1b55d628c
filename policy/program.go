package policy

import (
	"strings"

	"hako/shell/spec"
)

// A program is what is known about one program: the options it may be given,
// and what its operands are. An option that is not listed is refused, so that
// a new or forgotten one cannot run a program or open a file unseen.
type program struct {
	options        options
	number         bool     // takes -5
	takes          options  // options with a value, where any option may be given
	runs           []string // those of them, with dashes, whose value is a command
	tests          options  // of find
	flags          options  // of go
	given          []string // options that stand for the first operand
	args           operandKind
	most           int  // operands at most; 0 means any number
	writes         bool // the operands are files that may be written
	free           bool // any option; it runs the repository's code anyway
	whole          bool // extra judges all of its words
	command        bool // its operands are a command that it runs
	skip           int  // operands before that command
	unlisted       bool // its options are not known
	hasSubcommands bool // which a user's file describes
	reads          string

	spec  *spec.Spec
	lists map[string]string // other fields of the spec
}

type operandKind uint8

const (
	files     operandKind = iota // every operand names a file
	texts                        // no operand names a file
	textFirst                    // the first is a text, unless -e or -f gave it
	nothing                      // it takes no operands
)

func (c *command) byProgram(name string, prog *program, args []word) *finding {
	if prog.hasSubcommands {
		return c.bySubcommand(name, prog, args)
	}
	if c.p.taught(name) {
		if f := c.taughtCommands(prog, args); f != nil {
			return f
		}
	}
	if prog.whole {
		return c.extra(name, &arguments{operands: args})
	}
	if prog.free {
		if f := c.extra(name, &arguments{operands: args}); f != nil {
			return f
		}
		return c.anyProgram(args)
	}
	a, f := c.parseArgs(prog, args)
	if f != nil {
		return f
	}
	if f := c.extra(name, a); f != nil {
		return f
	}
	return c.byOperands(name, prog, a)
}

func (c *command) byOperands(name string, prog *program, a *arguments) *finding {
	ops := a.operands
	if prog.most > 0 && len(ops) > prog.most || prog.args == nothing && len(ops) > 0 {
		return refusal(name+": operands", "it is given more operands than are allowed",
			"give it fewer; write to a file with a redirection")
	}
	switch prog.args {
	case texts:
		return nil
	case textFirst:
		if _, given := a.get(prog.given...); !given && len(ops) > 0 {
			ops = ops[1:]
		}
	}
	copied := copiedOperands(name, a)
	for i, w := range ops {
		if i < copied {
			if f := c.copied(w); f != nil {
				return f
			}
			continue
		}
		if f := c.file(w, prog.writes); f != nil {
			return f
		}
	}
	return nil
}

// file judges a word that names a file.
func (c *command) file(w word, written bool) *finding {
	f := c.path(w)
	if f == nil && written && c.p.opts.Root != "" {
		f = c.guarded(w)
	}
	if f != nil && f.where == "path" {
		f.where = c.words[0].text + ": path"
	}
	return f
}

// anyProgram judges the words of a program nothing is known about: whatever
// looks like a path has to stay inside the root.
func (c *command) anyProgram(args []word) *finding {
	for i, w := range args {
		key, _, _ := strings.Cut(w.text, "=")
		if !w.loose && (inList(listed("exclude-options"), key) || i > 0 &&
			inList(listed("exclude-options"), args[i-1].text)) {
			continue
		}
		if f := c.anyWord(w); f != nil {
			return f
		}
	}
	return nil
}

func (c *command) anyWord(w word) *finding {
	t := w.text
	c.cost.spend(2*costWord + 2*costText*len(t))
	if w.loose {
		return c.file(w, false)
	}
	if strings.Contains(t, "://") {
		return c.url(w)
	}
	if len(t) > 2 && t[0] == '-' && t[1] != '-' {
		t = t[2:] // -C../x
	}
	json := strings.HasPrefix(t, "{") // jest --config '{"globalSetup":"/tmp/x"}'
	for _, piece := range strings.FieldsFunc(t, func(r rune) bool {
		return r == '=' || r == ':' || r == ',' || r == '@' || json && strings.ContainsRune("{}[]\" ", r)
	}) {
		if c.p.opts.Root != "" && belowGit(piece) {
			return refusal(c.words[0].text+": path", "git runs what is written into .git",
				"use git commands to look at the repository and to change it")
		}
		if piece[0] != '/' && piece[0] != '.' && !strings.Contains(piece, "../") {
			continue
		}
		if f := c.file(word{value: value{text: piece, late: w.late}}, false); f != nil {
			return f
		}
	}
	return nil
}

// url judges an address: only the web, never a file in disguise.
func (c *command) url(w word) *finding {
	if w.loose {
		return c.file(w, false)
	}
	at := strings.Index(w.text, "://")
	if at < 0 {
		return nil
	}
	scheme := strings.ToLower(w.text[strings.LastIndexAny(w.text[:at], "=+ ")+1 : at])
	if scheme == "http" || scheme == "https" || c.p.opts.Root == "" {
		return nil
	}
	return refusal(c.words[0].text+": "+scheme+"://", "only http and https addresses are allowed",
		"use an http or https address, or a path inside the root")
}

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
