package policy

import (
	"cmp"
	"strings"

	"hako/shell/spec"
)

// A program is what is known about one program: its options and operands. An option that is not listed is
// refused, so that a new or forgotten one cannot run a program or open a file unseen.
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
	fileOperands  operandKind = iota // every operand names a file
	textOperands                     // no operand names a file
	textThenFiles                    // the first is a text, unless -e or -f gave it
	noOperands                       // it takes no operands
)

func (c *command) judgeKnownProgram(name string, prog *program, args []word) *finding {
	if prog.hasSubcommands {
		return c.judgeTaughtSubcommand(name, prog, args)
	}
	if c.p.taught(name) {
		if f := c.judgeTaughtCommands(prog, args); f != nil {
			return f
		}
	}
	if prog.whole {
		return c.judgeArguments(name, &arguments{operands: args})
	}
	if prog.free {
		if f := c.judgeArguments(name, &arguments{operands: args}); f != nil {
			return f
		}
		return c.judgeUnknownProgram(args)
	}
	a, f := c.parseArgs(prog, args)
	if f != nil {
		return f
	}
	return cmp.Or(c.judgeArguments(name, a), c.judgeOperands(name, prog, a))
}

func (c *command) judgeOperands(name string, prog *program, a *arguments) *finding {
	ops := a.operands
	if prog.most > 0 && len(ops) > prog.most || prog.args == noOperands && len(ops) > 0 {
		return refusal(name+": operands", "it is given more operands than are allowed",
			"give it fewer; write to a file with a redirection")
	}
	switch prog.args {
	case textOperands:
		return nil
	case textThenFiles:
		if !a.has(prog.given...) && len(ops) > 0 {
			ops = ops[1:]
		}
	}
	copied := copiedOperands(name, a)
	for i, w := range ops {
		if i < copied {
			if f := c.judgeCopied(w); f != nil {
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
		f = c.refuseProtected(w)
	}
	if f != nil && f.where == "path" {
		f.where = c.words[0].text + ": path"
	}
	return f
}

// judgeUnknownProgram judges the arguments of an unknown program: whatever looks like a path must stay inside the
// root.
func (c *command) judgeUnknownProgram(args []word) *finding {
	for i, w := range args {
		key, _, _ := strings.Cut(w.text, "=")
		if !w.loose && (hasWord(wordList("exclude-options"), key) || i > 0 &&
			hasWord(wordList("exclude-options"), args[i-1].text)) {
			continue
		}
		if f := c.judgeUnknownWord(w); f != nil {
			return f
		}
	}
	return nil
}

func (c *command) judgeUnknownWord(w word) *finding {
	t := w.text
	c.cost.spend(2*costWord + 2*costText*len(t))
	if w.loose {
		return c.file(w, false)
	}
	if strings.Contains(t, "://") {
		return c.judgeURL(w)
	}
	if len(t) > 2 && t[0] == '-' && t[1] != '-' {
		t = t[2:] // -C../x
	}
	json := strings.HasPrefix(t, "{") // jest --config '{"globalSetup":"/tmp/x"}'
	for _, piece := range strings.FieldsFunc(t, func(r rune) bool {
		return r == '=' || r == ':' || r == ',' || r == '@' || json && strings.ContainsRune("{}[]\" ", r)
	}) {
		if c.p.opts.Root != "" && isBelowGit(piece) {
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

// judgeURL allows http and https addresses only.
func (c *command) judgeURL(w word) *finding {
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

// judgeArguments judges what the list of options cannot express about a program.
func (c *command) judgeArguments(name string, a *arguments) *finding {
	if f := cmp.Or(c.refuseForbidden(name, a.operands), c.refuseListed(name, a)); f != nil {
		return f
	}
	switch name {
	case "test", "[":
		return c.judgeTest(a.operands)
	case "printf":
		if name, ok := printfName(a.operands); ok {
			return c.judgeVariableNames([]word{name})
		}
	case "read":
		if array, ok := a.get("-a"); ok {
			return c.judgeVariableNames(append(a.operands, array))
		}
		return c.judgeVariableNames(a.operands)
	case "unset", "mapfile", "readarray":
		return c.judgeVariableNames(a.operands)
	case "getopts":
		return c.judgeVariableNames(a.operands[min(1, len(a.operands)):min(2, len(a.operands))])
	case "let":
		return c.refuseEvaluated(a.operands)
	case "export", "declare", "local", "typeset", "readonly":
		return c.judgeDeclarations(name, a)
	case "set", "shopt":
		if hasAny(c.words, "allexport") {
			return c.refuseOption("-o", "it would export every variable", "export the ones that are needed")
		}
	case "kill":
		return c.judgeKill(a.operands)
	case "cd", "pushd":
		return c.judgeCd(a.operands)
	case "date", "touch":
		if when, ok := a.get("-d", "--date"); ok {
			return refuseZoneInDate(when.text)
		}
	case "csplit":
		return c.judgeCsplit(a)
	case "patch":
		return c.judgePatch(a)
	case "ln":
		return c.judgeLink(a)
	case "chmod":
		return c.refuseSetuid(a.operands)
	case "sed":
		return c.judgeSed(a)
	case "awk", "gawk", "mawk", "nawk":
		return c.judgeAwk(a)
	case "jq":
		return c.judgeJq(a.operands)
	case "yq":
		return c.judgeYq(a.operands)
	case "tar":
		return c.judgeTar(a)
	case "curl":
		return c.judgeCurl(a)
	case "wget":
		if !a.has("-O", "--output-document") {
			if f := c.judgeDownloads(a.operands); f != nil {
				return f
			}
		}
		return c.judgeAddresses(a.operands)
	case "make":
		return c.judgeMake(a)
	case "git":
		return c.judgeGit(a.operands)
	case "go":
		return c.judgeGo(a.operands)
	case "python", "python3", "node", "ruby", "perl", "php":
		return c.judgeInterpreter(name, a.operands)
	case "npm", "yarn", "pnpm":
		return cmp.Or(c.refuseCreate(name, a.operands), c.packageManager(name, a.operands))
	case "npx", "bundle", "conda", "mamba", "composer", "gem":
		return c.packageManager(name, a.operands)
	case "cargo":
		return c.cargo(a.operands)
	case "cmake":
		return c.judgeCmake(a.operands)
	case "ctest":
		return c.ctest(a.operands)
	case "tox":
		return c.tox(a.operands)
	case "cp", "mv":
		if a.has("-s", "--symbolic-link") {
			if f := c.refuseTempTargets(a.operands); f != nil {
				return f
			}
		}
		return c.refuseBackup(a, "-S", "--suffix")
	case "split":
		return c.judgeSplit(a)
	case "zip":
		a.operands = c.zipOperands()
	}
	return nil
}
