// Package protect lists the files in a directory that programs outside of a
// sandbox run or trust later: hooks and settings of git, of editors, of hako
// itself. Whoever can write them can escape from the sandbox.
//
// It compares paths with the list, in every spelling that some file system takes
// for a protected name. Enforcement is up to the callers: the closed shell refuses
// the operation, the host sandbox mounts over the name and checks again when a
// command has ended.
package protect

import (
	"slices"
	"strings"
	"unicode"
)

// Default returns the names that are protected by default.
func Default() []string {
	var list []string
	for _, name := range GitNames() {
		list = append(list, ".git/"+name)
	}
	return slices.Concat(list, Dirs(), Files())
}

// Files returns the protected files outside of .git: what direnv runs on entering a directory, and the settings
// of hako and of the programs it replaces.
func Files() []string { return []string{".envrc", "hako.yaml", ".aicli.json", ".llmcmdrc"} }

// Dirs returns the protected directories outside of .git: those of editors.
func Dirs() []string { return []string{".vscode", ".idea"} }

// GitNames returns the entries of a git directory that make git run something, or read its settings elsewhere.
func GitNames() []string { return []string{"hooks", "config", "config.worktree", "commondir"} }

// A Set compares paths with protected names. A nil Set protects nothing.
type Set struct {
	deep   [][]string // at any depth
	rooted [][]string // from the top
	git    bool       // submodules and linked worktrees as well
}

// New returns the set of these names. Those of the default list are protected in every directory, since any may
// be opened as a project; others are relative to the top.
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

// Match returns the protected name that a path is or lies in, or "". The path must not contain symbolic links.
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

// module matches the directories of submodules and linked worktrees.
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

// Holds reports whether a protected name would be a direct child of a directory at this path, as .git/hooks is of
// .git. Such a path must stay a directory: a file or a link in its place would lead elsewhere.
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

// fold splits a path and normalizes its names.
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

// foldName normalizes a name for file systems that ignore case, invisible characters (HFS+), or dots and blanks
// at the end (NTFS, which also has short names).
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

// simple returns the lower-case ASCII letter that r folds to, or else r in lower case.
func simple(r rune) rune {
	least := unicode.ToLower(r)
	for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
		if f < 0x80 {
			return unicode.ToLower(f)
		}
	}
	return least
}

// ignored reports whether HFS+ ignores a character in names.
func ignored(r rune) bool {
	switch {
	case r >= 0x200c && r <= 0x200f, r >= 0x202a && r <= 0x202e, r >= 0x206a && r <= 0x206f, r == 0xfeff:
		return true
	}
	return false
}
