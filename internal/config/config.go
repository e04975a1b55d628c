// Package config finds the settings and remembers where each was set: on the
// command line, in the environment, in hako.yaml, or nowhere (the default).
//
// A setting is a [Key] in the file of its section; the sections are listed once,
// below. There is no way to read a value without its origin, and no key that is
// not listed is accepted. The rule to keep: loading without a file costs
// microseconds, as every command pays it.
package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"hako/internal/fault"
	"hako/internal/private"
)

// sections lists every setting there is. A new section is one more line.
func sections() [][]key {
	return [][]key{
		policyKeys,
		executorKeys,
		auditKeys,
		limitKeys(),
		quotaKeys(),
		executeKeys,
		approvalKeys,
	}
}

// FileName is what the settings file is called.
const FileName = "hako.yaml"

// largest is more than any settings file needs.
const largest = 1 << 20

// A Source says where [Load] looks. The zero Source is that of the process.
type Source struct {
	File   string                      // this file and no other; it must exist. Empty means search
	NoFile bool                        // no file at all
	Dir    string                      // searched first; empty means the current directory
	Getenv func(string) (string, bool) // nil means os.LookupEnv
}

// A Config holds what was set. It is not changed after flags were taken in.
type Config struct {
	File   string // that was read; empty means none
	keys   []key
	set    map[string]setting
	getenv func(string) (string, bool)
}

// A setting is one value as it was written.
type setting struct {
	words []string // one, unless it is a list
	from  string
	base  string // directory that relative paths start from
	home  string // what ~ stands for
}

// Load reads the settings. It fails if any of them makes no sense, whether or
// not anybody is going to ask for it.
func Load(src Source) (*Config, error) { return load(src, slices.Concat(sections()...)) }

func load(src Source, keys []key) (*Config, error) {
	if src.Getenv == nil {
		src.Getenv = os.LookupEnv
	}
	c := &Config{keys: keys, set: make(map[string]setting), getenv: src.Getenv}
	if err := c.readFile(src); err != nil {
		return nil, err
	}
	return c, c.readEnv()
}

// readEnv takes in what the environment sets, over what the file does.
func (c *Config) readEnv() error {
	for _, k := range c.keys {
		_, env := k.names()
		if env == "" {
			continue
		}
		value, ok := c.getenv(env)
		if !ok || value == "" {
			continue
		}
		words := []string{value}
		if k.list() {
			words = splitList(value)
		}
		if err := c.put(k, setting{words: words, from: "env " + env}); err != nil {
			return err
		}
	}
	return nil
}

func splitList(s string) []string {
	words := strings.Split(s, ",")
	for i := range words {
		words[i] = strings.TrimSpace(words[i])
	}
	return words
}

// Set takes in a value from the command line, over everything else. flag is how
// the user wrote it: "--audit".
func (c *Config) Set(name, flag string, words ...string) error {
	k, err := c.find(name, "flag "+flag)
	if err != nil {
		return err
	}
	return c.put(k, setting{words: words, from: "flag " + flag})
}

// put keeps a value after checking it.
func (c *Config) put(k key, s setting) error {
	name, _ := k.names()
	s.home = homeDir(c.getenv)
	if err := k.check(s); err != nil {
		if inner := errors.Unwrap(err); inner != nil {
			err = inner // what it says before that, we say ourselves
		}
		return &fault.Error{Kind: fault.Invalid, Op: "set " + name, Why: s.from, Err: err, Hint: k.help()}
	}
	c.set[name] = s
	return nil
}

func (c *Config) find(name, from string) (key, error) {
	var names []string
	for _, k := range c.keys {
		known, _ := k.names()
		if known == name {
			return k, nil
		}
		names = append(names, known)
	}
	return nil, unknown(name, from, names)
}

func unknown(name, from string, names []string) error {
	e := &fault.Error{Kind: fault.Invalid, Op: "read settings", Subject: from, Why: fmt.Sprintf("there is no setting %q", name)}
	if near, ok := fault.Nearest(name, names); ok {
		e.Hint = fmt.Sprintf("did you mean %s?", near)
	} else {
		e.Hint = "hako config show lists them all"
	}
	return e
}

// readFile finds and reads the settings file, if there is one.
func (c *Config) readFile(src Source) error {
	if src.NoFile {
		return nil
	}
	if src.File == "" {
		src.File, _ = src.Getenv("HAKO_CONFIG")
	}
	if src.File != "" {
		return c.read(src.File)
	}
	for _, dir := range c.searched(src.Dir) {
		err := c.read(filepath.Join(dir, FileName))
		if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// searched returns the directories in which a settings file may be.
func (c *Config) searched(dir string) []string {
	dirs := []string{dir}
	if base := userDir(c.getenv, "XDG_CONFIG_HOME", ".config"); base != "" {
		dirs = append(dirs, base)
	}
	return dirs
}

// userDir returns where hako keeps one kind of file of its user.
func userDir(getenv func(string) (string, bool), env, usual string) string {
	if base, ok := getenv(env); ok && filepath.IsAbs(base) {
		return filepath.Join(base, "hako")
	}
	if home := homeDir(getenv); home != "" {
		return filepath.Join(home, usual, "hako")
	}
	return ""
}

func homeDir(getenv func(string) (string, bool)) string {
	for _, name := range []string{"HOME", "USERPROFILE"} {
		if home, ok := getenv(name); ok && home != "" {
			return home
		}
	}
	return ""
}

// read takes in one file. Others must not be able to write it, as it says what
// may run; nor to read it if a secret is in it.
func (c *Config) read(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return &fault.Error{Kind: fault.NotFound, Op: "read settings", Subject: path, Err: reason(err)}
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if err := private.CheckTrusted(path, info); err != nil {
		return err
	}
	text, err := io.ReadAll(io.LimitReader(f, largest+1))
	if err != nil {
		return &fault.Error{Op: "read settings", Subject: path, Err: reason(err)}
	}
	if len(text) > largest {
		return &fault.Error{Kind: fault.TooLarge, Op: "read settings", Subject: path, Why: "the file is larger than 1 MB"}
	}
	c.File = path
	secret, err := c.parse(path, text)
	if err == nil && secret {
		err = private.Check(path, info)
	}
	return err
}

func reason(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}
