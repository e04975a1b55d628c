package policy

import (
	"net/url"
	"path"
	"regexp"
	"strings"
	"sync"
)

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

// downloads judges the names that files from the web get when none is given.
func (c *command) downloads(addresses []word) *finding {
	for _, w := range addresses {
		for _, name := range savedAs(w.text) {
			if f := c.guarded(literal(name)); f != nil && c.p.opts.Root != "" {
				return f
			}
		}
	}
	return nil
}

// savedAs are the names that a file from this address may get: without query and
// fragment, with escapes read. Where curl reads {a,b} or [a-z], they are those
// guarded names that may come out.
func savedAs(address string) (names []string) {
	if at := strings.IndexAny(address, "?#"); at >= 0 {
		address = address[:at]
	}
	if plain, err := url.PathUnescape(address); err == nil {
		address = plain
	}
	base := path.Base(address)
	pattern := curlGlob().ReplaceAllString(base, "*")
	for _, name := range strings.Fields(".git HEAD" + guardedFiles) {
		if ok, _ := path.Match(pattern, name); ok && pattern != base {
			names = append(names, name)
		}
	}
	return append(names, base)
}

var curlGlob = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\{[^}]*\}|\[[^\]]*\]`) })

// stringsFiles knows that strings reads its options from the file in @file.
func (c *command) stringsFiles(args []word) *finding {
	for _, w := range args {
		if strings.HasPrefix(w.text, "@") {
			return refusal("strings: @", "it takes its arguments out of a file that nobody has seen", "write the arguments out")
		}
	}
	return nil
}
