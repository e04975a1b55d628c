package config

import (
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// A Value is a setting together with where it was set.
type Value[T any] struct {
	V    T
	From string // "flag --audit", "env HAKO_AUDIT", "hako.yaml:3", "default"
}

// A Key is one setting. Only Name is required.
type Key[T any] struct {
	Name    string // as in the file: "audit.path"
	Env     string // environment variables, of which the first that is set counts; empty means none
	Help    string // what it is and how it is written
	Default func(*Config) T
	Parse   func(s setting) (T, error)
	Many    bool                   // a list
	Fields  string                 // of a table with named rows: what each row has, as "input output"; empty means that it is none
	Tree    bool                   // it has parts of its own, which Parse reads; it can only be set in a file
	Secret  bool                   // a file that sets it must be its owner's alone
	Hidden  func(setting) []string // the secrets in a value; nil means all of it if it is Secret, else none
	Carries string                 // for an address: the name of the secret that is sent there; empty means none

	Local   func(setting) bool // whether a file found in the current directory may set it so; nil means that none may
	With    string             // for what belongs to an account: such a file may set it if one of these secrets is its own; empty means by itself
	Decides string             // why such a file may not: "where your data goes"; every key without Local has it
}

// key is what all kinds of [Key] have in common.
type key interface {
	names() (name, env string)
	help() string
	list() bool
	fields() []string
	tree() bool
	secret() bool
	hidden(setting) []string
	guarded() guarded
	check(setting) error
	show(*Config) Shown
}

func (k Key[T]) names() (string, string) { return k.Name, k.Env }
func (k Key[T]) help() string            { return k.Help }
func (k Key[T]) list() bool              { return k.Many }
func (k Key[T]) fields() []string        { return strings.Fields(k.Fields) }
func (k Key[T]) tree() bool              { return k.Tree }
func (k Key[T]) secret() bool            { return k.Secret }
func (k Key[T]) guarded() guarded        { return guarded{k.Local, k.With, k.Decides, k.Carries} }

func (k Key[T]) hidden(s setting) []string {
	switch {
	case k.Hidden != nil:
		return k.Hidden(s)
	case k.Secret:
		return s.words
	}
	return nil
}

func (k Key[T]) check(s setting) error {
	_, err := k.Parse(s)
	return err
}

// Of returns the value in c.
func (k Key[T]) Of(c *Config) Value[T] {
	if s, ok := c.set[k.Name]; ok {
		if v, err := k.Parse(s); err == nil { // it was checked when it was set
			return Value[T]{v, s.from}
		}
	}
	var v T
	if k.Default != nil {
		v = k.Default(c)
	}
	return Value[T]{v, "default"}
}

// Shown is one setting for people to read.
type Shown struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	From  string `json:"from"`
	Env   string `json:"env,omitempty"`
	Help  string `json:"help,omitempty"`
}

func (k Key[T]) show(c *Config) Shown {
	v := k.Of(c)
	text := fmt.Sprint(v.V)
	if list, ok := any(v.V).([]string); ok {
		text = strings.Join(list, ", ")
	}
	switch {
	case k.Fields != "":
		text = strings.Join(rowNames(c.set[k.Name].rows), ", ")
	case strings.ContainsFunc(text, unicode.IsControl): // it is shown on one line
		text = strconv.Quote(text)
	}
	if k.Secret && text != "" {
		text = "[redacted]"
	}
	return Shown{k.Name, text, v.From, k.Env, k.Help}
}

// Show lists every setting with its value and origin.
func (c *Config) Show() []Shown {
	var all []Shown
	for _, k := range c.keys {
		s := k.show(c)
		if c.llmcmd {
			s.Env = strings.TrimSpace(rcEnv(s.Name) + " " + s.Env)
		}
		all = append(all, s)
	}
	return all
}

func constant[T any](v T) func(*Config) T { return func(*Config) T { return v } }

// The ways in which values are written.

func words(s setting) ([]string, error) { return s.words, nil }

func oneOf(names ...string) func(setting) (string, error) {
	return func(s setting) (string, error) {
		for _, name := range names {
			if s.words[0] == name {
				return name, nil
			}
		}
		return "", fmt.Errorf("%q is not one of %s", s.words[0], strings.Join(names, ", "))
	}
}

func truth(s setting) (bool, error) {
	switch strings.ToLower(s.words[0]) {
	case "true", "yes", "on", "1":
		return true, nil
	case "false", "no", "off", "0":
		return false, nil
	}
	return false, fmt.Errorf("%q is neither true nor false", s.words[0])
}

func between(low, high int) func(setting) (int, error) {
	return func(s setting) (int, error) {
		n, err := strconv.Atoi(s.words[0])
		if err != nil || n < low || n > high {
			return 0, fmt.Errorf("%q is not a whole number from %d to %d", s.words[0], low, high)
		}
		return n, nil
	}
}

func duration(s setting) (time.Duration, error) {
	word := s.words[0]
	if _, err := strconv.Atoi(word); err == nil {
		word += "s"
	}
	d, err := time.ParseDuration(word)
	if err != nil || d <= 0 {
		return 0, fmt.Errorf("%q is not a time above zero, as 30s or 5m", s.words[0])
	}
	return d, nil
}

// file reads the name of a file. In a settings file it is relative to that,
// elsewhere to the current directory; ~/ is the user's home.
func file(s setting) (string, error) {
	name := s.words[0]
	switch {
	case name == "":
		return "", errors.New("the name is empty")
	case strings.HasPrefix(name, "~/"):
		return filepath.Join(s.home, name[2:]), nil
	case filepath.IsAbs(name):
		return filepath.Clean(name), nil
	}
	return filepath.Join(s.base, name), nil
}
