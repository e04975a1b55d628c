package config

import (
	"net/netip"
	"net/url"
	"path/filepath"
	"strings"

	"hako/run/fault"
)

// A settings file in the current directory may come from a stranger: cloning a repository or unpacking an archive makes
// its files the user's. So such a file can set only what settings.txt marks as local. A file that the user names is
// trusted.

// parseLocal reads the attribute local of settings.txt.
func parseLocal(rule string) func(setting) bool {
	if value, ok := strings.CutPrefix(rule, "only "); ok {
		return func(s setting) bool { return s.words[0] == value }
	}
	return map[string]func(setting) bool{"any": anyValue, "no-prefix": noPrefix, "loopback": loopback}[rule]
}

func anyValue(setting) bool { return true }

// noPrefix accepts the name of a model without a provider: a prefix could name a file (script:) or a service that
// forwards what it is sent.
func noPrefix(s setting) bool { return !strings.Contains(s.words[0], ":") }

// loopback accepts an unambiguous URL of this machine.
func loopback(s setting) bool {
	word := strings.TrimSpace(s.words[0])
	u, err := url.Parse(word)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || strings.ContainsAny(word, `@?#%\`) {
		return false
	}
	if strings.EqualFold(u.Hostname(), "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(u.Hostname())
	return err == nil && ip.IsLoopback() && !ip.Is4In6()
}

// checkLocal refuses what a file in the current directory may not set.
func (c *Config) checkLocal(k *spec, s setting) error {
	before, set := c.set[k.name]
	switch {
	case k.local == nil || !k.local(s):
		return c.deny(k.name, s, "a file in the current directory cannot set it: it decides "+k.decides)
	case k.with != "" && set && !before.local:
		return c.deny(k.name, s, "a file in the current directory cannot take the place of yours ("+before.from+
			"): it decides "+k.decides)
	}
	return nil
}

// checkLocalSecrets checks settings that depend on secrets. A file in the current directory may have its own account: a
// key, and what it is used for. But it may not decide where a key of the user is sent, nor what it is used for.
func (c *Config) checkLocalSecrets() error {
	for _, k := range c.specs {
		s := c.set[k.name]
		if !s.local {
			continue
		}
		if carried := c.set[k.carries]; carried.words != nil && !carried.local {
			return c.deny(k.name, s, "a file in the current directory may not say where your key ("+carried.from+") is sent")
		}
		if k.with != "" && !c.anyLocal(k.with) {
			return c.deny(k.name, s, "a file in the current directory cannot set it without a key of its own: it decides "+
				k.decides)
		}
	}
	return nil
}

// anyLocal reports whether one of the settings is from the current directory.
func (c *Config) anyLocal(names string) bool {
	for name := range strings.FieldsSeq(names) {
		if c.set[name].local {
			return true
		}
	}
	return false
}

// deny refuses a setting of the current directory, with a hint for the case that the file is the user's own.
func (c *Config) deny(name string, s setting, why string) error {
	file := s.from[:max(0, strings.LastIndexByte(s.from, ':'))]
	hint := "name the file if you trust it: --config " + file
	if own := c.ownFile(filepath.Base(file)); own != "" {
		hint = "if it is yours, move it to " + own + ", or " + hint
	}
	return &fault.Error{Kind: fault.Denied, Op: "set " + name, Why: why, Rule: s.from, Hint: hint}
}

// ownFile returns the path of the user's file of that name, whether it exists or not; empty without a home.
func (c *Config) ownFile(name string) string {
	dir := userDir(c.getenv, "XDG_CONFIG_HOME", ".config")
	if name == compatName {
		dir = homeDir(c.getenv)
	}
	if dir == "" {
		return ""
	}
	return filepath.Join(dir, name)
}
