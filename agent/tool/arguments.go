package tool

import (
	"slices"
	"strings"
	"unicode/utf8"

	"hako/run/fault"
)

// A slot is a value in the words of a command: a whole word, or the rest of one after an option.
type slot struct {
	at     int // index of the word
	before string
	value  string
}

// arguments are the parsed words of a command.
type arguments struct {
	operands []slot
	files    []slot // values of options
	scripts  []slot // values of -e
	seen     map[string]bool
}

// sortOut parses the words of a command by its options.
func (r reader) sortOut(words []string) (*arguments, error) {
	a := &arguments{seen: map[string]bool{}}
	rest := words[0] == "jq"
	for i := 1; i < len(words); i++ {
		word := words[i]
		var took int
		var err error
		switch {
		case word == "--" && (!r.POSIX || len(a.operands) == 0):
			for i++; i < len(words); i++ {
				a.operands = append(a.operands, slot{at: i, value: words[i]})
			}
		case len(word) < 2 || word[0] != '-' || r.POSIX && len(a.operands) > 0:
			if rest && a.seen["args"] && a.count() > 0 {
				continue // a value for the filter, not a file
			}
			a.operands = append(a.operands, slot{at: i, value: word})
		case word == "--help", r.Number && strings.Trim(word[1:], "0123456789") == "":
		case word[1] == '-':
			took, err = r.long(a, words, i)
		default:
			took, err = r.bundle(a, words, i)
		}
		if err != nil {
			return nil, err
		}
		i += took
	}
	return a, nil
}

// joined puts the values of some options into the same word, so that they are unambiguous.
func (r reader) joined(words []string) []string {
	if r.join == nil {
		return words
	}
	var out []string
	for i := 0; i < len(words); i++ {
		word := words[i]
		if word == "--" {
			return append(out, words[i:]...)
		}
		if i+1 < len(words) && slices.Contains(r.join, word) {
			i++
			word += words[i]
		}
		out = append(out, word)
	}
	return out
}

// count is the number of operands so far; an option can replace the first.
func (a *arguments) count() int {
	if a.seen["f"] {
		return len(a.operands) + 1
	}
	return len(a.operands)
}

func (r reader) long(a *arguments, words []string, i int) (took int, err error) {
	name, value, glued := strings.Cut(words[i][2:], "=")
	first, marks, ok := r.find(name)
	if !ok || len(name) < 2 {
		return 0, r.unlisted(words[0], "--"+name, name)
	}
	if glued && marks == "" {
		return 0, &refused{optionRule, "the option --" + name + " of " + words[0] + " takes no value", "write --" + name}
	}
	a.seen[first] = true
	if glued {
		a.take(first, marks[0], slot{i, "--" + name + "=", value})
		marks = marks[1:]
	}
	return a.values(first, marks, words, i), nil
}

func (r reader) bundle(a *arguments, words []string, i int) (took int, err error) {
	letters := words[i][1:]
	for letters != "" {
		_, n := utf8.DecodeRuneInString(letters)
		letter, rest := letters[:n], letters[n:]
		first, marks, ok := r.find(letter)
		if !ok {
			return 0, r.unlisted(words[0], "-"+letter, letter)
		}
		a.seen[first] = true
		if marks == "" {
			letters = rest
			continue
		}
		if rest != "" {
			a.take(first, marks[0], slot{i, strings.TrimSuffix(words[i], rest), rest})
			marks = marks[1:]
		}
		return a.values(first, marks, words, i), nil
	}
	return 0, nil
}

// values consumes the words after an option as its values.
func (a *arguments) values(name, marks string, words []string, i int) (took int) {
	for k := 0; k < len(marks) && marks[k] != '?' && i+1+took < len(words); k++ {
		took++
		a.take(name, marks[k], slot{at: i + took, value: words[i+took]})
	}
	return took
}

func (a *arguments) take(name string, mark byte, s slot) {
	switch {
	case mark == '@':
		a.files = append(a.files, s)
	case name == "e":
		a.scripts = append(a.scripts, s)
	}
}

// find returns the first name of an option and its marks.
func (r reader) find(name string) (first, marks string, ok bool) {
	if _, no := r.Refused(name); no {
		return "", "", false
	}
	o := r.Find(name)
	return canonical(o.Names[0]), o.Values, true
}

// canonical maps the two options of jq that end its files to one.
func canonical(name string) string {
	if name == "jsonargs" {
		return "args"
	}
	return name
}

func (r reader) unlisted(command, option, name string) error {
	why := "it is not known to be read-only"
	if known, _ := r.Refused(name); known != "" {
		why = known
	}
	hint := command + " takes no options here"
	if names := r.names(); len(names) > 0 {
		hint = "allowed for " + command + " are " + strings.Join(names, " ")
		if near, ok := fault.Nearest(option, names); ok && len(name) > 1 {
			hint = "did you mean " + near + "? " + hint
		}
	}
	return &refused{optionRule, "the option " + option + " of " + command + " cannot be used here: " + why, hint}
}

// names lists the allowed options, in their short form if there is one.
func (r reader) names() (list []string) {
	for _, o := range r.Options {
		name := o.Names[0]
		if _, _, ok := r.find(name); !ok || o.HostOnly {
			continue
		}
		dash := "-"
		if len(name) > 1 {
			dash = "--"
		}
		list = append(list, dash+name)
	}
	return list
}
