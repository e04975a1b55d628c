package vfs

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"hako/internal/testload"
	"hako/run/fault"
)

// project makes a directory with what programs outside believe in it.
func project(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		".git/hooks/pre-commit": "old", ".git/config": "old", ".git/HEAD": "old", ".git/modules/m/config": "old",
		".git/modules/m/hooks/x": "old", "linked/.git": "gitdir: old",
		"sub/.git/config": "old", "sub/file": "old", ".vscode/tasks.json": "old", "hako.yaml": "old", "a/.envrc": "old",
		"plain": "old", "tree/x/config": "new", "tree/hooks/x": "new", "gitfile": "gitdir: evil",
		"bare/HEAD": "x", "bare/objects/x": "", "bare/refs/x": "", "bare/config": "old", "half/HEAD": "x",
		"half/objects/x": "", "half/config": "evil",
	} {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(".git", filepath.Join(dir, "alias")); err != nil {
		t.Fatal(err)
	}
	return dir
}

// snapshot describes a directory with all that is in it.
func snapshot(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		b.WriteString(strings.TrimPrefix(path, dir) + " " + info.Mode().String())
		if d.Type().IsRegular() {
			text, _ := os.ReadFile(path)
			b.WriteString(" " + info.ModTime().String() + " " + string(text))
		}
		b.WriteString("\n")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestProtectedNames(t *testing.T) {
	if os.PathSeparator != '/' {
		t.Skip("the tree has other names there")
	}
	write := func(name string) func(*FS, string) error {
		return func(fs *FS, at string) error { return fs.WriteFile(at+"/"+name, []byte("evil"), 0o644) }
	}
	rename := func(old, new string) func(*FS, string) error {
		return func(fs *FS, at string) error { return fs.Rename(at+"/"+old, at+"/"+new) }
	}
	for name, try := range map[string]func(fs *FS, at string) error{
		"a hook": write(".git/hooks/post-commit"), "a hook that exists": write(".git/hooks/pre-commit"),
		"settings of git": write(".git/config"), "settings of a worktree": write(".git/config.worktree"),
		"commondir": write(".git/commondir"), "a submodule's settings": write(".git/modules/m/config"),
		"a submodule's hook": write(".git/modules/m/hooks/y"), "a new submodule's": write(".git/modules/m/config.worktree"),
		"a linked worktree's file": write("linked/.git"), "a new one": write("tree/.git"),
		"in a repository below": write("sub/.git/config"), "settings of hako": write("hako.yaml"),
		"new ones below": write("sub/hako.yaml"),
		"an editor's":    write(".vscode/tasks.json"), "another spelling": write("tree/GIT~1"),
		"of the file": write("tree/.Git"), "HFS": write("tree/.g\u200cit"), "through a link": write("alias/config"),
		"dots": write("sub/../.git/./config"), "envrc": write("a/.envrc"), "without a worktree": write("bare/config"),
		"a hook without":  write("bare/hooks"),
		"making one":      func(fs *FS, at string) error { return fs.Mkdir(at+"/half/refs", 0o755) },
		"moving it there": rename("tree", "half/refs"), "with another's": write("half/commondir"),
		"moving .git": rename(".git", "x"), "to .git": rename("tree", "sub/x/../.git"),
		"onto .git": rename("gitfile", "linked/.git"), "into it": rename("tree", ".git/modules/tree"),
		"hooks": rename("tree/hooks", ".git/hooks"), "away": rename(".git/hooks", "h"),
		"a directory that holds it": rename("sub", "sub2"), "a directory that holds the file": rename("linked", "plain2"),
		"a directory with settings": rename("a", "b"),
		"into a submodule's":        rename("tree/x", ".git/modules/n"),
		"hard link out":             func(fs *FS, at string) error { return fs.Link(at+"/.git/config", at+"/c") },
		"hard link in":              func(fs *FS, at string) error { return fs.Link(at+"/gitfile", at+"/tree/.git") },
		"hard link of hook":         func(fs *FS, at string) error { return fs.Link(at+"/alias/hooks/pre-commit", at+"/c") },
		"a link as .git":            func(fs *FS, at string) error { return fs.Symlink("x", at+"/tree/.git") },
		"a link as hooks":           func(fs *FS, at string) error { return fs.Symlink("x", at+"/.git/commondir") },
		"removing":                  func(fs *FS, at string) error { return fs.Remove(at + "/.git/config") },
		"removing the file":         func(fs *FS, at string) error { return fs.Remove(at + "/linked/.git") },
		"emptying":                  func(fs *FS, at string) error { return fs.Truncate(at+"/.git/config", 0) },
		"mode":                      func(fs *FS, at string) error { return fs.Chmod(at+"/.git/hooks/pre-commit", 0o755) },
		"times": func(fs *FS, at string) error {
			return fs.Chtimes(at+"/.git/config", time.Unix(1, 0),
				time.Unix(1, 0))
		},
		"a directory": func(fs *FS, at string) error { return fs.Mkdir(at+"/sub/.idea", 0o755) },
		"opening": func(fs *FS, at string) error {
			_,
				err := fs.Open(at+"/.git/config", os.O_RDWR, 0)
			return err
		},
		"a temporary file": func(fs *FS, at string) error { _, _, err := fs.CreateTemp(at+"/.git/hooks", "x"); return err },
	} {
		t.Run(name, func(t *testing.T) {
			dir := project(t)
			before := snapshot(t, dir)
			fs := New(Options{})
			if err := fs.Mount("/w", dir, true); err != nil {
				t.Fatal(err)
			}
			err := try(fs, "/w")
			if fault.KindOf(err) != fault.Denied || fault.Hint(err) == "" {
				t.Errorf("%v (%s)", err, fault.Hint(err))
			}
			if now := snapshot(t, dir); now != before {
				t.Errorf("changed:\n%swas\n%s", now, before)
			}
		})
	}
}

// TestGrantedInside grants a part of what git keeps.
func TestGrantedInside(t *testing.T) {
	dir := project(t)
	for part, name := range map[string]string{".git": "config", ".git/hooks": "pre-commit", ".git/modules/m": "config"} {
		fs := New(Options{})
		if err := fs.Mount("/w", filepath.Join(dir, part), true); err != nil {
			t.Fatal(err)
		}
		if err := fs.WriteFile("/w/"+name, nil, 0o644); fault.KindOf(err) != fault.Denied {
			t.Errorf("%s: %v", part, err)
		}
	}
}

// TestOrdinaryNames does what is nobody's harm.
func TestOrdinaryNames(t *testing.T) {
	dir := project(t)
	fs := New(Options{})
	if err := fs.Mount("/w", dir, true); err != nil {
		t.Fatal(err)
	}
	for name, err := range map[string]error{
		"file": fs.WriteFile("/w/plain", nil, 0o644), "below": fs.WriteFile("/w/sub/config", nil, 0o644),
		"ignored": fs.WriteFile("/w/.gitignore", nil, 0o644), "hooks": fs.MkdirAll("/w/src/hooks", 0o755),
		"move": fs.Rename("/w/tree", "/w/tree2"), "link": fs.Link("/w/plain", "/w/plain3"), "remove": fs.Remove("/w/gitfile"),
		"in .git":   fs.WriteFile("/w/.git/description", nil, 0o644),
		"in memory": fs.MkdirAll("/box/.git/hooks", 0o755), "settings in memory": fs.WriteFile("/tmp/hako.yaml", nil, 0o644),
	} {
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	free := New(Options{Protect: []string{}})
	if err := free.Mount("/w", dir, true); err != nil {
		t.Fatal(err)
	}
	if err := free.WriteFile("/w/.git/config", nil, 0o644); err != nil {
		t.Errorf("though nothing is protected: %v", err)
	}
}

// TestMovedWhileLinked has one tree move a directory up while another makes links
// in it that lead out from there.
func TestMovedWhileLinked(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "d"), 0o755); err != nil {
		t.Fatal(err)
	}
	tree := func() *FS {
		tree := New(Options{})
		if err := tree.Mount("/w", dir, true); err != nil {
			t.Fatal(err)
		}
		return tree
	}
	one, two := tree(), tree()
	for range 3000 {
		if err := os.Mkdir(filepath.Join(dir, "d/e"), 0o755); err != nil {
			t.Fatal(err)
		}
		var both sync.WaitGroup
		both.Go(func() { _ = one.Symlink("../../x", "/w/d/e/l") })
		both.Go(func() { _ = two.Rename("/w/d/e", "/w/e") })
		both.Wait()
		if _, err := os.Lstat(filepath.Join(dir, "e/l")); err == nil {
			t.Fatal("a link leads out of the directory")
		}
		if err := errors.Join(os.RemoveAll(filepath.Join(dir, "d/e")), os.RemoveAll(filepath.Join(dir, "e"))); err != nil {
			t.Fatal(err)
		}
	}
}

// TestLinkInTheWay has one tree write while somebody exchanges the directory it
// writes in for a link to what is protected.
func TestLinkInTheWay(t *testing.T) {
	dir := project(t)
	before := snapshot(t, filepath.Join(dir, ".git"))
	fs := New(Options{})
	if err := fs.Mount("/w", dir, true); err != nil {
		t.Fatal(err)
	}
	sub, link := filepath.Join(dir, "d"), filepath.Join(dir, "l")
	if err := errors.Join(os.Mkdir(sub, 0o755), os.Symlink(".git", link)); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	var swapping sync.WaitGroup
	swapping.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
				_ = os.Rename(sub, sub+"2")
				_ = os.Rename(link, sub)
				_ = os.Rename(sub, link)
				_ = os.Rename(sub+"2", sub)
			}
		}
	})
	for range 3000 {
		_ = fs.WriteFile("/w/d/config", []byte("evil"), 0o644)
		_ = fs.Remove("/w/d/config")
		_ = fs.Chmod("/w/d/config", 0o777)
		_ = fs.Rename("/w/plain", "/w/d/config")
		_ = fs.Rename("/w/d/config", "/w/plain")
	}
	close(done)
	swapping.Wait()
	if now := snapshot(t, filepath.Join(dir, ".git")); now != before {
		t.Errorf("changed:\n%swas\n%s", now, before)
	}
}

// TestRepositoryByRace: two who make the parts of a repository at the same time do
// not end up with a whole one.
func TestRepositoryByRace(t *testing.T) {
	dir := t.TempDir()
	if err := errors.Join(os.Mkdir(filepath.Join(dir, "objects"), 0o700),
		os.WriteFile(filepath.Join(dir, "H"), []byte("ref: refs/heads/m\n"), 0o600),
		os.WriteFile(filepath.Join(dir, "config"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	tree := func() *FS {
		tree := New(Options{})
		if err := tree.Mount("/w", dir, true); err != nil {
			t.Fatal(err)
		}
		return tree
	}
	one, two := tree(), tree()
	end := time.Now().Add(testload.Bound(2 * time.Second))
	var group sync.WaitGroup
	group.Go(func() {
		for time.Now().Before(end) {
			_ = one.Rename("/w/H", "/w/HEAD")
			_ = one.Rename("/w/HEAD", "/w/H")
		}
	})
	group.Go(func() {
		for time.Now().Before(end) {
			_ = two.Mkdir("/w/refs", 0o700)
			_ = two.Remove("/w/refs")
		}
	})
	group.Wait()
	for _, name := range []string{"HEAD", "objects", "refs"} {
		if _, err := os.Lstat(filepath.Join(dir, name)); err != nil {
			return
		}
	}
	t.Error("there is a repository")
}
