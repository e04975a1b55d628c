package policy

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"hako/internal/lazyregexp"

	"mvdan.cc/sh/v3/syntax"
)

// ReadOnly reports whether a script only reads files: its commands and options are on a list of those that change
// nothing, and it writes, assigns, defines and starts nothing. Nor does its result depend on anything but files:
// no clock, no random numbers, no variables of the session. Such scripts may run concurrently and in any session,
// and give the same result until a file changes.
//
// The result is false for whatever is not understood. It does not mean that the script may run, and it is not
// valid in a session in which a script has run that [Declares] something.
func (p *Policy) ReadOnly(file *syntax.File) (reads bool) {
	if p == nil || file == nil || len(file.Stmts) == 0 {
		return false
	}
	defer func() {
		if overrunFinding(recover()) != nil {
			reads = false
		}
	}()
	r := readOnlyJudge{p: p, cost: newCostMeter(), reads: true, repeatable: true}
	syntax.Walk(file, func(n syntax.Node) bool {
		r.node(n)
		return r.reads
	})
	return r.reads
}

// A readOnlyJudge looks for anything in a script that does more than read.
type readOnlyJudge struct {
	p          *Policy
	cost       *costMeter
	reads      bool
	repeatable bool // and for anything whose answer does not come from files alone
}

// node judges one node of the tree. The kinds are listed, so that the result for a new kind is false.
func (r *readOnlyJudge) node(n syntax.Node) {
	ok := false
	switch n := n.(type) {
	case nil, *syntax.File, *syntax.Comment, *syntax.Lit, *syntax.SglQuoted, *syntax.DblQuoted, *syntax.CmdSubst,
		*syntax.ExtGlob,
		*syntax.BinaryCmd, *syntax.Subshell, *syntax.Block, *syntax.IfClause, *syntax.CaseClause, *syntax.CaseItem,
		*syntax.Assign:
		ok = true
	case *syntax.Word:
		ok = !beginsWithTilde(n)
	case *syntax.Stmt:
		ok = !n.Background && !n.Coprocess && !n.Disown
	case *syntax.Redirect:
		ok = opensToRead(n)
	case *syntax.CallExpr:
		ok = r.call(n)
	}
	r.reads = r.reads && ok
}

// beginsWithTilde reports whether a word begins with ~, which depends on a variable of the session.
func beginsWithTilde(n *syntax.Word) bool {
	if len(n.Parts) == 0 {
		return false
	}
	lit, ok := n.Parts[0].(*syntax.Lit)
	return ok && strings.HasPrefix(lit.Value, "~")
}

// opensToRead reports whether a redirection writes nothing: it reads, goes to /dev/null, or copies a standard
// descriptor.
func opensToRead(n *syntax.Redirect) bool {
	if n.N != nil && strings.Trim(n.N.Value, "0123456789") != "" {
		return false // {name}<x sets a variable
	}
	switch n.Op {
	case syntax.Hdoc, syntax.DashHdoc, syntax.WordHdoc:
		return true
	case syntax.RdrIn:
		from := plainWord(n.Word)
		return !from.late && !isSystemPath(from.text)
	case syntax.DplIn, syntax.DplOut:
		return hasWord(" 0 1 2 - ", n.Word.Lit())
	case syntax.RdrOut, syntax.AppOut, syntax.RdrAll, syntax.AppAll, syntax.RdrClob:
		return n.Word.Lit() == "/dev/null"
	}
	return false
}

// call judges a simple command.
func (r *readOnlyJudge) call(n *syntax.CallExpr) bool {
	if len(n.Args) == 0 {
		return false // x=1 stays in the session
	}
	for _, a := range n.Assigns {
		if a.Name == nil || a.Index != nil || a.Array != nil || !hasWord(wordList("harmless-variables"), a.Name.Value) &&
			!hasPrefixIn(a.Name.Value, "harmless-prefixes") {
			return false
		}
	}
	words := make([]word, len(n.Args))
	for i, a := range n.Args {
		words[i] = plainWord(a)
	}
	return r.command(words, 0)
}

// command judges one command and, up to a few levels, the one that it runs.
func (r *readOnlyJudge) command(words []word, depth int) bool {
	if len(words) == 0 || words[0].late || depth > 3 {
		return false
	}
	r.cost.spend(costJudge + 2*costWord*len(words))
	name, args := words[0].text, words[1:]
	c := &command{p: r.p, cost: r.cost, words: words, readOnly: true}
	if r.repeatable && mayVary(name, args) {
		return false
	}
	switch knownReads(name) {
	case "always":
		return r.options(c, name, args)
	case "checked":
	default:
		return false
	}
	for _, w := range args {
		if w.late {
			return false
		}
	}
	return r.known(c, name, args, depth)
}

// options reports whether the options are on the program's list.
func (r *readOnlyJudge) options(c *command, name string, args []word) bool {
	prog := builtin(name)
	if prog == nil {
		return false
	}
	if prog.whole {
		return true
	}
	a, f := c.parseArgs(prog, args)
	if f != nil {
		return false
	}
	follows := a.has("-f", "-F", "--follow")
	return name != "tail" || !follows // it never ends
}

func (r *readOnlyJudge) known(c *command, name string, args []word, depth int) bool {
	switch name {
	case "find":
		return r.find(args, depth)
	case "git":
		return r.git(c, args)
	case "xargs":
		return r.xargs(c, args)
	case "command":
		return len(args) > 0 && args[0].text == "-v"
	case "timeout", "nice", "stdbuf":
		wrap := wrapping(name)
		_, n, f := c.parseOwn(wrap, args)
		return f == nil && n+wrap.skip < len(args) && r.command(args[n+wrap.skip:], depth+1)
	case "printf":
		_, sets := printfName(args)
		return !sets
	}
	a, f := c.parseArgs(builtin(name), args)
	if f != nil {
		return false
	}
	return r.readsOnly(c, name, a)
}

// readsOnly judges programs that write depending on their options or operands.
func (r *readOnlyJudge) readsOnly(c *command, name string, a *arguments) bool {
	has := func(names ...string) bool { _, ok := a.get(names...); return ok }
	switch name {
	case "sort", "shuf":
		return !has("-o", "--output", "-T")
	case "uniq":
		return len(a.operands) <= 1
	case "hostname":
		return len(a.operands) == 0
	case "date":
		return c.refuseListed(name, a) == nil
	case "zcat":
		return !has("-f", "--force", "-r", "--recursive")
	case "sed":
		return !has("-i", "--in-place") && c.judgeSed(a) == nil
	case "awk", "gawk", "mawk", "nawk":
		return c.judgeAwk(a) == nil
	}
	return true
}

// find may run a command that only reads whatever its arguments are.
func (r *readOnlyJudge) find(args []word, depth int) bool {
	for i := 0; i < len(args); i++ {
		t := args[i].text
		if t == "-exec" {
			end := i + 1
			for end < len(args) && args[end].text != ";" && args[end].text != "+" {
				end++
			}
			if end == i+1 || knownReads(args[i+1].text) != "always" || !r.command(args[i+1:end], depth+1) {
				return false
			}
			i = end
			continue
		}
		if !isFindExpression(t) {
			continue
		}
		if _, ok := findTests()[t]; !ok {
			return false
		}
		i += findTakes(t)
	}
	return true
}

// xargs may read any words, also options.
func (r *readOnlyJudge) xargs(c *command, args []word) bool {
	own, n, f := c.parseOwn(wrapping("xargs"), args)
	if f != nil || n >= len(args) {
		return f == nil // alone it runs echo
	}
	if mark := replaceMark(own); mark != "" && strings.Contains(args[n].text, mark) {
		return false // the name of the command is read too
	}
	return knownReads(args[n].text) == "always" && r.command(args[n:], 1)
}

func (r *readOnlyJudge) git(c *command, args []word) bool {
	args, f := c.parseGitOptions(args)
	if f != nil || len(args) == 0 {
		return false
	}
	sub := args[0].text
	prog := builtin("git " + sub)
	if prog == nil {
		return false
	}
	a, f := c.parseArgs(prog, args[1:])
	if f != nil {
		return false
	}
	if prog.reads == "always" {
		return true
	}
	if hasAny(args, "--") || sub == "stash" && !hasAny(args[1:min(2, len(args))], "list", "show") {
		return false // git stash -- list puts aside what list names
	}
	return gitLists(sub, a)
}

// gitLists reports whether a subcommand that may also write only lists something.
func gitLists(sub string, a *arguments) bool {
	first := ""
	if len(a.operands) > 0 {
		first = a.operands[0].text
	}
	switch sub {
	case "branch", "tag":
		for _, o := range a.options {
			if !hasWord(" -a -v -r -l -i --all --list --remotes --verbose --show-current --contains --no-contains --merged --no-merged --sort --points-at --format --color --no-color --column --no-column --ignore-case ", o.name) {
				return false
			}
		}
		list := a.has("-l", "--list")
		return first == "" || list
	case "remote":
		return first == "" || first == "get-url"
	case "stash":
		return first == "list" || first == "show"
	case "reflog":
		return first == "" || first == "show"
	case "config":
		reads := a.has("--get", "--get-all", "--get-regexp", "--list", "-l")
		return reads || first == "get" || first == "list"
	}
	return false
}

// mayVary reports whether the output of a command may change although no file has changed. Late words count as
// harmless: they may be file names.
func mayVary(name string, args []word) bool {
	for _, w := range args {
		if isSystemPath(w.text) {
			return true
		}
	}
	switch name {
	case "awk", "gawk", "mawk", "nawk":
		return anyMatch(awkUnsteady.Get(), args)
	case "jq":
		return anyMatch(jqUnsteady.Get(), args) ||
			slices.ContainsFunc(args, func(w word) bool { return substitutes(w.src) }) // "$(cat filter)"
	case "git":
		return anyMatch(gitUnsteady.Get(), args)
	case "find", "fd":
		return anyMatch(findUnsteady.Get(), args)
	case "sort":
		return anyShort(args, 'R') || hasAny(args, "--random-sort", "--sort=random", "random")
	case "stat":
		return anyShort(args, 'f') || hasAny(args, "--file-system")
	case "printf":
		return len(args) > 0 && strings.Contains(args[0].text, "%(")
	case "test", "[":
		return hasAny(args, "-v", "-R", "-t")
	case "xargs": // what runs side by side prints in any order
		return anyShort(args, 'P') || anyMatch(xargsUnsteady.Get(), args)
	}
	return hasWord(wordList("unsteady-programs"), name)
}

// isSystemPath reports whether a path is a device or in a virtual file system.
func isSystemPath(text string) bool {
	if text == "/dev/null" || !path.IsAbs(text) {
		return false
	}
	text = path.Clean(text)
	return within("/dev", text) || within("/proc", text) || within("/sys", text)
}

var (
	awkUnsteady   = lazyregexp.New(`\b(s?rand|systime|strftime|ENVIRON|PROCINFO)\b`)
	jqUnsteady    = lazyregexp.New(`\b(now|env|ENV|localtime|strflocaltime)\b`)
	gitUnsteady   = lazyregexp.New(`^--(since|until|after|before)\b|[:=](relative|human)\b|%[ac][rh]|@\{([^-0-9u}]|[0-9]+[^0-9}])`)
	xargsUnsteady = lazyregexp.New(`^--max-procs`)
	findUnsteady  = lazyregexp.New(`^-([amc](min|time)|newer[aBcm]t|used)$|^--?changed-`)
)

func anyMatch(re *regexp.Regexp, args []word) bool {
	return slices.ContainsFunc(args, func(w word) bool { return re.MatchString(w.text) })
}

// anyShort reports whether a letter is in a cluster of short options.
func anyShort(args []word, letter byte) bool {
	return slices.ContainsFunc(args, func(w word) bool {
		return len(w.text) > 1 && w.text[0] == '-' && w.text[1] != '-' && strings.IndexByte(w.text, letter) > 0
	})
}
