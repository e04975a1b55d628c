package tool

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"hako/internal/fault"
)

// check returns the script that a command stands for, or why it is refused.
func (e *Executor) check(command string) (string, error) {
	pipeline, err := parse(command)
	if err != nil {
		return "", err
	}
	for i := range pipeline {
		if pipeline[i], err = e.admit(pipeline[i]); err != nil {
			return "", err
		}
	}
	return spell(pipeline), nil
}

// admit checks one command of the pipeline and returns the words to run.
func (e *Executor) admit(words []string) ([]string, error) {
	r, ok := readers[words[0]]
	if !ok {
		hint := allowed()
		if near, ok := fault.Nearest(words[0], Names()); ok {
			hint = "did you mean " + near + "? " + hint
		}
		return nil, &refused{"the command " + brief(words[0]) + " can not be used here", hint}
	}
	words = r.joined(words)
	a, err := r.sortOut(words)
	if err != nil {
		return nil, err
	}
	if err := e.judge(words, r, a); err != nil {
		return nil, err
	}
	if r.sandbox {
		words = slices.Insert(words, 1, "--sandbox")
	}
	return words, nil
}

// judge looks at what the operands are. Files that go by another name than the
// granted one get that name.
func (e *Executor) judge(words []string, r reader, a *arguments) error {
	named, text := a.operands, ""
	first := r.operands.textFirst() && !a.any(r.given)
	if first && len(named) > 0 {
		text, named = named[0].value, named[1:]
	}
	switch r.operands {
	case texts:
		return nil
	case addresses:
		return e.reachable(named)
	case sedScript:
		for _, s := range a.scripts {
			text += "\n" + s.value
		}
		if err := sedReads(text); err != nil {
			return err
		}
	}
	if r.most > 0 && len(named) > r.most {
		return &refused{fmt.Sprintf("%s is given more than %d files", words[0], r.most), "a further one could be written to; the output comes back by itself"}
	}
	for _, s := range append(named, a.files...) {
		if s.value == "-" || r.operands == awkProgram && assigns(s.value) {
			continue
		}
		name, err := e.granted(s.value)
		if err != nil {
			return err
		}
		words[s.at] = s.before + name
	}
	return nil
}

// any reports whether one of the options was given.
func (a *arguments) any(names string) bool {
	for name := range strings.FieldsSeq(names) {
		if a.seen[name] {
			return true
		}
	}
	return false
}

func (e *Executor) reachable(urls []slot) error {
	for _, u := range urls {
		if _, err := e.Web.Allow(u.value); err != nil {
			return err
		}
	}
	return nil
}

// granted returns the name by which the runner knows a granted file.
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
	hint := "no file was granted; grant one with --file"
	if len(e.Files) > 0 {
		hint = "the granted files are " + some(e.Files)
	}
	return "", &refused{"the file " + brief(name) + " was not granted", hint}
}

// absolute spells a name the one way it is compared by.
func (e *Executor) absolute(name string) string {
	if path.IsAbs(name) {
		return path.Clean(name)
	}
	dir := e.Dir
	if dir == "" {
		dir = "/box"
	}
	return path.Join(dir, name)
}

// some lists the first few of many.
func some(list []string) string {
	const most = 20
	if len(list) <= most {
		return strings.Join(list, ", ")
	}
	return strings.Join(list[:most], ", ") + " and " + strconv.Itoa(len(list)-most) + " more"
}

// assigns reports whether awk takes an operand for an assignment, not a file.
func assigns(operand string) bool {
	name, _, ok := strings.Cut(operand, "=")
	return ok && name != "" && !strings.ContainsFunc(name, notName) && (name[0] < '0' || name[0] > '9')
}

func notName(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_'
}
