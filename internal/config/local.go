package config

import (
	"net/netip"
	"net/url"
	"path/filepath"
	"strings"

	"hako/run/fault"
)

// A settings file that is found in the current directory may be a stranger's: who
// clones a repository or unpacks an archive owns what is in it. So such a file can
// only set what does no harm; each [Key] says what that is, and one that says
// nothing cannot be set there at all. A file that the user names is the user's.

// parseLocal reads the attribute local of settings.txt.
func parseLocal(rule string) func(setting) bool {
	if value, ok := strings.CutPrefix(rule, "only "); ok {
		return func(s setting) bool { return s.words[0] == value }
	}
	return map[string]func(setting) bool{"any": harmless, "no-prefix": noPrefix, "loopback": loopback}[rule]
}

func harmless(setting) bool { return true }

// noPrefix accepts the name of a model whose provider the user chose: a prefix could
// name a file (script:), or a service that passes on what it is told.
func noPrefix(s setting) bool { return !strings.Contains(s.words[0], ":") }

// loopback takes a full address on this machine. What can be read in two ways is
// none.
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

// admit refuses what a file of the current directory may not set.
func (c *Config) admit(k *spec, s setting) error {
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

// guard looks at what goes together. A file of the current directory may bring an
// account of its own: a key, and what is asked with it. But it may not say where a
// key of the user's is sent, nor what is asked in their name.
func (c *Config) guard() error {
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

// anyLocal tells whether one of the settings is from the current directory.
func (c *Config) anyLocal(names string) bool {
	for name := range strings.FieldsSeq(names) {
		if c.set[name].local {
			return true
		}
	}
	return false
}

// deny refuses a setting of the current directory, and tells what to do if it is
// the user's own.
func (c *Config) deny(name string, s setting, why string) error {
	file := s.from[:max(0, strings.LastIndexByte(s.from, ':'))]
	hint := "name the file if you trust it: --config " + file
	if own := c.ownFile(filepath.Base(file)); own != "" {
		hint = "if it is yours, move it to " + own + ", or " + hint
	}
	return &fault.Error{Kind: fault.Denied, Op: "set " + name, Why: why, Rule: s.from, Hint: hint}
}

// ownFile returns where the user's file of that name is, or should be; empty if
// they have no home.
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
