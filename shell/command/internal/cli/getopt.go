package cli

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"hako/shell"
)

// An Option is one option as it was given. Name is the first name in its
// specification, so that a command switches over one spelling.
type Option struct{ Name, Value string }

// Options splits the words of a call into options and operands in the manner of
// GNU: options may follow operands, short ones may be bundled, a value may be
// glued to its option or follow it, and "--" ends the options.
//
// The specification has one word per option, its names separated by commas:
// "n,lines:" takes a value, "color?" an optional one by "=", "v" none.
// A spec that starts with "+ " stops at the first operand, as POSIX wants.
// Abbreviated long options are refused: they hide what a command does.
func Options(c *shell.Call, spec string) (opts []Option, operands []string, err error) {
	spec, posix := strings.CutPrefix(spec, "+ ")
	known := parseSpec(spec)
	args := c.Args
	for len(args) > 0 {
		word := args[0]
		args = args[1:]
		switch {
		case word == "--":
			return opts, append(operands, args...), nil
		case strings.HasPrefix(word, "--"):
			var o Option
			if o, args, err = known.long(word[2:], args); err != nil {
				return nil, nil, Usage(c, err)
			}
			opts = append(opts, o)
		case len(word) > 1 && word[0] == '-':
			var got []Option
			if got, args, err = known.bundle(word[1:], args); err != nil {
				return nil, nil, Usage(c, err)
			}
			opts = append(opts, got...)
		case posix:
			return opts, append([]string{word}, args...), nil
		default:
			operands = append(operands, word)
		}
	}
	return opts, operands, nil
}

type optSpec struct {
	name     string
	value    bool // must have one
	optional bool // may have one, by "="
}

type optTable map[string]optSpec

func parseSpec(spec string) optTable {
	t := make(optTable)
	for word := range strings.FieldsSeq(spec) {
		names := strings.TrimRight(word, ":?")
		o := optSpec{value: strings.HasSuffix(word, ":"), optional: strings.HasSuffix(word, "?")}
		for name := range strings.SplitSeq(names, ",") {
			if o.name == "" {
				o.name = name
			}
			t[name] = o
		}
	}
	return t
}

func (t optTable) long(word string, args []string) (Option, []string, error) {
	name, value, glued := strings.Cut(word, "=")
	o, ok := t[name]
	switch {
	case !ok || len(name) < 2:
		return Option{}, nil, fmt.Errorf("unrecognized option '--%s'", name)
	case glued && !o.value && !o.optional:
		return Option{}, nil, fmt.Errorf("option '--%s' doesn't allow an argument", name)
	case o.value && !glued && len(args) == 0:
		return Option{}, nil, fmt.Errorf("option '--%s' requires an argument", name)
	case o.value && !glued:
		return Option{o.name, args[0]}, args[1:], nil
	}
	return Option{o.name, value}, args, nil
}

func (t optTable) bundle(word string, args []string) (opts []Option, _ []string, _ error) {
	for i, r := range word {
		o, ok := t[string(r)]
		_, w := utf8.DecodeRuneInString(word[i:]) // one byte for what is no UTF-8
		rest := word[i+w:]
		switch {
		case !ok:
			return nil, nil, fmt.Errorf("invalid option -- '%c'", r)
		case o.value && rest != "":
			return append(opts, Option{o.name, rest}), args, nil
		case o.value && len(args) == 0:
			return nil, nil, fmt.Errorf("option requires an argument -- '%c'", r)
		case o.value:
			return append(opts, Option{o.name, args[0]}), args[1:], nil
		case o.optional && rest != "":
			return append(opts, Option{o.name, rest}), args, nil
		}
		opts = append(opts, Option{o.name, ""})
	}
	return opts, args, nil
}
