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

// fileName is the name of the settings file.
const fileName = "hako.yaml"

const maxFileSize = 1 << 20

// UserFile returns the path of the user's settings file, whether it exists or not. Without a home it is in the current
// directory.
func UserFile() string {
	return filepath.Join(userDir(os.LookupEnv, "XDG_CONFIG_HOME", ".config"), fileName)
}

// readFiles reads the named settings file, or else those that exist: the compatible ones, hako.yaml, which overrides
// them, and for llmcmd its own, which overrides both because it is more specific.
func (c *Config) readFiles(src Source) error {
	if src.NoFile {
		return nil
	}
	named := src.File
	if named == "" {
		named, _ = src.Getenv(FileVariable)
	}
	if named != "" { // a named file is trusted, wherever it is
		return c.readFile(named, false, c.parserFor(named, src.Llmcmd && src.File != ""))
	}
	home, own := homeDir(c.getenv), userDir(c.getenv, "XDG_CONFIG_HOME", ".config")
	if err := c.search(compatName, src.Dir, home, c.parseCompat); err != nil {
		return err
	}
	if err := c.search(fileName, src.Dir, own, c.parse); err != nil || !src.Llmcmd || home == "" {
		return err
	}
	return ignoreMissing(c.readFile(filepath.Join(home, rcName), false, c.parseRC))
}

// A parser reads the text of a file and reports whether it sets a secret.
type parser func(path string, local bool, text []byte) (secret bool, err error)

// parserFor chooses the parser of a named file. For llmcmd it may be in llmcmd's own form, whatever its name.
func (c *Config) parserFor(path string, llmcmd bool) parser {
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

// search reads the user's file of that name, and then the one in the current directory, which overrides it. Both are
// read: a project's file must not hide the user's settings.
func (c *Config) search(name, here, own string, parse parser) error {
	if own != "" {
		if err := ignoreMissing(c.readFile(filepath.Join(own, name), false, parse)); err != nil {
			return err
		}
	}
	return ignoreMissing(c.readFile(filepath.Join(here, name), true, parse))
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// userDir returns the directory of hako in one of the XDG directories of the user.
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

// readFile reads a file once. Others must not be able to write it, because it decides what may run, nor to read it if
// it contains a secret.
func (c *Config) readFile(path string, here bool, parse parser) error {
	text, info, err := readTrusted(path)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(c.fileInfos, func(known fs.FileInfo) bool { return os.SameFile(known, info) }) {
		return nil // the current directory is the home, or links to a file of the user
	}
	c.File = path
	c.files, c.fileInfos = append(c.files, path), append(c.fileInfos, info)
	holdsSecret, err := parse(path, here && !c.isUserDir(filepath.Dir(path)), text)
	if err == nil && holdsSecret {
		err = ownerfile.Check(path, info)
	}
	return err
}

// readTrusted returns the text of a file that others cannot write.
func readTrusted(path string) ([]byte, fs.FileInfo, error) {
	f, err := openRegular(path)
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
	text, err := io.ReadAll(io.LimitReader(f, maxFileSize+1))
	switch {
	case err != nil:
		return nil, nil, &fault.Error{Op: "read settings", Subject: path, Err: reason(err)}
	case len(text) > maxFileSize:
		return nil, nil, &fault.Error{Kind: fault.TooLarge, Op: "read settings", Subject: path,
			Why: "the file is larger than 1 MB"}
	}
	return text, info, nil
}

// openRegular checks a file before it opens it: opening a FIFO, which an archive can contain, would block.
func openRegular(path string) (*os.File, error) {
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

// isUserDir reports whether a directory is the user's home or settings directory, and not a project's.
func (c *Config) isUserDir(dir string) bool {
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
