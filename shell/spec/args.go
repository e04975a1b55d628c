package spec

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// An Arg is one option of a call. Name is the first of the option's names in the spec.
type Arg struct{ Name, Value string }

// Split separates options and operands like the GNU tools: options may follow operands,
// short ones may be bundled, a value may be in the same word or the next, and "--" ends
// the options. Abbreviated long options are refused: they hide what a command does.
// Several values of one option are joined by NUL.
func (s *Spec) Split(args []string) (opts []Arg, operands []string, err error) {
	for len(args) > 0 {
		word := args[0]
		args = args[1:]
		switch {
		case word == "--":
			return opts, append(operands, args...), nil
		case strings.HasPrefix(word, "--"):
			var o Arg
			if o, args, err = s.long(word[2:], args); err != nil {
				return nil, nil, err
			}
			opts = append(opts, o)
		case len(word) > 1 && word[0] == '-':
			if opts, args, err = s.bundle(opts, word[1:], args); err != nil {
				return nil, nil, err
			}
		case s.POSIX:
			return opts, append([]string{word}, args...), nil
		default:
			operands = append(operands, word)
		}
	}
	return opts, operands, nil
}

func (s *Spec) long(word string, args []string) (Arg, []string, error) {
	name, value, glued := strings.Cut(word, "=")
	o := s.Find(name)
	switch {
	case o == nil || len(name) < 2:
		return Arg{}, nil, fmt.Errorf("unrecognized option '--%s'", name)
	case glued && o.Values == "":
		return Arg{}, nil, fmt.Errorf("option '--%s' doesn't allow an argument", name)
	case glued || o.Values == "" || o.Values[0] == Optional:
		return Arg{o.Names[0], value}, args, nil
	case len(args) < len(o.Values):
		return Arg{}, nil, fmt.Errorf("option '--%s' requires an argument", name)
	}
	return Arg{o.Names[0], strings.Join(args[:len(o.Values)], "\x00")}, args[len(o.Values):], nil
}

func (s *Spec) bundle(opts []Arg, word string, args []string) ([]Arg, []string, error) {
	for i, r := range word {
		_, w := utf8.DecodeRuneInString(word[i:]) // one byte if it is not UTF-8
		o, rest := s.Find(string(r)), word[i+w:]
		switch {
		case o == nil:
			return nil, nil, fmt.Errorf("invalid option -- '%c'", r)
		case o.Values == "", o.Values[0] == Optional && rest == "":
			opts = append(opts, Arg{o.Names[0], ""})
		case rest != "":
			return append(opts, Arg{o.Names[0], rest}), args, nil
		case len(args) < len(o.Values):
			return nil, nil, fmt.Errorf("option requires an argument -- '%c'", r)
		default:
			return append(opts, Arg{o.Names[0], strings.Join(args[:len(o.Values)], "\x00")}), args[len(o.Values):], nil
		}
	}
	return opts, args, nil
}
