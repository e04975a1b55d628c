package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"hako/internal/ownerfile"
	"hako/run/fault"
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
// was named, else the compatible ones, over them our own, and over those the one
// of llmcmd, which is about less and so means more.
func (c *Config) readFiles(src Source) error {
	if src.NoFile {
		return nil
	}
	named := src.File
	if named == "" {
		named, _ = src.Getenv(FileVariable)
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

// search reads the user's file of that name and, over it, the one in the current
// directory. Not one instead of the other: a project's file would hide what the
// user set.
func (c *Config) search(name, here, own string, parse parser) error {
	if own != "" {
		if err := ifThere(c.readFile(filepath.Join(own, name), false, parse)); err != nil {
			return err
		}
	}
	return ifThere(c.readFile(filepath.Join(here, name), true, parse))
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

// readFile takes in one file, once. Others must not be able to write it, as it
// says what may run; nor to read it if a secret is in it.
func (c *Config) readFile(path string, here bool, parse parser) error {
	text, info, err := readTrusted(path)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(c.infos, func(known fs.FileInfo) bool { return os.SameFile(known, info) }) {
		return nil // the current directory is the home, or has a link to a file of the user's
	}
	c.File = path
	c.read, c.infos = append(c.read, path), append(c.infos, info)
	holdsSecret, err := parse(path, here && !c.usersOwn(filepath.Dir(path)), text)
	if err == nil && holdsSecret {
		err = ownerfile.Check(path, info)
	}
	return err
}

// readTrusted returns the text of a file that others cannot write.
func readTrusted(path string) ([]byte, fs.FileInfo, error) {
	f, err := openPlain(path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err == nil {
		err = ownerfile.CheckTrusted(path, info)
	}
	if err != nil {
		return nil, nil, err
	}
	text, err := io.ReadAll(io.LimitReader(f, largest+1))
	switch {
	case err != nil:
		return nil, nil, &fault.Error{Op: "read settings", Subject: path, Err: reason(err)}
	case len(text) > largest:
		return nil, nil, &fault.Error{Kind: fault.TooLarge, Op: "read settings", Subject: path,
			Why: "the file is larger than 1 MB"}
	}
	return text, info, nil
}

// openPlain looks at a file before it opens it: opening a pipe, which an archive
// can hold, would wait for its writer.
func openPlain(path string) (*os.File, error) {
	info, err := os.Stat(path)
	if err == nil {
		if err := ownerfile.CheckTrusted(path, info); err != nil {
			return nil, err
		}
		var f *os.File
		if f, err = os.Open(path); err == nil {
			return f, nil
		}
	}
	return nil, &fault.Error{Kind: fault.NotFound, Op: "read settings", Subject: path, Err: reason(err),
		Hint: "name a file that you can read; hako config init FILE makes one"}
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

// StateFile returns the full name of a file that hako keeps between runs.
func (c *Config) StateFile(name string) string {
	dir := userDir(c.getenv, "XDG_STATE_HOME", filepath.Join(".local", "state"))
	if dir == "" { // a user without a home, as services have
		dir = filepath.Join(os.TempDir(), fmt.Sprintf("hako-%d", os.Getuid()))
	}
	return filepath.Join(dir, name)
}
