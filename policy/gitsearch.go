package policy

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// A search in the directory of a repository also finds .git, and what is done to the found files is done to the settings
// and hooks of git. To know whether it does, the expression is evaluated for paths that are in every repository.

// gitPaths are paths in every .git; those that end with a slash are directories.
var gitPaths = sync.OnceValue(func() []string {
	paths := strings.Fields(wordList("git-paths"))
	for hook := range strings.FieldsSeq(wordList("git-hooks")) {
		paths = append(paths, ".git/hooks/"+hook)
	}
	return paths
})

// otherPaths are protected, too, but only count if a search asks for their names.
func otherPaths() []string { return strings.Fields(wordList("other-paths")) }

// found is what a find may reach in .git.
type found struct {
	shown string         // the paths it may print, one a line
	given map[int]string // one path for each command that may be given one, by where its words begin
}

func foundAnywhere(args []word) found {
	all := found{shown: gitPaths()[0] + "\n", given: make(map[int]string)}
	for i, w := range args {
		if isFindExec(w) {
			all.given[i+1] = gitPaths()[0]
		}
	}
	return all
}

// mayHoldGit reports whether a directory may hold a repository. Subdirectories usually do not.
func (c *command) mayHoldGit(start word) bool {
	if c.p.opts.Root == "" || start.loose || start.text == "" {
		return false
	}
	abs := path.Clean(start.text)
	if !path.IsAbs(abs) {
		return strings.Trim(abs, "./") == ""
	}
	for _, d := range c.dirs {
		if within(abs, d) {
			return true
		}
	}
	return abs == c.p.opts.Root
}

// foundBySearch explains that a command is refused for a name that a search finds.
func (f *finding) foundBySearch(name, hint string) *finding {
	if name != "" && !f.ruled && f.effect == Deny && !f.late {
		f.why, f.hint = "it would be given "+name+", which the search comes upon: "+f.why, hint
	}
	return f
}

// listedGit returns the paths in .git that ls, fd, rg or grep may list, one a line.
func (c *command) listedGit(name string, args []word) string {
	a, f := c.parseArgs(builtin(name), args)
	if f != nil || !c.p.checks.strict || !showsHidden(name, a) {
		return ""
	}
	starts := searchStarts(name, a)
	holds := len(starts) == 0
	for _, w := range starts {
		holds = holds || c.mayHoldGit(w) || name == "ls" && refuseGitPath(w.text) != nil
	}
	var out strings.Builder
	for _, p := range gitPaths() {
		if holds && mayListPath(name, p, a) {
			out.WriteString("./" + strings.TrimSuffix(p, "/") + "\n")
		}
	}
	return out.String()
}

// showsHidden reports whether a program lists names with a leading dot.
func showsHidden(name string, a *arguments) bool {
	has := func(names ...string) bool { _, ok := a.get(names...); return ok }
	switch name {
	case "ls":
		return has("-a", "-A", "-f", "--all", "--almost-all") ||
			slices.ContainsFunc(a.operands, func(w word) bool { return strings.HasPrefix(w.text, ".") })
	case "fd":
		return has("-H", "-u", "--hidden", "--unrestricted")
	case "rg":
		twice := 0
		for _, o := range a.options {
			if o.name == "-u" || o.name == "--unrestricted" {
				twice++
			}
		}
		return twice > 1 || has("-.", "--hidden")
	}
	how, _ := a.get("-d", "--directories")
	return has("-r", "-R", "--recursive", "--dereference-recursive") || how.text == "recurse"
}

// searchStarts returns the operands that are directories to search.
func searchStarts(name string, a *arguments) []word {
	given := a.has("-e", "-f", "--regexp", "--file", "--files")
	if name == "ls" || given && name != "fd" || len(a.operands) == 0 {
		return a.operands
	}
	return a.operands[1:]
}

// mayListPath reports whether the options let a path in .git through.
func mayListPath(name, p string, a *arguments) bool {
	dir := strings.HasSuffix(p, "/")
	p = strings.TrimSuffix(p, "/")
	if name == "ls" {
		deep := a.has("-R", "--recursive")
		return deep || p == ".git"
	}
	if dir && name != "fd" || name == "fd" && !fdMayFind(p, a) {
		return false
	}
	narrowed, let := false, false
	for _, o := range a.options {
		takes, leaves := nameFilter(name, o)
		if leaves != "" && matchesAnyPart(leaves, p) {
			return false
		}
		if takes != "" {
			ok, sure := globMatches(takes, path.Base(p), false)
			narrowed, let = true, let || ok || !sure || o.val.late
		}
	}
	return !narrowed || let
}

// fdMayFind reports whether the pattern of fd may match a path.
func fdMayFind(p string, a *arguments) bool {
	if len(a.operands) == 0 {
		return true
	}
	glob := a.has("-g", "--glob")
	re := plainRegexp(a.operands[0].text, false, true)
	return glob || re == nil || a.operands[0].late || re.MatchString(path.Base(p))
}

// nameFilter returns the pattern of an option that includes, or excludes, names.
func nameFilter(name string, o option) (takes, leaves string) {
	switch o.name {
	case "--include":
		return o.val.text, ""
	case "--exclude", "--exclude-dir", "-E":
		return "", o.val.text
	case "-g", "--glob", "--iglob":
		if rest, not := strings.CutPrefix(o.val.text, "!"); not {
			return "", rest
		}
		return path.Base(o.val.text), ""
	case "-e", "--extension":
		if name == "fd" {
			return "*." + o.val.text, ""
		}
	case "-t", "--type":
		if name == "rg" {
			return o.val.text, "" // no type of rg's is called like a file of git's
		}
	}
	return "", ""
}

// matchesAnyPart reports whether a pattern matches a name in the path.
func matchesAnyPart(pattern, p string) bool {
	pattern = strings.TrimSuffix(strings.TrimRight(pattern, "*"), "/")
	pattern = strings.TrimPrefix(strings.TrimPrefix(pattern, "**/"), "./")
	return slices.ContainsFunc(strings.Split(p, "/"), func(part string) bool {
		ok, sure := globMatches(pattern, part, false)
		return ok && sure
	})
}

// filterGit returns which paths in .git pass a grep.
func (b *costMeter) filterGit(git string, args []word) string {
	a, f := (&command{cost: b, p: &Policy{}, words: literals("grep")}).parseArgs(builtin("grep"), args)
	if f != nil || git == "" || len(a.operands) != 1 || a.operands[0].late {
		return git
	}
	has := func(names ...string) bool { _, ok := a.get(names...); return ok }
	text := a.operands[0].text
	if has("-F", "--fixed-strings") {
		text = regexp.QuoteMeta(text)
	}
	b.spend(costMatch * len(text) * (1 + len(git)/64))
	re := b.regexp(text, !has("-E", "--extended-regexp", "-F", "--fixed-strings", "-P"), has("-i", "--ignore-case"))
	if re == nil || has("-e", "-f", "--regexp", "--file", "-w", "-x") {
		return git
	}
	var out strings.Builder
	for line := range strings.Lines(git) {
		if re.MatchString(strings.TrimSuffix(line, "\n")) != has("-v", "--invert-match") {
			out.WriteString(line)
		}
	}
	return out.String()
}

// globMatches matches a pattern of find or grep, in which * also matches a slash. sure is false if the pattern is
// not understood.
func globMatches(pattern, text string, fold bool) (ok, sure bool) {
	if fold {
		pattern, text = strings.ToLower(pattern), strings.ToLower(text)
	}
	pattern = strings.ReplaceAll(strings.ReplaceAll(pattern, "/", "\x00"), "[!", "[^")
	ok, err := path.Match(pattern, strings.ReplaceAll(text, "/", "\x00"))
	return ok, err == nil && !strings.Contains(pattern, "[:")
}

// regexp charges for plainRegexp: repetitions make an expression many times larger than its text.
func (b *costMeter) regexp(text string, basic, fold bool) *regexp.Regexp {
	if len(text) > maxTried {
		return nil
	}
	cost := costRegexp
	if strings.Contains(text, "{") {
		cost *= costRepeat
	}
	b.spend(costMatch + cost*len(text))
	return plainRegexp(text, basic, fold)
}

// plainRegexp compiles an expression of grep or find, nil if it is not simple. In a basic expression the
// operators are \( \) \|.
func plainRegexp(text string, basic, fold bool) *regexp.Regexp {
	if len(text) > maxTried {
		return nil
	}
	if basic {
		text = strings.NewReplacer(`\(`, "(", `\)`, ")", `\|`, "|", `\+`, "+", `\?`, "?", "(", `\(`, ")", `\)`, "|", `\|`,
			"{", `\{`).Replace(text)
	}
	rest := strings.NewReplacer(`\.`, "", `\(`, "", `\)`, "", `\|`, "", `\{`, "", `\/`, "", `\-`, "", `\$`, "").Replace(
		text)
	if strings.Contains(rest, `\`) || strings.Contains(rest, "(?") || strings.Contains(rest, "[:") {
		return nil
	}
	if fold {
		text = "(?i)" + text
	}
	re, err := regexp.Compile(text)
	if err != nil {
		return nil
	}
	return re
}
