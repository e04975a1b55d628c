package policy

import (
	"path"
	"strings"
)

// link judges ln. A symbolic link is read from where it lies, so a target
// that climbs may lead out even if it does not from here.
func (c *command) link(a *arguments) *finding {
	if f := c.backups(a, "-S", "--suffix"); f != nil {
		return f
	}
	_, s := a.get("-s", "--symbolic")
	if !s || len(a.operands) == 0 {
		return nil
	}
	targets := a.operands[:max(1, len(a.operands)-1)]
	if _, t := a.get("-t", "--target-directory"); t {
		targets = a.operands // ln -s -t DIR names no link at the end
	}
	for _, w := range targets {
		if goesUp(w.text) {
			return c.refused("-s", "a link that climbs with .. may lead out of the root", "link to a path without ..")
		}
	}
	return c.toTemp(targets)
}

// toTemp refuses links to temporary files: outside of the sandbox they lead to
// somebody else's.
func (c *command) toTemp(targets []word) *finding {
	for _, w := range targets {
		if fromMktemp(w.text) {
			return c.refused("-s", "the link would lead out of the root once the sandbox is gone", "copy the file instead")
		}
	}
	return nil
}

// mode refuses set-user-id and its kin.
func (c *command) mode(args []word) *finding {
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

// tar judges what the list can not: the old bundle without a dash is sorted
// again, and an archive on another machine would be fetched with rsh.
func (c *command) tar(a *arguments) *finding {
	if f, ok := a.get("-f", "--file"); ok && strings.Contains(f.text, ":") {
		return c.refused("-f", "an archive name with a colon is on another machine", "use a file inside the root")
	}
	if m, ok := a.get("--mtime"); ok && m.text != "" && (m.text[0] == '/' || m.text[0] == '.') {
		if f := c.file(m, false); f != nil {
			return f // it takes the time of that file
		}
	}
	if f := c.elsewhere(a, "-C", "--directory"); f != nil {
		return f
	}
	if len(c.words) < 2 || c.words[1].text == "" || c.words[1].text[0] == '-' {
		return nil
	}
	args := append([]word(nil), c.words[1:]...)
	args[0].text = "-" + args[0].text
	b, f := c.oldTar(builtin("tar"), args)
	if f != nil {
		return f
	}
	a.operands = b
	return nil
}

// oldTar reads "tar xzf a.tar": the values of the bundle's letters follow it
// in order.
func (c *command) oldTar(prog *program, args []word) ([]word, *finding) {
	rest := args[1:]
	for _, letter := range args[0].text[1:] {
		kind, ok := prog.options[string(letter)]
		if !ok {
			return nil, c.unlisted("-"+string(letter), prog)
		}
		if kind == '@' && len(rest) > 0 {
			if strings.Contains(rest[0].text, ":") {
				return nil, c.refused("-f", "an archive name with a colon is on another machine", "use a file inside the root")
			}
			if f := c.file(rest[0], true); f != nil {
				return nil, f
			}
			if letter == 'C' {
				c.alsoAt(rest[0])
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

// date may show the time; an operand without + sets the clock.
func (c *command) date(args []word) *finding {
	for _, w := range args {
		if !strings.HasPrefix(w.text, "+") {
			return refusal("date: "+w.text, "an operand without + sets the clock",
				"write the format with a plus, such as date +%F")
		}
	}
	return nil
}

// csplit puts its suffix behind the prefix: -b '/../../x%d' is a path too.
func (c *command) csplit(a *arguments) *finding {
	if s, ok := a.get("-b", "--suffix-format"); ok && (s.late || strings.Contains(s.text, "/")) {
		return c.refused("-b", "the suffix would lead to another directory", "use a suffix without a slash")
	}
	a.operands = a.operands[:min(1, len(a.operands))] // the rest are patterns
	if prefix, ok := a.get("-f", "--prefix"); ok {
		return c.pieces(prefix)
	}
	return nil
}

// patch writes what its input names, .git/hooks too, unless a file is given.
func (c *command) patch(a *arguments) *finding {
	if len(a.operands) > 0 {
		return nil
	}
	_, input := a.get("-i", "--input")
	foreign := c.input.kind != inputUnknown && c.input.kind != inputKnown || c.input.file && !c.wrote
	if input && !c.wrote || !input && foreign {
		return nil // a patch the script can not have made itself
	}
	if !input && c.input.kind == inputKnown && !namesGuarded(c.input.text) {
		return nil
	}
	return refusal("patch: input", "the patch may name files in .git, which git runs",
		"name the file to patch as an operand, or use git apply")
}

// Programs put names together: a suffix behind a name, or a name without its
// suffix. What comes out is a name too, and .git may be what comes out.

// unpacked is the name that a packed file gets when it is unpacked.
func unpacked(name string) string {
	for s := range strings.FieldsSeq(listed("packed-suffixes")) {
		if rest, ok := strings.CutSuffix(strings.ToLower(name), s); ok {
			return name[:len(rest)]
		}
	}
	return name
}

// backups judges where cp, mv, ln and sed -i put the old file: behind its name
// comes a suffix, and .gi with t is .git.
func (c *command) backups(a *arguments, names ...string) *finding {
	suffix, ok := a.get(names...)
	if !ok || suffix.text == "" && !suffix.late {
		return nil
	}
	for _, w := range a.operands {
		plainSuffix := suffix.text != "" && strings.IndexByte(".~_-", suffix.text[0]) >= 0
		if suffix.late || strings.ContainsAny(suffix.text, "/*") || w.late && !plainSuffix {
			return c.refused(names[0], "what the backup is called is only known at run time", "use a plain suffix such as .bak")
		}
		if f := c.guarded(literal(w.text + suffix.text)); f != nil {
			return f
		}
	}
	return nil
}

// pieces judges the names that split and csplit count up: .gia, .gib … .git.
func (c *command) pieces(prefix word) *finding {
	base := strings.ToLower(path.Base(prefix.text))
	if strings.HasSuffix(prefix.text, "/") || prefix.text == "" {
		base = ""
	}
	for _, name := range strings.Fields(".git head" + guardedFiles) {
		if base != "" && strings.HasPrefix(name, base) {
			return refusal(c.words[0].text+": prefix", "counting up from "+prefix.text+
				" makes names that git and others take orders from", "use another prefix, such as part-")
		}
	}
	return nil
}

// split judges the prefix that split puts before the names of its pieces.
func (c *command) split(a *arguments) *finding {
	if s, ok := a.get("--additional-suffix"); ok && (s.late || strings.Contains(s.text, "/")) {
		return c.refused("--additional-suffix", "the suffix would lead to another directory", "use a suffix without a slash")
	}
	if len(a.operands) < 2 {
		return nil
	}
	return c.pieces(a.operands[1])
}

// zipped are the operands of zip without the patterns behind -x and -i, which
// name what is left out or taken along of what the others name.
func (c *command) zipped() (files []word) {
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

// unpack refuses to give a file the name that is written inside its packing.
func (c *command) unpack(name string, a *arguments) *finding {
	_, named := a.get("-N", "--name")
	_, d := a.get("-d", "--decompress")
	if named && (d || strings.HasPrefix(name, "un") || strings.HasPrefix(name, "gun") || strings.HasPrefix(name, "bun")) {
		return c.refused("-N", "the file would get the name that is written inside it", "leave -N out")
	}
	return nil
}

// stringsFiles knows that strings reads its options from the file in @file.
func (c *command) stringsFiles(args []word) *finding {
	for _, w := range args {
		if strings.HasPrefix(w.text, "@") {
			return refusal("strings: @", "it takes its arguments out of a file that nobody has seen", "write the arguments out")
		}
	}
	return nil
}

// elsewhere judges files and operands from the directory an option goes to as
// well: in d, tar -C .. ../x is a file outside the root.
func (c *command) elsewhere(a *arguments, names ...string) *finding {
	moved := false
	for _, o := range a.options {
		for _, n := range names {
			if o.name == n {
				c.alsoAt(o.val)
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

// alsoAt notes that some words are read in another directory.
func (c *command) alsoAt(w word) {
	here := c.dirs
	c.goTo(w)
	c.dirs = union(here, c.dirs)
}

// copied judges what cp takes a copy of. What is git's stays where it is.
func (c *command) copied(w word) *finding {
	f := c.file(w, false)
	if f == nil && c.p.opts.Root != "" {
		if f = c.entersGit(w); f != nil {
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
	if _, linked := a.get("-l", "--link", "-s", "--symbolic-link"); linked {
		return 0
	}
	if _, into := a.get("-t", "--target-directory"); into {
		return len(a.operands)
	}
	return len(a.operands) - 1
}
