package editor

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hako/run/fault"
)

// link makes a symbolic link, or skips the test where there are none.
func (b *bench) link(target, name string) {
	b.t.Helper()
	if err := os.Symlink(target, filepath.Join(b.dir, name)); err != nil {
		b.t.Skip("no symbolic links here:", err)
	}
}

func TestConfined(t *testing.T) {
	b := newBench(t)
	outer := filepath.Dir(b.dir)
	secret := filepath.Join(outer, "secret.txt")
	must(t, os.WriteFile(secret, []byte("secret\n"), 0o644))
	must(t, os.Mkdir(filepath.Join(outer, "project-two"), 0o755))
	b.write("d/f", "x\n")
	b.link(secret, "absolute")
	b.link("../secret.txt", "relative")
	b.link("d/../../secret.txt", "roundabout")
	b.link("..", "up")
	b.link("/workspace", "above")
	b.link("../nothing.txt", "dangling")
	b.link("up/../..", "twice")
	before := tree(t, outer)
	for _, path := range []string{
		at + "/../secret.txt", at + "/../../etc/shadow", at + "/d/../../secret.txt", at + "/..", at + "/../project/d/f",
		"/workspace", "/", "/workspace/project-two/x", "/workspace/x/../project/d/f", "/etc/passwd", secret,
		at + "/absolute", at + "/relative", at + "/roundabout", at + "/up", at + "/up/secret.txt", at + "/up/project/d/f",
		at + "/above/project/d/f", at + "/dangling", at + "/twice/x", at + "/d/../up/secret.txt",
	} {
		for _, call := range [][]any{{"view"}, {"create", "file_text", "x"}, {"str_replace", "old_str", "secret"},
			{"insert", "insert_line", 0, "insert_text", "x"}, {"undo_edit"}} {
			r := b.call(call[0].(string), path, call[1:]...)
			if r.Success || fault.KindOf(r.Fault) != fault.Denied ||
				!strings.Contains(r.Error, "leads out of "+at+"\nname a file below") {
				t.Errorf("%v %s: %+v", call, path, r)
			}
			if strings.Contains(strings.ReplaceAll(r.Error, path, ""), outer) {
				t.Errorf("%v %s names a path of the host: %s", call, path, r.Error)
			}
		}
	}
	if after := tree(t, outer); after != before {
		t.Errorf("changed:\n%s\nto\n%s", before, after)
	}
}

func TestLinksInside(t *testing.T) {
	b := newBench(t)
	b.write("real/dir/f", "a\n")
	b.link("real/dir", "d")
	b.link("d/f", "short")
	b.link(at+"/real/dir/../dir/f", "absolute")
	b.link("real/new", "fresh")
	b.link("loop", "loop")
	for i, path := range []string{"d/f", "short", "absolute", "d/../dir/f", "real//./dir/f"} {
		b.ok("insert", path, "insert_line", i, "insert_text", path)
	}
	b.wantFile("real/dir/f", "d/f\nshort\nabsolute\nd/../dir/f\nreal//./dir/f\na\n")
	for _, name := range []string{"short", "absolute", "d"} {
		if info, err := os.Lstat(filepath.Join(b.dir, name)); err != nil || info.Mode()&os.ModeSymlink == 0 {
			t.Errorf("%s is no link any more: %v", name, err)
		}
	}
	for range 5 { // one history, whatever the path
		b.ok("undo_edit", "short")
	}
	b.wantFile("real/dir/f", "a\n")
	b.no(fault.Invalid, "File already exists at: "+at+"/short. Cannot overwrite files using command `create`.", "create",
		"short", "file_text", "x")
	b.ok("create", "fresh", "file_text", "n\n")
	b.wantFile("real/new", "n\n")
	b.no(fault.Invalid, "view "+at+"/loop: the path goes through too many symbolic links\nname the file itself", "view",
		"loop")
	if got := b.ok("view", "d"); got != at+"/d\n"+at+"/d/f\n" {
		t.Errorf("got %s", got)
	}
}

func TestOddNames(t *testing.T) {
	b := newBench(t)
	for _, name := range []string{"a;touch pwn", "$(touch pwn)", "-rf", "日本語 の.txt", "a\nb", "..x", "...", "*"} {
		b.ok("create", name, "file_text", "x\n")
		b.ok("str_replace", name, "old_str", "x", "new_str", "y")
		b.wantFile(name, "y\n")
		b.ok("view", name)
	}
	b.no(fault.Invalid, "view "+at+"/a␀b: the path has a NUL in it\nleave it out", "view", "a\x00b")
	if got := b.ok("create", "\x1b[31m", "file_text", ""); got != "File created successfully at: "+at+"/␛[31m" {
		t.Errorf("got %q", got)
	}
	b.no(fault.Invalid, "create "+at+"/"+strings.Repeat("n", 300)+"/f: file name too long\nchoose a shorter name",
		"create", strings.Repeat("n", 300)+"/f", "file_text", "")
}
