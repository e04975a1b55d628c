package editor

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hako/run/fault"
)

const at = "/workspace/project"

// A bench is an editor on a fresh directory.
type bench struct {
	*Editor
	t   testing.TB
	dir string
}

func newBench(t testing.TB) *bench {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "project")
	must(t, os.Mkdir(dir, 0o755))
	return &bench{open(t, dir), t, dir}
}

func open(t testing.TB, dir string) *Editor {
	t.Helper()
	root, err := os.OpenRoot(dir)
	must(t, err)
	t.Cleanup(func() { root.Close() })
	return &Editor{Root: root, At: at}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (b *bench) write(name, text string) {
	b.t.Helper()
	full := filepath.Join(b.dir, filepath.FromSlash(name))
	must(b.t, os.MkdirAll(filepath.Dir(full), 0o755))
	must(b.t, os.WriteFile(full, []byte(text), 0o644))
}

func (b *bench) read(name string) string {
	b.t.Helper()
	raw, err := os.ReadFile(filepath.Join(b.dir, filepath.FromSlash(name)))
	must(b.t, err)
	return string(raw)
}

func (b *bench) wantFile(name, want string) {
	b.t.Helper()
	if got := b.read(name); got != want {
		b.t.Errorf("%s is %q, want %q", name, got, want)
	}
}

// call sends a call as JSON: pairs of names and values after command and path.
func (b *bench) call(command, path string, more ...any) Result {
	b.t.Helper()
	if !strings.HasPrefix(path, "/") {
		path = at + "/" + path
	}
	args := map[string]any{"command": command, "path": path}
	for i := 0; i < len(more); i += 2 {
		args[more[i].(string)] = more[i+1]
	}
	raw, err := json.Marshal(args)
	must(b.t, err)
	return b.Answer(context.Background(), raw)
}

// ok is call for what must succeed; it returns the content.
func (b *bench) ok(command, path string, more ...any) string {
	b.t.Helper()
	r := b.call(command, path, more...)
	if !r.Success || r.Error != "" || r.Fault != nil {
		b.t.Fatalf("%s %s %v: %s", command, path, more, r.Error)
	}
	return r.Content
}

// no is call for what must be refused. Whatever is refused changes nothing.
func (b *bench) no(kind fault.Kind, want, command, path string, more ...any) {
	b.t.Helper()
	before := tree(b.t, b.dir)
	r := b.call(command, path, more...)
	if r.Success || r.Content != "" || r.Fault == nil {
		b.t.Fatalf("%s %s %v: not refused: %s", command, path, more, r.Content)
	}
	if r.Error != want {
		b.t.Errorf("%s %s %v:\n got %s\nwant %s", command, path, more, r.Error, want)
	}
	if got := fault.KindOf(r.Fault); got != kind {
		b.t.Errorf("%s %s %v: kind %v, want %v", command, path, more, got, kind)
	}
	if after := tree(b.t, b.dir); after != before {
		b.t.Errorf("%s %s %v changed files:\n%s\nto\n%s", command, path, more, before, after)
	}
}

// tree describes all below dir: names, modes, link targets and contents.
func tree(t testing.TB, dir string) string {
	t.Helper()
	var b strings.Builder
	must(t, filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil // a directory that must not be read
		}
		info, err := d.Info()
		must(t, err)
		what := ""
		switch {
		case info.Mode().IsRegular() && info.Size() < 1<<20:
			raw, _ := os.ReadFile(name)
			what = fmt.Sprintf("%q", raw)
		case info.Mode()&fs.ModeSymlink != 0:
			what, _ = os.Readlink(name)
		}
		rel, _ := filepath.Rel(dir, name)
		fmt.Fprintln(&b, filepath.ToSlash(rel), info.Mode(), what)
		return nil
	}))
	return b.String()
}

func TestMessages(t *testing.T) {
	b := newBench(t)
	b.write("a.txt", "one\ntwo\none two\n")
	b.write("dir/inner.txt", "x\n")
	b.write("empty.txt", "")
	b.write("nul.bin", "abc\x00def")
	b.write("noise.bin", "\x01\x02\x03\x04\x05\x06\x0eabc")
	b.write("large.txt", strings.Repeat("x", 10<<20+1))
	a := at + "/a.txt"
	for _, c := range []struct {
		kind    fault.Kind
		want    string
		command string
		path    string
		more    []any
	}{
		{fault.NotFound, "The path " + at + "/no does not exist. Please provide a valid path.", "view", "no", nil},
		{fault.NotFound, "The path " + at + "/no does not exist. Please provide a valid path.", "str_replace", "no",
			[]any{"old_str", "x"}},
		{fault.NotFound, "The path " + at + "/no does not exist. Please provide a valid path.", "insert", "no",
			[]any{"insert_line", 0, "insert_text", "x"}},
		{fault.NotFound, "The path " + at + "/no does not exist. Please provide a valid path.", "undo_edit", "no", nil},
		{fault.NotFound, "The path " + at + "/a.txt/b does not exist. Please provide a valid path.", "view", "a.txt/b", nil},
		{fault.NotFound, "The path " + at + "/no/../a.txt does not exist. Please provide a valid path.", "view",
			"no/../a.txt", nil},
		{fault.Invalid, "File already exists at: " + a + ". Cannot overwrite files using command `create`.", "create",
			"a.txt", []any{"file_text", "x"}},
		{fault.Invalid, "File already exists at: " + at + "/dir. Cannot overwrite files using command `create`.", "create",
			"dir", []any{"file_text", "x"}},
		{fault.Invalid, "No replacement was performed, old_str `three` did not appear verbatim in " + a + ".", "str_replace",
			"a.txt", []any{"old_str", "three", "new_str", "x"}},
		{fault.Invalid, "No replacement was performed. Multiple occurrences of old_str `one` in lines [1, 3]. Please ensure it is unique\n" +
			"match 1: line 1: one\nmatch 2: line 3: one two\nGive more of the text around it, or \"match\": N for one of these.",
			"str_replace", "a.txt", []any{"old_str", "one", "new_str", "x"}},
		{fault.Invalid, "Invalid `insert_line` parameter: 4. It should be within the range of lines of the file: [0, 3]",
			"insert", "a.txt", []any{"insert_line", 4, "insert_text", "x"}},
		{fault.Invalid, "Invalid `insert_line` parameter: -1. It should be within the range of lines of the file: [0, 3]",
			"insert", "a.txt", []any{"insert_line", -1, "insert_text", "x"}},
		{fault.Invalid, "Invalid `insert_line` parameter: 1. It should be within the range of lines of the file: [0, 0]",
			"insert", "empty.txt", []any{"insert_line", 1, "new_str", "x"}},
		{fault.NotFound, "No edit history found for " + a + ".", "undo_edit", "a.txt", nil},

		{fault.Denied, "view /etc/passwd: the path leads out of " + at + "\nname a file below " + at, "view", "/etc/passwd",
			nil},
		{fault.Invalid, "create " + at + "/a.txt/b: a.txt is a file, not a directory\nchoose another path", "create",
			"a.txt/b", []any{"file_text", ""}},
		{fault.Invalid, "create " + at + "/new/: the path ends in a slash\nname a file; its directories are made with it",
			"create", "new/", []any{"file_text", ""}},
		{fault.Invalid, "create " + at + "/n: file_text is not text\nleave out NUL and other control characters", "create",
			"n", []any{"file_text", "a\x00"}},
		{fault.TooLarge, "create " + at + "/d/n: 10485761 bytes are more than the 10485760 that can be edited\n" + parts,
			"create", "d/n", []any{"file_text", strings.Repeat("x", 10<<20+1)}},
		{fault.Invalid, "str_replace " + a + ": old_str is empty\nuse insert to add text without replacing any",
			"str_replace", "a.txt", []any{"old_str", "", "new_str", "x"}},
		{fault.Invalid, "str_replace " + a + ": old_str and new_str are the same\ngive the text as it should become",
			"str_replace", "a.txt", []any{"old_str", "two\n", "new_str", "two\n"}},
		{fault.Invalid, "str_replace " + a + ": there is no match 3\nchoose one from 1 to 2", "str_replace", "a.txt",
			[]any{"old_str", "two", "match", 3}},
		{fault.Invalid, "str_replace " + a + ": there is no match -1\nchoose one from 1 to 2", "str_replace", "a.txt",
			[]any{"old_str", "two", "match", -1}},
		{fault.Invalid, "str_replace " + a + ": the file would no longer be text\nleave out NUL and other control characters",
			"str_replace", "a.txt", []any{"old_str", "one\n", "new_str", "\x00"}},
		{fault.Invalid, "str_replace " + at + "/dir: it is a directory, and those can only be viewed\nname a file in it",
			"str_replace", "dir", []any{"old_str", "x"}},
		{fault.Invalid, "undo_edit " + at + "/dir: it is a directory, and those can only be viewed\nname a file in it",
			"undo_edit", "dir", nil},
		{fault.Invalid, "view " + at + "/nul.bin: the file is not text\nconvert it first, or look at it with xxd or od",
			"view", "nul.bin", nil},
		{fault.Invalid, "insert " + at + "/noise.bin: the file is not text\nconvert it first, or look at it with xxd or od",
			"insert", "noise.bin", []any{"insert_line", 0, "insert_text", "x"}},
		{fault.TooLarge, "view " + at + "/large.txt: 10485761 bytes are more than the 10485760 that can be edited\n" + parts,
			"view", "large.txt", nil},
		{fault.Invalid, "view " + at + "/dir: view_range is for files, and this is a directory\nleave it out", "view", "dir",
			[]any{"view_range", []int{1, 2}}},
		{fault.Invalid, badRange("[1]", "it must be two whole numbers"), "view", "a.txt", []any{"view_range", []int{1}}},
		{fault.Invalid, badRange("[0 2]", "the first line must be from 1 to 3, as the file has 3"), "view", "a.txt",
			[]any{"view_range", []int{0, 2}}},
		{fault.Invalid, badRange("[4 -1]", "the first line must be from 1 to 3, as the file has 3"), "view", "a.txt",
			[]any{"view_range", []int{4, -1}}},
		{fault.Invalid, badRange("[3 2]", "the last line must be from 3 to 3, as the file has 3"), "view", "a.txt",
			[]any{"view_range", []int{3, 2}}},
		{fault.Invalid, badRange("[2 4]", "the last line must be from 2 to 3, as the file has 3"), "view", "a.txt",
			[]any{"view_range", []int{2, 4}}},
		{fault.Invalid, badRange("[1 -2]", "the last line must be from 1 to 3, as the file has 3"), "view", "a.txt",
			[]any{"view_range", []int{1, -2}}},
		{fault.Invalid, strings.Replace(badRange("[1 -1]", "the file is empty"), "a.txt", "empty.txt", 1), "view",
			"empty.txt", []any{"view_range", []int{1, -1}}},
	} {
		b.no(c.kind, c.want, c.command, c.path, c.more...)
	}
}

const parts = "use commands that work on parts, such as head, tail, grep and sed"

func badRange(given, why string) string {
	return "view " + at + "/a.txt: view_range " + given + " makes no sense: " + why +
		"\ngive [first, last] counted from 1, with -1 for the last line of the file"
}

func TestLongTextsAreNotEchoed(t *testing.T) {
	b := newBench(t)
	b.write("a.txt", "x\n")
	r := b.call("str_replace", "a.txt", "old_str", strings.Repeat("語", 5000))
	if want := strings.Repeat("語", maxQuoted-1) + "…`"; !strings.Contains(r.Error, want) || len(r.Error) > 3*maxQuoted+
		200 {
		t.Errorf("%d bytes: %s", len(r.Error), r.Error)
	}
}

func TestResultOnTheWire(t *testing.T) {
	b := newBench(t)
	raw, err := json.Marshal(b.call("create", "a", "file_text", "x"))
	must(t, err)
	if want := `{"success":true,"content":"File created successfully at: ` + at + `/a","error":""}`; string(raw) != want {
		t.Errorf("got %s", raw)
	}
	raw, err = json.Marshal(b.call("view", "b"))
	must(t, err)
	if want := `{"success":false,"content":"","error":"The path ` + at +
		`/b does not exist. Please provide a valid path."}`; string(raw) != want {
		t.Errorf("got %s", raw)
	}
}

func TestNoRoot(t *testing.T) {
	r := new(Editor).Do(context.Background(), Call{Command: "view", Path: "/"})
	if fault.KindOf(r.Fault) != fault.Denied {
		t.Errorf("the zero value does not deny: %+v", r)
	}
}

func TestGivenUp(t *testing.T) {
	b := newBench(t)
	ctx, stop := context.WithCancel(context.Background())
	stop()
	r := b.Do(ctx, Call{Command: "create", Path: at + "/a", FileText: new(string)})
	if fault.KindOf(r.Fault) != fault.Timeout {
		t.Errorf("got %+v", r)
	}
	if _, err := os.Stat(filepath.Join(b.dir, "a")); err == nil {
		t.Error("it was made all the same")
	}
}

func TestOtherRoots(t *testing.T) {
	b := newBench(t)
	b.write("a.txt", "x\n")
	for _, c := range []struct {
		at, path string
		relative bool
	}{
		{"", "/a.txt", false}, {"/", "//./a.txt", false}, {"/w/", "/w//a.txt", false}, {at, "a.txt", true},
		{at, "./a.txt", true}, {at, at + "/a.txt", true},
	} {
		e := &Editor{Root: b.Root, At: c.at, Relative: c.relative}
		if r := e.Do(context.Background(), Call{Command: "view", Path: c.path}); r.Content != "     1\tx\n" {
			t.Errorf("%+v: %+v", c, r)
		}
	}
	r := b.Do(context.Background(), Call{Command: "view", Path: "./a.txt"})
	if want := "view ./a.txt: the path is not absolute\ndid you mean " + at + "/a.txt?"; r.Error != want {
		t.Errorf("got %s", r.Error)
	}
	r = b.Do(context.Background(), Call{Command: "view", Path: "../../etc/passwd"})
	if want := "did you mean " + at + "/etc/passwd?"; !strings.HasSuffix(r.Error, want) {
		t.Errorf("got %s", r.Error)
	}
	e := &Editor{Root: b.Root, At: at, Relative: true}
	if r := e.Do(context.Background(), Call{Command: "view", Path: "../project/a.txt"}); fault.KindOf(
		r.Fault) != fault.Denied {
		t.Errorf("left the root: %+v", r)
	}
}
