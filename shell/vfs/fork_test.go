package vfs

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hako/quota"
	"hako/run/fault"
)

func TestForkAndDiff(t *testing.T) {
	_, dir := host(t)
	g := quota.NewLimiter(quota.Lenient())
	v := New(Options{Limiter: g})
	must(t, v.Mount("/w", dir, true))
	must(t, v.Inject("/out", filepath.Join(dir, "out"), true))
	big := strings.Repeat("x", blockSize+10)
	for name, text := range map[string]string{"/box/same": "s", "/box/gone": "g", "/box/big": big, "/box/edit": "old"} {
		put(t, v, name, text)
	}
	must(t, v.Symlink("same", "/box/link"))
	must(t, v.Link("/box/edit", "/box/edit2"))
	held := g.Held()
	f := v.Fork()
	if d := Diff(v, f); len(d) != 0 || g.Held() != held {
		t.Error("a fresh fork differs or costs:", d, g.Held()-held)
	}
	put(t, f, "/box/edit", "new")
	must(t, f.Remove("/box/gone"))
	must(t, f.MkdirAll("/box/dir", 0o777))
	put(t, f, "/box/dir/added", "a")
	put(t, f, "/box/same", "s") // written, but the same
	must(t, f.Truncate("/box/big", blockSize))
	must(t, f.Remove("/box/link"))
	must(t, f.Symlink("edit", "/box/link"))
	want := []Change{{"changed", "/box/big"}, {"added", "/box/dir"}, {"added", "/box/dir/added"}, {"changed", "/box/edit"},
		{"changed", "/box/edit2"}, {"removed", "/box/gone"}, {"changed", "/box/link"}}
	if d := Diff(v, f); !slices.Equal(d, want) {
		t.Errorf("%v\nwant %v", d, want)
	}
	if read(t, v, "/box/edit") != "old" || read(t, v, "/box/big") != big || read(t, f, "/box/big") != big[:blockSize] {
		t.Error("not independent")
	}
	put(t, v, "/box/big", "small")
	if read(t, f, "/box/big") != big[:blockSize] {
		t.Error("the fork saw a change of the main line")
	}
	f.Close()
	must(t, v.RemoveAll("/box"))
	if g.Held() != 0 {
		t.Error("still held:", g.Held())
	}
}

func TestOneMainLine(t *testing.T) {
	_, dir := host(t)
	v := New(Options{})
	must(t, v.Mount("/w", dir, true))
	f := v.Fork()
	if read(t, f, "/w/file") != "file\n" {
		t.Error("granted files must stay granted")
	}
	wantReason(t, f.WriteFile("/w/file", nil, 0o666), "Read-only file system")
	wantReason(t, f.Fork().Remove("/w/file"), "Read-only file system")
	put(t, v, "/w/file", "main")
	f.Main()
	put(t, f, "/w/file", "fork")
	wantReason(t, v.WriteFile("/w/file", nil, 0o666), "Read-only file system")
	if onHost(t, dir, "file") != "fork" {
		t.Error("not written")
	}
}

func TestChild(t *testing.T) {
	_, dir := host(t)
	v := New(Options{})
	must(t, v.Mount("/w", dir, false))
	must(t, v.Inject("/out", filepath.Join(dir, "out"), true))
	must(t, v.MkdirAll("/box/d/e", 0o777))
	put(t, v, "/box/d/e/f", "f")
	put(t, v, "/box/secret", "secret")
	must(t, v.Symlink("/box/secret", "/box/d/leak"))
	must(t, v.Symlink("secret", "/box/alias"))
	c, err := v.Child([]string{"/w/sub", "/out", "/box/d", "/box/alias"})
	must(t, err)
	if read(t, c, "/w/sub/inner") != "inner\n" || read(t, c, "/box/d/e/f") != "f" || read(t, c, "/box/alias") != "secret" {
		t.Error("granted files are missing")
	}
	for _, name := range []string{"/w/file", "/box/secret", "/box/d/leak", "/w/sub/../file"} {
		_, err := c.ReadFile(name)
		wantReason(t, err, "No such file or directory")
	}
	wantReason(t, c.WriteFile("/w/sub/inner", nil, 0o666), "Read-only file system")
	put(t, c, "/box/d/new", "seen by both")
	put(t, c, "/box/own", "own")
	put(t, c, "/out", "out")
	if read(t, v, "/box/d/new") != "seen by both" || onHost(t, dir, "out") != "out" {
		t.Error("not shared")
	}
	if _, err := v.ReadFile("/box/own"); err == nil {
		t.Error("scratch of the child shows in the parent")
	}
	for _, paths := range [][]string{{"/w/file"}, {"/box/secret"}, {"/etc/passwd"}, {"/box/own/x"}} {
		if _, err := c.Child(paths); fault.KindOf(err) != fault.Denied || fault.Hint(err) == "" {
			t.Errorf("%s was passed on: %v", paths, err)
		}
	}
	grandchild, err := c.Child([]string{"/w/sub/inner"})
	must(t, err)
	if got := grandchild.ListFiles(); !slices.Equal(got, []string{"/w/sub/inner"}) {
		t.Error(got)
	}
	f := v.Fork()
	fc, err := f.Child([]string{"/out"})
	must(t, err)
	wantReason(t, fc.WriteFile("/out", nil, 0o666), "Read-only file system")
}

func TestChildKeepsGrantsInside(t *testing.T) {
	_, dir := host(t)
	v := New(Options{})
	must(t, v.Mount("/w", dir, true))
	must(t, v.Mount("/w/sub", filepath.Join(dir, "sub"), false))
	c, err := v.Child([]string{"/w"})
	must(t, err)
	put(t, c, "/w/file", "new")
	wantReason(t, c.WriteFile("/w/sub/inner", nil, 0o666), "Read-only file system")
}

func TestView(t *testing.T) {
	tree := New(Options{})
	view := tree.View()
	seen := map[string]int{}
	tree.Watch(func(what, path string, _ int64) { seen["tree "+what+" "+path]++ })
	view.Watch(func(what, path string, _ int64) { seen["view "+what+" "+path]++ })
	if err := view.WriteFile("/box/a", []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	if got, err := tree.ReadFile("/box/a"); err != nil || string(got) != "x" {
		t.Errorf("got %q, %v", got, err)
	}
	if len(seen) != 2 || seen["view written /box/a"] != 1 || seen["tree read /box/a"] != 1 {
		t.Errorf("watched %v", seen)
	}
}
