package setup

import (
	"os"
	"path/filepath"
	"slices"

	"hako/internal/config"
	"hako/run/fault"
)

// CheckGrants refuses to grant, for writing, files or directories through which hako's record or state could be
// changed. It compares files, not only names: links and mounts give directories more than one name.
func CheckGrants(conf *config.Config, granted ...string) error {
	for _, name := range granted {
		if name == "" || name == "-" {
			continue
		}
		for _, own := range OwnFiles(conf) {
			if overlaps(name, own) {
				return &fault.Error{Kind: fault.Invalid, Op: "grant", Subject: name,
					Why:      "hako keeps its own record or state there (" + own + "), and what is recorded could destroy it",
					Hint:     "name another directory or file; audit.path moves the record, XDG_STATE_HOME the state",
					FlagHint: "name another directory or file; --audit FILE and audit.path move the record, XDG_STATE_HOME the state"}
			}
		}
	}
	return checkHardLinks(conf, granted)
}

// overlaps reports whether one of two paths is the other or lies in it.
func overlaps(granted, own string) bool {
	abs, err := filepath.Abs(granted)
	if err != nil {
		return true
	}
	real := Resolve(abs)
	return below(real, own) || below(own, real)
}

// below reports whether a path is a directory or lies in it, by name and by file: a directory can be mounted
// twice, and some file systems ignore case.
func below(dir, path string) bool {
	if rel, err := filepath.Rel(dir, path); err == nil && filepath.IsLocal(rel) {
		return true
	}
	info, err := os.Stat(dir)
	if err != nil {
		return false
	}
	for {
		if other, err := os.Stat(path); err == nil && os.SameFile(info, other) {
			return true
		}
		up := filepath.Dir(path)
		if up == path {
			return false
		}
		path = up
	}
}

// checkHardLinks refuses to grant a directory if the record has a second name, which may lie in it.
func checkHardLinks(conf *config.Config, granted []string) error {
	record := config.AuditPath.Of(conf).V
	info, err := os.Stat(record)
	if err != nil || linkCount(info) < 2 || !slices.ContainsFunc(granted, isDir) {
		return nil
	}
	return &fault.Error{Kind: fault.Invalid, Op: "grant", Subject: granted[0], Why: "the record " + record +
		" has a second name (a hard link), which may lie there, and what is recorded could destroy it",
		Hint:     "remove the other name, or move the record with audit.path",
		FlagHint: "remove the other name, or move the record with --audit FILE"}
}

func isDir(name string) bool {
	info, err := os.Stat(name)
	return name != "" && err == nil && info.IsDir()
}

// trustedFiles returns the names, relative to one of the directories, of files that hako reads its rules and
// settings from. Whoever can write them can change the policy.
func trustedFiles(conf *config.Config, dirs ...string) (list []string) {
	files := append(conf.Sources(), config.PolicyRules.Of(conf).V, config.PolicyWhitelist.Of(conf).V,
		config.PolicyPrograms.Of(conf).V, config.BashWhitelist.Of(conf).V)
	for _, dir := range dirs {
		dir, err := filepath.Abs(dir)
		if err != nil {
			continue
		}
		for _, file := range files {
			if abs, err := filepath.Abs(file); err == nil && file != "" {
				if rel, err := filepath.Rel(Resolve(dir), Resolve(abs)); err == nil && filepath.IsLocal(rel) && rel != "." &&
					!slices.Contains(list, rel) {
					list = append(list, filepath.ToSlash(rel))
				}
			}
		}
	}
	return list
}

// ProtectedFiles returns all names that cannot be changed in these directories.
func ProtectedFiles(conf *config.Config, dirs ...string) []string {
	list := append([]string{}, config.BashProtect.Of(conf).V...) // empty is not nil, which means the default
	return append(list, trustedFiles(conf, dirs...)...)
}

// OwnFiles returns hako's own files, which no program may access.
func OwnFiles(conf *config.Config) []string {
	files := []string{filepath.Dir(conf.StateFile("x")), config.AuditPath.Of(conf).V, config.SecretaryDatabase.Of(conf).V}
	for i, name := range files {
		if abs, err := filepath.Abs(name); err == nil {
			files[i] = Resolve(abs)
		}
	}
	return files
}
