package vfs

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"hako/quota"
	"hako/run/fault"
)

const canary = "canary: nobody inside may read this"

// host makes a directory with a canary beside the directory to be granted.
func host(t testing.TB) (outside, granted string) {
	outside, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	granted = filepath.Join(outside, "granted")
	for _, err := range []error{
		os.MkdirAll(filepath.Join(granted, "sub", "deep"), 0o755),
		os.WriteFile(filepath.Join(outside, "canary"), []byte(canary), 0o644),
		os.WriteFile(filepath.Join(granted, "file"), []byte("file\n"), 0o644),
		os.WriteFile(filepath.Join(granted, "sub", "inner"), []byte("inner\n"), 0o644),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return outside, granted
}

func onHost(t *testing.T, name ...string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(name...))
	must(t, err)
	return string(b)
}

func TestMountReadOnly(t *testing.T) {
	_, dir := host(t)
	v := New(Options{})
	must(t, v.Mount("/home/me/work", dir, false))
	if got := read(t, v, "/home/me/work/sub/inner"); got != "inner\n" {
		t.Error(got)
	}
	if info, err := v.Stat("/home/me"); err != nil || !info.IsDir() {
		t.Error("the way there:", info, err)
	}
	const work = "/home/me/work/"
	for what, err := range map[string]error{
		"write": v.WriteFile(work+"file", nil, 0o666), "create": v.WriteFile(work+"new", nil, 0o666),
		"remove": v.Remove(work + "file"), "mkdir": v.Mkdir(work+"new", 0o777), "rename": v.Rename(work+"file", work+"new"),
		"symlink": v.Symlink("file", work+"new"), "link": v.Link(work+"file", work+"new"), "chmod": v.Chmod(work+"file", 0),
		"chtimes": v.Chtimes(work+"file", time.Now(), time.Now()), "truncate": v.Truncate(work+"file", 0),
		"all": v.RemoveAll("/home/me/work"),
	} {
		if err == nil || Reason(err) != "Read-only file system" {
			t.Error(what, err)
		}
	}
	if onHost(t, dir, "file") != "file\n" || onHost(t, dir, "sub", "inner") != "inner\n" {
		t.Error("changed")
	}
}

func TestMountWritable(t *testing.T) {
	_, dir := host(t)
	v := New(Options{})
	must(t, v.Mount("/w", dir, true))
	put(t, v, "/w/new", "new\n")
	must(t, v.Mkdir("/w/made", 0o777))
	must(t, v.Rename("/w/file", "/w/made/moved"))
	must(t, v.Link("/w/new", "/w/second"))
	must(t, v.Symlink("../new", "/w/made/link"))
	must(t, v.Remove("/w/sub/inner"))
	must(t, v.Chmod("/w/new", fs.ModeSetuid|0o600))
	must(t, v.Chtimes("/w/new", time.Time{}, time.Unix(1000, 0)))
	if onHost(t, dir, "new") != "new\n" || onHost(t, dir, "made", "moved") != "file\n" ||
		onHost(t, dir, "second") != "new\n" {
		t.Error("not on the host")
	}
	if runtime.GOOS != "windows" && onHost(t, dir, "made", "link") != "new\n" {
		t.Error("the link leads elsewhere")
	}
	info, err := os.Stat(filepath.Join(dir, "new"))
	if err != nil || info.Mode()&fs.ModeSetuid != 0 || !info.ModTime().Equal(time.Unix(1000, 0)) {
		t.Error(info.Mode(), info.ModTime(), err)
	}
	wantReason(t, v.Remove("/w"), "Device or resource busy")
	wantReason(t, v.Rename("/w", "/x"), "Invalid cross-device link")
	wantReason(t, v.Rename("/w/new", "/box/new"), "Invalid cross-device link")
	wantReason(t, v.Rename("/w/made", "/w/made/x"), "Invalid argument")
	wantReason(t, v.Remove("/w/made"), "Directory not empty")
	wantReason(t, v.Link("/w/new", "/box/new"), "Invalid cross-device link")
	must(t, v.RemoveAll("/w/made"))
	if _, err := os.Lstat(filepath.Join(dir, "made")); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

func TestAppendAndSeekReal(t *testing.T) {
	_, dir := host(t)
	v := New(Options{})
	must(t, v.Mount("/w", dir, true))
	f, err := v.Open("/w/file", os.O_RDWR|os.O_APPEND, 0)
	must(t, err)
	_, err = f.Write([]byte("more\n"))
	must(t, err)
	_, err = f.Seek(0, io.SeekStart)
	must(t, err)
	b, err := io.ReadAll(f)
	must(t, err)
	part := make([]byte, 100)
	n, err := f.ReadAt(part, 2)
	if string(b) != "file\nmore\n" || string(part[:n]) != "le\nmore\n" || err != io.EOF || f.Size() != 10 {
		t.Errorf("%q %q %v", b, part[:n], err)
	}
	must(t, f.Truncate(3))
	must(t, f.Close())
	if onHost(t, dir, "file") != "fil" {
		t.Error("not truncated")
	}
}

func TestLinksOutOfAMount(t *testing.T) {
	outside, dir := host(t)
	for name, target := range map[string]string{
		"rel": "../canary", "abs": filepath.Join(outside, "canary"), "dir": "..", "root": "/",
		"far":   "../../../../../../../../",
		"chain": "dir/canary", "inside": "sub/inner", "proc": "/proc/self/environ", "loop": "loop",
		"sub/climb": "../../canary", "sub/fine": "../file", "tree": "/box/mine",
	} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Skip("no symbolic links here:", err)
		}
	}
	v := New(Options{})
	must(t, v.Mount("/m/w", dir, true))
	put(t, v, "/box/mine", "mine")
	for name, want := range map[string]string{
		"rel": "", "abs": "", "dir/canary": "", "root/" + outside + "/canary": "", "far/etc/passwd": "", "chain": "",
		"proc": "",
		"loop": "", "sub/climb": "", "../canary": "", "../../canary": "", "dir/granted/file": "",
		"inside": "inner\n", "sub/fine": "file\n", "tree": "mine", "root/box/mine": "mine", "dir/w/file": "file\n",
	} {
		b, err := v.ReadFile("/m/w/" + name)
		if want == "" && err == nil || want != "" && string(b) != want {
			t.Errorf("%s: %q %v, want %q", name, b, err, want)
		}
		if want == "" && name != "loop" && Reason(err) != "No such file or directory" {
			t.Errorf("%s: %v", name, err)
		}
	}
	wantReason(t, v.WriteFile("/m/w/dir/canary/x", nil, 0o666), "No such file or directory")
	must(t, v.WriteFile("/m/w/rel", []byte("x"), 0o666)) // is /m/canary in memory
	if onHost(t, outside, "canary") != canary || read(t, v, "/m/canary") != "x" {
		t.Error("the canary was reached")
	}
}

func TestNoTrapForTheHost(t *testing.T) {
	_, dir := host(t)
	v := New(Options{})
	must(t, v.Mount("/w", dir, true))
	for target, ok := range map[string]bool{
		"/etc/passwd": false, "..": false, "../x": false, "sub/../../x": false, "sub/deep/../../..": false, `..\x`: false,
		"sub": true, "./sub/inner": true, "nothing": true,
	} {
		err := v.Symlink(target, "/w/l")
		if ok != (err == nil) {
			t.Errorf("%s: %v", target, err)
		}
		v.Remove("/w/l")
	}
	must(t, v.Symlink("../../file", "/w/sub/deep/l"))
	wantReason(t, v.Rename("/w/sub/deep/l", "/w/l"), "Operation not permitted")
	wantReason(t, v.Link("/w/sub/deep/l", "/w/l"), "Operation not permitted")
	wantReason(t, v.Rename("/w/sub/deep", "/w/deep"), "Operation not permitted")
	must(t, v.Remove("/w/sub/deep/l"))
	must(t, v.Rename("/w/sub/deep", "/w/deep"))
}

func TestGrantsInsideGrants(t *testing.T) {
	outside, dir := host(t)
	v := New(Options{})
	must(t, v.Mount("/w", dir, true))
	must(t, v.Mount("/w/sub", filepath.Join(dir, "sub"), false))
	must(t, v.Inject("/w/not/there/c", filepath.Join(outside, "canary"), false))
	wantReason(t, v.WriteFile("/w/sub/inner", nil, 0o666), "Read-only file system")
	wantReason(t, v.WriteFile("/w/SUB/inner", nil, 0o666), "No such file or directory")
	wantReason(t, v.Rename("/w/sub", "/w/bus"), "Read-only file system")
	wantReason(t, v.RemoveAll("/w/not"), "Read-only file system")
	if got := read(t, v, "/w/not/there/c"); got != canary {
		t.Error(got)
	}
	if names := entryNames(t, v, "/w"); !slices.Equal(names, []string{"file", "not", "sub"}) {
		t.Error(names)
	}
	if got := v.ListFiles(); !slices.Equal(got, []string{"/w/file", "/w/not/there/c", "/w/sub/inner"}) {
		t.Error(got)
	}
	if onHost(t, dir, "sub", "inner") != "inner\n" {
		t.Error("written through")
	}
}

func TestMountAtTheTop(t *testing.T) {
	_, dir := host(t)
	v := New(Options{})
	must(t, v.Mount("/", dir, false))
	put(t, v, "/box/x", "x")
	if read(t, v, "/file") != "file\n" || read(t, v, "/dev/null") != "" || read(t, v, "/box/x") != "x" {
		t.Error("wrong")
	}
	wantReason(t, v.WriteFile("/x", nil, 0o666), "Read-only file system")
	wantReason(t, v.MkdirAll("/home/me", 0o777), "Read-only file system")
}

func TestInject(t *testing.T) {
	outside, dir := host(t)
	v := New(Options{})
	must(t, v.Inject("/data/in.txt", filepath.Join(dir, "file"), false))
	must(t, v.Inject("/data/out.txt", filepath.Join(dir, "out"), true))
	if read(t, v, "/data/in.txt") != "file\n" {
		t.Error("wrong contents")
	}
	wantReason(t, v.WriteFile("/data/in.txt", nil, 0o666), "Read-only file system")
	wantReason(t, v.Remove("/data/in.txt"), "Read-only file system")
	_, err := v.ReadFile("/data/in.txt/x")
	wantReason(t, err, "Not a directory")
	_, err = v.ReadFile("/data/out.txt")
	wantReason(t, err, "No such file or directory")
	if entries, _ := v.ReadDir("/data"); len(entries) != 1 {
		t.Error("an output that is not there yet is listed:", entries)
	}
	put(t, v, "/data/out.txt", "out\n")
	if onHost(t, dir, "out") != "out\n" || read(t, v, "/data/out.txt") != "out\n" {
		t.Error("not written")
	}
	wantReason(t, v.Remove("/data/out.txt"), "Device or resource busy")
	put(t, v, "/data/beside", "in memory")
	wantReason(t, v.Rename("/data/beside", "/data/out.txt"), "Invalid cross-device link")
	wantReason(t, v.RemoveAll("/data"), "Read-only file system")
	if onHost(t, outside, "canary") != canary {
		t.Error("canary")
	}
}

func TestInjectRefuses(t *testing.T) {
	_, dir := host(t)
	v := New(Options{})
	os.Symlink("nowhere", filepath.Join(dir, "dangling"))
	for _, c := range []struct {
		real  string
		write bool
		kind  fault.Kind
	}{
		{"sub", false, fault.Invalid}, {"sub", true, fault.Invalid}, {"nope", false, fault.NotFound},
		{"no/dir", true, fault.NotFound}, {"dangling", true, fault.NotFound}, {"file/x", true, fault.Invalid},
	} {
		err := v.Inject("/x", filepath.Join(dir, c.real), c.write)
		if fault.KindOf(err) != c.kind || fault.Hint(err) == "" {
			t.Errorf("%s: %v %v", c.real, err, fault.KindOf(err))
		}
	}
	for _, real := range []string{"nope", "file"} {
		if err := v.Mount("/x", filepath.Join(dir, real), false); fault.Hint(err) == "" {
			t.Errorf("%s: %v", real, err)
		}
	}
}

func TestInjectedThroughALink(t *testing.T) {
	outside, dir := host(t)
	if err := os.Symlink("file", filepath.Join(dir, "link")); err != nil {
		t.Skip(err)
	}
	v := New(Options{})
	must(t, v.Inject("/in", filepath.Join(dir, "link"), true))
	must(t, v.Inject("/out", filepath.Join(dir, "out"), true))
	// The links change after the grant: it holds for the file, not the name.
	must(t, os.Remove(filepath.Join(dir, "link")))
	must(t, os.Symlink(filepath.Join(outside, "canary"), filepath.Join(dir, "link")))
	must(t, os.Symlink(filepath.Join(outside, "canary"), filepath.Join(dir, "out")))
	put(t, v, "/in", "new\n")
	if onHost(t, dir, "file") != "new\n" {
		t.Error("not the file that was granted")
	}
	wantReason(t, v.WriteFile("/out", []byte("x"), 0o666), "it is a symbolic link, not a regular file")
	must(t, os.Remove(filepath.Join(dir, "file")))
	must(t, os.Symlink("sub/inner", filepath.Join(dir, "file")))
	wantReason(t, v.WriteFile("/in", []byte("x"), 0o666), "it is a symbolic link, not a regular file")
	if onHost(t, outside, "canary") != canary || onHost(t, dir, "sub", "inner") != "inner\n" {
		t.Error("followed")
	}
}

func TestStrictSize(t *testing.T) {
	_, dir := host(t)
	must(t, os.WriteFile(filepath.Join(dir, "big"), []byte(strings.Repeat("text\n", 500_000)), 0o644))
	l := quota.Strict()
	l.FileSize, l.Output = 1<<20, 8<<20
	for _, strict := range []bool{true, false} {
		v := New(Options{Limiter: quota.NewLimiter(l), Strict: strict})
		must(t, v.Mount("/w", dir, true))
		must(t, v.Inject("/big", filepath.Join(dir, "big"), false))
		for _, name := range []string{"/w/big", "/big"} {
			_, err := v.ReadFile(name)
			if !strict {
				must(t, err)
				continue
			}
			wantReason(t, err, "it has 3 MB, the limit file_size is 1 MB")
			if fault.KindOf(err) != fault.TooLarge || fault.FlagHint(err) != "raise it: --limit file_size=3MB" ||
				!strings.Contains(fault.Hint(err), "limits.file_size") {
				t.Error(err, fault.Hint(err))
			}
		}
		for _, name := range []string{"/w/new", "/box/new"} {
			err := v.WriteFile(name, make([]byte, 2<<20), 0o666)
			if strict {
				wantReason(t, err, "it would have 2 MB, the limit file_size is 1 MB")
			} else {
				must(t, err)
			}
		}
		if err := v.WriteFile("/w/small", make([]byte, 1<<20), 0o666); err != nil {
			t.Error(err)
		}
	}
}

func TestStrictText(t *testing.T) {
	_, dir := host(t)
	must(t, os.WriteFile(filepath.Join(dir, "bin"), []byte("\x7fELF\x00\x01"), 0o644))
	v := New(Options{Strict: true})
	must(t, v.Mount("/w", dir, true))
	_, err := v.ReadFile("/w/bin")
	wantReason(t, err, "the file is not text")
	if fault.KindOf(err) != fault.Invalid || fault.Hint(err) == "" {
		t.Error(err)
	}
	f, err := v.Open("/w/bin", os.O_RDONLY|Binary, 0)
	must(t, err)
	b, _ := io.ReadAll(f)
	if len(b) != 6 {
		t.Error("sniffing moved the position")
	}
	f, err = v.Open("/w/file", os.O_RDONLY, 0)
	must(t, err)
	b, _ = io.ReadAll(f)
	if string(b) != "file\n" {
		t.Error("sniffing moved the position")
	}
	put(t, v, "/w/bin", "now text")
	put(t, v, "/box/bin", "\x00\x01")
	if read(t, v, "/box/bin") != "\x00\x01" || read(t, v, "/w/bin") != "now text" {
		t.Error("what scripts make themselves is theirs to read")
	}
}

func TestRealWritesAreBounded(t *testing.T) {
	_, dir := host(t)
	l := quota.Lenient()
	l.Output = 10
	for _, name := range []string{"/w/new", "/w/file", "/out"} {
		g := quota.NewLimiter(l)
		v := New(Options{Limiter: g})
		must(t, v.Mount("/w", dir, true))
		must(t, v.Inject("/out", filepath.Join(dir, "out"), true))
		put(t, v, "/box/mine", "private files are held, not printed")
		put(t, v, name, "12345678")
		put(t, v, name, "12")
		wantReason(t, v.WriteFile(name, []byte("1"), 0o666), "it went over the limit output=10")
		_, stop := g.Start(t.Context())
		put(t, v, name, "next")
		stop()
	}
}

func TestRealWritesOfAFork(t *testing.T) {
	_, dir := host(t)
	l := quota.Lenient()
	l.Output = 10
	g := quota.NewLimiter(l)
	v := New(Options{Limiter: g})
	must(t, v.Mount("/w", dir, true))
	own := g.Fork()
	f := v.ForkFor(own)
	f.Main()
	wantReason(t, f.WriteFile("/w/file", make([]byte, 11), 0o666), "it went over the limit output=10")
	if g.Err() != nil || own.Err() == nil {
		t.Error("charged to the other session:", g.Err(), own.Err())
	}
}

func TestRealEntriesAreBounded(t *testing.T) {
	_, dir := host(t)
	l := quota.Lenient()
	l.Files = 4
	g := quota.NewLimiter(l)
	v := New(Options{Limiter: g})
	must(t, v.Mount("/w", dir, true))
	script := func() error {
		_, stop := g.Start(t.Context())
		defer stop()
		v.Watch(func(string, string, int64) {})
		defer v.Watch(nil)
		put(t, v, "/w/new", "")
		put(t, v, "/w/new", "once more")
		must(t, v.Mkdir("/w/dir", 0o777))
		must(t, v.Symlink("new", "/w/dir/link"))
		must(t, v.Link("/w/new", "/w/dir/second"))
		must(t, v.RemoveAll("/w/dir")) // gives nothing back
		must(t, v.Rename("/w/new", "/w/newer"))
		return v.WriteFile("/w/last", nil, 0o666)
	}
	for range 2 { // what one script made does not stop the next
		wantReason(t, script(), "it went over the limit files=4")
		must(t, os.Remove(filepath.Join(dir, "newer")))
	}
	if _, err := os.Lstat(filepath.Join(dir, "last")); err == nil {
		t.Error("made all the same")
	}
}

func TestTimeForReading(t *testing.T) {
	_, dir := host(t)
	must(t, os.WriteFile(filepath.Join(dir, "big"), make([]byte, 50<<20), 0o644))
	l := quota.Lenient()
	g := quota.NewLimiter(l)
	_, stop := g.Start(t.Context())
	defer stop()
	v := New(Options{Limiter: g})
	must(t, v.Mount("/w", dir, false))
	for range 3 {
		f, err := v.Open("/w/big", os.O_RDONLY, 0)
		must(t, err)
		f.Close()
	}
	if left := g.Left(); left < l.Time+time.Second || left > l.Time+2*time.Second {
		t.Error(left)
	}
}
