package config

import (
	"os"
	"slices"
	"strings"
)

// A Plain is one setting as it was written, for a worker process.
type Plain struct {
	Name       string   `json:"name"`
	Words      []string `json:"words"`
	From, Base string
}

// public are the sections that a worker needs to judge and run scripts.
var public = []string{"policy", "limits", "bash_executor", "approval", "audit", "secretary", "command_executor",
	"execute"}

// Public returns the values of these sections, without secrets, tables and trees.
func (c *Config) Public() (all []Plain) {
	for _, k := range c.specs {
		s, set := c.set[k.name]
		section, _, _ := strings.Cut(k.name, ".")
		if !set || !slices.Contains(public, section) || k.secret || len(k.secrets(s)) > 0 || k.fields != nil || k.tree {
			continue
		}
		all = append(all, Plain{k.name, s.words, s.from, s.base})
	}
	return all
}

// Restore returns settings with the values of [Config.Public] and no others.
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
