package policy

import (
	"path"
	"strings"
)

// judgeLink judges ln. A symbolic link is read from where it lies, so a target
// that climbs may lead out even if it does not from here.
func (c *command) judgeLink(a *arguments) *finding {
	if f := c.refuseBackup(a, "-S", "--suffix"); f != nil {
		return f
	}
	s := a.has("-s", "--symbolic")
	if !s || len(a.operands) == 0 {
		return nil
	}
	targets := a.operands[:max(1, len(a.operands)-1)]
	if a.has("-t", "--target-directory") {
		targets = a.operands // ln -s -t DIR names no link at the end
	}
	for _, w := range targets {
		if goesUp(w.text) {
			return c.refuseOption("-s", "a link that climbs with .. may lead out of the root", "link to a path without ..")
		}
	}
	return c.refuseTempTargets(targets)
}

// refuseTempTargets refuses links to temporary files: outside of the sandbox they lead to
// somebody else's.
func (c *command) refuseTempTargets(targets []word) *finding {
	for _, w := range targets {
		if isTempName(w.text) {
			return c.refuseOption("-s", "the link would lead out of the root once the sandbox is gone", "copy the file instead")
		}
	}
	return nil
}

// refuseSetuid refuses set-user-id and its kin.
func (c *command) refuseSetuid(args []word) *finding {
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

// judgeTar judges what the list can not: the old bundle without a dash is sorted
// again, and an archive on another machine would be fetched with rsh.
func (c *command) judgeTar(a *arguments) *finding {
	if m, ok := a.get("--mtime"); ok && m.text != "" && (m.text[0] == '/' || m.text[0] == '.') {
		if f := c.file(m, false); f != nil {
			return f // it takes the time of that file
		}
	}
	if f := c.judgeFromDir(a, "-C", "--directory"); f != nil {
		return f
	}
	if len(c.words) < 2 || c.words[1].text == "" || c.words[1].text[0] == '-' {
		return nil
	}
	args := append([]word(nil), c.words[1:]...)
	args[0].text = "-" + args[0].text
	b, f := c.parseOldTar(builtin("tar"), args)
	if f != nil {
		return f
	}
	a.operands = b
	return nil
}

// parseOldTar reads "tar xzf a.tar": the values of the bundle's letters follow it
// in order.
func (c *command) parseOldTar(prog *program, args []word) ([]word, *finding) {
	rest := args[1:]
	for _, letter := range args[0].text[1:] {
		kind, ok := prog.options[string(letter)]
		if !ok {
			return nil, c.unlisted("-"+string(letter), prog)
		}
		if kind == '@' && len(rest) > 0 {
			if strings.Contains(rest[0].text, ":") {
				return nil, c.refuseOption("-f", "an archive name with a colon is on another machine", "use a file inside the root")
			}
			if f := c.file(rest[0], true); f != nil {
				return nil, f
			}
			if letter == 'C' {
				c.addDir(rest[0])
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

// judgeCsplit puts its suffix behind the prefix: -b '/../../x%d' is a path too.
func (c *command) judgeCsplit(a *arguments) *finding {
	a.operands = a.operands[:min(1, len(a.operands))] // the rest are patterns
	if prefix, ok := a.get("-f", "--prefix"); ok {
		return c.refusePieces(prefix)
	}
	return nil
}

// judgePatch writes what its input names, .git/hooks too, unless a file is given.
func (c *command) judgePatch(a *arguments) *finding {
	if len(a.operands) > 0 {
		return nil
	}
	input := a.has("-i", "--input")
	foreign := c.input.kind != inputUnknown && c.input.kind != inputKnown || c.input.file && !c.wrote
	if input && !c.wrote || !input && foreign {
		return nil // a patch the script can not have made itself
	}
	if !input && c.input.kind == inputKnown && !mentionsProtected(c.input.text) {
		return nil
	}
	return refusal("patch: input", "the patch may name files in .git, which git runs",
		"name the file to patch as an operand, or use git apply")
}

// Programs put names together: a suffix behind a name, or a name without its
// suffix. What comes out is a name too, and .git may be what comes out.

// withoutPackSuffix is the name that a packed file gets when it is unpacked.
func withoutPackSuffix(name string) string {
	for s := range strings.FieldsSeq(wordList("packed-suffixes")) {
		if rest, ok := strings.CutSuffix(strings.ToLower(name), s); ok {
			return name[:len(rest)]
		}
	}
	return name
}

// refuseBackup judges where cp, mv, ln and sed -i put the old file: behind its name
// comes a suffix, and .gi with t is .git.
func (c *command) refuseBackup(a *arguments, names ...string) *finding {
	suffix, ok := a.get(names...)
	if !ok || suffix.text == "" && !suffix.late {
		return nil
	}
	for _, w := range a.operands {
		plainSuffix := suffix.text != "" && strings.IndexByte(".~_-", suffix.text[0]) >= 0
		if suffix.late || strings.ContainsAny(suffix.text, "/*") || w.late && !plainSuffix {
			return c.refuseOption(names[0], "what the backup is called is only known at run time", "use a plain suffix such as .bak")
		}
		if f := c.refuseProtected(literal(w.text + suffix.text)); f != nil {
			return f
		}
	}
	return nil
}

// refusePieces judges the names that split and csplit count up: .gia, .gib … .git.
func (c *command) refusePieces(prefix word) *finding {
	base := strings.ToLower(path.Base(prefix.text))
	if strings.HasSuffix(prefix.text, "/") || prefix.text == "" {
		base = ""
	}
	for _, name := range strings.Fields(".git head" + protectedFiles) {
		if base != "" && strings.HasPrefix(name, base) {
			return refusal(c.words[0].text+": prefix", "counting up from "+prefix.text+
				" makes names that git and others take orders from", "use another prefix, such as part-")
		}
	}
	return nil
}

// judgeSplit judges the prefix that split puts before the names of its pieces.
func (c *command) judgeSplit(a *arguments) *finding {
	if len(a.operands) < 2 {
		return nil
	}
	return c.refusePieces(a.operands[1])
}

// zipOperands are the operands of zip without the patterns behind -x and -i, which
// name what is left out or taken along of what the others name.
func (c *command) zipOperands() (files []word) {
	pattern, ended := false, false
	for _, w := range c.words[1:] {
		option := !ended && len(w.text) > 1 && w.text[0] == '-'
		switch {
		case option && w.text == "--":
			ended, pattern = true, false
		case w.text == "@":
			pattern = false // the end of the patterns
		case option:
			pattern = strings.HasSuffix(w.text, "x") || strings.HasSuffix(w.text, "i") || w.text == "--exclude" ||
				w.text == "--include"
		case !pattern || w.loose:
			files = append(files, w)
		}
	}
	return files
}

// judgeFromDir judges files and operands from the directory an option goes to as
// well: in d, tar -C .. ../x is a file outside the root.
func (c *command) judgeFromDir(a *arguments, names ...string) *finding {
	moved := false
	for _, o := range a.options {
		for _, n := range names {
			if o.name == n {
				c.addDir(o.val)
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

// addDir notes that some words are read in another directory.
func (c *command) addDir(w word) {
	here := c.dirs
	c.changeTo(w)
	c.dirs = union(here, c.dirs)
}

// judgeCopied judges what cp takes a copy of. What is git's stays where it is.
func (c *command) judgeCopied(w word) *finding {
	f := c.file(w, false)
	if f == nil && c.p.opts.Root != "" {
		if f = c.refuseGitEntry(w); f != nil {
			f.where = c.words[0].text + ": path"
		}
	}
	return f
}

// copiedOperands is how many operands are what cp copies, not where to.
func copiedOperands(name string, a *arguments) int {
	if name != "cp" {
		return 0
	}
	if a.has("-l", "--link", "-s", "--symbolic-link") {
		return 0
	}
	if a.has("-t", "--target-directory") {
		return len(a.operands)
	}
	return len(a.operands) - 1
}
