// Package config reads the settings and the origin of each: the command line, the environment, hako.yaml, the
// compatible .aicli.json, for llmcmd also ~/.llmcmdrc, or the default.
//
// settings.txt defines all settings: how each is written, its default, variables and description. A [Key] reads one. A
// settings file in the current directory may come from a stranger's project, so it can set only what settings.txt
// marks as local. Every command loads the settings, so that loading without a file must take microseconds.
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

// A Source says where [Load] looks. The zero Source is that of the process.
type Source struct {
	File   string                      // the only file to read; it must exist. Empty means search
	NoFile bool                        // read no file
	Llmcmd bool                        // for llmcmd: also read ~/.llmcmdrc and LLMCMD_…; File may be such a file
	Dir    string                      // searched first; empty means the current directory
	Getenv func(string) (string, bool) // nil means os.LookupEnv
}

// A Config holds the values that were set. After the flags were applied it does not change.
type Config struct {
	File      string // the file that was read last and overrides the others; empty means none
	llmcmd    bool
	files     []string
	fileInfos []fs.FileInfo // of these files
	notes     []string
	specs     []*spec
	set       map[string]setting
	secrets   []string // every secret that was set, also overridden ones
	getenv    func(string) (string, bool)
}

// Sources returns the files that were read. A later one overrides an earlier one.
func (c *Config) Sources() []string { return slices.Clone(c.files) }

// Notes returns warnings about the files that were read.
func (c *Config) Notes() []string { return slices.Clone(c.notes) }

// Secrets returns all keys and passwords that were set, also overridden ones, for redaction.
func (c *Config) Secrets() []string { return slices.Clone(c.secrets) }

// addSecrets adds secrets to [Config.Secrets].
func (c *Config) addSecrets(words ...string) {
	for _, word := range words {
		if word = strings.TrimSpace(word); word != "" && !slices.Contains(c.secrets, word) {
			c.secrets = append(c.secrets, word)
		}
	}
}

// A setting is one value as it was written, with its origin.
type setting struct {
	words []string   // one, unless it is a list
	rows  []row      // of a table, which has no words
	tree  *yaml.Node // of a kind that parses YAML; it has no words either
	from  string
	base  string // directory of relative paths
	home  string // directory of ~
	local bool   // from a file that was found in the current directory

	getenv func(string) (string, bool) // expands ${NAME}; nil until the value is stored
}

// Load reads and validates all settings.
func Load(src Source) (*Config, error) { return load(src, specs()) }

func load(src Source, specs []*spec) (*Config, error) {
	if src.Getenv == nil {
		src.Getenv = os.LookupEnv
	}
	c := &Config{specs: specs, set: make(map[string]setting), getenv: src.Getenv, llmcmd: src.Llmcmd}
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
	return c, c.validate()
}

// validate validates settings that depend on each other, after everything was read.
func (c *Config) validate() error {
	if err := c.checkLocalSecrets(); err != nil {
		return err
	}
	return c.checkLabels()
}

// readEnv reads the environment variables, which override the files.
func (c *Config) readEnv() error {
	for _, k := range c.specs {
		value, env := c.firstSet(k.env)
		if value == "" {
			continue
		}
		words := []string{value}
		if k.list {
			words = splitList(value)
		}
		if err := c.put(k, setting{words: words, from: "env " + env}); err != nil {
			return err
		}
		if k.secret {
			c.addSecretsOf(k.env)
		}
	}
	return nil
}

// addSecretsOf registers the values of all variables, also of shadowed ones, as secrets.
func (c *Config) addSecretsOf(names string) {
	for name := range strings.FieldsSeq(names) {
		value, _ := c.getenv(name)
		c.addSecrets(value)
	}
}

// firstSet returns the first variable of a list that is not empty.
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

// Set sets a value from the command line, which overrides everything else. flag is how the user wrote it: "--audit".
func (c *Config) Set(name, flag string, words ...string) error {
	k, err := c.find(name, "flag "+flag)
	if err != nil {
		return err
	}
	if k.fields != nil || k.tree {
		return &fault.Error{Kind: fault.Invalid, Op: "set " + name, Why: "flag " + flag + ": it can only be set in a file"}
	}
	if err := c.put(k, setting{words: words, from: "flag " + flag}); err != nil {
		return err
	}
	return c.validate()
}

// put validates and stores a value.
func (c *Config) put(k *spec, s setting) error {
	s.home, s.getenv = homeDir(c.getenv), c.getenv
	s.rows = append(slices.Clone(c.set[k.name].rows), s.rows...) // a later row overrides one of its name
	if _, err := k.parse(s); err != nil {
		if inner := errors.Unwrap(err); inner != nil {
			err = inner // its prefix would repeat ours
		}
		return &fault.Error{Kind: fault.Invalid, Op: "set " + k.name, Why: s.from, Err: err, Hint: k.help()}
	}
	if s.local {
		if err := c.checkLocal(k, s); err != nil {
			return err
		}
	}
	c.addSecrets(k.secrets(s)...)
	c.set[k.name] = s
	return nil
}

func (c *Config) find(name, from string) (*spec, error) {
	var names []string
	for _, k := range c.specs {
		if k.name == name {
			return k, nil
		}
		names = append(names, k.name)
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
