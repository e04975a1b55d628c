package vfs

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"hako/quota"
	"hako/run/fault"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantReason(t *testing.T, err error, words string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want %q", words)
	}
	if got := Reason(err); got != words {
		t.Fatalf("reason %q, want %q (%v)", got, words, err)
	}
}

func read(t *testing.T, v *FS, name string) string {
	t.Helper()
	b, err := v.ReadFile(name)
	must(t, err)
	return string(b)
}

func put(t *testing.T, v *FS, name, text string) {
	t.Helper()
	must(t, v.WriteFile(name, []byte(text), 0o666))
}

// furnished returns a tree with something of everything in memory.
func furnished(t *testing.T) *FS {
	v := New(Options{})
	must(t, v.MkdirAll("/box/dir/sub", 0o777))
	put(t, v, "/box/file", "file")
	put(t, v, "/box/dir/inner", "inner")
	must(t, v.Mkdir("/box/empty", 0o777))
	for name, target := range map[string]string{
		"/box/tofile": "file", "/box/todir": "dir", "/box/abs": "/box/file", "/box/up": "../../../box/file",
		"/box/self": "self", "/box/a": "b", "/box/b": "a", "/box/dangling": "nothing", "/box/through": "file/x",
		"/box/dir/sub/back": "../..", "/box/deep": "dir/sub/back/todir/inner", "/box/slash": "dir/",
	} {
		must(t, v.Symlink(target, name))
	}
	return v
}

func TestNames(t *testing.T) {
	v := furnished(t)
	for _, c := range []struct{ name, want string }{
		{"/box/file", "file"},
		{"/box/tofile", "file"},
		{"/box/abs", "file"},
		{"/box/up", "file"},
		{"/box/todir/inner", "inner"},
		{"/box/todir/sub/back/file", "file"},
		{"/box/deep", "inner"},
		{"/box/slash/inner", "inner"},
		{"/../../box/file", "file"},
		{"/box/nope", "!No such file or directory"},
		{"/box/nope/x", "!No such file or directory"},
		{"/nope/../box/file", "file"}, // names come cleaned; an uncleaned one is cleaned
		{"/box/file/x", "!Not a directory"},
		{"/box/through", "!Not a directory"},
		{"/box/dangling", "!No such file or directory"},
		{"/box/self", "!Too many levels of symbolic links"},
		{"/box/a", "!Too many levels of symbolic links"},
		{"/box/a/x", "!Too many levels of symbolic links"},
		{"/box/dir", "!Is a directory"},
		{"/box/" + strings.Repeat("n", 256), "!File name too long"},
		{"/" + strings.Repeat("n/", 3000), "!File name too long"},
		{"/etc/passwd", "!No such file or directory"},
		{"/proc/self/environ", "!No such file or directory"},
		{"box/file", "!Invalid argument"},
		{"", "!Invalid argument"},
		{"/box/fi\x00le", "!Invalid argument"},
	} {
		b, err := v.ReadFile(c.name)
		if words, ok := strings.CutPrefix(c.want, "!"); ok {
			if err == nil || Reason(err) != words {
				t.Errorf("%.40q: %v, want %q", c.name, err, words)
			}
		} else if err != nil || string(b) != c.want {
			t.Errorf("%.40q: %q %v, want %q", c.name, b, err, c.want)
		}
	}
}

func TestManyLinksButNoLoop(t *testing.T) {
	v := New(Options{})
	put(t, v, "/box/l0", "end")
	name := func(i int) string { return "/box/l" + strings.Repeat("x", i) }
	must(t, v.Rename("/box/l0", name(0)))
	for i := 1; i <= 41; i++ {
		must(t, v.Symlink(name(i-1), name(i)))
	}
	if got := read(t, v, name(40)); got != "end" {
		t.Error(got)
	}
	_, err := v.ReadFile(name(41))
	wantReason(t, err, "Too many levels of symbolic links")
}

func TestRealpath(t *testing.T) {
	v := furnished(t)
	for name, want := range map[string]string{"/box/deep": "/box/dir/inner", "/box/todir/sub/back": "/box", "/": "/",
		"/box/tofile": "/box/file"} {
		if got, err := v.Realpath(name); got != want || err != nil {
			t.Errorf("%s: %s %v, want %s", name, got, err, want)
		}
	}
	got, err := v.Realpath("/box/todir/new")
	if got != "/box/dir/new" || !errors.Is(err, fs.ErrNotExist) {
		t.Error(got, err)
	}
}

func TestOpenFlags(t *testing.T) {
	const rd, wr, rw, cr, ex, tr, ap = os.O_RDONLY, os.O_WRONLY, os.O_RDWR, os.O_CREATE, os.O_EXCL, os.O_TRUNC, os.O_APPEND
	for _, c := range []struct {
		name  string
		flag  int
		write string
		want  string // contents after, or ! and the reason
	}{
		{"/box/file", wr, "FI", "FIle"},
		{"/box/file", wr | tr, "x", "x"},
		{"/box/file", rd | tr, "", "file"},
		{"/box/file", wr | ap, "+", "file+"},
		{"/box/file", wr | cr | ex, "", "!File exists"},
		{"/box/dangling", wr | cr | ex, "", "!File exists"},
		{"/box/dangling", wr | cr, "new", "new"},
		{"/box/new", wr, "", "!No such file or directory"},
		{"/box/new", wr | cr, "n", "n"},
		{"/box/no/new", wr | cr, "n", "!No such file or directory"},
		{"/box/dir", wr, "", "!Is a directory"},
		{"/box/dir", rd | cr, "", "!Is a directory"},
		{"/box/file", rd, "x", "!Bad file descriptor"},
		{"/box/file", rw, "F", "File"},
		{"/dev/new", wr | cr, "n", "!Permission denied"},
		{"/dev/full", wr, "n", "!No space left on device"},
		{"/dev/full", wr | cr | tr, "n", "!No space left on device"},
	} {
		v := furnished(t)
		f, err := v.Open(c.name, c.flag, 0o666)
		if err == nil && c.write != "" {
			_, err = f.Write([]byte(c.write))
		}
		if words, ok := strings.CutPrefix(c.want, "!"); ok {
			if err == nil || Reason(err) != words {
				t.Errorf("%s %#x: %v, want %q", c.name, c.flag, err, words)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s %#x: %v", c.name, c.flag, err)
		} else if got := read(t, v, c.name); got != c.want {
			t.Errorf("%s %#x: %q, want %q", c.name, c.flag, got, c.want)
		}
	}
}

func TestRename(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{"/box/file", "/box/moved", ""},
		{"/box/file", "/box/dir/inner", ""},
		{"/box/file", "/box/file", ""},
		{"/box/dir", "/box/empty", ""},
		{"/box/dir", "/box/dir/sub/x", "Invalid argument"},
		{"/box/dir", "/", "Directory not empty"},
		{"/box/empty", "/box/dir", "Directory not empty"},
		{"/box/dir/sub", "/box/dir", "Directory not empty"},
		{"/box/file", "/box/dir", "Is a directory"},
		{"/box/dir", "/box/file", "Not a directory"},
		{"/box/nope", "/box/x", "No such file or directory"},
		{"/box/file", "/box/no/x", "No such file or directory"},
		{"/dev/null", "/box/null", "Permission denied"},
		{"/box/file", "/dev/null", "Permission denied"},
		{"/dev", "/box/dev", "Permission denied"},
		{"/box/tofile", "/box/link2", ""},
	} {
		v := furnished(t)
		before, _ := v.Lstat(c.old)
		err := v.Rename(c.old, c.new)
		if c.want != "" {
			if err == nil || Reason(err) != c.want {
				t.Errorf("%s to %s: %v, want %q", c.old, c.new, err, c.want)
			}
			continue
		}
		after, _ := v.Lstat(c.new)
		if err != nil || !SameFile(before, after) {
			t.Errorf("%s to %s: %v", c.old, c.new, err)
		}
		if _, err := v.Lstat(c.old); c.old != c.new && !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is still there: %v", c.old, err)
		}
	}
}

func TestRemove(t *testing.T) {
	v := furnished(t)
	for name, want := range map[string]string{
		"/box/dir": "Directory not empty", "/dev/null": "Permission denied", "/dev": "Permission denied",
		"/": "Device or resource busy", "/box/nope": "No such file or directory",
	} {
		wantReason(t, v.Remove(name), want)
	}
	must(t, v.Remove("/box/todir"))
	must(t, v.RemoveAll("/box/dir"))
	must(t, v.RemoveAll("/box/dir"))
	if got := read(t, v, "/box/file"); got != "file" {
		t.Error("removing a link removed what it led to")
	}
	must(t, v.RemoveAll("/box"))
	if names := v.ListFiles(); len(names) != 0 {
		t.Error(names)
	}
}

func TestRemovedWhileOpen(t *testing.T) {
	g := quota.NewLimiter(quota.Lenient())
	v := New(Options{Limiter: g})
	put(t, v, "/box/f", strings.Repeat("x", 5000))
	f, err := v.Open("/box/f", os.O_RDWR, 0)
	must(t, err)
	must(t, v.Remove("/box/f"))
	b, err := io.ReadAll(f)
	if len(b) != 5000 || err != nil {
		t.Error(len(b), err)
	}
	if g.Held() < 5000 {
		t.Error("given back too early:", g.Held())
	}
	must(t, f.Close())
	if g.Held() != 0 {
		t.Error("still held:", g.Held())
	}
}

func TestHardLinks(t *testing.T) {
	g := quota.NewLimiter(quota.Lenient())
	v := New(Options{Limiter: g})
	put(t, v, "/box/a", "one")
	must(t, v.Link("/box/a", "/box/b"))
	put(t, v, "/box/b", "two")
	a, _ := v.Stat("/box/a")
	b, _ := v.Stat("/box/b")
	if read(t, v, "/box/a") != "two" || !SameFile(a, b) || a.Links() != 2 || a.Inode() != b.Inode() {
		t.Error(a, b)
	}
	wantReason(t, v.Link("/box/a", "/box/b"), "File exists")
	wantReason(t, v.Link("/box", "/tmp/box"), "Operation not permitted")
	must(t, v.Rename("/box/a", "/box/b")) // the same file: nothing happens
	must(t, v.Remove("/box/a"))
	if read(t, v, "/box/b") != "two" {
		t.Error("gone with its first name")
	}
	must(t, v.Remove("/box/b"))
	if g.Held() != 0 {
		t.Error(g.Held())
	}
}

func TestModesAndTimes(t *testing.T) {
	now := time.Date(2024, 1, 2, 3, 4, 5, 0, time.UTC)
	v := New(Options{Now: func() time.Time { return now }})
	put(t, v, "/box/f", "x")
	must(t, v.Mkdir("/box/d", 0o777))
	must(t, v.Symlink("f", "/box/l"))
	for name, want := range map[string]string{"/box/f": "-rw-r--r--", "/box/d": "drwxr-xr-x", "/box/l": "Lrwxrwxrwx",
		"/tmp": "dtrwxrwxrwx", "/dev/null": "Dcrw-rw-rw-"} {
		if info, err := v.Lstat(name); err != nil || info.Mode().String() != want || !info.ModTime().Equal(now) {
			t.Error(name, info.Mode(), info.ModTime(), err)
		}
	}
	must(t, v.Chmod("/box/l", 0o700))
	then := now.Add(-time.Hour)
	must(t, v.Chtimes("/box/l", then, then))
	must(t, v.Chtimes("/box/l", then, time.Time{}))
	info, _ := v.Stat("/box/f")
	if info.Mode() != 0o700 || !info.ModTime().Equal(then) {
		t.Error(info)
	}
	put(t, v, "/box/f", "y")
	if info, _ = v.Stat("/box/f"); info.Mode() != 0o700 || !info.ModTime().Equal(now) {
		t.Error("after writing:", info)
	}
	if dir, _ := v.Stat("/box"); dir.Links() != 3 {
		t.Error("links of a directory:", dir.Links())
	}
}

func TestReadDir(t *testing.T) {
	v := furnished(t)
	entries, err := v.ReadDir("/box/todir")
	must(t, err)
	if len(entries) != 2 || entries[0].Name() != "inner" || entries[1].Name() != "sub" || !entries[1].IsDir() {
		t.Error(entries)
	}
	_, err = v.ReadDir("/box/file")
	wantReason(t, err, "Not a directory")
	f, err := v.Open("/box/dir", os.O_RDONLY, 0)
	must(t, err)
	_, err = f.Read(make([]byte, 1))
	if !f.IsDir() {
		t.Error("not a directory")
	}
	wantReason(t, err, "Is a directory")
}

func TestDevices(t *testing.T) {
	v := New(Options{Seed: 7})
	if read(t, v, "/dev/null") != "" {
		t.Error("null has contents")
	}
	put(t, v, "/dev/null", "x")
	chunk := func(v *FS, name string) string {
		f, err := v.Open(name, os.O_RDONLY, 0)
		must(t, err)
		defer f.Close()
		b := make([]byte, 40)
		_, err = io.ReadFull(f, b)
		must(t, err)
		return string(b)
	}
	if chunk(v, "/dev/zero") != strings.Repeat("\x00", 40) || chunk(v, "/dev/full") != chunk(v, "/dev/zero") {
		t.Error("zero is not zero")
	}
	one, two := chunk(v, "/dev/urandom"), chunk(v, "/dev/random")
	again := New(Options{Seed: 7})
	if one == two || chunk(again, "/dev/random") != one || chunk(again.Fork(), "/dev/random") != two {
		t.Error("a seed must make chance repeatable, not constant")
	}
	if one, two = chunk(New(Options{}), "/dev/random"), chunk(New(Options{}), "/dev/random"); one == two {
		t.Error("real chance repeats itself")
	}
	if names := v.ListFiles(); len(names) != 0 {
		t.Error(names)
	}
	small := quota.Lenient()
	small.Memory = 1 << 20
	_, err := New(Options{Limiter: quota.NewLimiter(small)}).ReadFile("/dev/zero")
	if fault.KindOf(err) != fault.Exhausted {
		t.Error(err)
	}
}

func TestTemp(t *testing.T) {
	v := New(Options{Seed: 1})
	f, name, err := v.CreateTemp("", "tmp.*.txt")
	must(t, err)
	must(t, f.Close())
	if !strings.HasPrefix(name, "/tmp/tmp.") || !strings.HasSuffix(name, ".txt") || !slices.Contains(v.ListFiles(), name) {
		t.Error(name)
	}
	_, again, _ := New(Options{Seed: 1}).CreateTemp("", "tmp.*.txt")
	if again != name {
		t.Error("not repeatable:", name, again)
	}
	dir, err := v.MkdirTemp("/box", "d")
	must(t, err)
	if info, err := v.Stat(dir); err != nil || info.Mode() != fs.ModeDir|0o700 {
		t.Error(info, err)
	}
	_, _, err = v.CreateTemp("/box", "../x*")
	wantReason(t, err, "Invalid argument")
}

func TestWatch(t *testing.T) {
	v := New(Options{})
	var seen []string
	v.Watch(func(what, path string, bytes int64) {
		seen = append(seen, what+" "+path+" "+strings.Repeat("*", int(bytes)))
	})
	put(t, v, "/box/a", "abc")
	must(t, v.Symlink("a", "/box/l"))
	read(t, v, "/box/l")
	put(t, v, "/dev/null", "abc")
	must(t, v.Rename("/box/a", "/box/b"))
	must(t, v.Remove("/box/b"))
	v.Watch(nil)
	put(t, v, "/box/a", "abc")
	want := []string{"written /box/a ***", "read /box/a ***", "removed /box/a ", "written /box/b ***",
		"removed /box/b ***"}
	if !slices.Equal(seen, want) {
		t.Errorf("%q\nwant %q", seen, want)
	}
}

func TestReasonAndErrors(t *testing.T) {
	v := New(Options{})
	_, err := v.ReadFile("/box/nope")
	if err.Error() != "open /box/nope: no such file or directory" || !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	wantReason(t, &fault.Error{Op: "open", Why: "because"}, "because")
	wantReason(t, &fault.Error{Op: "open", Err: fs.ErrExist}, "File exists")
	wantReason(t, fs.ErrPermission, "Permission denied")
	wantReason(t, errors.New("odd thing"), "Odd thing")
	if !errors.Is(errNotGranted, fs.ErrPermission) || errors.Is(ErrNotEmpty, fs.ErrExist) {
		t.Error("relatives")
	}
	_, err = os.ReadFile(filepath.Join(t.TempDir(), "x"))
	wantReason(t, err, "No such file or directory")
}

func TestClosedFile(t *testing.T) {
	v := New(Options{})
	put(t, v, "/box/f", "x")
	f, _ := v.Open("/box/f", os.O_RDWR, 0)
	must(t, f.Close())
	_, err := f.Read(make([]byte, 1))
	wantReason(t, err, "Bad file descriptor")
	wantReason(t, f.Close(), "Bad file descriptor")
	_, err = f.Stat()
	wantReason(t, err, "Bad file descriptor")
}

func TestSlashMeansDirectory(t *testing.T) {
	tree := New(Options{})
	for _, err := range []error{tree.WriteFile("/box/a", []byte("x"), 0o644), tree.MkdirAll("/box/d", 0o755),
		tree.Symlink("d", "/box/l")} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name string
		flag int
		want error
	}{
		{"/box/a/", os.O_RDONLY, ErrNotDir}, {"/box/a/", os.O_WRONLY | os.O_CREATE, ErrIsDir},
		{"/box/a/", os.O_WRONLY, ErrNotDir}, {"/box/d/", os.O_RDONLY, nil},
		{"/box/l/", os.O_RDONLY, nil}, {"/box/new/", os.O_WRONLY | os.O_CREATE, ErrIsDir},
		{"/box/new/", os.O_RDONLY, fs.ErrNotExist}, {"/", os.O_RDONLY, nil},
	} {
		f, err := tree.Open(c.name, c.flag, 0o644)
		if !errors.Is(err, c.want) {
			t.Errorf("open %s: %v, want %v", c.name, err, c.want)
		}
		if err == nil {
			f.Close()
		}
	}
	if info, err := tree.Lstat("/box/l/"); err != nil || !info.IsDir() {
		t.Errorf("a link with a slash is %v, %v", info.Mode(), err)
	}
}

// TestLinkToItsDirectory sees that a link to "." is told from others by its inode.
func TestLinkToItsDirectory(t *testing.T) {
	tree := New(Options{})
	if err := tree.Symlink(".", "/box/self"); err != nil {
		t.Fatal(err)
	}
	dir, err := tree.Stat("/box")
	self, err2 := tree.Stat("/box/self")
	if err != nil || err2 != nil || self.Inode() == 0 || self.Inode() != dir.Inode() || self.Mode() != dir.Mode() {
		t.Errorf("%v %v %v %v", dir, err, self, err2)
	}
}
