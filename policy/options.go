package policy

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// options maps the names of options, without dashes, to what they take: ':' a
// text, '@' a file, '?' an optional text in the same word, 0 nothing. A name of
// one byte is a short option.
type options map[string]byte

// parseOptions reads a list of options, each with its mark: "f@ n: force".
func parseOptions(list string) options {
	out := make(options)
	for word := range strings.FieldsSeq(list) {
		name := strings.TrimRight(word, ":@?")
		out[name] = (word + "\x00")[len(name)]
	}
	return out
}

// long returns the first long option, in alphabetical order, that begins with prefix.
func (o options) long(prefix string) (string, bool) {
	for _, name := range slices.Sorted(maps.Keys(o)) {
		if len(name) > 1 && strings.HasPrefix(name, prefix) {
			return name, true
		}
	}
	return "", false
}

// arguments are the words of a command, split into options and operands.
type arguments struct {
	options  []option
	operands []word
}

type option struct {
	name string // with its dashes
	val  word
	kind byte // as in options
}

// get returns the value of the last option that has one of the names.
func (a *arguments) get(names ...string) (word, bool) {
	for _, o := range slices.Backward(a.options) {
		if slices.Contains(names, o.name) {
			return o.val, true
		}
	}
	return word{}, false
}

func (a *arguments) has(names ...string) bool {
	_, ok := a.get(names...)
	return ok
}

// An optionParser splits the words of a command into options and operands. Its methods judge them for a command c. If c
// is nil, any option may be given: one that is not known takes no value, and an abbreviation counts as the option that
// it may stand for. (With c in a field, every command would be allocated on the heap.)
type optionParser struct {
	arguments
	options options
	prefix  bool // stop at the first operand, where the command begins that a wrapper runs

	prog *program
}

// parseArgs splits the words of a command by the options of its program. An
// option that is not listed is refused.
func (c *command) parseArgs(prog *program, args []word) (*arguments, *finding) {
	c.cost.spend(costParam * len(args))
	p := optionParser{options: prog.options, prog: prog}
	p.operands = make([]word, 0, len(args))
	_, f := p.parse(c, args)
	if f != nil {
		return nil, f
	}
	return &p.arguments, nil
}

// parseOwn splits the options of a program that runs another command, up to that
// command. n is how many words they are.
func (c *command) parseOwn(prog *program, args []word) (a *arguments, n int, f *finding) {
	p := optionParser{options: prog.options, prog: prog, prefix: true}
	n, f = p.parse(c, args)
	return &p.arguments, n, f
}

// parseLoosely splits the words of a command to which any option may be given.
func parseLoosely(known options, args []word) *arguments {
	p := optionParser{options: known}
	_, _ = p.parse(nil, args) // refuses nothing
	return &p.arguments
}

// parse returns how many words it took.
func (p *optionParser) parse(c *command, args []word) (n int, f *finding) {
	for i := 0; i < len(args); i++ {
		w := args[i]
		switch {
		case len(w.text) < 2 || w.text[0] != '-' || p.prefix && w.loose:
			if p.prefix {
				return i, nil
			}
			p.operands = append(p.operands, w)
			continue
		case w.text == "--":
			if !p.prefix {
				p.operands = append(p.operands, args[i+1:]...)
			}
			return i + 1, nil
		}
		took := false
		if w.text[1] == '-' {
			took, f = p.long(c, w, args[i+1:])
		} else {
			took, f = p.short(c, w, args[i+1:])
		}
		if f != nil {
			return 0, f
		}
		if took {
			i++
		}
	}
	return len(args), nil
}

// long parses --name or --name=value and reports whether the next word is the value.
func (p *optionParser) long(c *command, w word, rest []word) (took bool, f *finding) {
	key, val, given := strings.Cut(w.text[2:], "=")
	kind, ok := p.options[key]
	if ok = ok && len(key) > 1; !ok && c != nil {
		return false, c.unlisted("--"+key, p.prog)
	}
	if !ok {
		kind = 0 // of a short option: --q is not -q
	}
	if full, some := p.options.long(key); !ok && key != "" && some {
		key, kind = full, p.options[full]
	}
	o := option{name: "--" + key, kind: kind, val: w.with(val)}
	if (kind == ':' || kind == '@') && !given {
		if len(rest) > 0 {
			o.val, took = rest[0], true
		} else if c != nil {
			return false, nil // the program itself will complain
		}
	}
	return took, p.add(c, o, given || took)
}

// maxLetters bounds the options that are written as one word.
const maxLetters = 256

// short parses a cluster such as -xzf and reports whether the next word is the
// value of its last letter.
func (p *optionParser) short(c *command, w word, rest []word) (took bool, f *finding) {
	t := w.text
	if c != nil && p.prog.number && strings.Trim(t[1:], "0123456789") == "" {
		return false, nil
	}
	for i := 1; i < len(t); i++ {
		if i > maxLetters && c != nil {
			return false, refusal(c.words[0].text+": options", "a word has more than "+strconv.Itoa(maxLetters)+" options", "give fewer")
		}
		kind, ok := p.options[t[i:i+1]]
		if !ok && c != nil {
			return false, c.unlisted("-"+t[i:i+1], p.prog)
		}
		o := option{name: "-" + t[i:i+1], kind: kind}
		if kind == 0 {
			p.arguments.options = append(p.arguments.options, o)
			continue
		}
		o.val = w.with(t[i+1:])
		given := i+1 < len(t) || w.late // head -n$(ls) ../x: the late part is the value
		if !given && kind != '?' && len(rest) > 0 {
			o.val, took, given = rest[0], true, true
		}
		return took, p.add(c, o, given)
	}
	return false, nil
}

// add keeps an option and judges the file that its value names.
func (p *optionParser) add(c *command, o option, given bool) *finding {
	p.arguments.options = append(p.arguments.options, o)
	if c == nil {
		return nil
	}
	return c.optionFile(o, given)
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

// unlisted refuses an option that is not known to be safe.
func (c *command) unlisted(option string, prog *program) *finding {
	why := "the option " + option + " is not on the list of options known to be safe"
	hint := "leave " + option + " out"
	if rest, ok := strings.CutPrefix(option, "--"); ok && len(rest) > 1 {
		if full, ok := prog.options.long(rest); ok {
			why, hint = "abbreviated options are refused", "write --"+full+" in full"
		}
	}
	return c.refuseOption(option, why, hint)
}
