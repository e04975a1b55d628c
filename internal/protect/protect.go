// Package protect names the files in a directory that programs outside of a
// sandbox run, or believe, later: hooks and settings of git, of editors, of hako
// itself. Whoever can write them is no longer in the sandbox.
//
// Inside is the one list of these names and the comparison of paths with it.
// Deliberately not inside is the refusal: the closed shell refuses an operation,
// the sandbox for programs mounts over the name and looks again when a command
// has ended. The rule to keep: every spelling that some file system takes for a
// protected name is that name.
package protect

import (
	"slices"
	"strings"
	"unicode"
)

// Default returns the names that are protected unless somebody set others.
func Default() []string {
	var list []string
	for _, name := range GitNames() {
		list = append(list, ".git/"+name)
	}
	return slices.Concat(list, Dirs(), Files())
}

// Files are the names of files in it that are not git's: what direnv runs on
// entering a directory, and the settings of hako and of the programs it replaces.
func Files() []string { return []string{".envrc", "hako.yaml", ".aicli.json", ".llmcmdrc"} }

// Dirs are the names of directories in it that are not git's: what editors run.
func Dirs() []string { return []string{".vscode", ".idea"} }

// GitNames are the entries of a directory of git that make it run something, or
// read its settings elsewhere.
func GitNames() []string { return []string{"hooks", "config", "config.worktree", "commondir"} }

// A Set compares paths with protected names. Nil protects nothing.
type Set struct {
	deep   [][]string // at any depth
	rooted [][]string // from the top
	git    bool       // submodules and linked worktrees as well
}

// New returns the set of these names. Those of the default list are protected in
// every directory, since any may be opened as a project of its own; others are
// names from the top.
func New(names []string) *Set {
	s := &Set{}
	for _, name := range names {
		parts := fold(name)
		if len(parts) == 0 {
			continue
		}
		s.git = s.git || parts[0] == ".git"
		if slices.Contains(Default(), name) {
			s.deep = append(s.deep, parts)
		} else {
			s.rooted = append(s.rooted, parts)
		}
	}
	return s
}

// Git reports whether names of git are protected.
func (s *Set) Git() bool { return s != nil && s.git }

// Match returns the protected name that a path is or lies in, or "". The path is
// free of symbolic links.
func (s *Set) Match(path string) string {
	if s == nil {
		return ""
	}
	parts := fold(path)
	for _, name := range s.rooted {
		if hasPrefix(parts, name) {
			return strings.Join(name, "/")
		}
	}
	for i := range parts {
		for _, name := range s.deep {
			if hasPrefix(parts[i:], name) {
				return strings.Join(name, "/")
			}
		}
		if name := s.module(parts[i:]); name != "" {
			return name
		}
	}
	return ""
}

// module finds what makes git run something in the directories that it keeps for
// submodules and linked worktrees.
func (s *Set) module(parts []string) string {
	if !s.git || len(parts) < 3 || parts[0] != ".git" || parts[1] != "modules" && parts[1] != "worktrees" {
		return ""
	}
	for i, part := range parts[2:] {
		if part == "gitdir" || slices.Contains(GitNames(), part) {
			return strings.Join(parts[:i+3], "/")
		}
	}
	return ""
}

// Holds reports whether a protected name would lie right in a directory at this
// path, as .git/hooks lies in .git. Such a path can be a directory that stays
// where it is, and nothing else: a file or a link in its place leads elsewhere.
func (s *Set) Holds(path string) bool {
	if s == nil {
		return false
	}
	parts := fold(path)
	if slices.ContainsFunc(s.rooted, func(name []string) bool {
		return len(parts) < len(name) && hasPrefix(name, parts) &&
			len(parts) > 0
	}) {
		return true
	}
	return slices.ContainsFunc(s.deep, func(name []string) bool {
		for n := 1; n < len(name); n++ {
			if len(parts) >= n && slices.Equal(parts[len(parts)-n:], name[:n]) {
				return true
			}
		}
		return false
	})
}

func hasPrefix(parts, prefix []string) bool {
	return len(parts) >= len(prefix) && slices.Equal(parts[:len(prefix)], prefix)
}

// fold splits a path and spells every name in the one way that all its spellings
// share on file systems that ignore case, invisible characters (HFS+), or dots and
// blanks at the end (NTFS, which also has short names).
func fold(path string) []string {
	var parts []string
	for part := range strings.SplitSeq(path, "/") {
		if part == "" || part == "." {
			continue
		}
		parts = append(parts, foldName(part))
	}
	return parts
}

// SameName reports whether some file system takes one name for the other.
func SameName(a, b string) bool { return foldName(a) == foldName(b) }

func foldName(name string) string {
	name = strings.Map(func(r rune) rune {
		if ignored(r) {
			return -1
		}
		return simple(r)
	}, name)
	if trimmed := strings.TrimRight(name, ". "); trimmed != "" {
		name = trimmed
	}
	if name == "git~1" {
		return ".git"
	}
	return name
}

// simple returns the least of the letters that differ from r in case only.
func simple(r rune) rune {
	least := unicode.ToLower(r)
	for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
		if f < 0x80 {
			return unicode.ToLower(f)
		}
	}
	return least
}

// ignored are the characters that HFS+ does not see in a name.
func ignored(r rune) bool {
	switch {
	case r >= 0x200c && r <= 0x200f, r >= 0x202a && r <= 0x202e, r >= 0x206a && r <= 0x206f, r == 0xfeff:
		return true
	}
	return false
}
