package lang

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"hako/internal/lazyregexp"
	"hako/run/fault"
)

// words is a list that may be written as a single string.
type words []string

// UnmarshalYAML implements [yaml.Unmarshaler].
func (w *words) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode && n.Tag != "!!null" {
		*w = words{n.Value}
		return nil
	}
	var list []string
	err := n.Decode(&list)
	*w = list
	return err
}

// read parses the file of an environment. Unknown fields are errors.
func read(file string, text []byte) (Language, error) {
	var l Language
	dec := yaml.NewDecoder(bytes.NewReader(text))
	dec.KnownFields(true)
	if err := dec.Decode(&l); err != nil {
		return Language{}, invalidFile(file, oneLine(err))
	}
	if err := dec.Decode(&yaml.Node{}); !errors.Is(err, io.EOF) {
		return Language{}, invalidFile(file, "there is more than one document in it")
	}
	l.Packages = strings.TrimSpace(l.Packages)
	for i := range l.Install {
		l.Install[i].Command = strings.TrimSpace(l.Install[i].Command)
	}
	if name, ok := strings.CutSuffix(file, ".yaml"); !ok || name != l.Name {
		return Language{}, invalidFile(file, fmt.Sprintf("its name is %q, not that of the file", l.Name))
	}
	if why := l.problem(); why != "" {
		return Language{}, invalidFile(file, why)
	}
	return l, nil
}

func oneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }

func invalidFile(file, why string) error {
	return &fault.Error{Kind: fault.Invalid, Op: "read environment", Subject: file, Why: why,
		Hint: "docs/environments.md has the form of the file"}
}

var (
	nameForm  = lazyregexp.New(`^[a-z][a-z0-9-]{0,31}$`)
	imageForm = lazyregexp.New(
		`^[a-z0-9][a-z0-9._/-]*(:[0-9]+/[a-z0-9._/-]+)?(:[A-Za-z0-9_][A-Za-z0-9._-]*)?(@sha256:[0-9a-f]{64})?$`)
	varForm     = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_]*$`)
	programForm = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9._+-]*$`)
	stepForms   = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9._ +-]{0,63}$`)
)

// isName reports whether a word can be the name of an environment.
func isName(word string) bool { return nameForm.Get().MatchString(word) }

// problem returns what is wrong with an environment, or "".
func (l Language) problem() string {
	switch {
	case !isName(l.Name):
		return fmt.Sprintf("%q is not a name of small letters, digits and hyphens", l.Name)
	case !imageForm.Get().MatchString(l.Image):
		return fmt.Sprintf("image %q is not the name of an image", l.Image)
	case !imageForm.Get().MatchString(l.Base):
		return fmt.Sprintf("base %q is not the name of an image", l.Base)
	case l.Dockerfile == "" || l.Dockerfile != path.Base(l.Dockerfile) || !isPath(l.Dockerfile):
		return fmt.Sprintf("dockerfile %q is not the name of a file", l.Dockerfile)
	case !isLine(l.Description):
		return "description is not one line of text"
	case len(l.Use) == 0 || !all(l.Use, isLine):
		return "use does not say in lines of text what the environment is for"
	case l.Packages == "":
		return "packages does not say how libraries are installed"
	case !all(l.Folders, isPath):
		return "folders are not names below the workspace"
	case l.Order < 0:
		return "order is below zero"
	}
	return first(l.envProblem, l.pathProblem, l.stepsProblem)
}

func first(checks ...func() string) string {
	for _, check := range checks {
		if why := check(); why != "" {
			return why
		}
	}
	return ""
}

func (l Language) envProblem() string {
	for name, value := range l.Env {
		switch {
		case !varForm.Get().MatchString(name):
			return fmt.Sprintf("env: %q is not the name of a variable", name)
		case strings.ContainsAny(value, "\x00\n"):
			return "env: " + name + " is not one line"
		case slices.Contains(ours, name):
			return "env: " + name + " is set for all environments alike"
		}
	}
	return ""
}

func (l Language) pathProblem() string {
	for _, dir := range l.Path {
		if !path.IsAbs(dir) || path.Clean(dir) != dir || strings.ContainsAny(dir, ":\x00\n") {
			return fmt.Sprintf("path: %q is not the full path of a directory", dir)
		}
	}
	return ""
}

func (l Language) stepsProblem() string {
	seen := map[string]bool{}
	for _, s := range l.Install {
		if seen[s.Name] {
			return fmt.Sprintf("install: there are two steps called %q", s.Name)
		}
		seen[s.Name] = true
		if why := s.problem(); why != "" {
			return fmt.Sprintf("install %q: %s", s.Name, why)
		}
	}
	return ""
}

func (s Step) problem() string {
	switch {
	case !stepForms.Get().MatchString(s.Name):
		return "the name is not a short line of letters, digits, dots and hyphens"
	case len(s.When) == 0 || !all(s.When, isPath):
		return "when has no list of files in the project"
	case !all(s.Key, isPath):
		return "key is not a list of files in the project"
	case !all(s.Keep, isKeep):
		return "keep is not a list of directories in .home, or in project but not all of it"
	case len(s.Keep) > 0 && len(s.Key) == 0:
		return "there is no key for what is kept"
	case !all(s.Needs, programForm.Get().MatchString):
		return "needs is not a list of programs"
	case s.Command == "" || strings.Contains(s.Command, "\x00"):
		return "there is no command"
	case s.Timeout < 0:
		return "timeout is below zero"
	}
	return ""
}

func all(list []string, is func(string) bool) bool {
	return !slices.ContainsFunc(list, func(s string) bool { return !is(s) })
}

func isLine(text string) bool {
	return strings.TrimSpace(text) != "" && !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f })
}

// isPath reports whether a name stays below its base directory and cannot be taken for an option.
func isPath(name string) bool {
	return isLine(name) && path.Clean(name) == name && !path.IsAbs(name) && name != "." && name != ".." &&
		!strings.HasPrefix(name, "../") && !strings.HasPrefix(name, "-")
}

// isKeep reports whether a directory may be restored in a new container. The project as a whole may not: sources come
// only from the clone.
func isKeep(name string) bool {
	where := strings.Split(name, "/")
	return isPath(name) && len(where) > 1 && (where[0] == ".home" || where[0] == "project") &&
		!slices.Contains(where, ".git") && !strings.ContainsAny(path.Base(name), "*?[")
}
