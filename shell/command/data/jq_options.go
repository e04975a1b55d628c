package data

import (
	"fmt"
	"io"
	"strings"

	"hako/shell"
	"hako/shell/vfs"
)

// parse reads the words of a call. Options may be anywhere; the first other word
// is the filter, unless -f names its file.
func (j *jqCall) parse(args []string) error {
	file, options := "", true
	var words []string
	kind := "" // args or jsonargs: what positional words are
	for len(args) > 0 {
		word := args[0]
		args = args[1:]
		switch {
		case options && word == "--":
			options = false
			continue
		case options && (word == "--args" || word == "--jsonargs"):
			kind = word[2:]
			continue
		case options && strings.HasPrefix(word, "--"):
			used, err := j.long(word[2:], args, &file)
			if err != nil {
				return err
			}
			args = args[used:]
			continue
		case options && len(word) > 1 && word[0] == '-' && jqLetters(word[1:]):
			used, err := j.short(word[1:], args, &file)
			if err != nil {
				return err
			}
			args = args[used:]
			continue
		}
		if kind == "" || !j.given && len(words) == 0 && file == "" {
			words = append(words, word)
			continue
		}
		if err := j.addPositional(kind, word); err != nil {
			return err
		}
	}
	return j.chooseFilter(words, file)
}

// chooseFilter separates the filter from the files.
func (j *jqCall) chooseFilter(words []string, file string) error {
	if file != "" {
		f, err := j.Open(file)
		if err != nil {
			fmt.Fprintf(j.Stderr, "jq: error: Could not open %s: %s\n", file, vfs.Reason(err))
			return shell.Status(2)
		}
		defer f.Close()
		text, err := io.ReadAll(io.LimitReader(f, 1<<20+1))
		if err != nil {
			return err
		}
		j.filter, j.given, j.files = string(text), true, words
		return nil
	}
	if len(words) > 0 {
		j.filter, j.given, j.files = words[0], true, words[1:]
	}
	return nil
}

func (j *jqCall) addPositional(kind, word string) error {
	var v any = word
	if kind == "jsonargs" {
		var err error
		if v, err = j.parseText("jsonargs", word); err != nil {
			return err
		}
	}
	j.positional.Items = append(j.positional.Items, v)
	return nil
}

// long sets an option with two dashes; used is how many of args it took.
func (j *jqCall) long(name string, args []string, file *string) (used int, err error) {
	values := map[string]int{"arg": 2, "argjson": 2, "slurpfile": 2, "rawfile": 2, "indent": 1, "from-file": 1}
	need := values[name]
	if len(args) < need {
		if need == 1 {
			return 0, j.unknown(fmt.Sprintf("--%s takes one parameter", name))
		}
		return 0, j.unknown(fmt.Sprintf("--%s takes two parameters (e.g. --%s varname value)", name, name))
	}
	switch name {
	case "arg", "argjson", "slurpfile", "rawfile":
		return need, j.define(name, args[0], args[1])
	case "indent":
		return need, j.count(args[0])
	case "from-file":
		*file = args[0]
		return need, nil
	}
	shorts := map[string]string{"null-input": "n", "raw-output": "r", "join-output": "j", "compact-output": "c",
		"slurp": "s", "raw-input": "R",
		"sort-keys": "S", "ascii-output": "a", "exit-status": "e", "color-output": "C", "monochrome-output": "M",
		"unbuffered": "M"}
	if s, ok := shorts[name]; ok {
		return 0, j.flag(s[0])
	}
	switch name {
	case "tab":
		j.tab, j.compact = true, false
	case "stream":
		j.events = true
	case "seq":
		j.seq = true
	case "raw-output0":
		j.raw, j.zero = true, true
	default:
		return 0, j.unknown("Unknown arguments")
	}
	return 0, nil
}

func (j *jqCall) unknown(why string) error { return j.misuse("error: " + why) }

func (j *jqCall) misuse(why string) error {
	fmt.Fprintf(j.Stderr, "jq: %s\nUse jq --help for help with command-line options,\n"+
		"or see the jq manpage, or online docs  at https://stedolan.github.io/jq\n", why)
	return shell.Status(2)
}

// define sets a variable.
func (j *jqCall) define(option, name, text string) (err error) {
	var v any = text
	switch option {
	case "argjson":
		v, err = j.parseText(option, text)
	case "slurpfile", "rawfile":
		v, err = j.fileValue(text, option == "rawfile")
	}
	if err == nil && j.named.Find(name) < 0 {
		j.named.Put(name, v)
	}
	return err
}

// short sets bundled letters; -f and -L take the next word.
func (j *jqCall) short(letters string, args []string, file *string) (used int, err error) {
	for i := range len(letters) {
		switch ch := letters[i]; ch {
		case 'f':
			if len(args) == 0 {
				return 0, j.unknown("-f takes a parameter")
			}
			*file, used = args[0], 1
		case 'L':
			return 0, j.unknown("modules cannot be loaded here")
		default:
			if err := j.flag(ch); err != nil {
				return 0, err
			}
		}
	}
	return used, nil
}

func (j *jqCall) flag(ch byte) error {
	flags := map[byte]*bool{'n': &j.null, 'r': &j.raw, 'j': &j.join, 'c': &j.compact, 's': &j.slurp,
		'R': &j.rawInput, 'S': &j.sort, 'a': &j.ascii, 'e': &j.status, 'C': new(bool), 'M': new(bool)}
	flag, ok := flags[ch]
	if !ok {
		return j.unknown("Unknown arguments")
	}
	*flag = true
	j.raw = j.raw || j.join
	return nil
}

// jqLetters distinguishes bundled options from a filter such as -1.
func jqLetters(s string) bool {
	ch := s[0]
	return ch >= 'a' && ch <= 'z' || ch >= 'A' && ch <= 'Z'
}
