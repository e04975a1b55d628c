package policy

import (
	"regexp"
	"strings"
	"sync"
)

// nestedInGit judges the commands that git is told to run: in settings, in options,
// by bisect run and submodule foreach.
func (c *command) nestedInGit(args []word) *finding {
	args, f := c.gitSettings(args)
	if f != nil || len(args) == 0 {
		return f
	}
	sub := args[0].text
	if !inList(builtin("git").words("subcommands"), sub) {
		return nil
	}
	switch sub {
	case "bisect":
		if len(args) > 2 && args[1].text == "run" {
			return c.nestedWords(args[2:])
		}
		return nil
	case "submodule":
		return c.foreach(args[1:])
	}
	prog := c.p.find("git " + sub)
	if f := c.commandsIn(prog, args[1:]); f != nil {
		return f
	}
	return c.gitNames(sub, parseLoosely(prog.takes, args[1:]))
}

// gitNames judges the settings and addresses among a subcommand's words.
func (c *command) gitNames(sub string, a *arguments) *finding {
	for _, o := range a.options {
		if sub == "clone" && (o.name == "-c" || o.name == "--config") {
			if f := c.gitSetting(o.val); f != nil {
				return f
			}
		}
	}
	ops := a.operands
	if sub == "config" {
		if len(ops) > 0 && ops[0].text == "set" {
			ops = ops[1:]
		}
		_, reads := a.get("--get", "--get-all", "--get-regexp", "--list", "--unset", "--unset-all")
		if len(ops) < 2 || reads || ops[0].late {
			return nil
		}
		return c.gitValue(ops[0].text, ops[1])
	}
	for _, w := range ops {
		if address, ok := strings.CutPrefix(w.text, "ext::"); ok && sub != "grep" {
			return c.nestedScript(word{value: value{text: address, late: w.late}})
		}
	}
	return nil
}

// gitSettings judges the options before the subcommand and returns the rest.
func (c *command) gitSettings(args []word) ([]word, *finding) {
	for len(args) > 0 && len(args[0].text) > 1 && args[0].text[0] == '-' {
		t := args[0].text
		next := word{}
		if len(args) > 1 {
			next = args[1]
		}
		setting, joined := strings.CutPrefix(t, "--config-env=")
		switch {
		case t == "-c":
			if f := c.gitSetting(next); f != nil {
				return nil, f
			}
		case joined || t == "--config-env":
			if !joined {
				setting = next.text
			}
			name, _, _ := strings.Cut(setting, "=")
			if f := c.gitValue(name, word{value: value{late: true}}); f != nil {
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

// gitSetting judges KEY=value.
func (c *command) gitSetting(w word) *finding {
	key, text, ok := strings.Cut(w.text, "=")
	if w.late && (w.splits || !strings.Contains(w.head, "=")) {
		return unsettled("git", w, "write the setting's name out")
	}
	if !ok {
		return nil
	}
	return c.gitValue(key, w.with(text))
}

// gitCommands are the settings whose value is a command.
var gitCommands = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(
		`^(alias\..*|core\.(pager|editor|fsmonitor|sshcommand|askpass|gitproxy|alternaterefscommand)|pager\..*|sequence\.editor|diff\.external|` +
			`diff\..*\.(command|textconv)|(diff|merge)tool\..*\.(cmd|path)|merge\..*\.driver|filter\..*\.(clean|smudge|process)|credential\.(.*\.)?helper|` +
			`gpg\.(.*\.)?program|remote\..*\.(uploadpack|receivepack)|uploadpack\.packobjectshook|interactive\.difffilter|trailer\..*\.(cmd|command)|` +
			`submodule\..*\.update|tar\..*\.command|(browser|man)\..*\.(cmd|path)|sendemail\..*cmd|url\..*ext::.*|protocol\.ext\.allow)$`)
})

// gitValue judges the value of one setting.
func (c *command) gitValue(key string, val word) *finding {
	key = strings.ToLower(key)
	if !gitCommands().MatchString(key) || !val.late && inList(" true false never auto checkout rebase merge none ",
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
		f = c.nestedWords(append(literals("git"), fieldsOf(text)...))
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

// foreach judges what submodule foreach runs: one word is shell text, several
// are a command.
func (c *command) foreach(args []word) *finding {
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
