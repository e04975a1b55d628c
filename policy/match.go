package policy

import (
	"path"
	"strings"
)

// find returns the most specific rule for a command, or nil. On a tie the stricter effect wins. A line of a
// whitelist never overrides a rule that denies.
func (s *ruleSet) find(name string, args []word) *rule {
	var best, listed *rule
	consider := func(list []int) {
		for _, i := range list {
			r := &s.all[i]
			top := &best
			if r.listed {
				top = &listed
			}
			if r.mayMatch(name, args, r.effect != Allow) && (*top == nil || r.beats(*top)) {
				*top = r
			}
		}
	}
	consider(s.byName[name])
	consider(s.globs)
	if base := path.Base(name); best == nil && listed != nil && base != name {
		if r := s.find(base, args); r != nil && r.effect == Deny {
			return r // /bin/sh on a list is the sh of the rules
		}
	}
	if best == nil || listed != nil && best.effect != Deny && listed.beats(best) {
		return listed
	}
	return best
}

func (r *rule) beats(o *rule) bool {
	if a, b := r.size(), o.size(); a != b {
		return a > b
	}
	if a, b := r.literals(), o.literals(); a != b {
		return a > b
	}
	return r.effect < o.effect
}

func (r *rule) literals() int {
	n := len(r.flags)
	for _, w := range r.words {
		if !isGlob(w) {
			n++
		}
	}
	return n
}

// matches reports whether the rule matches argv: its words are the first operands, and its flags are given
// anywhere, in any spelling.
func (r *rule) matches(argv []string) bool {
	return len(argv) > 0 && r.mayMatch(argv[0], literals(argv[1:]...), r.effect != Allow)
}

// mayMatch reports whether the rule matches for some value of the late words. A restricting rule also skips the values
// of options: git -C sub push is a push.
func (r *rule) mayMatch(name string, args []word, restricting bool) bool {
	if len(r.words) == 0 {
		return len(r.flags) == 0
	}
	if !wordMatches(r.words[0], name) {
		return false
	}
	for _, f := range r.flags {
		if !hasFlag(name, args, f, restricting) && !mayBeOption(args) {
			return false
		}
	}
	switch {
	case len(r.words) == 1:
		return true
	case r.words[0] == "chmod" && len(r.words) == 2:
		return mayBeMode(args, r.words[1])
	}
	return mayLead(name, args, r.words[1:], restricting)
}

// takesNext reports whether an option before a subcommand takes the next word.
func takesNext(name, option string) bool {
	switch name {
	case "git":
		return option == "-C" || option == "-c" || option == "--git-dir" || option == "--work-tree" || option == "--namespace"
	case "go":
		return option == "-C" || option == "--C"
	case "docker", "kubectl", "npm", "cargo":
		return option == "-H" || option == "--context" || option == "--prefix" || option == "-C"
	}
	return false
}

// hasFlag reports whether args have the flags of f: a cluster -rf, a long --force, or a single-dash word such as
// -delete. The short and long name of an option are equivalent. Restricting rules also match abbreviations, which
// GNU programs accept.
func hasFlag(name string, args []word, f string, restricting bool) bool {
	for _, a := range args {
		if a.text == "--" {
			break
		}
		if a.text == f {
			return true
		}
	}
	if strings.HasPrefix(f, "--") {
		long, _, _ := strings.Cut(f[2:], "=")
		return hasOption(name, args, 0, long, restricting)
	}
	for i := 1; i < len(f); i++ {
		if !hasOption(name, args, f[i], "", restricting) {
			return false
		}
	}
	return true
}

// hasOption looks for an option by its short letter or its long name.
func hasOption(name string, args []word, short byte, long string, restricting bool) bool {
	if short != 0 {
		long = longName(name, short)
	}
	for _, w := range args {
		a := w.text
		if a == "--" {
			return false
		}
		if rest, ok := strings.CutPrefix(a, "--"); ok {
			given, _, _ := strings.Cut(rest, "=")
			if long != "" && given != "" && (given == long || restricting && strings.HasPrefix(long, given)) {
				return true
			}
			continue
		}
		if len(a) < 2 || a[0] != '-' {
			continue
		}
		for j := 1; j < len(a); j++ {
			if a[j] == short || long != "" && longName(name, a[j]) == long {
				return true
			}
		}
	}
	return false
}

// sameOption lists the long names of short options, by program.
var sameOption = map[string]string{
	"rm":     "r=recursive R=recursive f=force d=dir i=interactive",
	"cp":     "r=recursive R=recursive f=force a=archive",
	"mv":     "f=force n=no-clobber",
	"ln":     "s=symbolic f=force",
	"chmod":  "R=recursive f=silent",
	"chown":  "R=recursive",
	"git":    "f=force d=delete D=delete n=dry-run a=all",
	"sed":    "i=in-place n=quiet e=expression",
	"grep":   "r=recursive R=dereference-recursive",
	"tar":    "x=extract c=create t=list",
	"docker": "v=volume p=publish",
}

func longName(name string, short byte) string {
	list := sameOption[name]
	for i := 0; i+1 < len(list); i++ {
		if list[i] == short && list[i+1] == '=' && (i == 0 || list[i-1] == ' ') {
			long, _, _ := strings.Cut(list[i+2:], " ")
			return long
		}
	}
	return ""
}

func isGlob(s string) bool { return strings.IndexByte(s, '*') >= 0 }

// wordMatches matches a word with a rule's word, in which * stands for any text.
func wordMatches(pattern, s string) bool {
	if !isGlob(pattern) {
		return pattern == s
	}
	parts := strings.Split(pattern, "*")
	if !strings.HasPrefix(s, parts[0]) {
		return false
	}
	s = s[len(parts[0]):]
	last := len(parts) - 1
	for _, part := range parts[1:last] {
		i := strings.Index(s, part)
		if i < 0 {
			return false
		}
		s = s[i+len(part):]
	}
	return strings.HasSuffix(s, parts[last])
}
