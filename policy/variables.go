package policy

import "strings"

// judgeVariable refuses to set a variable that controls programs. Exported variables are allowed by list; others
// may have any name that is not likely to be exported already.
func judgeVariable(name string, exported bool) *finding {
	if hasWord(wordList("harmless-variables"), name) || hasPrefixIn(name, "harmless-prefixes") || len(name) == 1 && name != "_" {
		return nil // no program listens to a single letter
	}
	hint := "leave " + name + " as it is, or pass the value as an argument"
	if exported {
		return refusal("environment "+name, name+" controls programs; only harmless variables may be exported",
			hint)
	}
	if hasWord(wordList("special-variables"), name) || hasPrefixIn(name, "special-prefixes") {
		return refusal("environment "+name, name+" controls programs and the shell", hint)
	}
	return nil
}

// refuseZoneFile refuses a time zone that is a file: TZ=/etc/passwd date opens it.
func refuseZoneFile(zone string, loose bool) *finding {
	zone = strings.TrimPrefix(zone, ":")
	if !loose && !strings.HasPrefix(zone, "/") && !goesUp(zone) {
		return nil
	}
	return refusal("environment TZ", "a time zone that is a path opens that file", "use a name such as UTC or Asia/Tokyo")
}

// refuseZoneInDate judges the time zone in date -d 'TZ="Asia/Tokyo" 12:00'.
func refuseZoneInDate(text string) *finding {
	_, zone, ok := strings.Cut(text, `TZ="`)
	if !ok {
		return nil
	}
	zone, _, _ = strings.Cut(zone, `"`)
	return refuseZoneFile(zone, false)
}

// makePrograms are the programs that pass variables of the environment to a shell.
const makePrograms = " make gmake cmake ctest "

// refuseMakeText refuses VERSION='1; touch x' make, since a shell reads $(VERSION) in a Makefile. Variables of
// one letter often stand before commands there.
func refuseMakeText(name, text string) *finding {
	runs := strings.ContainsAny(text, ";|`\n") || strings.Contains(text, "$(") || strings.Contains(text, "${") ||
		strings.Contains(text, "& ") || strings.Contains(text, "&&")
	if !runs && (len(name) > 1 || !strings.ContainsAny(text, " \t/#$&<>")) {
		return nil
	}
	return refusal("environment "+name, "make gives what "+name+" holds to a shell",
		"use a plain value, or set it in the Makefile")
}

// hasWord reports whether a list has a word. Words in a list have a space before and after each.
func hasWord(list, name string) bool {
	if name == "" || strings.IndexByte(name, ' ') >= 0 {
		return false
	}
	for rest := list; ; {
		i := strings.Index(rest, name)
		if i < 0 {
			return false
		}
		if i > 0 && rest[i-1] == ' ' && i+len(name) < len(rest) && rest[i+len(name)] == ' ' {
			return true
		}
		rest = rest[i+len(name):]
	}
}

// isName reports whether s is a plain variable name.
func isName(s string) bool {
	for i := 0; i < len(s); i++ {
		c := s[i]
		letter := c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}

// judgeControlVariable judges a variable that controls shells or programs.
func (c *command) judgeControlVariable(name string, v value) *finding {
	if !c.p.checks.opaque || c.p.rules.everything != nil {
		return nil
	}
	switch {
	case hasWord(wordList("forbidden-variables"), name), strings.HasPrefix(name, "BASH_FUNC_"),
		name == "PS4" && (v.late || runsWhenEvaluated(v.text)), // set -x runs what is in it
		name == "ENV" && strings.ContainsAny(v.text, "/$`"):    // ENV=test is no file
		return refusal("environment "+name, name+" controls the shell, which would run what was not judged",
			"leave "+name+" as it is")
	case strings.HasSuffix(name, "MAKEFLAGS") && strings.Contains(v.text, "--eval"):
		return refusal("environment "+name, "make would run what --eval says", "put it into the Makefile")
	case name == "TAR_OPTIONS":
		return c.judgeCommandOptions(c.p.find("tar"), literalFields(v.text))
	case name == "GOFLAGS":
		return c.nestedInGo(append(literals("build"), literalFields(v.text)...))
	case hasWord(wordList("command-variables"), name) && !v.late, strings.HasPrefix(name, "GIT_CONFIG_") && !v.late:
		f := c.nestedScript(literal(strings.TrimLeft(v.text, "!|")))
		if f == nil || !f.ruled {
			return nil // most values are no scripts
		}
		f.where = "environment " + name + " (" + f.where + ")"
		return f
	}
	return nil
}

// checkControlVariable judges a variable that the script sets.
func (w *walker) checkControlVariable(name string, v value) {
	if !w.p.checks.opaque || w.quiet {
		return
	}
	name, _, _ = strings.Cut(name, "[")
	c := w.newCommand(literals(name))
	w.refuse(nil, c.judgeControlVariable(name, v))
}
