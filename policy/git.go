package policy

import (
	"cmp"
	"strings"

	"hako/internal/lazyregexp"
)

// judgeGit judges the options before the subcommand, those of the subcommand, then addresses and names.
func (c *command) judgeGit(args []word) *finding {
	args, f := c.parseGitOptions(args)
	if f != nil || len(args) == 0 {
		return f
	}
	sub := args[0].text
	prog := builtin("git " + sub)
	if prog == nil {
		return refusal("git: "+sub, "nothing is known about this subcommand", "use a subcommand that the rules name")
	}
	a, f := c.parseArgs(prog, args[1:])
	if f != nil {
		return f
	}
	return cmp.Or(c.judgeGitWords(sub, a), c.judgeOperands("git "+sub, prog, a))
}

// parseGitOptions judges the options before the subcommand. Options such as -c and --exec-path, which make git
// run other programs, are not on the list.
func (c *command) parseGitOptions(args []word) ([]word, *finding) {
	for len(args) > 0 && strings.HasPrefix(args[0].text, "-") {
		switch args[0].text {
		case "--no-pager", "--version", "--no-optional-locks", "--literal-pathspecs", "--no-replace-objects", "--help", "-P",
			"-v":
			args = args[1:]
		case "-C":
			if len(args) < 2 {
				return nil, nil
			}
			if f := c.file(args[1], false); f != nil {
				f.where = "git: -C"
				return nil, f
			}
			c.changeTo(args[1])
			args = args[2:]
		default:
			opt, _, _ := strings.Cut(args[0].text, "=")
			return nil, c.refuseOption(opt, "this option can make git run other programs or leave the repository", "leave it out")
		}
	}
	return args, nil
}

// changeTo makes the command run in another directory.
func (c *command) changeTo(w word) {
	if w.late {
		c.dirs = nil
		return
	}
	if strings.HasPrefix(w.text, "/") {
		c.dirs = []string{w.text}
		return
	}
	out := make([]string, 0, len(c.dirs))
	for _, d := range c.dirs {
		c.cost.spend(costPath + costText*len(d))
		out = append(out, d+"/"+w.text)
	}
	c.dirs = out
}

// judgeGitWords judges what the list of options cannot express about a subcommand.
func (c *command) judgeGitWords(sub string, a *arguments) *finding {
	for _, w := range a.operands {
		if strings.Contains(w.text, "::") && sub != "grep" && sub != "commit" && sub != "log" {
			return refusal("git: transport", "an address with :: names a program to run",
				"use an https address or the name of a remote")
		}
		if strings.Contains(w.text, "://") {
			if f := c.judgeURL(w); f != nil {
				return f
			}
		}
	}
	if f := c.refuseListed("git "+sub, a); f != nil {
		return f
	}
	first := ""
	if len(a.operands) > 0 {
		first = a.operands[0].text
	}
	switch sub {
	case "bisect":
		if first == "run" {
			return c.judgeInner(a.operands[1:])
		}
		if first == "replay" {
			return c.judgeFiles(a.operands[1:])
		}
	case "config":
		return c.judgeGitConfig(a)
	case "fetch", "pull", "push", "clone", "ls-remote":
		return c.judgeGitAddress(sub, a.operands)
	case "remote":
		return c.judgeGitRemote(first, a)
	case "archive":
		if prefix, ok := a.get("--prefix"); ok && c.p.opts.Root != "" {
			return c.file(prefix, true) // tar x puts .git/hooks/ where it says
		}
	case "submodule":
		if first != "" && !hasWord(builtin("git submodule").words("subcommands"), first) {
			return refusal("git submodule: "+first, "it runs commands or fetches from elsewhere", "use git submodule status")
		}
	}
	return nil
}

// judgeGitRemote judges git remote. git remote show connects to the remote, unless -n is given.
func (c *command) judgeGitRemote(first string, a *arguments) *finding {
	switch first {
	case "update", "prune":
		return refusal("git remote: "+first, "it talks to another machine", "use git remote -v to see the names")
	case "show":
		if _, here := a.get("-n"); here || len(a.operands) == 1 {
			return nil
		}
		return &finding{effect: Ask, where: "git remote: show", why: "it talks to another machine",
			hint: "a person has to agree; git remote show -n shows what is known here, and talks to nobody"}
	case "", "get-url":
		return nil
	}
	return c.judgeGitAddress("remote", a.operands)
}

func (c *command) judgeFiles(words []word) *finding {
	return firstRefusal(words, func(w word) *finding { return c.file(w, false) })
}

// judgeGitConfig allows reading the configuration, and setting the author. Most other settings can name a program
// to run.
func (c *command) judgeGitConfig(a *arguments) *finding {
	get := a.has("--get", "--get-all", "--get-regexp", "--list", "-l")
	ops := a.operands
	if len(ops) > 0 && (ops[0].text == "get" || ops[0].text == "list") {
		return nil
	}
	if len(ops) > 0 && (ops[0].text == "edit" || ops[0].text == "unset") {
		return refusal("git config: "+ops[0].text, "settings of git can name programs that run later",
			"only read the settings")
	}
	if len(ops) > 0 && ops[0].text == "set" {
		ops = ops[1:]
	}
	if get || len(ops) < 2 {
		return nil
	}
	switch strings.ToLower(ops[0].text) {
	case "user.name", "user.email", "init.defaultbranch", "pull.rebase", "core.autocrlf", "core.filemode",
		"commit.gpgsign", "color.ui", "advice.detachedhead":
		return nil
	}
	return refusal("git config: "+ops[0].text, "settings of git can name programs that run later",
		"only user.name, user.email and a few plain settings can be set")
}

// judgeGitAddress judges the address that git would connect to.
func (c *command) judgeGitAddress(sub string, ops []word) *finding {
	for i, w := range ops {
		t := w.text
		if w.loose {
			return c.file(w, false)
		}
		if strings.Contains(t, "://") {
			continue // judged by its scheme
		}
		if at := strings.IndexByte(t, ':'); at >= 0 && i == 0 && sub != "remote" {
			return refusal("git: "+t, "the address would be reached through ssh", "use an https address or the name of a remote")
		}
		if f := c.file(w, sub == "clone"); f != nil && (strings.HasPrefix(t, "/") || goesUp(t) || i > 0) {
			return f
		}
	}
	return nil
}

// nestedInGit judges the commands that git runs: in settings, in options, by bisect run and submodule foreach.
func (c *command) nestedInGit(args []word) *finding {
	args, f := c.judgeGitSettings(args)
	if f != nil || len(args) == 0 {
		return f
	}
	sub := args[0].text
	if !hasWord(builtin("git").words("subcommands"), sub) {
		return nil
	}
	switch sub {
	case "bisect":
		if len(args) > 2 && args[1].text == "run" {
			return c.nestedWords(args[2:])
		}
		return nil
	case "submodule":
		return c.judgeForeach(args[1:])
	}
	prog := c.p.find("git " + sub)
	return cmp.Or(c.judgeCommandOptions(prog, args[1:]), c.judgeGitNames(sub, parseLoosely(prog.takes, args[1:])))
}

// judgeGitNames judges the settings and addresses in the arguments of a subcommand.
func (c *command) judgeGitNames(sub string, a *arguments) *finding {
	for _, o := range a.options {
		if sub == "clone" && (o.name == "-c" || o.name == "--config") {
			if f := c.judgeGitSetting(o.val); f != nil {
				return f
			}
		}
	}
	ops := a.operands
	if sub == "config" {
		if len(ops) > 0 && ops[0].text == "set" {
			ops = ops[1:]
		}
		reads := a.has("--get", "--get-all", "--get-regexp", "--list", "--unset", "--unset-all")
		if len(ops) < 2 || reads || ops[0].late {
			return nil
		}
		return c.judgeGitValue(ops[0].text, ops[1])
	}
	for _, w := range ops {
		if address, ok := strings.CutPrefix(w.text, "ext::"); ok && sub != "grep" {
			return c.nestedScript(word{value: value{text: address, late: w.late}})
		}
	}
	return nil
}

// judgeGitSettings judges the options before the subcommand and returns the rest.
func (c *command) judgeGitSettings(args []word) ([]word, *finding) {
	for len(args) > 0 && len(args[0].text) > 1 && args[0].text[0] == '-' {
		t := args[0].text
		next := word{}
		if len(args) > 1 {
			next = args[1]
		}
		setting, joined := strings.CutPrefix(t, "--config-env=")
		switch {
		case t == "-c":
			if f := c.judgeGitSetting(next); f != nil {
				return nil, f
			}
		case joined || t == "--config-env":
			if !joined {
				setting = next.text
			}
			name, _, _ := strings.Cut(setting, "=")
			if f := c.judgeGitValue(name, word{value: value{late: true}}); f != nil {
				return nil, f
			}
		}
		if t == "-c" || t == "--config-env" || takesNext("git", t) {
			args = args[min(2, len(args)):]
			continue
		}
		args = args[1:]
	}
	return args, nil
}

// judgeGitSetting judges KEY=value.
func (c *command) judgeGitSetting(w word) *finding {
	key, text, ok := strings.Cut(w.text, "=")
	if w.late && (w.splits || !strings.Contains(w.head, "=")) {
		return refuseUndecided("git", w, "write the setting's name out")
	}
	if !ok {
		return nil
	}
	return c.judgeGitValue(key, w.with(text))
}

// gitCommandSettings are the settings whose value is a command.
var gitCommandSettings = lazyregexp.New(`^(alias\..*|core\.(pager|editor|fsmonitor|sshcommand|askpass|gitproxy|alternaterefscommand)|pager\..*|sequence\.editor|diff\.external|` +
	`diff\..*\.(command|textconv)|(diff|merge)tool\..*\.(cmd|path)|merge\..*\.driver|filter\..*\.(clean|smudge|process)|credential\.(.*\.)?helper|` +
	`gpg\.(.*\.)?program|remote\..*\.(uploadpack|receivepack)|uploadpack\.packobjectshook|interactive\.difffilter|trailer\..*\.(cmd|command)|` +
	`submodule\..*\.update|tar\..*\.command|(browser|man)\..*\.(cmd|path)|sendemail\..*cmd|url\..*ext::.*|protocol\.ext\.allow)$`)

// judgeGitValue judges the value of one setting.
func (c *command) judgeGitValue(key string, val word) *finding {
	key = strings.ToLower(key)
	if !gitCommandSettings.Get().MatchString(key) || !val.late && hasWord(" true false never auto checkout rebase merge none ",
		val.text) {
		return nil
	}
	if strings.Contains(key, "ext::") || key == "protocol.ext.allow" {
		return refusal("git: "+key, "it lets an address name a program to run",
			"use an https address or the name of a remote")
	}
	text, script := strings.CutPrefix(val.text, "!")
	var f *finding
	switch {
	case strings.HasPrefix(key, "alias.") && !script && !val.late:
		f = c.nestedWords(append(literals("git"), literalFields(text)...))
	case strings.HasPrefix(key, "credential.") && !script && !val.late && !strings.HasPrefix(text, "/"):
		return nil // the name of a helper of git's
	default:
		val.text = text
		f = c.nestedScript(val)
	}
	if f != nil {
		f.where = "git: " + key + " (" + f.where + ")"
	}
	return f
}

// judgeForeach judges the command of submodule foreach: one word is shell text, several are a command.
func (c *command) judgeForeach(args []word) *finding {
	for len(args) > 0 && strings.HasPrefix(args[0].text, "-") {
		args = args[1:]
	}
	if len(args) == 0 || args[0].text != "foreach" {
		return nil
	}
	args = args[1:]
	for len(args) > 0 && strings.HasPrefix(args[0].text, "-") {
		args = args[1:]
	}
	if len(args) == 1 {
		return c.nestedScript(args[0])
	}
	return c.nestedWords(args)
}
