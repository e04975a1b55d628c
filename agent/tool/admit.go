package tool

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"hako/run/fault"
	"hako/shell/spec"
)

// check returns the program of a command, or why it is refused.
func (e *Executor) check(in Input) (program, error) {
	pipeline, err := parse(in.Command)
	if err != nil {
		return program{}, err
	}
	sources := 0
	for i := range pipeline {
		words, named, err := e.admit(pipeline[i])
		if err != nil {
			return program{}, err
		}
		pipeline[i], sources = words, sources+named
	}
	if in.File != "" && sources == 0 && e.Stdin == nil {
		return program{}, unread(in)
	}
	return newProgram(pipeline), nil
}

// unread is the error of a command that names no file: the argument file does not make it read one.
func unread(in Input) error {
	return &fault.Error{Kind: fault.Invalid, Op: "execute", Subject: brief(in.Command),
		Why:  "the command names no file, so that " + brief(in.File) + " would not be read",
		Hint: "name the file in the command, as in: cat " + quote(in.File)}
}

// admit checks one command of the pipeline and returns the words to run, and how many files and URLs they name.
func (e *Executor) admit(words []string) (_ []string, sources int, err error) {
	r, ok := readerOf(words[0])
	if !ok {
		hint := allowed()
		if near, ok := fault.Nearest(words[0], Names()); ok {
			hint = "did you mean " + near + "? " + hint
		}
		return nil, 0, &refused{commandRule, "the command " + brief(words[0]) + " cannot be used here", hint}
	}
	words = r.joined(words)
	a, err := r.sortOut(words)
	if err != nil {
		return nil, 0, err
	}
	if sources, err = e.judge(words, r, a); err != nil {
		return nil, 0, err
	}
	if r.sandbox {
		words = slices.Insert(words, 1, "--sandbox")
	}
	return words, sources, nil
}

// judge checks the operands. A file that is named otherwise than it was granted gets the granted name.
func (e *Executor) judge(words []string, r reader, a *arguments) (sources int, err error) {
	text, named := r.split(a)
	switch words[0] {
	case "curl":
		return len(named), e.reachable(named)
	case "sed":
		for _, s := range a.scripts {
			text += "\n" + s.value
		}
		if err := sedReads(text); err != nil {
			return 0, err
		}
	}
	if most := r.maxOperands(); most > 0 && len(a.operands) > most {
		return 0, &refused{fileRule, fmt.Sprintf("%s is given more than %d files", words[0], most),
			"a further one could be written to; the output comes back by itself"}
	}
	for _, s := range named {
		name, err := e.granted(s.value)
		if err != nil {
			return 0, err
		}
		words[s.at] = s.before + name
	}
	return len(named), nil
}

// split separates the script or pattern among the operands, if there is one, from the names of files or URLs.
func (r reader) split(a *arguments) (text string, named []slot) {
	operands := a.operands
	switch first, _ := r.Operands.At(0); {
	case first != spec.KindText:
	case r.textsOnly():
		operands = nil
	case !a.any(r.Given) && len(operands) > 0:
		text, operands = operands[0].value, operands[1:]
	}
	for _, s := range slices.Concat(operands, a.files) {
		if s.value != "-" && (r.Name != "awk" || !assigns(s.value)) {
			named = append(named, s)
		}
	}
	return text, named
}

// any reports whether one of the options was given.
func (a *arguments) any(names []string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return a.seen[name] })
}

func (e *Executor) reachable(urls []slot) error {
	for _, u := range urls {
		if _, err := e.Web.Allow(u.value); err != nil {
			return byRule(urlRule, err)
		}
	}
	return nil
}

// byRule sets the rule of a refusal.
func byRule(rule string, err error) error {
	f, ok := errors.AsType[*fault.Error](err)
	if !ok || f.Kind != fault.Denied {
		return err
	}
	named := *f
	named.Rule = rule
	return &named
}

// granted returns the name of a granted file for the runner.
func (e *Executor) granted(name string) (string, error) {
	at := e.absolute(name)
	for _, f := range e.Files {
		if e.absolute(f) == at {
			return name, nil
		}
	}
	if e.Real != nil {
		real := e.Real(at)
		for _, f := range e.Files {
			if known := e.absolute(f); e.Real(known) == real {
				return known, nil
			}
		}
	}
	hint := "no file was granted; whoever asks for this has to grant one"
	if len(e.Files) > 0 {
		hint = "the granted files are " + some(e.Files)
	}
	return "", &refused{fileRule, "the file " + brief(name) + " was not granted", hint}
}

// absolute makes a name absolute, for comparisons.
func (e *Executor) absolute(name string) string {
	if path.IsAbs(name) {
		return path.Clean(name)
	}
	return path.Join(cmp.Or(e.Dir, "/box"), name)
}

// some lists the first few names.
func some(list []string) string {
	const most = 20
	if len(list) <= most {
		return strings.Join(list, ", ")
	}
	return strings.Join(list[:most], ", ") + " and " + strconv.Itoa(len(list)-most) + " more"
}

// assigns reports whether awk treats an operand as an assignment.
func assigns(operand string) bool {
	name, _, ok := strings.Cut(operand, "=")
	return ok && name != "" && !strings.ContainsFunc(name, notName) && (name[0] < '0' || name[0] > '9')
}

func notName(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_'
}
