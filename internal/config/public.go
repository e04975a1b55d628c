package config

import (
	"os"
	"slices"
	"strings"
)

// A Plain is one setting as it was written, for another process of ours.
type Plain struct {
	Name       string   `json:"name"`
	Words      []string `json:"words"`
	From, Base string
}

// public are the sections that a process needs that judges and runs scripts.
var public = []string{"policy", "limits", "bash_executor", "approval", "audit", "secretary", "command_executor",
	"execute"}

// Public returns what was set in these sections, without secrets, tables and what
// has parts of its own.
func (c *Config) Public() (all []Plain) {
	for _, k := range c.keys {
		name, _ := k.names()
		s, set := c.set[name]
		section, _, _ := strings.Cut(name, ".")
		if !set || !slices.Contains(public, section) || k.secret() || len(k.hidden(s)) > 0 || len(k.fields()) > 0 ||
			k.tree() {
			continue
		}
		all = append(all, Plain{name, s.words, s.from, s.base})
	}
	return all
}

// Restore makes settings of what [Config.Public] returned, and of nothing else.
func Restore(all []Plain) (*Config, error) {
	none := func(string) (string, bool) { return "", false }
	c, err := Load(Source{NoFile: true, Getenv: none})
	if err != nil {
		return nil, err
	}
	c.getenv = os.LookupEnv // for ~ and the directories of the user
	for _, p := range all {
		k, err := c.find(p.Name, p.From)
		if err != nil {
			return nil, err
		}
		if err := c.put(k, setting{words: p.Words, from: p.From, base: p.Base}); err != nil {
			return nil, err
		}
	}
	return c, nil
}
