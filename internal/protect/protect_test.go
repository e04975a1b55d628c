package protect

import (
	"strings"
	"testing"
)

func TestMatch(t *testing.T) {
	s := New(append(Default(), "build/keep", "Rules.txt"))
	for path, want := range map[string]string{
		".git/hooks": ".git/hooks", ".git/hooks/pre-commit": ".git/hooks", ".git/config": ".git/config",
		"sub/dir/.git/config": ".git/config",
		".GIT/Config":         ".git/config", ".git./config": ".git/config", ".git /config ": ".git/config",
		".g\u200cit/config": ".git/config", "GIT~1/config": ".git/config",
		"./.git//hooks/": ".git/hooks", ".git/config.worktree": ".git/config.worktree", ".git/commondir": ".git/commondir",
		".git/modules/a/b/config": ".git/modules/a/b/config", ".git/modules/a/hooks/x": ".git/modules/a/hooks",
		".git/worktrees/w/gitdir": ".git/worktrees/w/gitdir",
		"hako.yaml":               "hako.yaml", "a/HAKO.yaml": "hako.yaml", "ha\u212ao.yaml": "hako.yaml",
		".vscode/tasks.json": ".vscode",
		"x/.idea":            ".idea", ".envrc": ".envrc", ".aicli.json": ".aicli.json",
		"build/keep/x": "build/keep", "rules.txt": "rules.txt",

		".git": "", ".git/HEAD": "", ".git/index": "", ".git/objects/ab/cd": "", ".git/refs/heads/main": "",
		".git/refs/heads/config": "", ".gitignore": "", ".gitmodules": "", "config": "", "hooks/x": "",
		"git/config": "", "x.git/config": "", "hako.yaml.example": "", ".envrc.sample": "", "sub/build/keep": "",
		"sub/rules.txt": "", ".git/modules/a/HEAD": "", "": "", ".": "", "..": "",
	} {
		if got := s.Match(path); got != want {
			t.Errorf("%q: %q", path, got)
		}
	}
}

func TestHolds(t *testing.T) {
	s := New(append(Default(), "build/keep/this"))
	for path, want := range map[string]bool{
		".git": true, "a/.git": true, ".GIT": true, "build": true, "build/keep": true, "a/build": false, ".git/hooks": false,
		".gitx": false, "": false, ".": false, "a": false,
	} {
		if got := s.Holds(path); got != want {
			t.Errorf("%q: %v", path, got)
		}
	}
}

func TestNothing(t *testing.T) {
	for _, s := range []*Set{nil, New(nil), New([]string{"", "."})} {
		if s.Match(".git/config") != "" || s.Holds(".git") {
			t.Errorf("%+v protects something", s)
		}
	}
}

// FuzzMatch changes the spelling of a protected name in ways that do not matter.
func FuzzMatch(f *testing.F) {
	f.Add("a/b", uint8(3), "x")
	f.Add("", uint8(255), "../y")
	s := New(Default())
	f.Fuzz(func(t *testing.T, before string, n uint8, after string) {
		for _, name := range Default() {
			spelled := name
			if n&1 != 0 {
				spelled = strings.ToUpper(spelled)
			}
			if n&2 != 0 {
				spelled = strings.ReplaceAll(spelled, "/", ".//./")
			}
			if n&4 != 0 {
				spelled = "\ufeff" + spelled
			}
			if path := before + "/" + spelled + "/" + after; s.Match(path) == "" {
				t.Errorf("%q is not protected", path)
			}
		}
	})
}
