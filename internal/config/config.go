// Package config finds the settings and remembers where each was set: on the
// command line, in the environment, in hako.yaml, in the compatible .aicli.json
// and, for llmcmd, ~/.llmcmdrc, or nowhere (the default).
//
// A setting is a [Key] in the file of its section; the sections are listed once,
// below. There is no way to read a value without its origin, and no key that is
// not listed is accepted. A settings file of the current directory may be that
// of a stranger's project, so it sets only what its keys allow it to, see [Key].
// The rule to keep: loading without a file costs microseconds, as every command
// pays it.
package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"hako/run/fault"
)

// sections lists every setting there is. A new section is one more line.
func sections() [][]key {
	return [][]key{
		modelKeys,
		openaiKeys,
		ollamaKeys,
		runKeys,
		searchKeys,
		webKeys,
		policyKeys,
		executorKeys,
		containerKeys,
		auditKeys,
		limitKeys(),
		quotaKeys(),
		executeKeys,
		approvalKeys,
		llmcmdKeys,
		bashKeys,
		secretaryKeys,
		speechKeys,
		agentKeys,
		githubKeys(),
		GitLab.all(),
		planningKeys,
		queueKeys,
		mcpKeys,
		llmKeys,
	}
}

// A Source says where [Load] looks. The zero Source is that of the process.
type Source struct {
	File   string                      // this file and no other; it must exist. Empty means search
	NoFile bool                        // no file at all
	Llmcmd bool                        // for llmcmd: ~/.llmcmdrc and LLMCMD_… count too, and File may be such a file
	Dir    string                      // searched first; empty means the current directory
	Getenv func(string) (string, bool) // nil means os.LookupEnv
}

// A Config holds what was set. It is not changed after flags were taken in.
type Config struct {
	File   string // that was read last, and counts most; empty means none
	llmcmd bool
	read   []string
	infos  []fs.FileInfo // of these files
	notes  []string
	keys   []key
	set    map[string]setting
	known  []string // every secret that was set, also those that others took the place of
	getenv func(string) (string, bool)
}

// Sources returns the files that were read. What is in a later one counts more.
func (c *Config) Sources() []string { return slices.Clone(c.read) }

// Notes returns what the user should be told about what was read.
func (c *Config) Notes() []string { return slices.Clone(c.notes) }

// Secrets returns the keys and passwords that were set, by whatever way and
// whether or not they count, so that they can be kept out of what is shown and
// written down.
func (c *Config) Secrets() []string { return slices.Clone(c.known) }

// know keeps secrets for [Config.Secrets].
func (c *Config) know(words ...string) {
	for _, word := range words {
		if word = strings.TrimSpace(word); word != "" && !slices.Contains(c.known, word) {
			c.known = append(c.known, word)
		}
	}
}

// A setting is one value as it was written.
type setting struct {
	words []string   // one, unless it is a list
	rows  []row      // of a table, which has no words
	tree  *yaml.Node // of what has parts of its own; it has no words either
	from  string
	base  string // directory that relative paths start from
	home  string // what ~ stands for
	local bool   // from a file that was found in the current directory

	getenv func(string) (string, bool) // what ${NAME} stands for; nil until the value is kept
}

// Load reads the settings. It fails if any of them makes no sense, whether or
// not anybody is going to ask for it.
func Load(src Source) (*Config, error) { return load(src, slices.Concat(sections()...)) }

func load(src Source, keys []key) (*Config, error) {
	if src.Getenv == nil {
		src.Getenv = os.LookupEnv
	}
	c := &Config{keys: keys, set: make(map[string]setting), getenv: src.Getenv, llmcmd: src.Llmcmd}
	if err := c.readFiles(src); err != nil {
		return nil, err
	}
	if err := c.readEnv(); err != nil {
		return nil, err
	}
	if src.Llmcmd {
		if err := c.readRCEnv(); err != nil {
			return nil, err
		}
	}
	return c, c.consistent()
}

// consistent looks at what goes together, after everything was read.
func (c *Config) consistent() error {
	if err := c.guard(); err != nil {
		return err
	}
	return c.distinct()
}

// readEnv takes in what the environment sets, over what the files do.
func (c *Config) readEnv() error {
	for _, k := range c.keys {
		_, names := k.names()
		value, env := c.firstSet(names)
		if value == "" {
			continue
		}
		words := []string{value}
		if k.list() {
			words = splitList(value)
		}
		if err := c.put(k, setting{words: words, from: "env " + env}); err != nil {
			return err
		}
		if k.secret() {
			c.knowAll(names)
		}
	}
	return nil
}

// knowAll keeps what variables hold that are not the first.
func (c *Config) knowAll(names string) {
	for name := range strings.FieldsSeq(names) {
		value, _ := c.getenv(name)
		c.know(value)
	}
}

// firstSet returns the first variable of a list that is set to something.
func (c *Config) firstSet(names string) (value, env string) {
	for name := range strings.FieldsSeq(names) {
		if value, _ := c.getenv(name); value != "" {
			return value, name
		}
	}
	return "", ""
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
	if len(k.fields()) > 0 || k.tree() {
		return &fault.Error{Kind: fault.Invalid, Op: "set " + name, Why: "flag " + flag + ": it can only be set in a file"}
	}
	if err := c.put(k, setting{words: words, from: "flag " + flag}); err != nil {
		return err
	}
	return c.consistent()
}

// put keeps a value after checking it.
func (c *Config) put(k key, s setting) error {
	name, _ := k.names()
	s.home, s.getenv = homeDir(c.getenv), c.getenv
	s.rows = append(slices.Clone(c.set[name].rows), s.rows...) // a later row takes the place of one of its name
	if err := k.check(s); err != nil {
		if inner := errors.Unwrap(err); inner != nil {
			err = inner // what it says before that, we say ourselves
		}
		return &fault.Error{Kind: fault.Invalid, Op: "set " + name, Why: s.from, Err: err, Hint: k.help()}
	}
	if s.local {
		if err := c.admit(k, s); err != nil {
			return err
		}
	}
	c.know(k.hidden(s)...)
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
	e := &fault.Error{Kind: fault.Invalid, Op: "read settings", Subject: from,
		Why: fmt.Sprintf("there is no setting %q", name)}
	if near, ok := fault.Nearest(name, names); ok {
		e.Hint = fmt.Sprintf("did you mean %s?", near)
	} else {
		e.Hint = "hako config show lists them all"
	}
	return e
}

func reason(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}
