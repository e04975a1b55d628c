package policy

import (
	"strconv"
	"strings"
	"sync"

	"hako/shell/spec"
)

// A program is what is known about one program: the options it may be given,
// and what its operands are. An option that is not listed is refused, so that
// a new or forgotten one cannot run a program or open a file unseen.
//
// In short each letter is an option; a mark behind it says what it takes:
// ':' a text, '@' a file, '?' an optional text in the same word. '#' stands
// for -NUMBER. long is a list of names separated by spaces, with the same
// marks. Abbreviated long options are never accepted.
type program struct {
	short, long    string
	given          []string // options that stand for the first operand
	args           operandKind
	most           int  // operands at most; 0 means any number
	writes         bool // the operands are files that may be written
	free           bool // any option; it runs the repository's code anyway
	whole          bool // extra judges all of its words
	command        bool // its operands are a command that it runs
	skip           int  // operands before that command
	unlisted       bool // its options are not known
	hasSubcommands bool // which a user's file describes
	reads          string

	spec     *spec.Spec
	lists    map[string]string // other fields of the spec
	once     sync.Once         // guards commands
	commands *commandOptions
}

type operandKind uint8

const (
	files     operandKind = iota // every operand names a file
	texts                        // no operand names a file
	textFirst                    // the first is a text, unless -e or -f gave it
	nothing                      // it takes no operands
)

// arguments are the words of a command, sorted.
type arguments struct {
	options  []option
	operands []word
}

type option struct {
	name string // with its dashes
	val  word
	kind byte // ':', '@', '?' or 0
}

func (a *arguments) get(names ...string) (word, bool) {
	for i := len(a.options) - 1; i >= 0; i-- {
		for _, n := range names {
			if a.options[i].name == n {
				return a.options[i].val, true
			}
		}
	}
	return word{}, false
}

func (c *command) byProgram(name string, prog *program, args []word) *finding {
	if prog.hasSubcommands {
		return c.bySubcommand(name, prog, args)
	}
	if c.p.taught(name) {
		if f := c.taughtCommands(prog, args); f != nil {
			return f
		}
	}
	if prog.whole {
		return c.extra(name, &arguments{operands: args})
	}
	if prog.free {
		if f := c.extra(name, &arguments{operands: args}); f != nil {
			return f
		}
		return c.anyProgram(args)
	}
	a, f := c.sort(name, prog, args)
	if f != nil {
		return f
	}
	if f := c.extra(name, a); f != nil {
		return f
	}
	return c.byOperands(name, prog, a)
}

func (c *command) byOperands(name string, prog *program, a *arguments) *finding {
	ops := a.operands
	if prog.most > 0 && len(ops) > prog.most || prog.args == nothing && len(ops) > 0 {
		return refusal(name+": operands", "it is given more operands than are allowed",
			"give it fewer; write to a file with a redirection")
	}
	switch prog.args {
	case texts:
		return nil
	case textFirst:
		if _, given := a.get(prog.given...); !given && len(ops) > 0 {
			ops = ops[1:]
		}
	}
	copied := copiedOperands(name, a)
	for i, w := range ops {
		if i < copied {
			if f := c.copied(w); f != nil {
				return f
			}
			continue
		}
		if f := c.file(w, prog.writes); f != nil {
			return f
		}
	}
	return nil
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

// file judges a word that names a file.
func (c *command) file(w word, written bool) *finding {
	f := c.path(w)
	if f == nil && written && c.p.opts.Root != "" {
		f = c.guarded(w)
	}
	if f != nil && f.where == "path" {
		f.where = c.words[0].text + ": path"
	}
	return f
}

// sort takes the words of a command apart by the program's options.
func (c *command) sort(name string, prog *program, args []word) (*arguments, *finding) {
	c.cost.spend(costParam * len(args))
	a := &arguments{operands: make([]word, 0, len(args))}
	for i := 0; i < len(args); i++ {
		w := args[i]
		t := w.text
		switch {
		case len(t) < 2 || t[0] != '-':
			a.operands = append(a.operands, w)
			continue
		case t == "--":
			a.operands = append(a.operands, args[i+1:]...)
			return a, nil
		}
		var next *word
		if i+1 < len(args) {
			next = &args[i+1]
		}
		var took bool
		var f *finding
		if t[1] == '-' {
			took, f = c.longOption(a, name, prog, w, next)
		} else {
			took, f = c.shortOptions(a, name, prog, w, next)
		}
		if f != nil {
			return nil, f
		}
		if took {
			i++
		}
	}
	return a, nil
}

func (c *command) longOption(a *arguments, name string, prog *program, w word, next *word) (took bool, f *finding) {
	key, val, given := strings.Cut(w.text[2:], "=")
	kind, ok := findLong(prog.long, key)
	if !ok {
		return false, c.unlisted(name, "--"+key, prog)
	}
	o := option{name: "--" + key, kind: kind, val: w.with(val)}
	if (kind == ':' || kind == '@') && !given {
		if next == nil {
			return false, nil // the program itself will complain
		}
		o.val, took = *next, true
	}
	a.options = append(a.options, o)
	return took, c.optionFile(o, given || took)
}

// maxLetters bounds the options that are written as one word.
const maxLetters = 256

func (c *command) shortOptions(a *arguments, name string, prog *program, w word, next *word) (took bool, f *finding) {
	t := w.text
	if strings.Trim(t[1:], "0123456789") == "" && strings.Contains(prog.short, "#") {
		return false, nil
	}
	for i := 1; i < len(t); i++ {
		if i > maxLetters {
			return false, refusal(name+": options", "a word has more than "+strconv.Itoa(maxLetters)+" options", "give fewer")
		}
		at := strings.IndexByte(prog.short, t[i])
		if at < 0 || strings.IndexByte(":@?#", t[i]) >= 0 {
			return false, c.unlisted(name, "-"+t[i:i+1], prog)
		}
		kind := byte(0)
		if at+1 < len(prog.short) && strings.IndexByte(":@?", prog.short[at+1]) >= 0 {
			kind = prog.short[at+1]
		}
		o := option{name: "-" + t[i:i+1], kind: kind}
		if kind == 0 {
			a.options = append(a.options, o)
			continue
		}
		o.val = w.with(t[i+1:])
		given := i+1 < len(t) || w.late // head -n$(ls) ../x: the late part is the value
		if !given && kind != '?' && next != nil {
			o.val, took, given = *next, true, true
		}
		a.options = append(a.options, o)
		return took, c.optionFile(o, given)
	}
	return false, nil
}

func (c *command) optionFile(o option, given bool) *finding {
	if o.kind != '@' || !given {
		return nil
	}
	f := c.file(o.val, true)
	if f != nil {
		f.where = c.words[0].text + ": " + o.name
	}
	return f
}

// findLong looks a long option up in a program's list.
func findLong(list, key string) (kind byte, ok bool) {
	if key == "" || strings.ContainsAny(key, " :@?") {
		return 0, false
	}
	for rest := list; ; {
		i := strings.Index(rest, key)
		if i < 0 {
			return 0, false
		}
		end := i + len(key)
		if i == 0 || rest[i-1] == ' ' {
			if end == len(rest) || rest[end] == ' ' {
				return 0, true
			}
			if strings.IndexByte(":@?", rest[end]) >= 0 {
				return rest[end], true
			}
		}
		rest = rest[end:]
	}
}

func (c *command) unlisted(name, option string, prog *program) *finding {
	why := "the option " + option + " is not on the list of options known to be safe"
	hint := "leave " + option + " out"
	if rest, ok := strings.CutPrefix(option, "--"); ok {
		for _, known := range strings.Fields(prog.long) {
			if len(rest) > 1 && strings.HasPrefix(known, rest) {
				why, hint = "abbreviated options are refused", "write --"+strings.TrimRight(known, ":@?")+" in full"
				break
			}
		}
	}
	return c.refused(option, why, hint)
}

// anyProgram judges the words of a program nothing is known about: whatever
// looks like a path has to stay inside the root.
func (c *command) anyProgram(args []word) *finding {
	for i, w := range args {
		key, _, _ := strings.Cut(w.text, "=")
		if !w.loose && (inList(listed("exclude-options"), key) || i > 0 &&
			inList(listed("exclude-options"), args[i-1].text)) {
			continue
		}
		if f := c.anyWord(w); f != nil {
			return f
		}
	}
	return nil
}

func (c *command) anyWord(w word) *finding {
	t := w.text
	c.cost.spend(2*costWord + 2*costText*len(t))
	if w.loose {
		return c.file(w, false)
	}
	if strings.Contains(t, "://") {
		return c.url(w)
	}
	if len(t) > 2 && t[0] == '-' && t[1] != '-' {
		t = t[2:] // -C../x
	}
	json := strings.HasPrefix(t, "{") // jest --config '{"globalSetup":"/tmp/x"}'
	for _, piece := range strings.FieldsFunc(t, func(r rune) bool {
		return r == '=' || r == ':' || r == ',' || r == '@' || json && strings.ContainsRune("{}[]\" ", r)
	}) {
		if c.p.opts.Root != "" && belowGit(piece) {
			return refusal(c.words[0].text+": path", "git runs what is written into .git",
				"use git commands to look at the repository and to change it")
		}
		if piece[0] != '/' && piece[0] != '.' && !strings.Contains(piece, "../") {
			continue
		}
		if f := c.file(word{value: value{text: piece, late: w.late}}, false); f != nil {
			return f
		}
	}
	return nil
}

// url judges an address: only the web, never a file in disguise.
func (c *command) url(w word) *finding {
	if w.loose {
		return c.file(w, false)
	}
	at := strings.Index(w.text, "://")
	if at < 0 {
		return nil
	}
	scheme := strings.ToLower(w.text[strings.LastIndexAny(w.text[:at], "=+ ")+1 : at])
	if scheme == "http" || scheme == "https" || c.p.opts.Root == "" {
		return nil
	}
	return refusal(c.words[0].text+": "+scheme+"://", "only http and https addresses are allowed",
		"use an http or https address, or a path inside the root")
}
