package policy

import (
	"path"
	"strings"
)

// judgeLink judges ln. The target of a symbolic link is relative to the link, so one with .. may lead out of the
// root.
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

// refuseTempTargets refuses links to temporary files: outside of the sandbox they lead elsewhere.
func (c *command) refuseTempTargets(targets []word) *finding {
	for _, w := range targets {
		if isTempName(w.text) {
			return c.refuseOption("-s", "the link would lead out of the root once the sandbox is gone", "copy the file instead")
		}
	}
	return nil
}

// refuseSetuid refuses modes with the set-user-ID or set-group-ID bit.
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

// judgeTar judges what the list of options cannot express, such as options without a dash.
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

// parseOldTar parses "tar xzf a.tar": the values of the letters follow in order.
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

// judgeCsplit judges the prefix of the pieces.
func (c *command) judgeCsplit(a *arguments) *finding {
	a.operands = a.operands[:min(1, len(a.operands))] // the rest are patterns
	if prefix, ok := a.get("-f", "--prefix"); ok {
		return c.refusePieces(prefix)
	}
	return nil
}

// judgePatch refuses a patch that the script may have written, unless a file is given: it may name .git/hooks.
func (c *command) judgePatch(a *arguments) *finding {
	if len(a.operands) > 0 {
		return nil
	}
	input := a.has("-i", "--input")
	foreign := c.input.kind != inputUnknown && c.input.kind != inputKnown || c.input.file && !c.wrote
	if input && !c.wrote || !input && foreign {
		return nil // a patch the script cannot have made itself
	}
	if !input && c.input.kind == inputKnown && !mentionsProtected(c.input.text) {
		return nil
	}
	return refusal("patch: input", "the patch may name files in .git, which git runs",
		"name the file to patch as an operand, or use git apply")
}

// withoutPackSuffix returns the name of a compressed file after decompression: gunzip .git.gz creates .git.
func withoutPackSuffix(name string) string {
	for s := range strings.FieldsSeq(wordList("packed-suffixes")) {
		if rest, ok := strings.CutSuffix(strings.ToLower(name), s); ok {
			return name[:len(rest)]
		}
	}
	return name
}

// refuseBackup judges the backup files of cp, mv, ln and sed -i: .gi with the suffix t is .git.
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

// refusePieces judges the names that split and csplit generate: .gia, .gib … .git.
func (c *command) refusePieces(prefix word) *finding {
	base := strings.ToLower(path.Base(prefix.text))
	if strings.HasSuffix(prefix.text, "/") || prefix.text == "" {
		base = ""
	}
	for _, name := range strings.Fields(".git head" + protectedFiles) {
		if base != "" && strings.HasPrefix(name, base) {
			return refusal(c.words[0].text+": prefix", "counting up from "+prefix.text+
				" makes names that control git and other programs", "use another prefix, such as part-")
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

// zipOperands returns the operands of zip without the patterns behind -x and -i.
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

// judgeFromDir judges files and operands also from the directory of an option: in d, tar -C .. ../x is outside of
// the root.
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

// addDir adds a directory that some words are relative to.
func (c *command) addDir(w word) {
	here := c.dirs
	c.changeTo(w)
	c.dirs = union(here, c.dirs)
}

// judgeCopied judges a file that cp reads. Files in .git are not copied.
func (c *command) judgeCopied(w word) *finding {
	f := c.file(w, false)
	if f == nil && c.p.opts.Root != "" {
		if f = c.refuseGitEntry(w); f != nil {
			f.where = c.words[0].text + ": path"
		}
	}
	return f
}

// copiedOperands returns how many operands are sources of cp.
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
