package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"hako/internal/fault"
	"hako/internal/private"
)

// FileName is what the settings file is called.
const FileName = "hako.yaml"

// largest is more than any settings file needs.
const largest = 1 << 20

// UserFile returns the settings file of the user of this process: where it is,
// or should be. Without a home that is the current directory.
func UserFile() string {
	return filepath.Join(userDir(os.LookupEnv, "XDG_CONFIG_HOME", ".config"), FileName)
}

// readFiles finds and reads the settings files, if there are any: the one that
// was named, else the compatible one, over it our own, and over that the one of
// llmcmd, which is about less and so means more.
func (c *Config) readFiles(src Source) error {
	if src.NoFile {
		return nil
	}
	named := src.File
	if named == "" {
		named, _ = src.Getenv("HAKO_CONFIG")
	}
	if named != "" { // by name is on purpose, wherever it is
		return c.readFile(named, false, c.form(named, src.Llmcmd && src.File != ""))
	}
	home, own := homeDir(c.getenv), userDir(c.getenv, "XDG_CONFIG_HOME", ".config")
	if err := c.search(compatName, src.Dir, home, c.parseCompat); err != nil {
		return err
	}
	if err := c.search(FileName, src.Dir, own, c.parse); err != nil || !src.Llmcmd || home == "" {
		return err
	}
	return ifThere(c.readFile(filepath.Join(home, rcName), false, c.parseRC))
}

// A parser takes in the text of a file and reports whether it sets a secret.
type parser func(path string, local bool, text []byte) (secret bool, err error)

// form tells how a file that was named is written. Who names one for llmcmd may
// mean its own form, whatever the file is called.
func (c *Config) form(path string, llmcmd bool) parser {
	switch ext := filepath.Ext(path); {
	case ext == ".yaml" || ext == ".yml":
		return c.parse
	case llmcmd || filepath.Base(path) == rcName:
		return c.parseRC
	case ext == ".json":
		return c.parseCompat
	}
	return c.parse
}

// search reads the file of that name in the current directory, else in the
// user's own.
func (c *Config) search(name, here, own string, parse parser) error {
	err := c.readFile(filepath.Join(here, name), true, parse)
	if errors.Is(err, fs.ErrNotExist) && own != "" {
		err = c.readFile(filepath.Join(own, name), false, parse)
	}
	return ifThere(err)
}

// ifThere forgives that a file is missing.
func ifThere(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
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

// readFile takes in one file. Others must not be able to write it, as it says
// what may run; nor to read it if a secret is in it.
func (c *Config) readFile(path string, here bool, parse parser) error {
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
	c.read = append(c.read, path)
	holdsSecret, err := parse(path, here && !c.usersOwn(filepath.Dir(path)), text)
	if err == nil && holdsSecret {
		err = private.Check(path, info)
	}
	return err
}

// usersOwn tells whether a directory is the user's home or where their settings
// are, rather than some project's.
func (c *Config) usersOwn(dir string) bool {
	there, err := os.Stat(dir)
	if err != nil {
		return false
	}
	for _, own := range []string{homeDir(c.getenv), userDir(c.getenv, "XDG_CONFIG_HOME", ".config")} {
		if info, err := os.Stat(own); err == nil && os.SameFile(there, info) {
			return true
		}
	}
	return false
}

// guard keeps the user's keys from going where a stranger says: who works in the
// directory of somebody's project has their settings file before them. That file
// may name an address for a key of its own, but not for one that the user set
// elsewhere.
func (c *Config) guard() error {
	for _, k := range c.keys {
		carried := k.carries()
		if carried == "" {
			continue
		}
		name, env := k.names()
		target, key := c.set[name], c.set[carried]
		if !target.local || key.local || key.words == nil {
			continue
		}
		own := filepath.Join(userDir(c.getenv, "XDG_CONFIG_HOME", ".config"), FileName)
		return &fault.Error{Kind: fault.Denied, Op: "set " + name, Rule: target.from,
			Why:  fmt.Sprintf("a file of the current directory may not say where your key (%s) is sent", key.from),
			Hint: fmt.Sprintf("if it is right, set %s or move the setting to %s", env, own)}
	}
	return nil
}
